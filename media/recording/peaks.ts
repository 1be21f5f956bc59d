import { EngineError } from '../base/errors.js'
import { littleEndian, readWavHeader, WAV_HEADER_BYTES, type WavFormat } from './wav-header.js'

/** More pixels than any screen is wide. */
export const MAX_PEAKS = 16_384

/**
 * A waveform in the JSON format, version 2, of the BBC's audiowaveform
 * (https://github.com/bbc/audiowaveform): the lowest and highest value, -128 to 127, per pixel and channel.
 */
export interface Peaks {
  readonly version: 2
  readonly channels: number
  readonly sample_rate: number
  readonly samples_per_pixel: number
  readonly bits: 8
  /** Length of the waveform (pixels). */
  readonly length: number
  readonly data: readonly number[]
}

/** Resolution of a waveform. */
export interface Resolution {
  /** Pixels for each second, fewer if there would be more than `most`. */
  readonly perSecond: number
  readonly most: number
}

/**
 * Returns the waveform of a recording whose file has this many bytes. Throws errors of the content, and EngineError
 * `internal` when the content is not a recording of Parley. What a shorter content lacks is drawn as silence.
 */
export async function readPeaks(
  content: AsyncIterable<Uint8Array>,
  bytes: number,
  resolution: Resolution,
): Promise<Peaks> {
  let waveform: Waveform | null = null
  let rest: Uint8Array = new Uint8Array(0)
  for await (const chunk of content) {
    let data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    if (waveform === null) {
      rest = data
      if (data.length < WAV_HEADER_BYTES) continue
      const format = readWavHeader(data.subarray(0, WAV_HEADER_BYTES))
      if (format === null) break
      waveform = new Waveform(format, bytes - WAV_HEADER_BYTES, resolution)
      data = data.subarray(WAV_HEADER_BYTES)
    }
    rest = data.subarray(waveform.add(data))
  }
  if (waveform === null) throw new EngineError('internal', 'not a Parley recording')
  return waveform.peaks()
}

class Waveform {
  readonly #format: WavFormat
  readonly #pixel: number
  readonly #length: number
  readonly #lowest: Int16Array
  readonly #highest: Int16Array
  /** Frames so far. */
  #frames = 0

  constructor(format: WavFormat, bytes: number, { perSecond, most }: Resolution) {
    const { rate, channels } = format
    const frames = Math.floor(bytes / (2 * channels))
    this.#format = format
    this.#pixel = Math.max(1, Math.round(rate / perSecond), Math.ceil(frames / most))
    this.#length = Math.ceil(frames / this.#pixel)
    this.#lowest = new Int16Array(this.#length * channels).fill(32_767)
    this.#highest = new Int16Array(this.#length * channels).fill(-32_768)
  }

  /** Adds whole frames and returns their length (bytes). */
  add(data: Uint8Array): number {
    const { channels } = this.#format
    const count = Math.floor(data.length / (2 * channels)) * channels
    const samples = new Int16Array(count)
    new Uint8Array(samples.buffer).set(data.subarray(0, 2 * count))
    littleEndian(samples, count)
    for (let i = 0; i < count; i += channels) {
      const slot = Math.floor(this.#frames++ / this.#pixel) * channels
      for (let channel = 0; channel < channels; channel++) {
        const sample = samples[i + channel] as number
        // A write past the end of a typed array has no effect. Samples beyond the declared length are dropped.
        if (sample < (this.#lowest[slot + channel] as number)) this.#lowest[slot + channel] = sample
        if (sample > (this.#highest[slot + channel] as number)) this.#highest[slot + channel] = sample
      }
    }
    return 2 * count
  }

  peaks(): Peaks {
    const { rate, channels } = this.#format
    const data: number[] = []
    for (let slot = 0; slot < this.#length * channels; slot++) {
      const lowest = this.#lowest[slot] as number
      const highest = this.#highest[slot] as number
      // A pixel without a frame has its lowest above its highest value.
      if (lowest > highest) data.push(0, 0)
      else data.push(lowest >> 8, highest >> 8)
    }
    const [sample_rate, samples_per_pixel, length] = [rate, this.#pixel, this.#length]
    return { version: 2, channels, sample_rate, samples_per_pixel, bits: 8, length, data }
  }
}
