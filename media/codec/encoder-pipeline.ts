import { FRAME_MS, type SessionRate } from '../base/frame.js'
import type { Codec, CodecName, CodecParameters, Encoder, Ptime } from './codec.js'
import { codecOf } from './registry.js'
import { openResampler, type Resampler } from './resampler.js'

/**
 * Resamples and encodes 20 ms frames of the session to packets of `ptime`. `push` takes frames, `take`
 * returns packets while `ready`: two per frame for 10 ms, one every third frame for 60 ms.
 */
export class EncoderPipeline {
  readonly codec: Codec
  readonly ptime: Ptime
  readonly parameters: CodecParameters
  /** Session position of the first pending sample. */
  at = 0
  /** The pending samples contain audio, not only silence. */
  hasAudio = false
  readonly #encoder: Encoder
  readonly #resampler: Resampler | null
  /** Pending samples at the encoder's rate. */
  readonly #pending: Int16Array
  /** The first of them: the next packet. */
  readonly #packet: Int16Array
  readonly #frame: number
  /** Session samples per packet. */
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
    const packet = (rate / 1000) * ptime
    this.#pending = new Int16Array(packet + this.#frame)
    this.#packet = this.#pending.subarray(0, packet)
    this.#step = (session / 1000) * ptime
  }

  /**
   * Returns true when codec, ptime and parameters are unchanged, so that the encoder and its state can be
   * kept.
   */
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

  /** Takes 20 ms that begin at session position `at`. Pending samples before a gap are dropped. */
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

  /** Nothing is pending, so the next packet may be comfort noise instead. */
  get empty(): boolean {
    return this.#filled === 0
  }

  /** A whole packet is pending. */
  get ready(): boolean {
    return this.#filled >= this.#packet.length
  }

  /**
   * Encodes the pending packet into `into` from `offset`; call it only when `ready`. Returns the number of
   * bytes, 0 when the packet need not be sent. Advances `at` by the length of the packet.
   */
  take(into: Uint8Array, offset: number): number {
    const packet = this.#packet
    const bytes = this.#encoder.encode(packet, into, offset)
    if (this.#filled > packet.length) this.#pending.copyWithin(0, packet.length, this.#filled)
    this.#filled -= packet.length
    this.at += this.#step
    return bytes
  }

  /** Drops the pending samples. */
  clear(): void {
    this.#filled = 0
  }
}
