import { open } from 'node:fs/promises'
import { littleEndian, readWavFormat, WAV_HEADER_BYTES } from './wav-header.js'

/** More pixels than any screen is wide. */
export const MAX_PEAKS = 16_384
const CHUNK_FRAMES = 32_768

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

/**
 * Returns the waveform of a recording with `perSecond` pixels per second, or with `MAX_PEAKS` pixels if there
 * would be more. Throws file system errors, and EngineError `internal` when the file is not a recording of
 * Parley.
 */
export async function readPeaks(path: string, perSecond: number): Promise<Peaks> {
  const file = await open(path, 'r')
  try {
    const { rate, channels } = await readWavFormat(file)
    const frames = Math.floor(((await file.stat()).size - WAV_HEADER_BYTES) / (2 * channels))
    const pixel = Math.max(1, Math.round(rate / perSecond), Math.ceil(frames / MAX_PEAKS))
    const length = Math.ceil(frames / pixel)
    const lowest = new Int16Array(length * channels).fill(32_767)
    const highest = new Int16Array(length * channels).fill(-32_768)
    const samples = new Int16Array(CHUNK_FRAMES * channels)
    for (let at = 0; at < frames; ) {
      const count = Math.min(CHUNK_FRAMES, frames - at)
      const bytes = new Uint8Array(samples.buffer, 0, count * channels * 2)
      const { bytesRead } = await file.read(bytes, 0, bytes.length, WAV_HEADER_BYTES + at * channels * 2)
      const got = Math.floor(bytesRead / (2 * channels))
      if (got === 0) break
      littleEndian(samples, got * channels)
      for (let i = 0; i < got * channels; i++) {
        const slot = Math.floor((at + Math.floor(i / channels)) / pixel) * channels + (i % channels)
        const sample = samples[i] as number
        if (sample < (lowest[slot] as number)) lowest[slot] = sample
        if (sample > (highest[slot] as number)) highest[slot] = sample
      }
      at += got
    }
    const data: number[] = []
    for (let slot = 0; slot < length * channels; slot++) {
      data.push((lowest[slot] as number) >> 8, (highest[slot] as number) >> 8)
    }
    return { version: 2, channels, sample_rate: rate, samples_per_pixel: pixel, bits: 8, length, data }
  } finally {
    await file.close()
  }
}
