import type { Codec, CodecName, CodecParameters, Ptime } from '../../media/codec/codec.js'
import { codecOf, findCodec } from '../../media/codec/registry.js'
import type { ReceiveFormat, RtpRemote } from '../../media/rtp/remote-description.js'
import type { MediaSection, PayloadFormat } from './sdp-parser.js'

/*
 * The formats of one audio m-line: the meaning of each payload type (RFC 3264 sections 5.1, 6.1 and 8.3.2,
 * RFC 3551). Transport, addresses and keys belong to sdp-transport.ts.
 */

const DEFAULT_PTIME_MS = 20
/**
 * Our payload type for telephone-event in offers: the customary number, outside of the conflicts of RFC 5761.
 */
const EVENT_PAYLOAD = 101
const FIRST_DYNAMIC = 96
const LAST_DYNAMIC = 127

interface AudioFormat {
  readonly codec: Codec
  /** The peer's payload type. */
  readonly payloadType: number
  readonly parameters: CodecParameters
}

interface OtherFormat {
  readonly payloadType: number
  readonly clockRate: number
}

/** The fields of RtpRemote that the formats decide. */
export type NegotiatedFormats = Pick<
  RtpRemote,
  | 'codec'
  | 'payloadType'
  | 'parameters'
  | 'ptime'
  | 'dtmfPayloadType'
  | 'dtmfClockRate'
  | 'noisePayloadType'
  | 'receiveFormats'
>

/** The formats of an m-line that we support, in the order of the description. */
class PeerFormats {
  readonly audio: AudioFormat[] = []
  readonly events: OtherFormat[] = []
  readonly noises: OtherFormat[] = []
  readonly ptimeMs: number | null
  readonly maxPtimeMs: number | null

  constructor(section: MediaSection) {
    this.ptimeMs = section.ptimeMs
    this.maxPtimeMs = section.maxPtimeMs
    for (const { payloadType, encoding, rate, channels, fmtp } of section.payloads) {
      if (encoding === 'TELEPHONE-EVENT') this.events.push({ payloadType, clockRate: rate })
      else if (encoding === 'CN') this.noises.push({ payloadType, clockRate: rate })
      else {
        const codec = findCodec(encoding, rate, channels)
        const parameters = codec?.readFmtp(fmtp) ?? null
        if (codec !== null && parameters !== null) this.audio.push({ codec, payloadType, parameters })
      }
    }
  }

  /**
   * Returns the telephone-event format for a codec: the same clock rate (RFC 4733 2.1), else 8000, which many
   * peers always use.
   */
  eventFor(codec: Codec): OtherFormat | null {
    const at = (clockRate: number) => this.events.find((event) => event.clockRate === clockRate)
    return at(codec.clockRate) ?? at(8000) ?? null
  }

  /**
   * Returns the comfort noise format, which has the codec's clock rate (RFC 3389 4). Opus codes silence
   * itself.
   */
  noiseFor(codec: Codec): OtherFormat | null {
    if (codec.name === 'OPUS') return null
    return this.noises.find((noise) => noise.clockRate === codec.clockRate) ?? null
  }

  /**
   * Returns the longest packet duration of ours that suits the peer; null when even the shortest is too long.
   */
  ptimeFor(codec: Codec): Ptime | null {
    const most = this.maxPtimeMs ?? Number.POSITIVE_INFINITY
    const wanted = Math.min(this.ptimeMs ?? DEFAULT_PTIME_MS, most)
    const [shortest] = codec.ptimes
    const fitting = codec.ptimes.filter((ptime) => ptime <= wanted).at(-1)
    if (fitting !== undefined) return fitting
    return shortest !== undefined && shortest <= most ? shortest : null
  }
}

/**
 * The payload types of one audio stream for its whole life: a number keeps its meaning in all offers and
 * answers of both sides (RFC 3264 8.3.2).
 */
export class SdpFormats {
  readonly #preference: readonly CodecName[]
  /** Our payload type for each format, by codec name or `event/<clock>`. */
  readonly #ours = new Map<string, number>()
  /** The codecs of the last description we wrote, in its order. */
  #written: readonly CodecName[] = []

