import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { parseAddress } from '../embedded/message/name-addr.js'
import type { DigestClient } from '../trunk/digest-client.js'
import type { ConnectionBound } from './connection-bound.js'
import type { DialogHandlers, OfferReply, PeerAnswer, ReferReport, SipDialog } from './dialog-port.js'
import type { RawDialog, RawRequest, RawResponse, RawSrf } from './drachtio-types.js'
import {
  dialogExists,
  peerAnswer,
  sendInDialogRequest,
  sessionIntervalError,
  sessionRefreshDelayMs,
} from './in-dialog-request.js'
import { type InfoDigit, parseInfoDtmf } from './info-dtmf.js'
import { SUPPORTED, unsupportedBy } from './option-tags.js'
import { passableReason } from './reason.js'
import { ACCEPTED_TYPES, readSessionBody, sessionSdpOf } from './session-body.js'
import { warning } from './warning.js'

/** Value of `Allow` headers. */
export const ALLOWED_METHODS = 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, PRACK, UPDATE, REFER'
/** Methods that a dialog refuses. */
const REFUSED_METHODS = ['message', 'publish', 'subscribe'] as const

type Handler = (req: RawRequest, res: RawResponse) => void

/** Lifetime (s) of the subscription of a REFER: longer than two attempts of a transfer. */
const REFER_SECONDS = 300
/** Time (ms) after which an unanswered BYE counts as done; the server keeps retransmitting it (timer F). */
const BYE_DEADLINE_MS = 4000
/** Attempts for a re-INVITE that keeps crossing the peer's. */
const GLARE_TRIES = 3
/** Interval (ms) at which a call that continues over a new connection asks whether the peer is still there. */
const RESUMED_CHECK_MS = 5000

/**
 * One drachtio dialog. Stays in `open` until it is over. Media does not pass through the SIP server, so when
 * that connection breaks the call continues and the dialog waits for the next connection.
 */
export class DialogHandle implements SipDialog {
  readonly #raw: RawDialog
  readonly #open: Set<ConnectionBound>
  readonly #clock: Clock
  readonly #log: Log
  /** Answers challenges to our requests; null without credentials. */
  readonly #digest: DigestClient | null
  #handlers: DialogHandlers | null = null
  #over = false
  #bye: Promise<void> | null = null
  #offerPending = false
  /** CSeq number of the last INVITE of the peer inside the dialog. */
  #inviteCseq = 0
  /** True while there is no connection. */
  #suspended = false
  /** Sends a BYE that is waiting for a connection. */
  #sendPendingBye: (() => void) | null = null
  /** Timer of the next check of a call that continues over a new connection. */
  #check: Timer | null = null
  /** Answers the latest `ask`. Idempotent. */
  #settleAsk: ((answer: PeerAnswer) => void) | null = null
  /** Timer of our next session refresh. */
  #refresh: Timer | null = null
  /** Rejects our pending re-INVITE when the dialog ends. */
  #rejectModify: ((error: EngineError) => void) | null = null
  /** Our re-INVITE crossed the peer's and waits for its next attempt. */
  #glare: { readonly timer: Timer; readonly reject: (error: EngineError) => void } | null = null

