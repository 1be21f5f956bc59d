import { VAD_STOP_MS } from '../media/agent/turn-policy.js'
import { type Figure, figure, type Measured } from './figures.js'
import type { DensityResult } from './job.js'
import { NULL_LIMIT_MS, type Probe } from './probe.js'
import { judgingClips } from './reply.js'
import { openRig } from './rig.js'
import { percentile, rounded } from './statistics.js'
import { PROFILES } from './vendors/messages.js'

const REPLY_SECONDS = 4
const STEADY_CALLS = 20
const STEADY_MS = 30_000
const HOLD_MS = 60_000
const CALLS_PER_SECOND = 10
const ROUNDS = 3
/** Tried in this order until one fails; then half-way between. */
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

/**
 * C: the most calls at which every packet still leaves in time. A number of calls that holds, holds
 * however noisy the host was. One that fails while the null probe failed too says nothing, and is
 * tried again; when it stays so (callers and providers share this host, and load is noise as well)
 * the last number that held is given as a lower bound.
 */
export async function measureDensity(
  probe: Probe,
  say: (line: string) => void,
  mayGoOn: () => boolean,
): Promise<Figure[]> {
  const tried: Tried[] = []
  const attempt = async (calls: number): Promise<Tried> => {
    for (let round = 1; ; round++) {
      const one = await tryCalls(calls, probe)
      tried.push(one)
      const noisy = one.nullProbeMs > NULL_LIMIT_MS
      say(`  C: ${calls} calls ${one.ok ? 'hold' : 'do not hold'} (null probe p99.9 ${one.nullProbeMs} ms)`)
      if (one.ok || !noisy || round === ROUNDS || !mayGoOn()) return one
    }
  }
  let best: Tried | null = null
  let worst: Tried | null = null
  for (const calls of STEPS) {
    if (!mayGoOn()) break
    const one = await attempt(calls)
    if (one.ok) best = one
    else {
      worst = one
      break
    }
  }
  const low = best?.calls ?? 0
  if (best !== null && worst !== null && worst.calls - low > 10 && mayGoOn()) {
    const middle = await attempt(Math.round((low + worst.calls) / 2))
    if (middle.ok) best = middle
    else worst = middle
  }
  const lowerBound = worst === null || worst.nullProbeMs > NULL_LIMIT_MS
  const row = figure(
    'C',
    { n: tried.length, value: best?.calls ?? 0 },
    {
      holdSeconds: HOLD_MS / 1000,
      mediaWorkers: 1,
      vendors: 'HTTP, no TLS',
      lowerBound,
      tried,
      ...(best === null && lowerBound ? { void: true } : {}),
    },
  )
  return [{ ...row, nullProbeMs: best?.nullProbeMs ?? worst?.nullProbeMs ?? 0 }]
}

interface Tried {
  readonly calls: number
  readonly ok: boolean
  readonly nullProbeMs: number
  readonly [detail: string]: unknown
}

async function tryCalls(calls: number, probe: Probe): Promise<Tried> {
  await probe.take()
  const run = await load(calls, HOLD_MS)
  const nullProbeMs = await probe.take()
  const { result } = run
  const replies = result.replyAfterMs.map((ms) => ms - VAD_STOP_MS)
  return {
    calls,
    ok: holds(result),
    nullProbeMs,
    established: result.established,
    percentLateOver5: rounded((100 * result.lateOver5) / Math.max(1, result.packets)),
    lateOver20: result.lateOver20,
    lost: result.lost,
    beatP99: rounded(result.latenessP99),
    replyP99: rounded(percentile(replies, 0.99)),
    unanswered: result.unanswered,
    engineCores: run.engineCores,
    rssMb: run.rssMb,
    skippedFrames: run.skippedFrames,
    errors: run.errors.slice(0, 3),
  }
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