  /** `preference`: the codecs we may use, best first. */
  constructor(preference: readonly CodecName[]) {
    this.#preference = preference
  }

  /**
   * Chooses from an offer by our preference and adopts the offer's payload types. Returns null without a
   * common codec, `'ptime'` when the peer accepts only packets shorter than we can send.
   */
  chooseFromOffer(section: MediaSection): NegotiatedFormats | 'ptime' | null {
    const peer = new PeerFormats(section)
    const common = this.#preference.flatMap(
      (name) => peer.audio.find(({ codec }) => codec.name === name) ?? [],
    )
    const restore = this.snapshot()
    for (const { codec, payloadType } of common) this.#assign(codec.name, payloadType)
    for (const { clockRate, payloadType } of peer.events) this.#assign(`event/${clockRate}`, payloadType)
    const agreed = this.#agree(peer, common)
    if (agreed !== null && agreed !== 'ptime') return agreed
    // A refused offer changes nothing.
    restore()
    return agreed
  }

  /**
   * Reads the answer to our offer; its first format that we offered is used. Returns as `chooseFromOffer`.
   */
  readAnswer(section: MediaSection): NegotiatedFormats | 'ptime' | null {
    // A number without rtpmap has the meaning of the offer. A maximum duration below all of ours is ignored, so that
    // the call is answered.
    const payloads = [...section.payloads, ...this.#offered(section)]
    const peer = new PeerFormats({ ...section, payloads, maxPtimeMs: null })
    return this.#agree(
      peer,
      peer.audio.filter(({ codec }) => this.#written.includes(codec.name)),
    )
  }

  /** Lists the formats of an answer that have no rtpmap, with the meaning that our offer gave them. */
  #offered({ formats, payloads }: MediaSection): PayloadFormat[] {
    return [...this.#ours].flatMap(([format, payloadType]) => {
      const isKnown = payloads.some((known) => known.payloadType === payloadType)
      if (isKnown || !formats.includes(String(payloadType))) return []
      if (format.startsWith('event/')) {
        const rate = Number(format.slice('event/'.length))
        return { payloadType, encoding: 'TELEPHONE-EVENT', rate, channels: 1, fmtp: '' }
      }
      const { encoding, clockRate, channels } = codecOf(format as CodecName)
      return { payloadType, encoding: encoding.toUpperCase(), rate: clockRate, channels, fmtp: '' }
    })
  }

  /** Returns a function that restores the present state. */
  snapshot(): () => void {
    const ours = [...this.#ours]
    const written = this.#written
    return () => {
      this.#ours.clear()
      for (const [format, number] of ours) this.#ours.set(format, number)
      this.#written = written
    }
  }

  /** Returns payload types and attribute lines of an offer with everything we support. */
  offer(): { readonly payloads: readonly number[]; readonly lines: readonly string[] } {
    this.#written = this.#preference
    const codecs = this.#preference.map(codecOf)
    const clocks = [...new Set(codecs.map(({ clockRate }) => clockRate))]
    return this.#write(codecs, clocks, [], DEFAULT_PTIME_MS)
  }

  /** Returns payload types and attribute lines of the answer for the negotiated formats. */
  answer(agreed: NegotiatedFormats): {
    readonly payloads: readonly number[]
    readonly lines: readonly string[]
  } {
    const codec = codecOf(agreed.codec)
    this.#written = [codec.name]
    const events = agreed.dtmfPayloadType === null ? [] : [agreed.dtmfClockRate ?? codec.clockRate]
    const noises =
      agreed.noisePayloadType === undefined
        ? []
        : [{ payloadType: agreed.noisePayloadType, clockRate: codec.clockRate }]
    return this.#write([codec], events, noises, agreed.ptime ?? DEFAULT_PTIME_MS)
  }

  #agree(peer: PeerFormats, common: readonly AudioFormat[]): NegotiatedFormats | 'ptime' | null {
    let tooShort = false
    for (const { codec, payloadType, parameters } of common) {
      const ptime = peer.ptimeFor(codec)
      if (ptime === null) {
        tooShort = true
        continue
      }
      const event = peer.eventFor(codec)
      const noise = peer.noiseFor(codec)
      return {
        codec: codec.name,
        payloadType,
        ...(Object.keys(parameters).length > 0 && { parameters }),
        ...(ptime !== DEFAULT_PTIME_MS && { ptime }),
        dtmfPayloadType: event?.payloadType ?? null,
        ...(event !== null && event.clockRate !== codec.clockRate && { dtmfClockRate: event.clockRate }),
        ...(noise !== null && { noisePayloadType: noise.payloadType }),
        receiveFormats: this.#receivable(peer, common),
      }
    }
    return tooShort ? 'ptime' : null
  }

  /**
   * Lists the formats to accept: everything in common, under our payload type. Many peers wrongly use their
   * own number in both directions; that number is accepted too unless it has another meaning.
   */
  #receivable(peer: PeerFormats, common: readonly AudioFormat[]): ReceiveFormat[] {
    const formats = new Map<number, ReceiveFormat>()
    const add = (format: ReceiveFormat) => {
      if (!formats.has(format.payloadType)) formats.set(format.payloadType, format)
    }
    for (const { codec } of common) {
      const payloadType = this.#ours.get(codec.name)
      if (payloadType !== undefined) add({ payloadType, kind: 'audio', codec: codec.name })
    }
    for (const { clockRate } of peer.events) {
      const payloadType = this.#ours.get(`event/${clockRate}`)
      if (payloadType !== undefined) add({ payloadType, kind: 'event', clockRate })
    }
    for (const { payloadType } of peer.noises) add({ payloadType, kind: 'noise' })
    for (const { codec, payloadType } of common) add({ payloadType, kind: 'audio', codec: codec.name })
    for (const { clockRate, payloadType } of peer.events) add({ payloadType, kind: 'event', clockRate })
    return [...formats.values()]
  }

  #write(
    codecs: readonly Codec[],
    eventClocks: readonly number[],
    noises: readonly OtherFormat[],
    ptimeMs: number,
  ): { payloads: readonly number[]; lines: readonly string[] } {
    const payloads: number[] = []
    const lines: string[] = []
    const add = (payloadType: number, name: string, fmtp: string | null) => {
      payloads.push(payloadType)
      lines.push(`a=rtpmap:${payloadType} ${name}`)
      if (fmtp !== null) lines.push(`a=fmtp:${payloadType} ${fmtp}`)
    }
    for (const { name, encoding, clockRate, channels, fmtp, offeredPayloadType } of codecs) {
      const suffix = channels === 1 ? '' : `/${channels}`
      add(this.#number(name, offeredPayloadType), `${encoding}/${clockRate}${suffix}`, fmtp)
    }
    for (const { payloadType, clockRate } of noises) add(payloadType, `CN/${clockRate}`, null)
    for (const clockRate of eventClocks) {
      add(this.#number(`event/${clockRate}`, EVENT_PAYLOAD), `telephone-event/${clockRate}`, '0-15')
    }
    lines.push(`a=ptime:${ptimeMs}`)
    return { payloads, lines }
  }

  /** Returns the payload type of a format; a new format gets `wanted`, or the next free number. */
  #number(format: string, wanted: number): number {
    const known = this.#ours.get(format)
    if (known !== undefined) return known
    const taken = new Set(this.#ours.values())
    let number = wanted
    if (taken.has(wanted)) {
      number = FIRST_DYNAMIC
      while (taken.has(number) && number < LAST_DYNAMIC) number++
    }
    this.#ours.set(format, number)
    return number
  }

  #assign(format: string, payloadType: number): void {
    // When a peer renumbers its formats we follow: one number with two meanings would be worse.
    for (const [other, number] of this.#ours) if (number === payloadType) this.#ours.delete(other)
    this.#ours.set(format, payloadType)
  }
}