  constructor(
    raw: RawDialog,
    open: Set<ConnectionBound>,
    { clock, log }: { clock: Clock; log: Log },
    digest: DigestClient | null,
  ) {
    this.#raw = raw
    this.#digest = digest
    this.#open = open
    this.#clock = clock
    this.#log = log
    // The library compares descriptions as strings on every re-INVITE and throws without one.
    raw.remote.sdp ??= ''
    open.add(this)
    raw.on('ack', (req: RawRequest) => {
      // The library reports an ACK a turn later, and so perhaps behind the next INVITE.
      if (!this.#over) this.#handlers?.acknowledged(sessionSdpOf(req), cseqOf(req) < this.#inviteCseq)
    })
    raw.on('destroy', (req: RawRequest, reason: unknown) => {
      if (!this.#finish()) return
      this.#handlers?.ended(
        req.source === 'application'
          ? { kind: 'server', reason: String(reason) }
          : { kind: 'peer', reason: passableReason(req.get('Reason')) },
      )
    })
    const serve = (event: string, handler: Handler): void => {
      raw.on(event, (req: RawRequest, res: RawResponse) => {
        const unsupported = unsupportedBy(req.get('Require'))
        if (unsupported === null) handler(req, res)
        else res.send(420, { headers: unsupported })
      })
    }
    serve('modify', (req, res) => this.#offered(req, res))
    serve('update', (req, res) => {
      if (req.body) this.#offered(req, res)
      else if (!refusesInterval(req, res)) res.send(200)
    })
    serve('info', (req, res) => this.#infoReceived(req, res))
    serve('refer', (req, res) => this.#referred(req, res))
    serve('options', (_req, res) => {
      if (this.#over || this.#handlers?.exists?.() === false) res.send(481)
      else answerOptions(res)
    })
    // REFERs make the only subscriptions, and this side is their notifier (RFC 6665 4.1.3).
    serve('notify', (_req, res) => res.send(481))
    for (const method of REFUSED_METHODS) {
      serve(method, (_req, res) => res.send(405, { headers: { Allow: ALLOWED_METHODS } }))
    }
  }

  get callId(): string {
    return this.#raw.sip.callId
  }

  get peerAddress(): string | null {
    const { type, req, res } = this.#raw
    return (type === 'uac' ? res.source_address : req.source_address) || null
  }

  /**
   * Schedules a session refresh (RFC 4028) ahead of the server's own. The server's refreshes carry no
   * credentials, and a peer that challenges every request would drop the call.
   */
  refreshBefore(sessionExpires: string | undefined): void {
    this.#refresh?.cancel()
    this.#refresh = null
    const ms = this.#digest === null || this.#over ? null : sessionRefreshDelayMs(sessionExpires)
    if (ms === null) return
    this.#refresh = this.#clock.after(ms, () => {
      this.#refresh = null
      // If our refresh fails or crosses another request, the server's own refresh still follows.
      this.modify(this.#raw.local.sdp).catch((error: unknown) => {
        this.#log.debug({ sipCallId: this.callId, error: errorText(error) }, 'sip.session_refresh_failed')
      })
    })
  }

  /**
   * Sets the handlers. Must run in the same turn as the constructor: requests of the peer may follow at once.
   */
  listen(handlers: DialogHandlers): void {
    this.#handlers = handlers
  }

  lost(): void {
    this.#open.delete(this)
    this.#sendPendingBye = null
    if (this.#finish()) this.#handlers?.ended({ kind: 'lost' })
  }

  suspend(): void {
    this.#suspended = true
    this.#settleAsk?.('exists')
    this.#check?.cancel()
    this.#check = null
    this.#offerPending = false
    this.#rejectModify?.(
      new EngineError('sip_failed', 'connection to the SIP server lost', { retryable: true }),
    )
    this.#rejectModify = null
  }

  /** Continues over a new connection, if the server still has the dialog and the peer is still there. */
  resume(srf: RawSrf, socket: Socket): void {
    if (!this.#suspended) return
    this.#suspended = false
    const raw = this.#raw
    raw.srf = srf
    raw.agent = srf.app.client
    raw.req.socket = socket
    srf.addDialog(raw)
    if (this.#sendPendingBye !== null) {
      this.#sendPendingBye()
      return
    }
    this.#checkPeer()
  }

  /**
   * Asks the peer now and every few seconds whether the call goes on. A drachtio-server ties a dialog to the
   * connection that created it: after a reconnection it answers the peer's BYE itself, without notice.
   */
  #checkPeer(): void {
    sendInDialogRequest(this.#raw, this.#digest, { method: 'OPTIONS' }, (error, response) => {
      if (this.#suspended || this.#over) return
      if (dialogExists(error, response)) {
        this.#check = this.#clock.after(RESUMED_CHECK_MS, () => this.#checkPeer())
        return
      }
      const status = response?.status
      this.#log.warn({ sipCallId: this.callId, status }, 'sip.dialog_lost')
      if (status === undefined) this.lost()
      else if (this.#finish()) {
        const hungUp = status === 481
        this.#handlers?.ended(
          hungUp ? { kind: 'peer', reason: null } : { kind: 'server', reason: 'OPTIONS timeout' },
        )
      }
    })
  }

  ask(): Promise<PeerAnswer> {
    // A dialog that waits for a connection is asked about as soon as there is one.
    if (this.#suspended) return Promise.resolve('exists')
    return new Promise((resolve) => {
      this.#settleAsk = resolve
      sendInDialogRequest(this.#raw, this.#digest, { method: 'OPTIONS' }, (error, response) =>
        resolve(peerAnswer(error, response)),
      )
    })
  }

  bye(reason?: string): Promise<void> {
    if (this.#bye) return this.#bye
    if (!this.#finish()) return Promise.resolve()
    const headers: Record<string, string> = reason === undefined ? {} : { Reason: reason }
    this.#bye = new Promise((resolve) => {
      const deadline = this.#clock.after(BYE_DEADLINE_MS, resolve)
      const done = (error: unknown) => {
        if (error) this.#log.debug({ error: errorText(error) }, 'sip.bye_failed')
        deadline.cancel()
        resolve()
      }
      if (this.#suspended) {
        // Kept open: the server and the peer still consider the call to be up.
        this.#open.add(this)
        this.#sendPendingBye = () => {
          this.#sendPendingBye = null
          this.#open.delete(this)
          sendInDialogRequest(this.#raw, this.#digest, { method: 'BYE', headers }, done)
        }
        return
      }
      if (this.#digest !== null) {
        sendInDialogRequest(this.#raw, this.#digest, { method: 'BYE', headers }, done)
        return
      }
      try {
        this.#raw.destroy({ headers }, done)
      } catch (error) {
        done(error)
      }
    })
    return this.#bye
  }

  modify(sdp: string): Promise<string> {
    return this.#reinvite(sdp, GLARE_TRIES)
  }

  /**
   * Retries an offer that crossed the peer's (491) after a random delay, in which the peer's own may succeed.
   */
  #reinvite(sdp: string, tries: number): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#over || this.#rejectModify || this.#glare || this.#suspended) {
        reject(
          new EngineError('sip_failed', 'a re-INVITE is pending or the dialog is disconnected', {
            retryable: !this.#over,
          }),
        )
        return
      }
      this.#rejectModify = reject
      // `dialog.modify` would block for ever after one refusal.
      sendInDialogRequest(this.#raw, this.#digest, { method: 'INVITE', body: sdp }, (error, response) => {
        this.#rejectModify = null
        if (error || !response) reject(new EngineError('sip_failed', errorText(error), { cause: error }))
        else if (response.status >= 300) {
          const { status } = response
          if (status === 491 && tries > 1 && !this.#over) {
            this.#retryReinvite(sdp, tries - 1, resolve, reject)
            return
          }
          reject(
            new EngineError('sip_refused', `re-INVITE refused with ${status}`, {
              retryable: status === 491 || status === 500,
              context: { status },
            }),
          )
        } else {
          this.#raw.local.sdp = sdp
          this.refreshBefore(response.get('Session-Expires'))
          resolve(sessionSdpOf(response))
        }
      })
    })
  }

  #retryReinvite(
    sdp: string,
    tries: number,
    resolve: (answer: Promise<string>) => void,
    reject: (error: EngineError) => void,
  ): void {
    const timer = this.#clock.after(glareDelayMs(this.#raw.type), () => {
      this.#glare = null
      resolve(this.#reinvite(sdp, tries))
    })
    // Until then the peer's own offer is accepted; only the end of the dialog cancels the wait.
    this.#glare = { timer, reject }
  }

  #infoReceived(req: RawRequest, res: RawResponse): void {
    if (this.#over) {
      res.send(481)
      return
    }
    const key = answerInfo(req, res)
    if (key !== null) this.#handlers?.digit?.(key)
  }

  /** Takes a REFER: 202, and its progress by NOTIFY on the subscription that it implies (RFC 3515). */
  #referred(req: RawRequest, res: RawResponse): void {
    if (this.#over) {
      res.send(481)
      return
    }
    const target = (req.get('Refer-To') ?? '').trim()
    const refusal = referRefusal(target)
    if (refusal !== null) {
      res.send(refusal.status, { headers: { Warning: warning(refusal.reason) } })
      return
    }
    let isFinal = false
    const early: [number, string][] = []
    let accepted = false
    const report: ReferReport = (status, reason) => {
      if (isFinal || this.#over) return
      isFinal = status >= 200
      // No NOTIFY before the 202.
      if (accepted) this.#notify(status, reason)
      else early.push([status, reason])
    }
    if (this.#handlers?.referred?.(target, report) !== true) report(603, 'Decline')
    res.send(202)
    accepted = true
    for (const [status, reason] of early.length > 0 ? early : [[100, 'Trying'] as const]) {
      this.#notify(status, reason)
    }
  }

  #notify(status: number, reason: string): void {
    if (this.#suspended) return
    const headers = {
      Event: 'refer',
      'Subscription-State': status < 200 ? `active;expires=${REFER_SECONDS}` : 'terminated;reason=noresource',
      'Content-Type': 'message/sipfrag;version=2.0',
    }
    const body = `SIP/2.0 ${status} ${reason}\r\n`
    sendInDialogRequest(this.#raw, this.#digest, { method: 'NOTIFY', headers, body }, (error) => {
      if (error) this.#log.debug({ sipCallId: this.callId, error: errorText(error) }, 'sip.notify_failed')
    })
  }

  #offered(req: RawRequest, res: RawResponse): void {
    if (this.#over || !this.#handlers) {
      res.send(481)
      return
    }
    if (req.method === 'INVITE') this.#inviteCseq = cseqOf(req)
    if (refusesInterval(req, res)) return
    // RFC 3261 14.2: one negotiation at a time.
    if (this.#rejectModify) {
      res.send(491)
      return
    }
    if (this.#offerPending) {
      res.send(500, { headers: { 'Retry-After': '1' } })
      return
    }
    const body = readSessionBody(req)
    if (!body.ok) {
      res.send(body.status, { headers: body.headers })
      return
    }
    this.#offerPending = true
    let replied = false
    const reply: OfferReply = (status, sdp, reason) => {
      if (replied) return
      replied = true
      this.#offerPending = false
      if (status !== 200) {
        res.send(status, reason === undefined ? {} : { headers: { Warning: warning(reason) } })
        return
      }
      this.#raw.local.sdp = sdp
      res.send(200, { headers: { 'Content-Type': 'application/sdp' }, body: sdp })
    }
    try {
      this.#handlers.offered(body.sdp, reply)
    } catch (error) {
      this.#log.error({ error: errorText(error) }, 'sip.reinvite_handling_failed')
      reply(500, '')
    }
  }

  /** Returns true for the first end only. */
  #finish(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#check?.cancel()
    this.#check = null
    this.#refresh?.cancel()
    this.#refresh = null
    this.#open.delete(this)
    const over = new EngineError('sip_failed', 'the dialog is over')
    this.#rejectModify?.(over)
    this.#rejectModify = null
    this.#glare?.timer.cancel()
    this.#glare?.reject(over)
    this.#glare = null
    return true
  }
}

