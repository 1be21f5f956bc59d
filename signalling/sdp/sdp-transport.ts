import type { RtcpRemote, SrtpKeys } from '../../media/rtp/srtp/keying.js'
import type { LocalDtls } from '../../workers/channel/protocol.js'
import { type CryptoAttribute, newKey, offerCrypto, type SrtpPolicy, writeCrypto } from './sdp-crypto.js'
import { DTLS_PROTOCOLS, type DtlsAgreement, dtlsLines, dtlsSessionLines, readDtls } from './sdp-dtls.js'
import { type MediaSection, refusal, type SdpRefusal } from './sdp-parser.js'

type Protocol = (typeof SDP_KEYED)[number] | DtlsProtocol
type DtlsProtocol = (typeof DTLS_PROTOCOLS)[number]

/** RTP in clear or with keys in SDP; the feedback of RFC 4585 may be left out. */
const SDP_KEYED = ['RTP/AVP', 'RTP/SAVP', 'RTP/AVPF', 'RTP/SAVPF'] as const

/** The address of our RTP socket, as written into descriptions. */
export interface LocalMedia {
  readonly address: string
  readonly port: number
  /** Port for RTCP that is not multiplexed on `port`; absent when there is none. */
  readonly rtcpPort?: number
  /** Our description for peers that make their keys by DTLS; absent when such peers are refused. */
  readonly dtls?: LocalDtls
}

/** The transport part of an agreement. */
export interface NegotiatedTransport {
  readonly ok: true
  readonly protocol: Protocol
  readonly rtcp: RtcpRemote | null
  readonly srtp: SrtpKeys | null
  /** The chosen `a=crypto` attribute with our own key. */
  readonly crypto: CryptoAttribute | null
  /** Instead of keys in SDP; null without. */
  readonly dtls: DtlsAgreement | null
}

/** RTP and RTCP that are not encrypted. */
const CLEAR = { srtp: null, crypto: null, dtls: null } as const

/**
 * The transport half of one offer/answer session: RTCP on its own port or multiplexed (RFC 5761, RFC 3605),
 * RTP in clear, SRTP with keys in SDP (RFC 4568), or SRTP with keys of DTLS over ICE if the peer offers that. `optional` SRTP is offered as RTP/AVP with `a=crypto`,
 * which a peer may ignore (RFC 8643).
 */
export class SdpTransport {
  readonly #local: LocalMedia
  readonly #policy: SrtpPolicy
  #offered: readonly CryptoAttribute[] = []
  #agreed: NegotiatedTransport | null = null

