import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { type Figure, figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { percentile, rounded } from '../lib/statistics.js'
import { type FrameClockCounts, load } from './agent-load.js'
import { type DensityStep, drawDensity } from './conversation-plot.js'
import { replyRow, type Share } from './engine-share.js'
import type { DensityResult } from './job.js'

const STEADY_CALLS = 20
const STEADY_MS = 30_000
const HOLD_MS = 60_000
const ROUNDS = 2
/** The frame clock skips frames only after a longer stall (ms); the probe tells whether it was the host's. */
const CATCH_UP_MS = 40
/** A detector may miss a mumble in noise; an overloaded engine misses more. */
const UNANSWERED_SHARE = 0.01
/** Share of a core that the engine may use; the rest is a reserve for bursts. */
const FULL = 0.65
/** Tried in this order until one fails, then bisected. */
const STEPS = [25, 50, 75, 100, 150, 200, 300]

/** Measures Beat and Gap at a moderate load, from the packets of all calls. */
export async function measureFrameClock(probe: Probe): Promise<Measured[]> {
  const { result, errors, cores } = await load(STEADY_CALLS, STEADY_MS, probe)
  const context = {
    calls: STEADY_CALLS,
    established: result.established,
    lost: result.lost,
    engineCores: cores.engine,
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
 * C: measures the largest number of calls at which every frame still leaves in time. The engine's own
 * counters decide, because the callers share its host and are late themselves. A number that passes counts
 * however noisy the host was. A number that fails in a void run proves nothing and is tried
 * again; if that repeats, the last number that passed is reported as a lower bound. C@cpu is the number of
 * calls that fit into 65 % of a core by the CPU cost of one call, measured at the most established calls, on
 * a core that runs only the engine. R_engine@100 is the reply time at the largest number that passed; its
 * context states the number.
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
      say(
        `  C: ${calls} calls ${one.ok ? 'hold' : `do not hold: ${one.why}`} (engine ${one.step.enginePercent} % of a core, ${one.leftOutPercent} % of the time left out)`,
      )
      if (one.ok || !one.noisy || round === ROUNDS || !mayGoOn()) return one
    }
  }
  let best: Tried | null = null
  let worst: Tried | null = null
  for (const calls of STEPS) {
    if (!mayGoOn()) break
    const one = await attempt(calls)
    if (one.ok) {
      best = one
      worst = null
      continue
    }
    // One noisy step does not end the climb; two in a row do.
    const again = worst !== null
    worst = one
    if (again || !one.noisy) break
  }
  const low = best?.calls ?? 0
  if (best !== null && worst !== null && worst.calls - low > 10 && mayGoOn()) {
    const middle = await attempt(Math.round((low + worst.calls) / 2))
    if (middle.ok) best = middle
    else worst = middle
  }
  if (tried.length === 0) return []
  const steps = tried.map(({ step }) => step)
  say(`  drawn to ${drawDensity(steps)}`)
  return rows(tried, best, worst)
}

