import type { SessionRate } from '../base/frame.js'
import type { CodecName, Decoder } from './codec.js'
import { codecOf } from './registry.js'
import { openResampler, type Resampler } from './resampler.js'

/** Longest packet that is decoded (ms). No Opus packet is longer (RFC 6716 section 2.1.4). */
export const MAX_PACKET_MS = 120

/**
 * Decodes payloads of one codec and resamples them to the session's rate. Packets come in order. Allocates
 * nothing.
 */
export class DecoderPipeline {
  readonly codec: CodecName
  /** The samples of the last `decode`, as many as it returned. Valid until the next `decode`. */
  pcm: Int16Array
  readonly #decoder: Decoder
  readonly #resampler: Resampler | null
  readonly #decoded: Int16Array
  /** A view of `#decoded` with the usual length of a packet. */
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

  /** Decodes a payload into `pcm`. Returns the number of samples, 0 for an invalid payload. */
  decode(data: Uint8Array, offset: number, length: number): number {
    const samples = this.#decoder.decode(data, offset, length, this.#decoded)
    if (samples === 0) return 0
    if (this.#view.length !== samples) this.#view = this.#decoded.subarray(0, samples)
    this.pcm = this.#resampler === null ? this.#view : this.#resampler.process(this.#view)
    return this.pcm.length
  }
}
