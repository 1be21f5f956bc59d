import { isIP } from 'node:net'
import type { SessionRate } from '../../media/base/frame.js'
import type { CodecName } from '../../media/codec/codec.js'
import { CODEC_NAMES, codecOf } from '../../media/codec/registry.js'
import type { LocalDtls, RemoteMedia } from '../../workers/channel/protocol.js'
import { mayName, namedAddress } from '../embedded/routing/named-address.js'
import type { SrtpPolicy } from './sdp-crypto.js'
import { DTLS_PROTOCOLS } from './sdp-dtls.js'
import { type NegotiatedFormats, SdpFormats } from './sdp-formats.js'
import {
  type MediaDirection,
  type MediaSection,
  parseSdp,
  refusal,
  type SdpDescription,
  type SdpRefusal,
} from './sdp-parser.js'
import { type LocalMedia, type NegotiatedTransport, SdpTransport } from './sdp-transport.js'

export type Negotiated =
  | { readonly ok: true; readonly sdp: string; readonly remote: RemoteMedia }
  | SdpRefusal

type ReadAudio = {
  readonly ok: true
  readonly remote: RemoteMedia
  readonly transport: NegotiatedTransport
}

export type Accepted = { readonly ok: true; readonly remote: RemoteMedia } | SdpRefusal

/** The codecs to offer when none are configured. */
export const G711_CODECS: readonly CodecName[] = ['PCMA', 'PCMU']
/** The codecs to answer with when none are configured: those of telephones first. */
export const ALL_CODECS: readonly CodecName[] = CODEC_NAMES

/**
 * One offer/answer session (RFC 3264) of a leg with one audio stream. Keeps what must not change between
 * rounds (session id, increasing version, number and order of m-lines, meaning of payload types) and what a
 * description may leave out (the address behind a 0.0.0.0 hold). A refused round changes nothing.
 */
export class SdpSession {
  readonly #local: LocalMedia
  readonly #formats: SdpFormats
  readonly #sessionId: string
  readonly #transport: SdpTransport
  /**
   * Address of the SIP peer, which limits the media addresses that the peer may name. Null, until it is known,
   * allows every address.
   */
  peer: string | null = null
  #version = 0
  #lastBody = ''
  /** Every m-line of the session so far; ours is at index `#audio`, the others stay refused. */
  #sections: readonly Pick<MediaSection, 'type' | 'protocol' | 'formats' | 'mid'>[] = []
  #audio = 0
  #current: RemoteMedia | null = null

  /** `codecs` in order of preference; `sessionId` consists of digits and is unique to this call. */
  constructor(local: LocalMedia, codecs: readonly CodecName[], sessionId: string, srtp: SrtpPolicy = 'off') {
    this.#local = local
    this.#formats = new SdpFormats(codecs)
    this.#sessionId = sessionId
    this.#transport = new SdpTransport(local, srtp)
  }

  /** The last agreement; null before the first. */
  get current(): RemoteMedia | null {
    return this.#current
  }

  /** Returns our offer, for an INVITE or for a re-INVITE without a body. */
  offer(): string {
    if (this.#sections.length === 0) {
      this.#sections = [{ type: 'audio', protocol: this.#transport.protocol, formats: '', mid: null }]
      this.#audio = 0
    }
    // Always sendrecv: we never hold, and a peer that held us resumes with such a delayed offer.
    return this.#write(this.#formats.offer(), 'sendrecv', '0 0', this.#transport.offer())
  }

  /**
   * Answers the peer's offer. Refuses with 400 when it is not SDP, with 488 when nothing in it can be served.
   */
  answer(offered: string): Negotiated {
    const offer = parseSdp(offered)
    if (!offer.ok) return offer
    if (offer.media.length < this.#sections.length) return refusal(400, 'an m-line is missing')
    const chosen = this.#choose(offer)
    if (!chosen.ok) return chosen

    this.#sections = offer.media
    this.#audio = chosen.index
    this.#current = chosen.remote
    this.#transport.commit(chosen.transport)
    const sdp = this.#write(
      this.#formats.answer(chosen.remote),
      ownDirection(chosen.remote),
      offer.timing,
      this.#transport.answer(),
    )
    return { ok: true, sdp, remote: chosen.remote }
  }

