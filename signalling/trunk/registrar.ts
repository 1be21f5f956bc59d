import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { IncomingRegister } from '../sip/incoming-register.js'
import { unsupportedBy } from '../sip/option-tags.js'
import type { SipServer } from '../sip/sip-port.js'
import { onlyUserIn } from '../sip/sip-uri.js'
import { warning } from '../sip/warning.js'
import { contactValues, type RegisteredContact, type RegisterOutcome, register } from './registrar-rules.js'
import type { TrunkAuthenticator } from './trunk-authenticator.js'

/** The store of the registered contacts of telephone systems. */
export interface ContactStore {
  /**
   * Changes what is registered for a trunk, one change at a time. `change` gets what is stored, with expired contacts,
   * and its accepted contacts are stored. Resolves with null when the trunk may not register.
   */
  change(
    trunkId: string,
    change: (known: readonly RegisteredContact[]) => RegisterOutcome,
  ): Promise<RegisterOutcome | null>
}

export interface RegistrarOptions {
  readonly sip: Pick<SipServer, 'onRegister'>
  readonly authenticator: TrunkAuthenticator
  readonly contacts: ContactStore
  /** False where the SIP server remembers connections by Contact, which one customer could name for another. */
  readonly connections: boolean
  readonly clock: Pick<Clock, 'wall'>
  readonly log: Log
}

/** Maximum number of REGISTERs in work; further ones get 503. */
const MAX_PENDING = 64
const RETRY_AFTER = { 'Retry-After': '5' }

/** Takes the registrations of telephone systems: each has the credentials of a trunk. Returns how to stop. */
export function openRegistrar(options: RegistrarOptions): { close(): void } {
  const { sip, log } = options
  let pending = 0
  sip.onRegister((request) => {
    if (pending >= MAX_PENDING) {
      request.answer(503, RETRY_AFTER)
      return
    }
    pending++
    serve(options, request)
      .catch((error: unknown) => {
        log.error({ error: errorText(error) }, 'registrar.failed')
        request.answer(503, RETRY_AFTER)
      })
      .finally(() => {
        pending--
      })
  })
  return { close: () => sip.onRegister(null) }
}

async function serve(options: RegistrarOptions, request: IncomingRegister): Promise<void> {
  const { authenticator, contacts, connections, clock, log } = options
  const source = await authenticator.identifyRegister(request)
  if (source.kind !== 'trunk') {
    if (source.kind === 'challenged') request.answer(401, { 'WWW-Authenticate': source.challenge })
    else request.answer(403)
    return
  }
  const { id: trunkId, username } = source.trunk
  const refuse = (status: number, reason: string, headers: Readonly<Record<string, string>> = {}) => {
    log.warn({ trunkId, status, reason }, 'trunk.register_refused')
    request.answer(status, { ...headers, Warning: warning(reason) })
  }
  const unsupported = unsupportedBy(request.header('Require'))
  if (unsupported !== null) return refuse(420, 'an extension is not supported', unsupported)
  if (onlyUserIn(request.header('To')) !== username)
    return refuse(404, 'the user in To must be the user name of the trunk')
  const { flow } = request
  if (flow === null) return refuse(403, 'register over UDP, TCP or TLS')
  if (flow.transport !== 'udp' && !connections) return refuse(403, 'register over UDP here')
  const now = clock.wall()
  const before: { contacts: readonly RegisteredContact[] } = { contacts: [] }
  const outcome = await contacts.change(trunkId, (known) => {
    before.contacts = known
    return register(
      known,
      {
        contact: request.header('Contact'),
        expires: request.header('Expires'),
        callId: request.callId,
        cseq: request.header('CSeq') ?? '',
        flow,
      },
      now,
    )
  })
  if (outcome === null) return refuse(403, 'the trunk is disabled')
  if (outcome.kind === 'refused') return refuse(outcome.status, outcome.reason, outcome.headers)
  if (outcome.contacts.length !== before.contacts.length)
    log.info({ trunkId, contacts: outcome.contacts.length }, 'trunk.contacts_changed')
  const listed = contactValues(outcome.contacts, now)
  request.answer(200, listed === '' ? {} : { Contact: listed })
}
