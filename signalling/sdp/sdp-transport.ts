import type { RtcpRemote, SrtpKeys } from '../../media/rtp/srtp/keying.js'
import { type CryptoAttribute, newKey, offerCrypto, type SrtpPolicy, writeCrypto } from './sdp-crypto.js'
import { type MediaSection, refusal, type SdpRefusal } from './sdp-parser.js'

type Protocol = 'RTP/AVP' | 'RTP/SAVP'

/** The transport part of an agreement. */
export interface NegotiatedTransport {
  readonly ok: true
  readonly protocol: Protocol
  readonly rtcp: RtcpRemote | null
  readonly srtp: SrtpKeys | null
  /** The chosen `a=crypto` attribute with our own key. */
  readonly crypto: CryptoAttribute | null
}

/**
 * The transport half of one offer/answer session: RTCP on its own port or multiplexed (RFC 5761, RFC 3605),
 * RTP in clear or SRTP with keys in SDP (RFC 4568). `optional` SRTP is offered as RTP/AVP with `a=crypto`,
 * which a peer may ignore (RFC 8643).
 */
export class SdpTransport {
  readonly #port: number
  readonly #rtcpPort: number | null
  readonly #policy: SrtpPolicy
  #offered: readonly CryptoAttribute[] = []
  #agreed: NegotiatedTransport | null = null

  /** `rtcpPort` is null when there is no RTCP. */
  constructor(port: number, rtcpPort: number | null, policy: SrtpPolicy) {
    this.#port = port
    this.#rtcpPort = rtcpPort
    this.#policy = policy
  }

  get protocol(): Protocol {
    return this.#agreed?.protocol ?? (this.#policy === 'required' ? 'RTP/SAVP' : 'RTP/AVP')
  }

  /**
   * Returns the attributes of our next offer, which `readAnswer` uses. An agreement is offered again
   * unchanged.
   */
  offer(): string[] {
    const agreed = this.#agreed
    if (agreed !== null) this.#offered = agreed.crypto === null ? [] : [agreed.crypto]
    else this.#offered = this.#policy === 'off' ? [] : offerCrypto()
    return [...this.#rtcpLines(agreed?.rtcp?.mux ?? true), ...this.#offered.map(writeCrypto)]
  }

  /** Returns the attributes of the answer to the committed offer. */
  answer(): string[] {
    const agreed = this.#agreed
    const mux = agreed?.rtcp?.mux ?? false
    return [...this.#rtcpLines(mux), ...(agreed?.crypto ? [writeCrypto(agreed.crypto)] : [])]
  }

  /** Reads the peer's offer; nothing changes before `commit`. */
  readOffer(section: MediaSection, address: string): NegotiatedTransport | SdpRefusal {
    const { protocol, crypto: lines } = section
    if (protocol !== 'RTP/AVP' && protocol !== 'RTP/SAVP') {
      return refusal(488, `${protocol} is not supported`)
    }
    const theirs = this.#policy === 'off' ? undefined : lines[0]
    if (theirs === undefined) {
      if (protocol === 'RTP/SAVP') return refusal(488, 'no usable a=crypto')
      if (this.#policy === 'required') return refusal(488, 'SRTP is required')
      return { ok: true, protocol, rtcp: this.#rtcp(section, address), srtp: null, crypto: null }
    }
    const { tag, suite } = theirs
    // Our key stays as long as its suite does, so that a session refresh needs no rekeying.
    const kept = this.#agreed?.crypto
    const ours = { tag, suite, key: kept?.suite === suite ? kept.key : newKey(suite) }
    return this.#protected(section, address, protocol, ours, theirs)
  }

  /** Reads the peer's answer to our last `offer`. */
  readAnswer(section: MediaSection, address: string): NegotiatedTransport | SdpRefusal {
    const { protocol, crypto: lines } = section
    if (protocol !== this.protocol) return refusal(488, `${protocol} was not offered`)
    const [theirs] = lines
    const ours = this.#offered.find(({ tag, suite }) => tag === theirs?.tag && suite === theirs.suite)
    if (theirs === undefined || ours === undefined) {
      if (protocol === 'RTP/SAVP' || this.#policy === 'required' || theirs !== undefined) {
        return refusal(488, 'no usable a=crypto')
      }
      return { ok: true, protocol, rtcp: this.#rtcp(section, address), srtp: null, crypto: null }
    }
    return this.#protected(section, address, protocol, ours, theirs)
  }

  commit(read: NegotiatedTransport): void {
    this.#agreed = read
  }

  #protected(
    section: MediaSection,
    address: string,
    protocol: Protocol,
    ours: CryptoAttribute,
    theirs: CryptoAttribute,
  ): NegotiatedTransport {
    return {
      ok: true,
      protocol,
      rtcp: this.#rtcp(section, address),
      srtp: { suite: ours.suite, send: ours.key, receive: theirs.key },
      crypto: ours,
    }
  }

  #rtcp({ rtcpMux, rtcp, port, noRtcp }: MediaSection, address: string): RtcpRemote | null {
    if (this.#rtcpPort === null || noRtcp) return null
    if (rtcpMux) return { mux: true, address, port }
    return { mux: false, address: rtcp?.address ?? address, port: rtcp?.port ?? port + 1 }
  }

  #rtcpLines(mux: boolean): string[] {
    if (this.#rtcpPort === null) return []
    return [
      ...(this.#rtcpPort === this.#port + 1 ? [] : [`a=rtcp:${this.#rtcpPort}`]),
      ...(mux ? ['a=rtcp-mux'] : []),
    ]
  }
}
