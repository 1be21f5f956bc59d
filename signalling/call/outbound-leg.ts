import { randomInt } from 'node:crypto'
import type { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { RemoteMedia } from '../../workers/channel/protocol.js'
import type { SrtpPolicy } from '../sdp/sdp-crypto.js'
import { SdpSession } from '../sdp/sdp-session.js'
import type { LocalMedia } from '../sdp/sdp-transport.js'
import type { Permit } from '../sip/dial-gate.js'
import type { OfferReply, PeerAnswer, SipDialog } from '../sip/dialog-port.js'
import type { InfoDigit } from '../sip/info-dtmf.js'
import type { InviteRequest, SipServer } from '../sip/sip-port.js'
import { sipUri } from '../sip/sip-uri.js'
import { callerIdentity, formatNumber } from '../trunk/number-format.js'
import { calledContact, flowRoute } from '../trunk/registrar-rules.js'
import { type Ending, endingOfError } from './ending.js'
import type { Leg, LegEvents } from './leg.js'
import { endingOfDialog, endingOfRefusal, LegMedia } from './leg-media.js'
import type { Gateway, OutboundTrunk } from './ports.js'

export interface DialTarget {
  readonly gateway: Gateway
  /** Names the number that is dialled and the caller ID. The INVITE spends it. */
  readonly permit: Permit
  /** Chosen by the call manager, so that it is known before the INVITE is sent. */
  readonly sipCallId: string
}

/**
 * A call we place: sends an INVITE with our offer; media is agreed with the 200. Early media does not answer
 * the call.
 */
export class OutboundLeg implements Leg {
  readonly #sip: SipServer
  readonly #target: DialTarget
  readonly #events: LegEvents
  readonly #log: Log
  #media: LegMedia | null = null
  #invite: ReturnType<SipServer['invite']> | null = null
  #dialog: SipDialog | null = null
  /** Resolves `#final`: the INVITE has its final response, or none was sent. */
  #settled: () => void = () => {}
  #final: Promise<void> = Promise.resolve()
  #over = false
  #ended: Promise<void> | null = null

  constructor(sip: SipServer, target: DialTarget, events: LegEvents, log: Log) {
    this.#sip = sip
    this.#target = target
    this.#events = events
    this.#log = log
  }

  get sipCallId(): string {
    return this.#target.sipCallId
  }

  ring(): void {}

  early(): null {
    return null
  }

  connect(local: LocalMedia): void {
    if (this.#over) return
    const { gateway, permit, sipCallId } = this.#target
    const { from, to } = permit
    const sdp = new SdpSession(local, gateway.codecs, String(randomInt(1, 2 ** 47)), offeredSrtp(gateway))
    const media = new LegMedia(sdp, this.#events, this.#log)
    this.#media = media
    this.#final = new Promise((resolve) => {
      this.#settled = resolve
    })
    const { host, port, transport, trunk, contact, publicOnly = false } = gateway
    const user = trunk === undefined ? to : formatNumber(to, trunk.numberFormat)
    this.#invite = this.#sip.invite(
      {
        permit,
        uri: contact === undefined ? sipUri({ user, host, port, transport }) : calledContact(contact, user),
        callId: sipCallId,
        transport,
        publicOnly,
        ...(contact === undefined ? {} : { route: flowRoute(contact.flow) }),
        body: sdp.offer(),
        ...(trunk === undefined ? { from } : trunkIdentity(trunk, from)),
      },
      {
        progress: (status, early, peer) => {
          if (!this.#over) this.#events.progress(status, earlyMedia(sdp, early, peer))
        },
        answered: (dialog, body, early) => this.#answered(dialog, body, early, sdp),
        failed: (error) => this.#failed(error),
        acknowledged: (body, stale) => {
          if (!stale) this.#media?.acknowledged(body)
        },
        offered: (body, reply) => this.#offered(body, reply),
        digit: (key) => this.#digitReceived(key),
        referred: (target, report) => !this.#over && this.#events.referred?.(target, report) === true,
        ended: (why) => this.#endedByItself(endingOfDialog(why, 'callee')),
      },
    )
  }

  ask(): Promise<PeerAnswer> {
    return this.#dialog?.ask() ?? Promise.resolve('unanswered')
  }

  end({ reason }: Pick<Ending, 'reason'>): Promise<void> {
    this.#ended ??= this.#end(reason)
    return this.#ended
  }

  async #end(reason: string | undefined): Promise<void> {
    if (this.#over) return
    this.#over = true
    if (this.#dialog) {
      await this.#dialog.bye(reason)
      return
    }
    this.#invite?.cancel(reason)
    await this.#final
  }

  #answered(dialog: SipDialog, body: string, early: string, sdp: SdpSession): void {
    this.#dialog = dialog
    this.#settled()
    sdp.peer = dialog.peerAddress
    // The answer in the 200 counts, because it has the present address of the callee. RFC 3261 wants it to repeat
    // that of the responses before it.
    let accepted = sdp.accept(body === '' ? early : body)
    if (!accepted.ok && accepted.sip === 400 && early !== '') accepted = sdp.accept(early)
    if (!accepted.ok) {
      // The library has already acknowledged the 200, so an unusable answer ends the dialog (RFC 3261
      // 13.2.2.4).
      this.#endedByItself(endingOfRefusal(accepted))
      void dialog.bye()
      return
    }
    if (!this.#over) this.#events.answered(accepted.remote)
  }

  #failed(error: EngineError): void {
    this.#settled()
    this.#endedByItself(endingOfError(error))
  }

  #offered(body: string, reply: OfferReply): void {
    if (this.#over || !this.#media) reply(500, '')
    else this.#media.offered(body, reply)
  }

  #digitReceived(key: InfoDigit): void {
    if (!this.#over) this.#events.digit(key)
  }

  #endedByItself(ending: Ending): void {
    if (this.#over) return
    this.#over = true
    this.#events.ended(ending)
  }
}

/** Returns the media of a provisional response from `peer`, or undefined without an answer that can be used. */
function earlyMedia(sdp: SdpSession, body: string, peer: string | null): RemoteMedia | undefined {
  if (body === '') return undefined
  sdp.peer = peer
  const read = sdp.accept(body)
  return read.ok ? read.remote : undefined
}

/**
 * Returns the SRTP policy to offer. Keys in clear text protect nothing, but an operator that requires SRTP
 * may run a protected network.
 */
function offeredSrtp({ srtp = 'off', transport }: Gateway): SrtpPolicy {
  return srtp === 'optional' && transport !== 'tls' ? 'off' : srtp
}

/**
 * Returns the calling party as the trunk's policy defines it; the asserted identity is the number that is
 * called from. A caller of a forwarded call may show no number; then nothing is asserted.
 */
function trunkIdentity(
  trunk: OutboundTrunk,
  did: string,
): Pick<InviteRequest, 'from' | 'fromDomain' | 'headers' | 'credentials'> {
  const { fromDomain, credentials } = trunk
  const number = formatNumber(did, trunk.numberFormat)
  const asserted = /^\+?\d+$/.test(number)
    ? { 'P-Asserted-Identity': `<sip:${number}@${fromDomain ?? 'localhost'}>` }
    : {}
  return {
    from: callerIdentity(trunk, did),
    headers: { ...asserted, ...trunk.headers },
    ...(fromDomain === null ? {} : { fromDomain }),
    ...(credentials === null ? {} : { credentials }),
  }
}
