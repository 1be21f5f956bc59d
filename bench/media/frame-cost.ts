import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import type { Rate } from '../../media/base/frame.js'
import { figure, type Measured } from '../lib/figures.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'

/** Frames per round after the warm-up; each round is one sample. */
const WARM_FRAMES = 3000
const ROUND_FRAMES = 2000
const ROUNDS = 9
/** Few enough to avoid a garbage collection in between. */
const COUNTED_FRAMES = 1000

/** Makes a second of noise with the envelope of syllables, in frames; the same in every run. */
export function speechLike(rate: Rate): Int16Array[] {
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

/** Measures CPU time of one frame in us (median of the rounds) and its garbage in bytes. */
export function cost(id: string, frames: number, run: (frame: number) => void): Measured {
  let next = 0
  const many = (count: number) => {
    for (let i = 0; i < count; i++) {
      run(next)
      next = (next + 1) % frames
    }
  }
  many(WARM_FRAMES)
  const samples = Array.from({ length: ROUNDS }, () => {
    const beforeMs = ownCpuMs()
    many(ROUND_FRAMES)
    return (1000 * (ownCpuMs() - beforeMs)) / ROUND_FRAMES
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
