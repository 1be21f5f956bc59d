import type { ThreadUsage } from '../fixtures/engine-messages.js'
import { VAD_STOP_MS } from '../media/agent/turn-policy.js'
import { type DensityStep, drawDensity } from './conversation-plot.js'
import { engineShare, replyRow, type Share } from './engine-share.js'
import { type Figure, figure, type Measured } from './figures.js'
import type { DensityResult } from './job.js'
import { NULL_LIMIT_MS, type Probe } from './probe.js'
import { judgingClips } from './reply.js'
import { openRig, type Rig } from './rig.js'
import { percentile, rounded } from './statistics.js'
import { PROFILES } from './vendors/messages.js'

const REPLY_SECONDS = 4
const STEADY_CALLS = 20
const STEADY_MS = 30_000
const HOLD_MS = 60_000
const CALLS_PER_SECOND = 5
const ROUNDS = 2
/** The engine may use so much of a core: the rest is for what comes at once. */
const FULL = 0.65
/** Tried in this order until one fails; then half-way between. */
const STEPS = [25, 50, 75, 100, 150, 200, 300]

/** What processes used while all calls were up, in cores. */
interface Cores {
  readonly engine: number
  /** Of it: the thread of the media, and the main one. */
  readonly media: number
  readonly main: number
  readonly vendors: number
  readonly callers: number
}

interface Load {
  readonly result: DensityResult
  readonly shares: readonly Share[]
  readonly errors: readonly string[]
  readonly cores: Cores
  readonly rssMb: number
  readonly skippedFrames: number
}

/** Beat and Gap at a moderate load, from the packets of all calls. */
export async function measureBeat(): Promise<Measured[]> {
  const { result, errors, cores } = await load(STEADY_CALLS, STEADY_MS)
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
 * C: the most calls at which every packet still leaves in time. A number of calls that holds, holds
 * however noisy the host was. One that fails while the null probe failed too says nothing, and is
 * tried again; when it stays so (callers and vendors share this host, and load is noise as well) the last
 * number that held is given as a lower bound. C@cpu is what the CPU of one call allows of a core at 65 %,
 * measured with the most calls that were up, on a core that carries nothing but the engine. R_engine@100
 * is the reply time at the most calls that held, its context says how many.
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
      say(
        `  C: ${calls} calls ${one.ok ? 'hold' : `do not hold: ${one.why}`} (engine ${one.step.enginePercent} % of a core, null probe p99.9 ${one.nullProbeMs} ms)`,
      )
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
  if (tried.length === 0) return []
  const steps = tried.map(({ step }) => step)
  say(`  drawn to ${drawDensity(steps)}`)
  return rows(tried, best, worst)
}

function rows(tried: readonly Tried[], best: Tried | null, worst: Tried | null): Figure[] {
  const lowerBound = worst === null || worst.nullProbeMs > NULL_LIMIT_MS
  const context = {
    holdSeconds: HOLD_MS / 1000,
    mediaWorkers: 1,
    vendors: 'JSON and base64 over TLS',
    lowerBound,
    tried: tried.map(({ shares: _shares, ...rest }) => rest),
    ...(best === null && lowerBound ? { void: true } : {}),
  }
  const nullProbeMs = best?.nullProbeMs ?? worst?.nullProbeMs ?? 0
  // The most calls that were up weigh least with what the process costs without any.
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
  const reply = replyRow('R_engine@100', at.shares, { calls: at.calls, held: at.ok })
  const noisy = at.nullProbeMs > NULL_LIMIT_MS ? { void: true } : {}
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
  /** Which condition it failed. */
  readonly why: string
  readonly nullProbeMs: number
  readonly step: DensityStep
  readonly shares: readonly Share[]
  readonly [detail: string]: unknown
}

async function tryCalls(calls: number, probe: Probe): Promise<Tried> {
  await probe.take()
  const run = await load(calls, HOLD_MS)
  const nullProbeMs = await probe.take()
  const { result, cores } = run
  const replies = result.replyAfterMs.map((ms) => ms - VAD_STOP_MS)
  const why = failure(result)
  const percentLate = rounded((100 * result.lateOver5) / Math.max(1, result.packets))
  return {
    calls,
    established: result.established,
    ok: why === '',
    why,
    nullProbeMs,
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
    percentLateOver5: percentLate,
    lateOver20: result.lateOver20,
    lost: result.lost,
    replyAfterPolicyP99: rounded(percentile(replies, 0.99)),
    unanswered: result.unanswered,
    rssMb: run.rssMb,
    skippedFrames: run.skippedFrames,
    errors: run.errors.slice(0, 3),
  }
}

/** The first condition that was not met, or nothing. */
function failure(result: DensityResult): string {
  if (result.failed > 0) return `${result.failed} calls were not admitted`
  if (result.packets === 0) return 'nothing was sent'
  if (result.lost > 0) return `${result.lost} packets were lost`
  if (result.lateOver20 > 0) return `${result.lateOver20} frames were over 20 ms late`
  if (result.lateOver5 >= 0.001 * result.packets) return `${result.lateOver5} frames were over 5 ms late`
  return result.unanswered > 0 ? `${result.unanswered} questions got no answer` : ''
}

interface Meter {
  readonly atMs: number
  readonly engineMs: number
  readonly threads: readonly ThreadUsage[]
  readonly vendorsMs: number
  readonly callersMs: number
  readonly rssBytes: number
  readonly skippedFrames: number
}

async function read(rig: Rig, callersMs: number): Promise<Meter> {
  const [usage, report] = await Promise.all([rig.engine.usage(), rig.vendors.report()])
  return {
    atMs: performance.now(),
    engineMs: usage.cpuMs,
    threads: usage.threads,
    vendorsMs: report.cpuMs,
    callersMs,
    rssBytes: usage.rssBytes,
    skippedFrames: usage.workers.reduce((sum, worker) => sum + worker.skippedFrames, 0),
  }
}

async function load(calls: number, holdMs: number): Promise<Load> {
  const rig = await openRig({ profile: PROFILES.zero, replySeconds: REPLY_SECONDS, record: true })
  try {
    const meters: Promise<Meter>[] = []
    const result = await rig.call(
      { kind: 'density', calls, clips: judgingClips(), holdMs, callsPerSecond: CALLS_PER_SECOND },
      { phase: (_phase, callersMs) => void meters.push(read(rig, callersMs)) },
    )
    const [before, after] = await Promise.all(meters)
    if (result.density === null || before === undefined || after === undefined) {
      throw new Error('the caller measured no density')
    }
    const { turns: waits } = await rig.vendors.report()
    const wallMs = after.atMs - before.atMs
    const [main = 0, ...others] = after.threads.map(
      ({ id, cpuMs }) => cpuMs - (before.threads.find((thread) => thread.id === id)?.cpuMs ?? 0),
    )
    return {
      result: result.density,
      // Where the labels are exact.
      shares: result.turns.flatMap((turn) =>
        turn.clip.endsWith('-clean') ? (engineShare(turn, waits) ?? []) : [],
      ),
      errors: result.errors,
      cores: {
        engine: (after.engineMs - before.engineMs) / wallMs,
        // The one media worker is by far the busiest of the others.
        media: Math.max(0, ...others) / wallMs,
        main: main / wallMs,
        vendors: (after.vendorsMs - before.vendorsMs) / wallMs,
        callers: (after.callersMs - before.callersMs) / wallMs,
      },
      rssMb: Math.round(after.rssBytes / 1e6),
      skippedFrames: after.skippedFrames,
    }
  } finally {
    await rig.close()
  }
}
