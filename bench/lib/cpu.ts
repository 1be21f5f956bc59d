import { ownCpuMs } from '../../fixtures/host/process-cpu.js'
import { percentile, rounded } from './statistics.js'

/**
 * Measures CPU time (not wall time) in us per call of `run`: the median of several rounds after a warm-up.
 */
export function cpuMicros(run: (i: number) => void, perRound = 4000, rounds = 9): number {
  const samples: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const beforeMs = ownCpuMs()
    for (let i = 0; i < perRound; i++) run(i)
    if (round > 0) samples.push((1000 * (ownCpuMs() - beforeMs)) / perRound)
  }
  return rounded(percentile(samples, 0.5))
}

/** Measures the garbage in bytes per call of `run`; null if a collection ran in between. */
export function garbageBytes(run: (i: number) => void, times = 500): number | null {
  const used = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  used()
  const before = used()
  for (let i = 0; i < times; i++) run(i)
  const bytes = (used() - before) / times
  return bytes < 0 ? null : Math.round(bytes)
}
