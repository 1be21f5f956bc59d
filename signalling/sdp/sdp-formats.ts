import type { Codec, CodecName, CodecParameters, Ptime } from '../../media/codec/codec.js'
import { codecOf, findCodec } from '../../media/codec/registry.js'
import type { ReceiveFormat, RtpRemote } from '../../media/rtp/remote-description.js'
import type { MediaSection } from './sdp-parser.js'

/*
 * The formats of one audio m-line: which payload type means what (RFC 3264 sections 5.1, 6.1 and 8.3.2,
 * RFC 3551). Transport, addresses and keys are the business of sdp.ts.
 */

const DEFAULT_PTIME_MS = 20
/** Our number for telephone-event when we offer; the customary one, and outside RFC 5761's conflicts. */
const EVENT_PAYLOAD = 101
const FIRST_DYNAMIC = 96
const LAST_DYNAMIC = 127

interface AudioFormat {
  readonly codec: Codec
  /** The peer's number. */
  readonly payloadType: number
  readonly parameters: CodecParameters
}

interface OtherFormat {
  readonly payloadType: number
  readonly clockRate: number
}

/** The part of RtpRemote that formats decide. */
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

/** What a description says of an m-line's formats, as far as we speak them, in its order. */
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

  /** Events count like the audio they stand in for (RFC 4733 section 2.1); many peers only know 8000. */
  eventFor(codec: Codec): OtherFormat | null {
    const at = (clockRate: number) => this.events.find((event) => event.clockRate === clockRate)
    return at(codec.clockRate) ?? at(8000) ?? null
  }

  /** Comfort noise has the clock of its audio (RFC 3389 section 4). Opus has silence of its own. */
  noiseFor(codec: Codec): OtherFormat | null {
    if (codec.name === 'OPUS') return null
    return this.noises.find((noise) => noise.clockRate === codec.clockRate) ?? null
  }

  /** The longest packet of ours that suits the peer; null when even the shortest is too long for it. */
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
 * Payload type numbers of one audio stream for its whole life: once a number means something here, it
 * always does, in offers and answers of either side (RFC 3264 section 8.3.2).
 */
export class SdpFormats {
  readonly #preference: readonly CodecName[]
  /** Our number for each format, by `codec name` or `event/<clock>`. */
  readonly #ours = new Map<string, number>()
  /** What the last written description named, in its order. */
  #written: readonly CodecName[] = []

  /** `preference`: what may be spoken, best first. */
  constructor(preference: readonly CodecName[]) {
    this.#preference = preference
  }

  /**
   * Chooses from an offer by our preference; its numbers become ours. Null: nothing in common,
   * `'ptime'`: the peer takes shorter packets only than we can make.
   */
  chooseFromOffer(section: MediaSection): NegotiatedFormats | 'ptime' | null {
    const peer = new PeerFormats(section)
    const common = this.#preference.flatMap(
      (name) => peer.audio.find(({ codec }) => codec.name === name) ?? [],
    )
    const before = [...this.#ours]
    for (const { codec, payloadType } of common) this.#keep(codec.name, payloadType)
    for (const { clockRate, payloadType } of peer.events) this.#keep(`event/${clockRate}`, payloadType)
    const agreed = this.#agree(peer, common)
    if (agreed !== null && agreed !== 'ptime') return agreed
    // A refused round changes nothing.
    this.#ours.clear()
    for (const [format, number] of before) this.#ours.set(format, number)
    return agreed
  }

  /** Reads the answer to our offer: its first format that we offered is what will be spoken. */
  readAnswer(section: MediaSection): NegotiatedFormats | 'ptime' | null {
    const peer = new PeerFormats(section)
    return this.#agree(
      peer,
      peer.audio.filter(({ codec }) => this.#written.includes(codec.name)),
    )
  }

  /** Payload types and attribute lines of an offer: everything that we would speak. */
  offer(): { readonly payloads: readonly number[]; readonly lines: readonly string[] } {
    this.#written = this.#preference
    const codecs = this.#preference.map(codecOf)
    const clocks = [...new Set(codecs.map(({ clockRate }) => clockRate))]
    return this.#write(codecs, clocks, [], DEFAULT_PTIME_MS)
  }

  /** The same of the answer that agrees on these. */
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
        receiveFormats: this.#heard(peer, common),
      }
    }
    return tooShort ? 'ptime' : null
  }

  /**
   * Everything in common may come at any time, under our number. Peers that use their own number both
   * ways are wrong, and many: it is taken too where it means nothing else.
   */
  #heard(peer: PeerFormats, common: readonly AudioFormat[]): ReceiveFormat[] {
    const heard = new Map<number, ReceiveFormat>()
    const add = (format: ReceiveFormat) => {
      if (!heard.has(format.payloadType)) heard.set(format.payloadType, format)
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
    return [...heard.values()]
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

  /** The number a format has here; a new one gets `wanted`, or the next that is free. */
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

  #keep(format: string, payloadType: number): void {
    // A peer that changes its numbers on the way is followed: two formats of one number would be worse.
    for (const [other, number] of this.#ours) if (number === payloadType) this.#ours.delete(other)
    this.#ours.set(format, payloadType)
  }
}