  /** Reads the peer's answer to our last `offer()`. */
  accept(answered: string): Accepted {
    const answer = parseSdp(answered)
    if (!answer.ok) return answer
    if (answer.media.length !== this.#sections.length)
      return refusal(488, 'the answer has a different number of m-lines')
    const section = answer.media[this.#audio]
    if (section?.type !== 'audio') return refusal(488, 'the answer has no audio at the m-line of the call')
    const admitted = this.#admit(section)
    if (!admitted.ok) return admitted
    const usable = admitted.section
    const transport = this.#transport.readAnswer(usable, this.#addressOf(usable))
    const read = this.#readAudio(usable, transport, () => this.#formats.readAnswer(usable))
    if (!read.ok) return read
    this.#current = read.remote
    this.#transport.commit(read.transport)
    return { ok: true, remote: read.remote }
  }

  #choose(offer: SdpDescription): ({ readonly index: number } & ReadAudio) | SdpRefusal {
    let why: SdpRefusal | null = null
    for (const [index, section] of offer.media.entries()) {
      if (section.type !== 'audio') continue
      // Later rounds keep the m-line that carries the call.
      if (this.#current !== null && index !== this.#audio) continue
      const admitted = this.#admit(section)
      if (!admitted.ok) {
        why ??= admitted
        continue
      }
      const usable = admitted.section
      const transport = this.#transport.readOffer(usable, this.#addressOf(usable))
      const read = this.#readAudio(usable, transport, () => this.#formats.chooseFromOffer(usable))
      if (read.ok) return { ...read, index }
      why ??= read
    }
    return why ?? refusal(488, 'no audio offered')
  }

  /** Returns the section with the addresses that the peer may name (`namedAddress`). */
  #admit(section: MediaSection): { readonly ok: true; readonly section: MediaSection } | SdpRefusal {
    const { address, rtcp } = section
    const { peer } = this
    // ICE decides about the addresses of a peer that uses it.
    if (peer === null || address === null || isDtls(section)) return { ok: true, section }
    const used = isZero(address) ? address : namedAddress(address, peer)
    if (used === null) return refusal(488, 'the media address cannot be used')
    const ownRtcp = rtcp?.address !== null && rtcp !== null && mayName(rtcp.address, peer)
    return {
      ok: true,
      section: {
        ...section,
        address: used,
        rtcp: rtcp && { ...rtcp, address: ownRtcp ? rtcp.address : null },
      },
    }
  }

  /** Returns the section's media address; an address of zeros (RFC 3264 8.4) keeps the previous one. */
  #addressOf({ address }: MediaSection): string {
    return isZero(address) ? (this.#current?.address ?? address ?? '') : (address ?? '')
  }

  #readAudio(
    section: MediaSection,
    transport: NegotiatedTransport | SdpRefusal,
    agree: () => NegotiatedFormats | 'ptime' | null,
  ): ReadAudio | SdpRefusal {
    if (section.port === 0) return refusal(488, 'audio refused')
    if (!transport.ok) return transport
    if (section.address === null) return refusal(400, 'no c= line')
    if (transport.dtls === null && isIP(section.address) !== isIP(this.#local.address))
      return refusal(488, 'the address family differs from ours')

    const agreed = agree()
    if (agreed === null) return refusal(488, 'no common codec')
    if (agreed === 'ptime') return refusal(488, 'only packets shorter than ours are accepted')
    // An address of zeros is the old form of hold (RFC 3264 8.4).
    const zero = transport.dtls === null && isZero(section.address)
    return {
      ok: true,
      transport,
      remote: {
        ...agreed,
        address: this.#addressOf(section),
        port: section.port,
        send: !zero && (section.direction === 'sendrecv' || section.direction === 'recvonly'),
        receive: section.direction === 'sendrecv' || section.direction === 'sendonly',
        ...(transport.rtcp === null ? {} : { rtcp: transport.rtcp }),
        ...(transport.srtp === null ? {} : { srtp: transport.srtp }),
        ...(transport.dtls === null ? {} : { dtls: transport.dtls.remote }),
      },
    }
  }

  #write(
    { payloads, lines }: ReturnType<SdpFormats['offer']>,
    direction: MediaDirection,
    timing: string,
    transport: readonly string[],
  ): string {
    const { address, port } = this.#local
    const family = `IP${isIP(address)}`
    const audio = [
      `m=audio ${port} ${this.#transport.protocol} ${payloads.join(' ')}`,
      ...lines,
      ...transport,
      `a=${direction}`,
    ]
    const media = this.#sections.flatMap((section, index) =>
      index === this.#audio
        ? audio
        : [`m=${section.type} 0 ${section.protocol} ${section.formats}`, ...midLine(section)],
    )
    const session = ['s=-', `c=IN ${family} ${address}`, `t=${timing}`, ...this.#transport.sessionLines()]
    const body = [...session, ...media, ''].join('\r\n')
    // The version increases by one with every change, and only then (RFC 3264 section 8).
    if (body !== this.#lastBody) this.#version++
    this.#lastBody = body
    return `v=0\r\no=- ${this.#sessionId} ${this.#version} IN ${family} ${address}\r\n${body}`
  }
}

/**
 * Returns why an initial offer could never be served, before any limit is used up; null when it could. An
 * empty body (delayed offer) can be served. The address family of our side is not known yet, so either will
 * do.
 */
export function checkOffer(offered: string): SdpRefusal | null {
  if (offered.length === 0) return null
  const judge = (address: string) =>
    new SdpSession({ address, port: 9, dtls: ANY_DTLS }, ALL_CODECS, '0', 'optional').answer(offered)
  const verdict = judge('0.0.0.0')
  return verdict.ok || judge('::').ok ? null : verdict
}

/**
 * Returns the mixing rate (Hz) for a leg with these preferred codecs. With an offer the common codecs decide;
 * with '' (we offer) the widest codec that may be agreed on.
 */
export function sessionRateOf(codecs: readonly CodecName[], offered: string): SessionRate {
  const offer = offered === '' ? null : parseSdp(offered)
  const possible = offer?.ok
    ? offer.media
        .filter(({ type, port }) => type === 'audio' && port !== 0)
        .flatMap((section) => {
          const agreed = new SdpFormats(codecs).chooseFromOffer(section)
          return agreed === null || agreed === 'ptime' ? [] : [agreed.codec]
        })
    : codecs
  return possible.some((codec) => codecOf(codec).wideband) ? 16000 : 8000
}

/** Stands for our side when only the offer is judged. */
const ANY_DTLS: LocalDtls = { fingerprint: { hash: 'sha-256', digest: '' }, ssrc: 0, cname: '' }

function isDtls({ protocol }: MediaSection): boolean {
  return DTLS_PROTOCOLS.some((name) => name === protocol)
}

/** A refused section repeats its tag (RFC 5888 section 7). */
function midLine({ mid }: Pick<MediaSection, 'mid'>): string[] {
  return mid === null ? [] : [`a=mid:${mid}`]
}

function isZero(address: string | null): boolean {
  return address === '0.0.0.0' || address === '::'
}

/** Returns the direction attribute of our side for a remote. */
function ownDirection(remote: RemoteMedia): MediaDirection {
  if (remote.send) return remote.receive ? 'sendrecv' : 'sendonly'
  return remote.receive ? 'recvonly' : 'inactive'
}
