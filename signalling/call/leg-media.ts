import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { SdpRefusal } from '../sdp/sdp-parser.js'
import type { SdpSession } from '../sdp/sdp-session.js'
import type { DialogEnd, OfferReply } from '../sip/dialog-port.js'
import type { Ending } from './ending.js'
import { endingOfServerBye } from './ending.js'
import type { LegEvents } from './leg.js'

/** Renegotiation inside the dialog, which is the same for both directions. */
export class LegMedia {
  readonly #sdp: SdpSession
  readonly #events: LegEvents
  readonly #log: Log
  #awaitsAnswer = false

  constructor(sdp: SdpSession, events: LegEvents, log: Log) {
    this.#sdp = sdp
    this.#events = events
    this.#log = log
  }

  /** Answers a re-INVITE or UPDATE. A refused offer leaves the session as it was (RFC 3261 14.2). */
  offered(body: string, reply: OfferReply): void {
    if (body === '') {
      this.#awaitsAnswer = true
      reply(200, this.#sdp.offer())
      return
    }
    const result = this.#sdp.answer(body)
    if (!result.ok) {
      reply(result.sip, '', result.reason)
      return
    }
    this.#events.mediaChanged(result.remote).then(
      () => reply(200, result.sdp),
      (error: unknown) => {
        this.#log.error({ error: errorText(error) }, 'leg.media_change_failed')
        // The peer keeps the last agreement (RFC 3261 14.1), and so do we.
        result.revert()
        reply(500, '')
      },
    )
  }

  /** Reads an ACK inside the dialog, which carries the SDP answer when the offer was ours. */
  acknowledged(body: string): void {
    if (!this.#awaitsAnswer) return
    this.#awaitsAnswer = false
    const result = this.#sdp.accept(body)
    if (!result.ok) {
      this.#log.warn({ reason: result.reason }, 'leg.sdp_answer_unusable')
      return
    }
    this.#events.mediaChanged(result.remote).catch((error: unknown) => {
      this.#log.error({ error: errorText(error) }, 'leg.media_change_failed')
    })
  }
}

/** Returns the ending for a dialog that ended; `peer` is the party that sent the BYE, if it was one. */
export function endingOfDialog(why: DialogEnd, peer: 'caller' | 'callee'): Ending {
  switch (why.kind) {
    case 'peer':
      // `caller_hangup` stands for a hang-up by the person, whichever side called.
      return {
        by: peer,
        cause: 'caller_hangup',
        fault: 'none',
        ...(why.reason === null ? {} : { reason: why.reason }),
      }
    case 'server':
      return endingOfServerBye(why.reason)
    case 'lost':
      return { by: 'engine', cause: 'internal', fault: 'ours', note: 'connection to the SIP server lost' }
  }
}

export function endingOfRefusal({ sip, reason }: SdpRefusal): Ending {
  return { by: 'engine', cause: 'carrier_error', fault: 'carrier', sip, note: reason }
}
