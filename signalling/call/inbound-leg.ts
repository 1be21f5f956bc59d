import { randomInt } from 'node:crypto'
import type { Log } from '../../media/base/log.js'
import type { CodecName } from '../../media/codec/codec.js'
import type { RemoteMedia } from '../../workers/channel/protocol.js'
import type { SrtpPolicy } from '../sdp/sdp-crypto.js'
import { SdpSession } from '../sdp/sdp-session.js'
import type { LocalMedia } from '../sdp/sdp-transport.js'
import type { DialogEnd, OfferReply, PeerAnswer, SipDialog } from '../sip/dialog-port.js'
import type { IncomingInvite } from '../sip/incoming-invite.js'
import { warning } from '../sip/warning.js'
import { type Ending, endingOfError, refusalOf } from './ending.js'
import type { Leg, LegEvents } from './leg.js'
import { endingOfDialog, endingOfRefusal, LegMedia } from './leg-media.js'

export interface InboundLegOptions {
  readonly codecs: readonly CodecName[]
  readonly srtp?: SrtpPolicy
  /** Tells whether the call goes on, when the caller asks. True unless a simulated person lost the call. */
  readonly exists?: () => boolean
}

/** A caller's INVITE as a leg: sends 180, then 200 with our answer or offer; media is agreed with the ACK. */
export class InboundLeg implements Leg {
  readonly #invite: IncomingInvite
  readonly #codecs: readonly CodecName[]
  readonly #srtp: SrtpPolicy
  readonly #exists: () => boolean
  readonly #events: LegEvents
  readonly #log: Log
  #sdp: SdpSession | null = null
  /** SDP agreed before the 200; the 200 repeats the answer. */
  #early: { readonly sdp: SdpSession; answer: string } | null = null
  #media: LegMedia | null = null
  #dialog: SipDialog | null = null
  #delayed = false
  #acknowledged = false
  #over = false
  #ended: Promise<void> | null = null
  /**
   * Resolves once the 200 has its ACK or the dialog is over. A BYE must not be sent earlier (RFC 3261 15).
   */
  #mayBye: { readonly promise: Promise<void>; readonly resolve: () => void } = gate()

  constructor(
    invite: IncomingInvite,
    { codecs, srtp = 'optional', exists = () => true }: InboundLegOptions,
    events: LegEvents,
    log: Log,
  ) {
    this.#invite = invite
    this.#codecs = codecs
    this.#srtp = srtp
    this.#exists = exists
    this.#events = events
    this.#log = log
    invite.onWithdrawn((why, reason) => {
      const cancelled = { by: 'caller', cause: 'caller_hangup', fault: 'none', sip: 487 } as const
      this.#endedByItself(
        why === 'cancelled'
          ? { ...cancelled, ...(reason === null ? {} : { reason }) }
          : endingOfDialog({ kind: 'lost' }, 'caller'),
      )
    })
  }

  get sipCallId(): string {
    return this.#invite.callId
  }

  ring(): void {
    this.#invite.ring()
  }

  early(local: LocalMedia): RemoteMedia | null {
    if (this.#over || this.#sdp !== null || this.#early !== null) return null
    const sdp = this.#session(local)
    const answer = this.#invite.body === '' ? null : sdp.answer(this.#invite.body)
    if (!answer?.ok) {
      // Only a reliable response could carry our offer (RFC 3262). The 200 tells what cannot be served.
      this.#invite.ring()
      return null
    }
    const early = { sdp, answer: answer.sdp }
    this.#early = early
    this.#media = new LegMedia(sdp, this.#events, this.#log)
    this.#invite.onOffer((offer, reply) => {
      this.#offered(offer, (status, renewed, reason) => {
        if (status === 200) early.answer = renewed
        reply(status, renewed, reason)
      })
    })
    this.#invite.progress(answer.sdp)
    return answer.remote
  }

  #session(local: LocalMedia): SdpSession {
    const sdp = new SdpSession(local, this.#codecs, String(randomInt(1, 2 ** 47)), this.#srtp)
    sdp.peer = this.#invite.sourceAddress
    return sdp
  }

  connect(local: LocalMedia): void {
    if (this.#over) return
    const sdp = this.#early?.sdp ?? this.#session(local)
    this.#sdp = sdp
    this.#media ??= new LegMedia(sdp, this.#events, this.#log)
    let body: string
    if (this.#early !== null) body = this.#early.answer
    else if (this.#invite.body === '') {
      this.#delayed = true
      body = sdp.offer()
    } else {
      const answer = sdp.answer(this.#invite.body)
      if (!answer.ok) {
        this.#invite.refuse(answer.sip, { Warning: warning(answer.reason) })
        this.#endedByItself(endingOfRefusal(answer))
        return
      }
      body = answer.sdp
    }
    this.#invite
      .accept(body, {
        acknowledged: (ack, stale) => this.#acked(ack, stale),
        offered: (offer, reply) => this.#offered(offer, reply),
        digit: (key) => {
          if (!this.#over) this.#events.digit(key)
        },
        referred: (target, report) => !this.#over && this.#events.referred?.(target, report) === true,
        exists: this.#exists,
        ended: (why) => this.#dialogEnded(why),
      })
      .then(
        (dialog) => {
          this.#dialog = dialog
        },
        (error: unknown) => this.#endedByItself(endingOfError(error)),
      )
  }

  ask(): Promise<PeerAnswer> {
    return this.#dialog?.ask() ?? Promise.resolve('unanswered')
  }

  end(ending: Ending): Promise<void> {
    this.#ended ??= this.#end(ending)
    return this.#ended
  }

  async #end(ending: Ending): Promise<void> {
    if (this.#over) return
    this.#over = true
    if (this.#sdp === null) {
      const { status, reason } = refusalOf(ending)
      // A 503 of the dialled leg says nothing about the next call.
      const later = status === 503 && ending.sip === undefined
      this.#invite.refuse(status, {
        ...(reason === null ? {} : { Reason: reason }),
        ...(later ? { 'Retry-After': '5' } : {}),
      })
      return
    }
    // The 200 is being sent. If the ACK never arrives, the SIP server ends the dialog after 64*T1, which
    // resolves this promise.
    await this.#mayBye.promise
    await this.#dialog?.bye(ending.reason)
  }

  #acked(body: string, stale: boolean): void {
    if (this.#acknowledged) {
      if (!stale) this.#media?.acknowledged(body)
      return
    }
    this.#acknowledged = true
    // The promise of `accept` may resolve one microtask after the ACK.
    queueMicrotask(() => this.#mayBye.resolve())
    // A call that we ended before the ACK was answered nevertheless.
    if (this.#over && this.#ended === null) return
    const sdp = this.#sdp
    if (sdp === null) return
    if (this.#delayed) {
      const accepted = sdp.accept(body)
      if (!accepted.ok) {
        this.#endedByItself(endingOfRefusal(accepted))
        void this.#mayBye.promise.then(() => this.#dialog?.bye())
        return
      }
    }
    if (sdp.current) this.#events.answered(sdp.current)
  }

  #offered(offer: string, reply: OfferReply): void {
    if (this.#over || !this.#media) reply(500, '')
    else this.#media.offered(offer, reply)
  }

  #dialogEnded(why: DialogEnd): void {
    this.#mayBye.resolve()
    this.#endedByItself(endingOfDialog(why, 'caller'))
  }

  #endedByItself(ending: Ending): void {
    this.#mayBye.resolve()
    if (this.#over) return
    this.#over = true
    this.#events.ended(ending)
  }
}

function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let open = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, resolve: () => open() }
}