function rows(tried: readonly Tried[], best: Tried | null, worst: Tried | null): Figure[] {
  const lowerBound = worst === null || worst.noisy
  const context = {
    holdSeconds: HOLD_MS / 1000,
    mediaWorkers: 1,
    vendors: 'JSON and base64 over TLS',
    lowerBound,
    leftOutPercent: (best ?? worst)?.leftOutPercent ?? 0,
    tried: tried.map(({ shares: _shares, ...rest }) => rest),
    ...(best === null && lowerBound ? { void: true } : {}),
  }
  const nullProbeMs = best?.nullProbeMs ?? worst?.nullProbeMs ?? 0
  // With the most established calls, the base load of the process weighs least.
  const full = tried.reduce((most, one) => (one.established > most.established ? one : most))
  const perCall = full.step.enginePercent / 100 / Math.max(1, full.established)
  const cpu = figure(
    'C@cpu',
    { n: full.established, value: Math.floor(FULL / perCall) },
    {
      derived: `CPU of one call at ${full.established} calls; callers and vendors, on other cores, not counted`,
      share: FULL,
      percentOfCorePerCall: rounded(100 * perCall),
      mediaThreadPercentPerCall: rounded(full.step.mediaPercent / full.established),
      mainThreadPercentPerCall: rounded(full.step.mainPercent / full.established),
      heldAtThatMany: full.ok,
    },
  )
  const at = best ?? full
  const reply = replyRow('R_engine@100', at.shares, {
    calls: at.calls,
    held: at.ok,
    leftOutPercent: at.leftOutPercent,
  })
  const noisy = at.noisy ? { void: true } : {}
  return [
    { ...figure('C', { n: tried.length, value: best?.calls ?? 0 }, context), nullProbeMs },
    { ...cpu, nullProbeMs: full.nullProbeMs },
    { ...reply, context: { ...reply.context, ...noisy }, nullProbeMs: at.nullProbeMs },
  ]
}

interface Tried {
  readonly calls: number
  readonly established: number
  readonly ok: boolean
  /** The condition that failed. */
  readonly why: string
  readonly nullProbeMs: number
  readonly leftOutPercent: number
  /** The run is void. */
  readonly noisy: boolean
  readonly step: DensityStep
  readonly shares: readonly Share[]
  readonly [detail: string]: unknown
}

async function tryCalls(calls: number, probe: Probe): Promise<Tried> {
  const run = await load(calls, HOLD_MS, probe)
  const { nullProbeMs, worstMs, leftOutPercent, isVoid } = run.judged
  const { result, cores, frameClock: beats } = run
  const replies = result.replyAfterMs.map((ms) => ms - VAD_STOP_MS)
  const why = failure(result, worstMs > CATCH_UP_MS ? { ...beats, skipped: 0 } : beats)
  return {
    calls,
    established: result.established,
    ok: why === '',
    why,
    nullProbeMs,
    nullProbeMaxMs: worstMs,
    leftOutPercent,
    noisy: isVoid,
    step: {
      calls,
      enginePercent: rounded(100 * cores.engine),
      mediaPercent: rounded(100 * cores.media),
      mainPercent: rounded(100 * cores.main),
      vendorsPercent: rounded(100 * cores.vendors),
      callersPercent: rounded(100 * cores.callers),
      latenessP99: rounded(result.latenessP99),
      replyP99: rounded(
        percentile(
          run.shares.map(({ ms }) => ms),
          0.99,
        ),
      ),
    },
    shares: run.shares,
    percentLateOver5: rounded((100 * beats.over5) / Math.max(1, beats.frames)),
    lateOver20: beats.over20,
    skippedFrames: beats.skipped,
    lost: result.lost,
    // As the callers measured it, including their own lateness.
    percentPacketsLateOver5: rounded((100 * result.lateOver5) / Math.max(1, result.packets)),
    packetsLateOver20: result.lateOver20,
    replyAfterPolicyP99: rounded(percentile(replies, 0.99)),
    replies: result.replies,
    unanswered: result.unanswered,
    rssMb: run.rssMb,
    errors: run.errors.slice(0, 3),
  }
}

/** Returns the first condition that was not met, or null. */
function failure(result: DensityResult, { frames, over5, over20, skipped }: FrameClockCounts): string {
  if (result.failed > 0) return `${result.failed} calls were not admitted`
  if (result.packets === 0) return 'nothing was sent'
  if (result.lost > 0) return `${result.lost} packets were lost`
  if (skipped > 0) return `${skipped} frames were skipped`
  if (over20 > 0) return `${over20} frames were over 20 ms late`
  if (over5 >= 0.001 * frames) return `${over5} of ${frames} frames were over 5 ms late`
  const missed = result.unanswered > UNANSWERED_SHARE * (result.replies + result.unanswered)
  return missed ? `${result.unanswered} questions got no answer` : ''
}
