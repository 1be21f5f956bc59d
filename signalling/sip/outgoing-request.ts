import { randomBytes, randomInt } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { hostText, paramOf, parseUri } from '../embedded/message/sip-header.js'
import { PUBLIC_ONLY } from '../embedded/routing/target.js'
import { DigestClient, type DigestedRequest } from '../trunk/digest-client.js'
import type { ConnectionBound } from './connection-bound.js'
import { type DialGate, permitRefusal } from './dial-gate.js'
import {
  type RawDialog,
  type RawRequest,
  type RawResponse,
  type RawSrf,
  responseOf,
  statusOf,
} from './drachtio-types.js'
import { EarlyDescriptions } from './early-descriptions.js'
import { answerEarlyUpdate } from './early-update.js'
import { namesTag, SUPPORTED } from './option-tags.js'
import { passableReason } from './reason.js'
import { sessionSdpOf } from './session-body.js'
import { ALLOWED_METHODS, DialogHandle } from './sip-dialog.js'
import type { InviteHandlers, InviteRequest, OutOfDialogRequest, OutOfDialogResponse } from './sip-port.js'

/** The connection as an outgoing request uses it. */
export interface ServerConnection {
  readonly srf: RawSrf
  /** Objects to notify when the connection is lost. */
  readonly open: Set<ConnectionBound>
  readonly clock: Clock
  readonly log: Log
  /** Hosts of customers may have private addresses. */
  readonly allowPrivate: boolean
  /** Decides whether an INVITE may be repeated. */
  readonly gate: Pick<DialGate, 'allows'>
  /** Ends a dialog whose 200 crossed our CANCEL. */
  endLateDialog(dialog: DialogHandle): void
}

/** An INVITE of ours until its final response; repeated with credentials when challenged. */
export class OutgoingInvite {
  readonly #connection: ServerConnection
  readonly #request: InviteRequest
  readonly #handlers: InviteHandlers
  readonly #digest: DigestClient | null
  // Chosen here, so that a repetition is the same call to the far side (RFC 3261 22.2).
  readonly #fromTag = randomBytes(8).toString('hex')
  #cseq = randomInt(1, 2 ** 30)
  /** The current attempt, once it is sent. */
  #sent: RawRequest | null = null
  readonly #early = new EarlyDescriptions()
  #cancelled = false
  /** Reason header of the CANCEL. */
  #cancelReason: string | undefined
  /** True if a reliable response carried the answer to our offer (RFC 3262 5), so that the peer may make an offer. */
  #isAnswered = false
  #settled = false

  constructor(connection: ServerConnection, request: InviteRequest, handlers: InviteHandlers) {
    this.#connection = connection
    this.#request = request
    this.#handlers = handlers
    this.#digest = request.credentials === undefined ? null : new DigestClient(request.credentials)
  }

  start(): void {
    this.#connection.open.add(this)
    this.#attempt(null)
  }

  lost(): void {
    this.#fail(new EngineError('sip_failed', 'connection to the SIP server lost'))
  }