  constructor(local: LocalMedia, policy: SrtpPolicy) {
    this.#local = local
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
    if (agreed?.dtls) return this.#dtlsLines(agreed.dtls, 'actpass')
    if (agreed !== null) this.#offered = agreed.crypto === null ? [] : [agreed.crypto]
    else this.#offered = this.#policy === 'off' ? [] : offerCrypto()
    return [...this.#rtcpLines(agreed?.rtcp?.mux ?? true), ...this.#offered.map(writeCrypto)]
  }

  /** Returns the attributes of the answer to the committed offer. */
  answer(): string[] {
    const agreed = this.#agreed
    if (agreed?.dtls) return this.#dtlsLines(agreed.dtls, 'passive')
    const mux = agreed?.rtcp?.mux ?? false
    return [...this.#rtcpLines(mux), ...(agreed?.crypto ? [writeCrypto(agreed.crypto)] : [])]
  }

  /** Returns the attributes of the session in our next offer or answer. */
  sessionLines(): string[] {
    return this.#agreed?.dtls ? dtlsSessionLines(this.#agreed.dtls) : []
  }

  /** Reads the peer's offer; nothing changes before `commit`. */
  readOffer(section: MediaSection, address: string): NegotiatedTransport | SdpRefusal {
    const { protocol, crypto: lines } = section
    const viaDtls = DTLS_PROTOCOLS.find((name) => name === protocol)
    if (this.#agreed !== null && (this.#agreed.dtls !== null) !== (viaDtls !== undefined))
      return refusal(488, 'the keying of a call cannot change')
    if (viaDtls !== undefined) return this.#readDtls(section, viaDtls, ['actpass', 'active'])
    const known = sdpKeyed(section)
    if (known === undefined) return refusal(488, `${protocol} is not supported`)
    const theirs = this.#policy === 'off' ? undefined : lines[0]
    if (theirs === undefined) {
      if (isSecure(known)) return refusal(488, 'no usable a=crypto')
      if (this.#policy === 'required') return refusal(488, 'SRTP is required')
      return { ok: true, protocol: known, rtcp: this.#rtcp(section, address), ...CLEAR }
    }
    const { tag, suite } = theirs
    // Our key stays as long as its suite does, so that a session refresh needs no rekeying.
    const kept = this.#agreed?.crypto
    const ours = { tag, suite, key: kept?.suite === suite ? kept.key : newKey(suite) }
    return this.#protected(section, address, known, ours, theirs)
  }

  /** Reads the peer's answer to our last `offer`. */
  readAnswer(section: MediaSection, address: string): NegotiatedTransport | SdpRefusal {
    const { protocol } = this
    if (this.#agreed?.dtls) {
      if (section.protocol !== protocol) return refusal(488, `${section.protocol} was not offered`)
      return this.#readDtls(section, protocol, ['active'])
    }
    // Some peers write RTP/SAVP or RTP/AVPF into the answer to RTP/AVP. The keys tell whether media is encrypted.
    const written = sdpKeyed(section)
    if (written === undefined) return refusal(488, `${section.protocol} was not offered`)
    // Keys in the answer count only if we offered keys.
    const theirs = this.#offered.length === 0 && !isSecure(written) ? undefined : section.crypto[0]
    const ours = this.#offered.find(({ tag, suite }) => tag === theirs?.tag && suite === theirs.suite)
    if (theirs === undefined || ours === undefined) {
      if (isSecure(written) || this.#policy === 'required' || theirs !== undefined) {
        return refusal(488, 'no usable a=crypto')
      }
      return { ok: true, protocol, rtcp: this.#rtcp(section, address), ...CLEAR }
    }
    return this.#protected(section, address, protocol, ours, theirs)
  }

  commit(read: NegotiatedTransport): void {
    this.#agreed = read
  }

  /** Returns a function that restores the present state. */
  snapshot(): () => void {
    const agreed = this.#agreed
    const offered = this.#offered
    return () => {
      this.#agreed = agreed
      this.#offered = offered
    }
  }

  #readDtls(
    section: MediaSection,
    protocol: Protocol,
    setups: readonly string[],
  ): NegotiatedTransport | SdpRefusal {
    if (this.#policy === 'off' || this.#local.dtls === undefined)
      return refusal(488, `${protocol} is not supported`)
    const read = readDtls(section, this.#agreed?.dtls ?? null, setups)
    if (!read.ok) return read
    const rtcp = section.noRtcp ? null : { mux: true, address: '', port: 0 }
    return { ok: true, protocol, rtcp, srtp: null, crypto: null, dtls: read.dtls }
  }

  #dtlsLines(agreed: DtlsAgreement, setup: 'passive' | 'actpass'): string[] {
    const { dtls } = this.#local
    return dtls === undefined ? [] : dtlsLines(agreed, dtls, this.#local, setup)
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
      dtls: null,
    }
  }

  #rtcp({ rtcpMux, rtcp, port, noRtcp }: MediaSection, address: string): RtcpRemote | null {
    if (this.#local.rtcpPort === undefined || noRtcp) return null
    if (rtcpMux) return { mux: true, address, port }
    return { mux: false, address: rtcp?.address ?? address, port: rtcp?.port ?? port + 1 }
  }

  #rtcpLines(mux: boolean): string[] {
    const { rtcpPort } = this.#local
    if (rtcpPort === undefined) return []
    return [
      ...(rtcpPort === this.#local.port + 1 ? [] : [`a=rtcp:${rtcpPort}`]),
      ...(mux ? ['a=rtcp-mux'] : []),
    ]
  }
}

function sdpKeyed({ protocol }: MediaSection): (typeof SDP_KEYED)[number] | undefined {
  return SDP_KEYED.find((name) => name === protocol)
}

function isSecure(protocol: (typeof SDP_KEYED)[number]): boolean {
  return protocol.startsWith('RTP/S')
}
