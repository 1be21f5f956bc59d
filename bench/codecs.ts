import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Decoder, Encoder } from '../media/codec/codec.js'
import { CODEC_NAMES, codecOf } from '../media/codec/registry.js'
import { openResampler } from '../media/codec/resample.js'
import type { Rate } from '../media/frame.js'
import { figure, type Measured } from './figures.js'
import { maximum, percentile, rounded } from './statistics.js'

/** Frames that end after the sound is warm, per round; each round is one sample. */
const WARM_FRAMES = 3000
const ROUND_FRAMES = 2000
const ROUNDS = 9
/** Few enough that no collection comes in between. */
const COUNTED_FRAMES = 1000

const RESAMPLINGS: readonly (readonly [Rate, Rate])[] = [
  [8000, 16_000],
  [16_000, 8000],
  [8000, 24_000],
  [24_000, 8000],
  [24_000, 16_000],
  [16_000, 24_000],
  [48_000, 16_000],
]

/**
 * What one 20 ms frame costs one thread: CPU time, not wall time, of encoding, decoding and resampling
 * sound like speech, and the bytes that are left to the garbage collector.
 */
export async function measureCodecs(): Promise<Measured[]> {
  const figures: Measured[] = []
  for (const name of CODEC_NAMES) {
    const codec = codecOf(name)
    const session = codec.wideband ? 16_000 : 8000
    const encoder = codec.openEncoder({ session, ptime: 20, parameters: {} })
    const frames = speechLike(encoder.rate)
    const payloads = encoded(encoder, frames, codec.maxBytes(20))
    const into = new Uint8Array(codec.maxBytes(20))
    figures.push(
      cost(`M_encode@${name}`, frames.length, (i) => encoder.encode(frames[i] as Int16Array, into, 0)),
    )
    const decoder = codec.openDecoder(session)
    figures.push(cost(`M_decode@${name}`, payloads.length, decoding(decoder, payloads)))
  }
  for (const [from, to] of RESAMPLINGS) {
    const resampler = openResampler(from, to)
    const frames = speechLike(from)
    figures.push(
      cost(`M_resample@${from}-${to}`, frames.length, (i) => resampler.process(frames[i] as Int16Array)),
    )
  }
  return figures
}

function decoding(decoder: Decoder, payloads: readonly Uint8Array[]): (i: number) => void {
  const pcm = new Int16Array(1920)
  return (i) => {
    const payload = payloads[i] as Uint8Array
    decoder.decode(payload, 0, payload.length, pcm)
  }
}

function encoded(encoder: Encoder, frames: readonly Int16Array[], maxBytes: number): Uint8Array[] {
  const into = new Uint8Array(maxBytes)
  return frames.map((frame) => into.slice(0, encoder.encode(frame, into, 0)))
}

/** A second of noise with the swell of syllables, in frames; the same in every run. */
function speechLike(rate: Rate): Int16Array[] {
  let state = 12_345
  return Array.from({ length: 50 }, (_, frame) =>
    Int16Array.from({ length: rate / 50 }, (_, i) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      const at = (frame * rate) / 50 + i
      const swell = Math.max(0, Math.sin((2 * Math.PI * 4 * at) / rate))
      return Math.round(
        swell * (8000 * Math.sin((2 * Math.PI * 180 * at) / rate) + (state / 2 ** 31 - 1) * 2000),
      )
    }),
  )
}

function cost(id: string, frames: number, run: (frame: number) => void): Measured {
  let next = 0
  const many = (count: number) => {
    for (let i = 0; i < count; i++) {
      run(next)
      next = (next + 1) % frames
    }
  }
  many(WARM_FRAMES)
  const samples = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    many(ROUND_FRAMES)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / ROUND_FRAMES
  })
  const bytesPerFrame = allocated(many)
  const value = rounded(percentile(samples, 0.5))
  return figure(id, { value, max: rounded(maximum(samples)), n: ROUNDS }, { bytesPerFrame })
}

function allocated(many: (count: number) => void): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  const used = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  used()
  const before = used()
  many(COUNTED_FRAMES)
  return Math.max(0, Math.round((used() - before) / COUNTED_FRAMES))
}
