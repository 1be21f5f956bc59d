import { isIP } from 'node:net'
import type { SessionRate } from '../../media/base/frame.js'
import type { CodecName } from '../../media/codec/codec.js'
import { CODEC_NAMES, codecOf } from '../../media/codec/registry.js'
import type { RemoteMedia } from '../../workers/channel/protocol.js'
import type { SrtpPolicy } from './sdp-crypto.js'
import { type NegotiatedFormats, SdpFormats } from './sdp-formats.js'
import {
  type MediaDirection,
  type MediaSection,
  parseSdp,
  refusal,
  type SdpDescription,
  type SdpRefusal,
} from './sdp-parser.js'
import { type NegotiatedTransport, SdpTransport } from './sdp-transport.js'

/** Where our RTP socket is, as it is written into descriptions. */
export interface LocalMedia {
  readonly address: string
  readonly port: number
  /** For RTCP that does not come on `port`; absent: there is none. */
  readonly rtcpPort?: number
}

export type Negotiated =
  | { readonly ok: true; readonly sdp: string; readonly remote: RemoteMedia }
  | SdpRefusal

type ReadAudio = {
  readonly ok: true
  readonly remote: RemoteMedia
  readonly transport: NegotiatedTransport
}

export type Accepted = { readonly ok: true; readonly remote: RemoteMedia } | SdpRefusal

/** What we offer where nobody chose. */
export const G711_CODECS: readonly CodecName[] = ['PCMA', 'PCMU']
/** What we answer where nobody chose: the telephone's own first, then whatever both of us speak. */
export const ALL_CODECS: readonly CodecName[] = CODEC_NAMES

/**
 * One offer/answer session of RFC 3264 for one leg: one audio stream. Remembers what must stay the same
 * between rounds (session id, growing version, number and order of m-lines, meaning of payload types) and
 * what a description may leave out (the address behind a 0.0.0.0 hold). A refused round changes nothing.
 */
export class SdpSession {
  readonly #local: LocalMedia
  readonly #formats: SdpFormats
  readonly #sessionId: string
  readonly #transport: SdpTransport
  #version = 0
  #lastBody = ''
  /** Every m-line of the session so far; ours is at `#audio`, the others stay refused. */
  #sections: readonly { readonly type: string; readonly protocol: string; readonly formats: string }[] = []
  #audio = 0
  #current: RemoteMedia | null = null

  /** `codecs` in order of preference; `sessionId` is digits, unique to this call. */
  constructor(local: LocalMedia, codecs: readonly CodecName[], sessionId: string, srtp: SrtpPolicy = 'off') {
    this.#local = local
    this.#formats = new SdpFormats(codecs)
    this.#sessionId = sessionId
    this.#transport = new SdpTransport(local.port, local.rtcpPort ?? null, srtp)
  }

  /** What was agreed last; null before the first agreement. */
  get current(): RemoteMedia | null {
    return this.#current
  }

  /** Our offer: the first one of an INVITE, or the one a peer asked for by a re-INVITE without body. */
  offer(): string {
    if (this.#sections.length === 0) {
      this.#sections = [{ type: 'audio', protocol: this.#transport.protocol, formats: '' }]
      this.#audio = 0
    }
    // Always sendrecv: we never hold, and it is how a peer that held us comes back by a delayed offer.
    return this.#write(this.#formats.offer(), 'sendrecv', '0 0', this.#transport.offer())
  }

  /** Answers the peer's offer. 400: not SDP; 488: nothing in it that we can serve. */
  answer(offered: string): Negotiated {
    const offer = parseSdp(offered)
    if (!offer.ok) return offer
    if (offer.media.length < this.#sections.length) return refusal(400, 'an m-line has gone')
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

  /** Takes the peer's answer to our last `offer()`. */
  accept(answered: string): Accepted {
    const answer = parseSdp(answered)
    if (!answer.ok) return answer
    if (answer.media.length !== this.#sections.length) return refusal(488, 'answer has other m-lines')
    const section = answer.media[this.#audio]
    if (section?.type !== 'audio') return refusal(488, 'answer has other media')
    const transport = this.#transport.readAnswer(section, this.#addressOf(section))
    const read = this.#readAudio(section, transport, () => this.#formats.readAnswer(section))
    if (!read.ok) return read
    this.#current = read.remote
    this.#transport.commit(read.transport)
    return { ok: true, remote: read.remote }
  }

  #choose(offer: SdpDescription): ({ readonly index: number } & ReadAudio) | SdpRefusal {
    let why: SdpRefusal | null = null
    for (const [index, section] of offer.media.entries()) {
      if (section.type !== 'audio') continue
      // Later rounds stay with the m-line that carries the call.
      if (this.#current !== null && index !== this.#audio) continue
      const transport = this.#transport.readOffer(section, this.#addressOf(section))
      const read = this.#readAudio(section, transport, () => this.#formats.chooseFromOffer(section))
      if (read.ok) return { ...read, index }
      why ??= read
    }
    return why ?? refusal(488, 'no audio offered')
  }

  /** Where the section's media goes: an address of zeros (RFC 3264 section 8.4) keeps the one before. */
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
    if (isIP(section.address) !== isIP(this.#local.address)) return refusal(488, 'other address family')

    const agreed = agree()
    if (agreed === null) return refusal(488, 'no common codec')
    if (agreed === 'ptime') return refusal(488, 'only shorter packets are accepted')
    // RFC 3264 section 8.4: an address of zeros is the old way to hold.
    const zero = isZero(section.address)
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
      index === this.#audio ? audio : [`m=${section.type} 0 ${section.protocol} ${section.formats}`],
    )
    const body = ['s=-', `c=IN ${family} ${address}`, `t=${timing}`, ...media, ''].join('\r\n')
    // RFC 3264 section 8: the version grows by one with every change, and only then.
    if (body !== this.#lastBody) this.#version++
    this.#lastBody = body
    return `v=0\r\no=- ${this.#sessionId} ${this.#version} IN ${family} ${address}\r\n${body}`
  }
}

/**
 * Whether an initial offer could be served at all, before anything is spent on the call. An empty
 * body (delayed offer) can. Of which address family ours is, is not known yet: either will do.
 */
export function checkOffer(offered: string): SdpRefusal | null {
  if (offered.length === 0) return null
  const judge = (address: string) =>
    new SdpSession({ address, port: 9 }, ALL_CODECS, '0', 'optional').answer(offered)
  const verdict = judge('0.0.0.0')
  return verdict.ok || judge('::').ok ? null : verdict
}

/**
 * What a session must mix at for a leg that prefers these: an offer decides it now, without one
 * (`''`: we offer) the widest that may be agreed on.
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

function isZero(address: string | null): boolean {
  return address === '0.0.0.0' || address === '::'
}

/** The direction attribute of our side that says what `remote` says. */
function ownDirection(remote: RemoteMedia): MediaDirection {
  if (remote.send) return remote.receive ? 'sendrecv' : 'sendonly'
  return remote.receive ? 'recvonly' : 'inactive'
}