/** Answers OPTIONS, inside and outside of dialogs (RFC 3261 11.2). */
export function answerOptions(res: RawResponse): void {
  res.send(200, { headers: { Allow: ALLOWED_METHODS, Accept: ACCEPTED_TYPES, Supported: SUPPORTED } })
}

/**
 * Answers an INFO and returns its digit; null without one. An empty INFO only checks whether we are alive (RFC 2976).
 */
export function answerInfo(req: RawRequest, res: RawResponse): InfoDigit | null {
  const key = req.body ? parseInfoDtmf(req.get('Content-Type') ?? '', req.body) : undefined
  if (key === null) res.send(415, { headers: { Accept: 'application/dtmf-relay, application/dtmf' } })
  else if (key === 'bad') res.send(400)
  else res.send(200)
  return key === undefined || key === 'bad' ? null : key
}

/**
 * Returns the refusal of a REFER with this Refer-To; null when it asks for a plain call to one target (RFC 3515
 * 2.4.2).
 */
function referRefusal(referTo: string): { readonly status: 400 | 603; readonly reason: string } | null {
  const uri = parseAddress(referTo)?.uri
  if (uri === undefined)
    return { status: 400, reason: 'Refer-To must be one URI, in angle brackets if it has parameters' }
  // A transfer to the number would leave the consultation call behind, and ring the person again.
  if (/[?&]replaces=/i.test(uri))
    return { status: 603, reason: 'a transfer to a call (Replaces) is not supported: refer to the number' }
  if (/;method=(?!invite(?:[;?]|$))/i.test(uri))
    return { status: 603, reason: 'only an INVITE can be referred' }
  return null
}

function cseqOf(req: RawRequest): number {
  return Number.parseInt(req.get('CSeq') ?? '', 10)
}

/** Refuses a session interval below the minimum. Returns false when the interval is acceptable. */
function refusesInterval(req: RawRequest, res: RawResponse): boolean {
  const tooShort = sessionIntervalError(req)
  if (tooShort !== null) res.send(tooShort.status, { headers: tooShort.headers })
  return tooShort !== null
}

/**
 * Returns the retry delay (ms) after 491 (RFC 3261 14.1): 2.1 to 4 s for the UAC, 0 to 2 s for the UAS, in
 * steps of 10 ms.
 */
function glareDelayMs(role: 'uac' | 'uas'): number {
  return role === 'uac' ? 10 * randomInt(210, 401) : 10 * randomInt(0, 201)
}
