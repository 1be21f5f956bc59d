import { EngineError, errorText } from '../../base/errors.js'
import { looksLikeWav, parseWav, type WavFormat } from './wav.js'

/**
 * Decodes a speech response into mono samples: headerless 16-bit little-endian PCM at the configured rate, or
 * WAV at its own rate, which some servers send regardless of the request. Joins a sample split between two
 * chunks. A data length of 0 or 0xFFFFFFFF means "to the end".
 */
export class PcmReader {
  #rate: number
  #channels = 1
  /** Bytes not decoded yet: an undetermined beginning, or part of a sample. */
  #held: Uint8Array = new Uint8Array(0)
  #decided = false
  #left = Number.POSITIVE_INFINITY

  constructor(rate: number) {
    this.#rate = rate
  }

  /** Sample rate (Hz); valid once samples were returned. */
  get rate(): number {
    return this.#rate
  }

  /** Decodes the samples complete so far, possibly none; the caller owns them. */
  push(bytes: Uint8Array): Int16Array {
    let input = bytes
    if (this.#held.length > 0) {
      input = new Uint8Array(this.#held.length + bytes.length)
      input.set(this.#held)
      input.set(bytes, this.#held.length)
    }
    if (!this.#decided) {
      const offset = this.#begin(input)
      if (offset === null) {
        this.#held = input.slice()
        return new Int16Array(0)
      }
      input = input.subarray(offset)
    }
    const step = 2 * this.#channels
    const usable = Math.min(input.length, this.#left)
    const whole = usable - (usable % step)
    this.#left -= whole
    this.#held = this.#left < step ? new Uint8Array(0) : input.slice(whole)
    return this.#samples(input.subarray(0, whole))
  }

  /** Returns the offset of the first sample, or null while it is unknown. */
  #begin(input: Uint8Array): number | null {
    if (input.length < 12) return null
    if (!looksLikeWav(input)) {
      this.#decided = true
      return 0
    }
    let format: WavFormat | null
    try {
      format = parseWav(input)
    } catch (error) {
      throw new EngineError('vendor_failed', `the audio is invalid: ${errorText(error)}`, {
        cause: error,
      })
    }
    if (format === null) return null
    this.#decided = true
    this.#rate = format.rate
    this.#channels = format.channels
    this.#left = format.dataBytes ?? Number.POSITIVE_INFINITY
    return format.dataOffset
  }

  #samples(bytes: Uint8Array): Int16Array {
    const channels = this.#channels
    const pcm = new Int16Array(bytes.length / (2 * channels))
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let i = 0; i < pcm.length; i++) {
      let sum = 0
      for (let channel = 0; channel < channels; channel++) {
        sum += view.getInt16((i * channels + channel) * 2, true)
      }
      pcm[i] = sum / channels
    }
    return pcm
  }
}
