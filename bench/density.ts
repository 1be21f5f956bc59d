import { VAD_STOP_MS } from '../media/agent/turn-policy.js'
import { figure, type Measured } from './figures.js'
import type { DensityResult } from './job.js'
import { PROFILES } from './providers.js'
import { judgingClips } from './reply.js'
import { openRig } from './rig.js'
import { percentile, rounded } from './statistics.js'

const REPLY_SECONDS = 4
const STEADY_CALLS = 20
const STEADY_MS = 30_000
const HOLD_MS = 60_000
const CALLS_PER_SECOND = 10
/** Tried in this order until one fails; then once half-way between. */
const STEPS = [25, 50, 100, 150, 200, 300]

interface Load {
  readonly result: DensityResult
  readonly errors: readonly string[]
  /** CPU time of the engine's process over the wall time of the whole run, 1 = one core. */
  readonly engineCores: number
  readonly rssMb: number
  readonly skippedFrames: number
}

/** Beat and Gap at a moderate load, from the packets of all calls. */
export async function measureBeat(): Promise<Measured[]> {
  const { result, errors, engineCores } = await load(STEADY_CALLS, STEADY_MS)
  const context = {
    calls: STEADY_CALLS,
    established: result.established,
    lost: result.lost,
    engineCores,
    errors,
  }
  return [
    figure(
      'Beat',
      {
        n: result.packets,
        p50: rounded(result.latenessP50),
        p99: rounded(result.latenessP99),
        max: rounded(result.latenessMax),
      },
      context,
    ),
    figure(
      'Gap',
      {
        n: result.packets,
        p99: rounded(result.gapP99),
        p999: rounded(result.gapP999),
        max: rounded(result.gapMax),
      },
      context,
    ),
  ]
}

/** C: the most calls at which every packet still leaves in time. */
export async function measureDensity(say: (line: string) => void): Promise<Measured[]> {
  let good = 0
  let bad: number | null = null
  let minutes = 0
  const tried: Record<string, unknown>[] = []
  const attempt = async (calls: number): Promise<void> => {
    const run = await load(calls, HOLD_MS)
    const ok = holds(run.result)
    const replies = run.result.replyAfterMs.map((ms) => ms - VAD_STOP_MS)
    minutes += 1
    tried.push({
      calls,
      ok,
      established: run.result.established,
      shareLateOver5: rounded((100 * run.result.lateOver5) / Math.max(1, run.result.packets)),
      lateOver20: run.result.lateOver20,
      lost: run.result.lost,
      beatP99: rounded(run.result.latenessP99),
      replyP99: rounded(percentile(replies, 0.99)),
      unanswered: run.result.unanswered,
      engineCores: run.engineCores,
      rssMb: run.rssMb,
      skippedFrames: run.skippedFrames,
      errors: run.errors.slice(0, 3),
    })
    say(`  C: ${calls} calls ${ok ? 'hold' : 'do not hold'} (engine ${run.engineCores} cores)`)
    if (ok) good = calls
    else bad = calls
  }
  for (const calls of STEPS) {
    await attempt(calls)
    if (bad !== null) break
  }
  if (bad !== null && bad - good > 10) await attempt(Math.round((good + bad) / 2))
  return [
    figure(
      'C',
      { n: minutes, value: good },
      { holdSeconds: HOLD_MS / 1000, mediaWorkers: 1, vendors: 'HTTP, no TLS', tried },
    ),
  ]
}

function holds(result: DensityResult): boolean {
  return (
    result.failed === 0 &&
    result.packets > 0 &&
    result.lateOver5 < 0.001 * result.packets &&
    result.lateOver20 === 0 &&
    result.lost === 0 &&
    result.unanswered === 0
  )
}

async function load(calls: number, holdMs: number): Promise<Load> {
  const rig = await openRig({ profile: PROFILES.zero, replySeconds: REPLY_SECONDS, record: true })
  try {
    const before = await rig.engine.usage()
    const startedMs = performance.now()
    const { density, errors } = await rig.call({
      kind: 'density',
      calls,
      clips: judgingClips(),
      holdMs,
      callsPerSecond: CALLS_PER_SECOND,
    })
    const after = await rig.engine.usage()
    if (density === null) throw new Error('the caller measured no density')
    return {
      result: density,
      errors,
      engineCores: rounded((after.cpuMs - before.cpuMs) / (performance.now() - startedMs)),
      rssMb: Math.round(after.rssBytes / 1e6),
      skippedFrames: after.workers.reduce((sum, worker) => sum + worker.skippedFrames, 0),
    }
  } finally {
    await rig.close()
  }
}
