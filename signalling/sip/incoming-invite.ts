import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Credentials, DigestClient } from '../trunk/digest-client.js'
import type { ConnectionBound } from './connection-bound.js'
import type { DialogHandlers, SipDialog } from './dialog-port.js'
import type { RawMessage, RawRequest, RawResponse, RawSrf } from './drachtio-types.js'
import { sessionIntervalError } from './in-dialog-request.js'
import { readSessionBody } from './session-body.js'
import { ALLOWED_METHODS, DialogHandle } from './sip-dialog.js'
import { onlyUserIn, userOf } from './sip-uri.js'

/**
 * Returns the refusal for an INVITE of unacceptable form (RFC 3261 8.2.2, 8.2.3); null when it is acceptable.
 */
export function inviteFormError(
  req: RawMessage,
): { readonly status: number; readonly headers: Record<string, string> } | null {
  if (!req.has('Contact')) return { status: 400, headers: {} }
  const required = req.get('Require')?.trim()
  if (required) return { status: 420, headers: { Unsupported: required } }
  const tooShort = sessionIntervalError(req)
  if (tooShort !== null) return tooShort
  const body = readSessionBody(req)
  if (!body.ok) return { status: body.status, headers: { ...body.headers } }
  return null
}

/** The error of drachtio-compatible servers for a response to a cancelled request. */
const GONE = /unknown transaction/i

/** An INVITE received over drachtio-srf. Stays in `open` until it has a final response or is withdrawn. */
export class IncomingInvite {
  readonly callId: string
  /** Request-URI, as received. */
  readonly uri: string
  /** User part of the Request-URI, unescaped; '' when there is none. `from` is that of From. */
  readonly to: string
  readonly from: string
  readonly sourceAddress: string
  readonly sourcePort: number
  readonly transport: string
  /** The SDP offer, or '' (delayed offer). */
  readonly body: string
  readonly #srf: RawSrf
  readonly #req: RawRequest
  readonly #res: RawResponse
  readonly #open: Set<ConnectionBound>
  readonly #tools: { clock: Clock; log: Log }
  #state: 'pending' | 'accepting' | 'over' = 'pending'
  #digest: DigestClient | null = null
  #withdrawn: ((why: 'cancelled' | 'lost') => void) | null = null
  /** Settles `accept`: after a CANCEL or a lost connection the library may never call back. */
  #abort: ((why: 'cancelled' | 'lost') => void) | null = null

  constructor(
    srf: RawSrf,
    req: RawRequest,
    res: RawResponse,
    open: Set<ConnectionBound>,
    tools: { clock: Clock; log: Log },
  ) {
    this.callId = req.get('Call-ID') ?? ''
    this.uri = req.uri
    this.to = userOf(req.uri)
    this.from = onlyUserIn(req.get('From') ?? null)
    this.sourceAddress = req.source_address
    this.sourcePort = req.source_port
    this.transport = req.protocol
    const body = readSessionBody(req)
    this.body = body.ok ? body.sdp : ''
    this.#srf = srf
    this.#req = req
    this.#res = res
    this.#open = open
    this.#tools = tools
    open.add(this)
    req.on('cancel', () => this.#withdraw('cancelled'))
  }

  /** True after a final response, a CANCEL or the loss of the connection. */
  get over(): boolean {
    return this.#state === 'over'
  }

  header(name: string): string | null {
    return this.#req.get(name) ?? null
  }

  /** Sets the credentials for challenges to our requests inside the call, once it is accepted. */
  identify(credentials: Credentials): void {
    this.#digest = new DigestClient(credentials)
  }

  /**
   * Registers a listener, called once when the peer cancels (487 was sent) or the connection is lost before
   * our final response.
   */
  onWithdrawn(listener: (why: 'cancelled' | 'lost') => void): void {
    this.#withdrawn = listener
  }

  lost(): void {
    this.#withdraw('lost')
  }

  ring(): void {
    if (this.#state === 'pending') this.#res.send(180)
  }

  /** Sends 183 with our answer: early media. The 200 repeats the answer (RFC 3261 13.2.1). */
  progress(sdp: string): void {
    if (this.#state !== 'pending') return
    this.#res.send(183, { headers: { 'Content-Type': 'application/sdp' }, body: sdp })
  }

  refuse(status: number, headers: Readonly<Record<string, string | string[]>> = {}): void {
    if (this.#state !== 'pending') return
    this.#finish()
    this.#res.send(status, { headers: { ...headers } })
  }

  /**
   * Sends 200. Resolves when it is sent (the ACK arrives at `handlers.acknowledged`). Rejects with
   * EngineError `sip_failed` when it could not be sent or a CANCEL arrived first.
   */
  accept(sdp: string, handlers: DialogHandlers): Promise<SipDialog> {
    return new Promise((resolve, reject) => {
      if (this.#state !== 'pending') {
        reject(new EngineError('sip_failed', 'the INVITE is over'))
        return
      }
      this.#state = 'accepting'
      let settled = false
      const fail = (error: unknown) => {
        if (settled) return
        settled = true
        this.#finish()
        reject(new EngineError('sip_failed', errorText(error), { cause: error }))
      }
      this.#abort = fail
      this.#srf.createUAS(
        this.#req,
        this.#res,
        { localSdp: sdp, headers: { 'Content-Type': 'application/sdp', Allow: ALLOWED_METHODS } },
        (error, raw) => {
          if (error || !raw) {
            // The library forgot the INVITE when it sent our 200, and dropped the CANCEL that crossed it.
            if (GONE.test(errorText(error))) this.#withdraw('cancelled')
            fail(error ?? 'no dialog')
            return
          }
          const dialog = new DialogHandle(raw, this.#open, this.#tools, this.#digest)
          if (settled) {
            void dialog.bye()
            return
          }
          settled = true
          this.#finish()
          dialog.listen(handlers)
          resolve(dialog)
        },
      )
    })
  }

  #withdraw(why: 'cancelled' | 'lost'): void {
    if (this.#state === 'over') return
    this.#finish()
    this.#withdrawn?.(why)
    this.#abort?.(why)
  }

  #finish(): void {
    this.#state = 'over'
    this.#open.delete(this)
  }
}
