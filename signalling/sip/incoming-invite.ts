import { randomInt } from 'node:crypto'
import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type Credentials, DigestClient } from '../trunk/digest-client.js'
import type { ConnectionBound } from './connection-bound.js'
import type { DialogHandlers, OfferReply, SipDialog } from './dialog-port.js'
import type { RawMessage, RawRequest, RawResponse, RawSrf } from './drachtio-types.js'
import { answerEarlyUpdate } from './early-update.js'
import { sessionIntervalError } from './in-dialog-request.js'
import { namesTag, SUPPORTED, unsupportedBy } from './option-tags.js'
import { passableReason } from './reason.js'
import { readSessionBody } from './session-body.js'
import { ALLOWED_METHODS, DialogHandle } from './sip-dialog.js'
import { onlyUserIn, userOf } from './sip-uri.js'

/** The offer of an INVITE, or its refusal. */
export type InviteForm =
  /** `offer` is '' for a delayed offer. */
  | { readonly ok: true; readonly offer: string }
  | { readonly ok: false; readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** Checks the form of an INVITE and reads its offer (RFC 3261 8.2.2, 8.2.3). */
export function readInvite(req: RawMessage): InviteForm {
  if (!req.has('Contact')) return { ok: false, status: 400, headers: {} }
  const unsupported = unsupportedBy(req.get('Require'))
  if (unsupported !== null) return { ok: false, status: 420, headers: unsupported }
  // RFC 3261 13.3.1: the INVITE expired on its way.
  if (expiresS(req) === 0) return { ok: false, status: 487, headers: {} }
  const tooShort = sessionIntervalError(req)
  if (tooShort !== null) return { ok: false, ...tooShort }
  const body = readSessionBody(req)
  return body.ok ? { ok: true, offer: body.sdp } : body
}

/** Returns the time in which the caller wants a final response (s, RFC 3261 20.19); null without a limit. */
function expiresS(req: RawMessage): number | null {
  const seconds = /^\s*(\d{1,10})\s*$/.exec(req.get('Expires') ?? '')?.[1]
  return seconds === undefined ? null : Math.min(Number(seconds), MAX_EXPIRES_S)
}

/** Upper bound of that time (s), longer than any call rings. */
const MAX_EXPIRES_S = 86_400

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
  /** Ends the INVITE at the time limit of the caller. Null without a limit. */
  #expiry: Timer | null = null
  /** Takes the offers of the caller before the 200; see `onOffer`. */
  #offered: ((offer: string, reply: OfferReply) => void) | null = null
  /** True if the caller requires reliable provisional responses (RFC 3262). */
  readonly #isReliable: boolean
  /** True if a reliable provisional response carried our answer, so that the caller may make another offer. */
  #isAnswered = false
  #withdrawn: ((why: 'cancelled' | 'lost', reason: string | null) => void) | null = null
  /** Settles `accept`: after a CANCEL or a lost connection the library may never call back. */
  #abort: ((why: 'cancelled' | 'lost') => void) | null = null

  /** `offer` is that of `readInvite`. */
  constructor(
    srf: RawSrf,
    req: RawRequest,
    res: RawResponse,
    offer: string,
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
    this.body = offer
    this.#srf = srf
    this.#req = req
    this.#res = res
    this.#open = open
    this.#tools = tools
    this.#isReliable = namesTag(req.get('Require'), '100rel')
    const seconds = expiresS(req)
    if (seconds !== null) this.#expiry = tools.clock.after(seconds * 1000, () => this.#expire())
    open.add(this)
    req.on('cancel', (cancel?: RawMessage) => {
      this.#withdraw('cancelled', passableReason(cancel?.get('Reason')))
    })
    req.on('update', (update: RawRequest, answer: RawResponse) => {
      const offered = this.#isAnswered && this.#state === 'pending' ? this.#offered : null
      const headers = { 'Retry-After': String(randomInt(0, 11)) }
      answerEarlyUpdate(update, answer, { offered, tooEarly: { status: 500, headers } })
    })
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
   * our final response. `reason` is the Reason header of the CANCEL.
   */
  onWithdrawn(listener: (why: 'cancelled' | 'lost', reason: string | null) => void): void {
    this.#withdrawn = listener
  }

  /** Registers the listener that answers another offer of the caller before the 200 (UPDATE, RFC 3311). */
  onOffer(listener: (offer: string, reply: OfferReply) => void): void {
    this.#offered = listener
  }

  lost(): void {
    this.#withdraw('lost')
  }

  ring(): void {
    if (this.#state === 'pending') this.#res.send(180, { headers: this.#reliably() })
  }

  /** Sends 183 with our answer: early media. The 200 repeats the answer (RFC 3261 13.2.1). */
  progress(sdp: string): void {
    if (this.#state !== 'pending') return
    this.#isAnswered = this.#isReliable
    this.#res.send(183, { headers: { ...this.#reliably(), 'Content-Type': 'application/sdp' }, body: sdp })
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
        {
          localSdp: sdp,
          headers: { 'Content-Type': 'application/sdp', Allow: ALLOWED_METHODS, Supported: SUPPORTED },
        },
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

  #reliably(): Record<string, string> {
    return this.#isReliable ? { Require: '100rel' } : {}
  }

  #expire(): void {
    if (this.#state !== 'pending') return
    this.#res.send(487)
    this.#withdraw('cancelled')
  }

  #withdraw(why: 'cancelled' | 'lost', reason: string | null = null): void {
    if (this.#state === 'over') return
    this.#finish()
    this.#withdrawn?.(why, reason)
    this.#abort?.(why)
  }

  #finish(): void {
    this.#state = 'over'
    this.#expiry?.cancel()
    this.#expiry = null
    this.#open.delete(this)
  }
}
