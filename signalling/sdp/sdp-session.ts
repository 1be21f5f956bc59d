import { isIP } from 'node:net'
import type { SessionRate } from '../../media/base/frame.js'
import type { CodecName } from '../../media/codec/codec.js'
import { CODEC_NAMES, codecOf } from '../../media/codec/registry.js'
import type { LocalDtls, RemoteMedia } from '../../workers/channel/protocol.js'
import { mayName, namedAddress } from '../embedded/routing/named-address.js'
import type { SrtpPolicy } from './sdp-crypto.js'
import { DTLS_PROTOCOLS } from './sdp-dtls.js'
import { type NegotiatedFormats, SdpFormats } from './sdp-formats.js'
import { refusedMediaLine } from './sdp-lines.js'
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
  | {
      readonly ok: true
      readonly sdp: string
      readonly remote: RemoteMedia
      /** Restores the state before this round, when its answer is not sent. Not allowed after a later round. */
      revert(): void
    }
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
  /** True if our last offer was made while an agreement was in force. */
  #isReoffer = false

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
      this.#sections = [{ type: 'audio', protocol: this.#transport.protocol, formats: [], mid: null }]
      this.#audio = 0
    }
    this.#isReoffer = this.#current !== null
    // Always sendrecv: we never hold, and a peer that held us resumes with such a delayed offer.
    return this.#write(this.#formats.offer(), 'sendrecv', '0 0', this.#transport.offer())
  }

  /**
   * Answers the peer's offer. Refuses with 400 when it is not SDP, with 488 when nothing in it can be served.
   */
  answer(offered: string): Negotiated {
    const offer = parseSdp(offered)
    if (!offer.ok) return offer
    const revert = this.#snapshot()
    const removed = this.#readRemoval(offer)
    if (removed !== null) return { ok: true, revert, ...removed }
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
    return { ok: true, sdp, remote: chosen.remote, revert }
  }

  #snapshot(): () => void {
    const restore = [this.#formats.snapshot(), this.#transport.snapshot()]
    const [version, lastBody, sections] = [this.#version, this.#lastBody, this.#sections]
    const [audio, current] = [this.#audio, this.#current]
    return () => {
      for (const part of restore) part()
      this.#version = version
      this.#lastBody = lastBody
      this.#sections = sections
      this.#audio = audio
      this.#current = current
    }
  }

  /**
   * Answers an offer that removes the audio of a call: with port 0. Nothing is sent until a later offer has a port
   * again. Returns null for any other offer.
   */
  #readRemoval(offer: SdpDescription): { readonly sdp: string; readonly remote: RemoteMedia } | null {
    if (this.#current === null) return null
    const audio = offer.media.filter(({ type }) => type === 'audio')
    if (audio.length === 0 || audio.some(({ port, wrong }) => port !== 0 || wrong !== null)) return null
    const remote = stopped(this.#current)
    this.#sections = offer.media
    this.#current = remote
    return { sdp: this.#write(null, 'inactive', offer.timing, []), remote }
  }

  /** Reads the peer's answer to our last `offer()`. */
  accept(answered: string): Accepted {
    const answer = parseSdp(answered)
    if (!answer.ok) return answer
    // Peers leave out refused m-lines, and add some. The audio of the call is found nevertheless.
    const own = answer.media[this.#audio]
    const section =
      own?.type === 'audio' ? own : answer.media.find(({ type, port }) => type === 'audio' && port !== 0)
    if (section === undefined) return refusal(488, 'the answer has no audio')
    if (this.#current !== null && this.#isReoffer && section.port === 0 && section.wrong === null) {
      this.#current = stopped(this.#current)
      return { ok: true, remote: this.#current }
    }
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
    // Later rounds keep the m-line that carries the call, unless it is removed.
    const own = this.#current === null ? undefined : offer.media[this.#audio]
    const only = own?.type === 'audio' && own.port !== 0 ? own : null
    for (const [index, section] of offer.media.entries()) {
      if (section.type !== 'audio' || (only !== null && section !== only)) continue
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
    if (address === null || isDtls(section)) return { ok: true, section }
    const isName = isIP(address) === 0
    if (peer === null && isName) return refusal(488, 'c= must hold an IP address, not a host name')
    if (peer === null) return { ok: true, section }
    // A name is not looked up. Media goes to the address of the SIP peer, until media arrives and shows its source.
    const used = isZero(address) ? address : namedAddress(isName ? bareAddress(peer) : address, peer)
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
    if (section.wrong !== null) return refusal(400, section.wrong)
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

  /** `formats` is null for a stream that is removed. */
  #write(
    formats: ReturnType<SdpFormats['offer']> | null,
    direction: MediaDirection,
    timing: string,
    transport: readonly string[],
  ): string {
    const { address, port } = this.#local
    const family = `IP${isIP(address)}`
    const audio = formats && [
      `m=audio ${port} ${this.#transport.protocol} ${formats.payloads.join(' ')}`,
      ...formats.lines,
      ...transport,
      `a=${direction}`,
    ]
    const media = this.#sections.flatMap((section, index) =>
      index === this.#audio && audio !== null ? audio : [refusedMediaLine(section), ...midLine(section)],
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
 * Returns the refusal of an initial offer of this SIP peer that could never be served, before any limit is used up;
 * null when it could. An empty body (delayed offer) can be served. The address family of our side is not known yet,
 * so either is accepted.
 */
export function checkOffer(
  offered: string,
  peer: string | null = null,
  codecs: readonly CodecName[] = ALL_CODECS,
  srtp: SrtpPolicy = 'optional',
): SdpRefusal | null {
  if (offered.length === 0) return null
  const judge = (address: string) => {
    const session = new SdpSession({ address, port: 9, dtls: ANY_DTLS }, codecs, '0', srtp)
    session.peer = peer
    return session.answer(offered)
  }
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

/** Returns the address of a SIP peer without brackets and without the prefix of IPv4 on an IPv6 socket. */
function bareAddress(peer: string): string {
  return peer.replace(/^\[|\]$/g, '').replace(/^::ffff:(?=\d+\.)/i, '')
}

function isZero(address: string | null): boolean {
  return address === '0.0.0.0' || address === '::'
}

/** Returns a stream that the peer removed (RFC 3264 8.2): neither RTP nor RTCP. */
function stopped({ rtcp: _none, ...current }: RemoteMedia): RemoteMedia {
  return { ...current, send: false, receive: false }
}

/** Returns the direction attribute of our side for a remote. */
function ownDirection(remote: RemoteMedia): MediaDirection {
  if (remote.send) return remote.receive ? 'sendrecv' : 'sendonly'
  return remote.receive ? 'recvonly' : 'inactive'
}
