import { EngineError, errorText } from '../../../base/errors.js'
import { looksLikeWav, parseWav, type WavFormat } from '../shared/wav.js'

/**
 * Turns the bytes of a speech response into mono samples: headerless 16-bit little-endian PCM at the
 * configured rate, or a WAV stream (which some clones send whatever was asked) at its own. A sample
 * cut between two chunks is carried over; a data length of 0 or 0xFFFFFFFF means "to the end".
 */
export class PcmReader {
  #rate: number
  #channels = 1
  /** Bytes not yet turned into samples: an undecided beginning, or part of a sample. */
  #held: Uint8Array = new Uint8Array(0)
  #decided = false
  #left = Number.POSITIVE_INFINITY

  constructor(rate: number) {
    this.#rate = rate
  }

  /** Valid once samples were returned. */
  get rate(): number {
    return this.#rate
  }

  /** The samples complete so far, owned by the caller; empty when there are none yet. */
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

  /** Where the samples begin; null while that is not known. */
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
      throw new EngineError('vendor_failed', `the speech is not usable: ${errorText(error)}`, {
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
