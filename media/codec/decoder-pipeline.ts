import type { SessionRate } from '../base/frame.js'
import type { CodecName, Decoder } from './codec.js'
import { codecOf } from './registry.js'
import { openResampler, type Resampler } from './resampler.js'

/** Longest packet taken, in ms: Opus has none longer (RFC 6716 section 2.1.4). */
export const MAX_PACKET_MS = 120

/** From payloads of one codec to samples of the session's rate. Packets in order; allocates nothing. */
export class DecoderPipeline {
  readonly codec: CodecName
  /** The samples of the last `decode`, as many as it returned; valid until the next one. */
  pcm: Int16Array
  readonly #decoder: Decoder
  readonly #resampler: Resampler | null
  readonly #decoded: Int16Array
  /** `#decoded` cut to the length that packets have. */
  #view: Int16Array

  constructor(codec: CodecName, session: SessionRate) {
    this.codec = codec
    this.#decoder = codecOf(codec).openDecoder(session)
    const { rate } = this.#decoder
    this.#decoded = new Int16Array((rate / 1000) * MAX_PACKET_MS)
    this.#view = this.#decoded
    this.#resampler = rate === session ? null : openResampler(rate, session)
    this.pcm = this.#decoded
  }

  /** Returns the number of samples now in `pcm`; 0 for a payload that is none of this codec. */
  decode(data: Uint8Array, offset: number, length: number): number {
    const samples = this.#decoder.decode(data, offset, length, this.#decoded)
    if (this.#resampler === null || samples === 0) return samples
    if (this.#view.length !== samples) this.#view = this.#decoded.subarray(0, samples)
    this.pcm = this.#resampler.process(this.#view)
    return this.pcm.length
  }
}
