import { FRAME_MS, type SessionRate } from '../base/frame.js'
import type { Codec, CodecName, CodecParameters, Encoder, Ptime } from './codec.js'
import { codecOf } from './registry.js'
import { openResampler, type Resampler } from './resampler.js'

/**
 * From 20 ms frames of the session to payloads of `ptime`. Frames go in by `push`, and whole packets come
 * out by `take` until there is none: two a frame for 10 ms, one every third frame for 60 ms.
 */
export class EncoderPipeline {
  readonly codec: Codec
  readonly ptime: Ptime
  readonly parameters: CodecParameters
  /** Session position of the first sample that waits. */
  at = 0
  /** Sound, not silence, is among what waits. */
  hasAudio = false
  readonly #encoder: Encoder
  readonly #resampler: Resampler | null
  /** Samples at the encoder's rate. */
  readonly #pending: Int16Array
  readonly #packet: Int16Array
  readonly #frame: number
  /** Session samples of a packet. */
  readonly #step: number
  #filled = 0

  constructor(name: CodecName, session: SessionRate, ptime: Ptime, parameters: CodecParameters) {
    this.codec = codecOf(name)
    this.ptime = ptime
    this.parameters = parameters
    this.#encoder = this.codec.openEncoder({ session, ptime, parameters })
    const { rate } = this.#encoder
    this.#resampler = rate === session ? null : openResampler(session, rate)
    this.#frame = (rate / 1000) * FRAME_MS
    this.#packet = new Int16Array((rate / 1000) * ptime)
    this.#pending = new Int16Array(this.#packet.length + this.#frame)
    this.#step = (session / 1000) * ptime
  }

  /** Whether it does what these words ask for: then it goes on, with what it has learned. */
  matches(name: CodecName, ptime: Ptime, parameters: CodecParameters): boolean {
    const mine = this.parameters
    return (
      this.codec.name === name &&
      this.ptime === ptime &&
      mine.fec === parameters.fec &&
      mine.dtx === parameters.dtx &&
      mine.cbr === parameters.cbr &&
      mine.maxBitrate === parameters.maxBitrate &&
      mine.maxPlaybackRate === parameters.maxPlaybackRate
    )
  }

  /** 20 ms that begin at session position `at`. After a gap what waited is dropped. */
  push(pcm: Int16Array, at: number, hasAudio: boolean): void {
    const waited = (this.#filled * this.#step) / this.#packet.length
    if (this.#filled > 0 && this.at + waited !== at) this.clear()
    if (this.#filled === 0) {
      this.at = at
      this.hasAudio = false
    }
    if (hasAudio) this.hasAudio = true
    this.#pending.set(this.#resampler === null ? pcm : this.#resampler.process(pcm), this.#filled)
    this.#filled += this.#frame
  }

  /** Nothing waits: the next packet may as well be none. */
  get empty(): boolean {
    return this.#filled === 0
  }

  /** Whether a whole packet waits. */
  get ready(): boolean {
    return this.#filled >= this.#packet.length
  }

  /**
   * Encodes the packet that waits into `into` from `offset`; only when `ready`. Returns its bytes, 0 when
   * it need not be sent; `at` goes on by its length.
   */
  take(into: Uint8Array, offset: number): number {
    const packet = this.#packet
    const waiting = this.#pending
    for (let i = 0; i < packet.length; i++) packet[i] = waiting[i] as number
    waiting.copyWithin(0, packet.length, this.#filled)
    this.#filled -= packet.length
    this.at += this.#step
    return this.#encoder.encode(packet, into, offset)
  }

  /** Forgets what waits. */
  clear(): void {
    this.#filled = 0
  }
}