  cancel(reason?: string): void {
    if (this.#cancelled || this.#settled) return
    this.#cancelled = true
    this.#cancelReason = reason
    if (this.#sent) this.#sendCancel(this.#sent)
  }

  /** `proxy`: address of the machine that challenged us, where a name resolves to several. */
  #attempt(proxy: string | null): void {
    const { uri, callId, from, fromDomain, transport, body, headers } = this.#request
    const user = encodeURIComponent(from).replaceAll('%2B', '+')
    // drachtio replaces `localhost` by the address of the sending transport (its only template).
    const own = `sip:${user}@localhost`
    const identity = fromDomain === undefined ? own : `sip:${user}@${fromDomain}`
    this.#sent = null
    this.#early.clear()
    try {
      this.#connection.srf.createUAC(
        uri,
        {
          localSdp: body,
          headers: {
            ...headers,
            'Call-ID': callId,
            From: `<${identity}>;tag=${this.#fromTag}`,
            CSeq: `${this.#cseq} INVITE`,
            Contact: `<${transport === 'udp' ? own : `${own};transport=${transport}`}>`,
            Allow: ALLOWED_METHODS,
            Supported: SUPPORTED,
            'User-Agent': 'Parley',
            ...credentialsOf(this.#digest, { method: 'INVITE', uri, body }),
          },
          ...nextHopOf(this.#connection, this.#request, proxy),
        },
        {
          cbRequest: (_error, invite) => {
            if (!invite) return
            this.#sent = invite
            // After this callback the library registers a listener that answers every UPDATE with our offer. The
            // microtask removes it.
            queueMicrotask(() => {
              invite.removeAllListeners('update')
              invite.on('update', (update: RawRequest, answer: RawResponse) => {
                const mayOffer = this.#isAnswered && !this.#settled
                const offered = mayOffer ? this.#handlers.offered.bind(this.#handlers) : null
                answerEarlyUpdate(update, answer, { offered, tooEarly: { status: 491 } })
              })
            })
            if (this.#cancelled) this.#sendCancel(invite)
          },
          cbProvisional: (response) => {
            if (this.#settled) return
            const sdp = sessionSdpOf(response)
            if (sdp !== '' && namesTag(response.get('Require'), '100rel')) this.#isAnswered = true
            this.#early.received(response, sdp)
            this.#handlers.progress(response.status, sdp, response.source_address || null)
          },
        },
        (error, raw) => {
          if (error || !raw) this.#refused(error)
          else this.#answered(raw)
        },
      )
    } catch (error) {
      // Thrown synchronously when the connection has just been lost.
      queueMicrotask(() => this.#fail(new EngineError('sip_failed', errorText(error), { cause: error })))
    }
  }

  #refused(error: unknown): void {
    if (this.#settled) return
    const status = statusOf(error)
    if (status === null) {
      this.#fail(new EngineError('sip_failed', errorText(error), { cause: error }))
      return
    }
    if (this.#cancelled) {
      this.#fail(new EngineError('sip_refused', 'cancelled', { context: { status: 487 } }))
      return
    }
    const response = responseOf(error)
    if (response !== null && isAnswerable(this.#digest, response)) {
      // Seconds may have passed before the far side sent its challenge.
      if (!this.#connection.gate.allows(this.#request.permit)) {
        this.#fail(permitRefusal('lapsed'))
        return
      }
      this.#cseq++
      this.#attempt(challenger(this.#request.uri, response))
      return
    }
    const reason = passableReason(response?.get('Reason'))
    const context = reason === null ? { status } : { status, reason }
    this.#fail(new EngineError('sip_refused', `refused with ${status}`, { context }))
  }

  #answered(raw: RawDialog): void {
    // Some proxies also challenge requests inside the dialog.
    this.#digest?.onAccepted()
    const dialog = new DialogHandle(raw, this.#connection.open, this.#connection, this.#digest)
    if (this.#cancelled || this.#settled) {
      // The 200 crossed our CANCEL (RFC 3261 9.1). The library has acknowledged it, so a BYE ends it.
      this.#connection.endLateDialog(dialog)
      this.#fail(new EngineError('sip_refused', 'cancelled', { context: { status: 487 } }))
      return
    }
    this.#settle()
    dialog.listen(this.#handlers)
    dialog.refreshBefore(raw.res.get('Session-Expires'))
    this.#handlers.answered(dialog, sessionSdpOf(raw.res), this.#early.of(raw.res))
  }

  #sendCancel(invite: RawRequest): void {
    const headers = this.#cancelReason === undefined ? {} : { Reason: this.#cancelReason }
    invite.cancel({ headers }, (error) => {
      if (error) this.#connection.log.debug({ error: errorText(error) }, 'sip.cancel_failed')
    })
  }

  #settle(): void {
    this.#settled = true
    this.#connection.open.delete(this)
  }

  #fail(error: EngineError): void {
    if (this.#settled) return
    this.#settle()
    this.#handlers.failed(error)
  }
}

/** Sends OPTIONS or REGISTER, repeated with credentials when challenged. See `SipServer.request`. */
export function sendOutOfDialogRequest(
  connection: ServerConnection,
  request: OutOfDialogRequest,
): Promise<OutOfDialogResponse> {
  const { srf, open } = connection
  const { method, uri, callId, digest } = request
  return new Promise((resolve, reject) => {
    let settled = false
    let cseq = request.cseq
    const finish = (end: () => void) => {
      if (settled) return
      settled = true
      open.delete(pending)
      end()
    }
    const fail = (error: unknown) =>
      finish(() => reject(new EngineError('sip_failed', errorText(error), { cause: error, retryable: true })))
    const pending = { lost: () => fail('connection to the SIP server lost') }
    const attempt = (proxy: string | null) => {
      const headers = {
        ...request.headers,
        'Call-ID': callId,
        CSeq: `${cseq} ${method}`,
        'User-Agent': 'Parley',
        ...credentialsOf(digest, { method, uri, body: '' }),
      }
      const nextHop = nextHopOf(connection, request, proxy)
      srf.request(uri, { method, headers, ...nextHop }, (error, sent) => {
        if (error || !sent) {
          fail(error ?? 'not sent')
          return
        }
        sent.on('response', (response: RawResponse) => {
          const { status } = response
          if (settled || status < 200) return
          if (isAnswerable(digest, response)) {
            cseq++
            attempt(challenger(uri, response))
            return
          }
          if (status < 300) digest?.onAccepted()
          finish(() =>
            resolve({
              status,
              local: !response.source_address,
              cseq,
              header: (name) => response.get(name) ?? null,
            }),
          )
        })
      })
    }
    open.add(pending)
    try {
      attempt(null)
    } catch (error) {
      fail(error)
    }
  })
}

function credentialsOf(digest: DigestClient | null, request: DigestedRequest): Record<string, string> {
  return Object.fromEntries((digest?.headers(request) ?? []).map(({ name, value }) => [name, value]))
}

function isAnswerable(digest: DigestClient | null, response: RawResponse): boolean {
  const { status } = response
  if (digest === null || (status !== 401 && status !== 407)) return false
  const challenge = response.get(status === 407 ? 'Proxy-Authenticate' : 'WWW-Authenticate')
  return challenge !== undefined && digest.onChallenge(status, challenge)
}

/**
 * Returns where a request goes first if that is not its URI alone. A registered telephone system proved its place. The embedded server resolves the name and uses its
 * public addresses only if the parameter `addresses` says so; it is not part of the request.
 */
function nextHopOf(
  { allowPrivate }: Pick<ServerConnection, 'allowPrivate'>,
  { uri, publicOnly = false, route }: Pick<InviteRequest, 'uri' | 'publicOnly' | 'route'>,
  proxy: string | null,
): { readonly proxy?: string } {
  if (route !== undefined) return { proxy: route }
  if (publicOnly && !allowPrivate) return { proxy: `${proxy ?? uri};${PUBLIC_ONLY}` }
  return proxy === null ? {} : { proxy }
}

/**
 * Returns the URI of the machine that challenged us; null when the request URI suffices. A nonce is valid at
 * the machine that created it, so the repetition must reach the same one. Not over TLS, where the certificate
 * is issued for the name.
 */
function challenger(uri: string, { source_address, source_port }: RawResponse): string | null {
  const { host = '', params = '' } = parseUri(uri) ?? {}
  const transport = paramOf(params, 'transport')?.toLowerCase() ?? 'udp'
  if (!source_address || isIP(host) !== 0 || transport === 'tls') return null
  const where = hostText(source_address.replace(/^\[|\]$/g, ''))
  return `sip:${where}:${source_port ?? 5060};transport=${transport}`
}
