import { randomInt, randomUUID } from 'node:crypto'
import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { parseAddresses } from '../embedded/message/name-addr.js'
import { paramOf } from '../embedded/message/sip-header.js'
import type { OutOfDialogResponse, SipServer } from '../sip/sip-port.js'
import { sipUri, userOf } from '../sip/sip-uri.js'
import { type Credentials, DigestClient } from './digest-client.js'
import {
  type RegistrarResponse,
  type RegistrationEffect,
  type RegistrationInput,
  type RegistrationState,
  step,
} from './registration-machine.js'

/** Registrar and account of a registration. */
export interface RegistrationTarget {
  readonly trunkId: string
  readonly host: string
  /** 0 when no port is configured. */
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls'
  /** Domain of the account; null uses the host. */
  readonly domain: string | null
  readonly credentials: Credentials
  /** Requested lifetime (s). */
  readonly expires: number
  /** True for a host that a customer named: only its public addresses are used. */
  readonly publicOnly?: boolean
}

export interface RegistrationReport {
  readonly registered: boolean
  /** Status of the last response; null when there was none. */
  readonly sip: number | null
}

export interface RegistrationOptions {
  readonly sip: SipServer
  readonly clock: Clock
  readonly log: Log
  readonly target: RegistrationTarget
  readonly onReport?: (report: RegistrationReport) => void
  readonly random?: () => number
}

/** Time limit (ms) for removing the binding. */
const UNREGISTER_MS = 2_000

/** Keeps one account registered at a carrier. Closing removes the binding, or gives up after two seconds. */
export class Registration {
  readonly #options: RegistrationOptions
  readonly #callId = randomUUID()
  #cseq = randomInt(1, 2 ** 20)
  readonly #digest: DigestClient
  readonly #unsubscribe: () => void
  #state: RegistrationState = { kind: 'idle' }
  #timer: Timer | null = null
  #last: RegistrationReport = { registered: false, sip: null }
  /**
   * Number of the current REGISTER (RFC 3261 10.2 allows one at a time); responses to older ones are ignored.
   */
  #round = 0
  #finished: () => void = () => {}
  #closed: Promise<void> | null = null

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.#digest = new DigestClient(options.target.credentials)
    // A new connection to the SIP server may be a new server with other flows and addresses.
    this.#unsubscribe = options.sip.onConnected(() => this.#input({ type: 'renew' }))
  }

  get target(): RegistrationTarget {
    return this.#options.target
  }

  get state(): RegistrationState['kind'] {
    return this.#state.kind
  }

  get report(): RegistrationReport {
    return this.#last
  }

  start(): void {
    this.#input({ type: 'start' })
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      const deadline = this.#options.clock.after(UNREGISTER_MS, () => this.#finished())
      this.#finished = () => {
        deadline.cancel()
        this.#timer?.cancel()
        this.#unsubscribe()
        resolve()
      }
      this.#input({ type: 'stop' })
    })
    return this.#closed
  }

  #input(input: RegistrationInput): void {
    const rules = { expires: this.target.expires, random: this.#options.random ?? Math.random }
    const { next, effects } = step(this.#state, input, rules)
    this.#state = next
    for (const effect of effects) this.#run(effect)
  }

  #run(effect: RegistrationEffect): void {
    const { clock, log, onReport } = this.#options
    switch (effect.type) {
      case 'send':
        void this.#send(effect.expires)
        return
      case 'startTimer':
        this.#timer?.cancel()
        this.#timer = clock.after(effect.ms, () => this.#input({ type: 'timer' }))
        return
      case 'cancelTimer':
        this.#timer?.cancel()
        return
      case 'report': {
        const { registered, sip } = effect
        if (registered !== this.#last.registered || sip !== this.#last.sip) {
          const { trunkId } = this.target
          if (registered) log.info({ trunkId }, 'trunk.registered')
          else log.warn({ trunkId, sip }, 'trunk.registration_failed')
        }
        this.#last = { registered, sip }
        onReport?.(this.#last)
        return
      }
      case 'finish':
        this.#finished()
        return
    }
  }

  async #send(expires: number): Promise<void> {
    const { sip, log } = this.#options
    const { trunkId, host, port, transport, domain, credentials, publicOnly = false } = this.target
    const round = ++this.#round
    const user = encodeURIComponent(credentials.username).replaceAll('%2B', '+')
    const account = `<sip:${user}@${domain ?? bracketed(host)}>`
    const contact = `sip:${user}@localhost${transport === 'udp' ? '' : `;transport=${transport}`}`
    try {
      const answer = await sip.request({
        method: 'REGISTER',
        // The Request-URI of REGISTER has no user part (RFC 3261 10.2).
        uri: sipUri({ user: 'x', host, port, transport }).replace('x@', ''),
        callId: this.#callId,
        cseq: ++this.#cseq,
        headers: {
          From: account,
          To: account,
          Contact: `<${contact}>;expires=${expires}`,
          Expires: String(expires),
        },
        digest: this.#digest,
        publicOnly,
      })
      this.#cseq = Math.max(this.#cseq, answer.cseq)
      if (round === this.#round)
        this.#input({ type: 'answered', response: readRegistrarResponse(answer, credentials.username) })
    } catch (error) {
      log.debug({ trunkId, error: errorText(error) }, 'trunk.register_unanswered')
      if (round === this.#round) this.#input({ type: 'failed' })
    }
  }
}

/** Reads the times in a registrar's response, which may list bindings of other users beside those of `user`. */
export function readRegistrarResponse(
  answer: Pick<OutOfDialogResponse, 'status' | 'header'>,
  user: string,
): RegistrarResponse {
  const contacts = parseAddresses(answer.header('Contact') ?? '')
  const own = contacts.filter(({ uri }) => userOf(uri) === user)
  // Our binding is the freshest: the others belong to earlier runs of this process or to other devices.
  const granted = own.flatMap(({ params }) => seconds(paramOf(params, 'expires')) ?? [])
  return {
    status: answer.status,
    expires: granted.length > 0 ? Math.max(...granted) : seconds(answer.header('Expires')),
    minExpires: seconds(answer.header('Min-Expires')),
    retryAfter: seconds(answer.header('Retry-After')),
  }
}

function seconds(text: string | null | undefined): number | null {
  const digits = /^\s*(\d{1,9})/.exec(text ?? '')?.[1]
  return digits === undefined ? null : Number(digits)
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
