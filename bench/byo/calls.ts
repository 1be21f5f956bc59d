import type { ProcessUsage } from '../../fixtures/service/service-process-messages.js'
import { pause } from '../agent/telephone.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged, type LateWindows } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import type { ByoResult, Echo } from './job.js'
import type { ByoBot, RunningCaller } from './processes.js'
import { BINARY, type BotEndpoint, OTHER_PROTOCOLS, openByoRig } from './rig.js'

/*
 * Calls bridged to an echo bot: RTP in, bot, RTP out. Engine, bot and callers are a process each; the engine
 * has one media worker.
 */

const STEPS = [10, 50, 100, 200, 400] as const
const HEADLINES: readonly (readonly [string, number])[] = [
  ['C_byo', 200],
  ['E_byo', 100],
]
const SETTLE_MS = 3_000
const MEASURE_MS = 12_000
const EVERY_MS = 500
/** Time (ms) after a loud frame in which a late host may be the reason why the frame did not come back. */
const MISSING_MS = 100
/** CPU limit for C_byo, as a share of a core. */
const SHARE = 0.65
const FRAMES_PER_SECOND = 50

/** One number of calls over one kind of socket. */
export interface ByoStep {
  readonly ids: readonly string[]
  measure(probe: Probe): Promise<Measured[]>
}

/**
 * C_byo and E_byo at every number of calls, in binary messages and then in three other formats; with each,
 * packet spacing and the lateness of the engine's frame clock. C_byo is derived from CPU: how many calls of
 * this cost fit into 65 % of a core. The context states the calls that really ran, with callers and bot on
 * the same cores. Rows without `@` are C_byo at the calls of its gate, and E_byo at the number its gate
 * names.
 */
export const BYO_STEPS: readonly ByoStep[] = STEPS.map((calls) => stepOf(BINARY, calls, `@${calls}`))
export const OTHER_BYO_STEPS: readonly ByoStep[] = OTHER_PROTOCOLS.flatMap((way) =>
  STEPS.map((calls) => stepOf(way, calls, `@${calls}-${way.name}`)),
)

function stepOf(way: BotEndpoint, calls: number, suffix: string): ByoStep {
  const ids = ['C_byo', 'E_byo'].map((id) => `${id}${suffix}`)
  const plain = way === BINARY ? HEADLINES.filter(([, at]) => at === calls).map(([id]) => id) : []
  return {
    ids: [...ids, ...plain],
    async measure(probe) {
      const rows = rowsOf(suffix, await bridge(way, calls, probe))
      const headlines = plain.flatMap((id) =>
        rows.filter((row) => row.id === `${id}${suffix}`).map((row) => ({ ...row, id })),
      )
      return [...rows, ...headlines]
    },
  }
}

const FREEZE_MS = 400
const FREEZES = 3
export const RECOVERY_CALLS = 20
export const RECOVERY_EVERY_MS = 100
const BACK_WITHIN_MS = 20
export const WATCH_MS = 3_500

/** Recovery: measures how long after a 400 ms freeze of the bot its echo is on time again. */
export async function measureRecovery(): Promise<Measured[]> {
  const rig = await openByoRig(BINARY)
  try {
    const seconds = await freezeAndWatch(rig.bot, await rig.call(RECOVERY_CALLS, RECOVERY_EVERY_MS))
    return [
      figure(
        'Recovery',
        { n: seconds.length, value: rounded(maximum(seconds)) },
        { calls: RECOVERY_CALLS, seconds: seconds.map(rounded) },
      ),
    ]
  } finally {
    await rig.close()
  }
}

/** Returns the seconds until each of three freezes was over; infinite if not within 3.5 s. Ends the calls. */
export async function freezeAndWatch(bot: ByoBot, caller: RunningCaller): Promise<readonly number[]> {
  await pause(SETTLE_MS)
  caller.send({ type: 'begin' })
  const thaws: number[] = []
  for (let i = 0; i < FREEZES; i++) {
    await pause(4_000)
    thaws.push(await bot.freeze(FREEZE_MS))
  }
  await pause(4_000)
  const { echoes } = await caller.result()
  return thaws.map((thaw) => recoveryOf(echoes, thaw))
}

/** Returns the seconds from the thaw to the first time from which on the median is normal again. */
function recoveryOf(echoes: readonly Echo[], thawMs: number): number {
  const delays = (from: number, to: number) =>
    echoes.flatMap(({ sentMs, delayMs }) =>
      delayMs !== null && sentMs >= from && sentMs < to ? [delayMs] : [],
    )
  const usual = percentile(delays(thawMs - FREEZE_MS - 2_000, thawMs - FREEZE_MS - 100), 0.5)
  for (let afterMs = 0; afterMs < WATCH_MS; afterMs += 100) {
    const now = percentile(delays(thawMs + afterMs, thawMs + afterMs + 100), 0.5)
    if (now <= usual + BACK_WITHIN_MS) return (afterMs + 100) / 1000
  }
  return Number.POSITIVE_INFINITY
}

interface Run {
  readonly calls: number
  readonly result: ByoResult
  readonly hostLate: LateWindows
  readonly established: number
  readonly tries: number
  readonly botCores: number
  readonly usPerCallFrame: number
  readonly cores: number
  readonly rssMbPerCall: number
  readonly usage: ProcessUsage
  readonly skipped: number
}

/** Returns true if no established call lost a packet, and at most one of 1,000 judged frames did not come back. */
function holds({ result, skipped, hostLate }: Run): boolean {
  const judged = judgedEchoes(result.echoes, hostLate)
  return result.lost === 0 && skipped === 0 && missingOf(judged) <= 0.001 * judged.length
}

/** Returns the echoes on whose way the host was in time. A missing one is judged as if it took `MISSING_MS`. */
export function judgedEchoes(echoes: readonly Echo[], hostLate: LateWindows): Echo[] {
  return echoes.filter(({ sentMs, delayMs }) => isJudged(hostLate, sentMs, sentMs + (delayMs ?? MISSING_MS)))
}

function missingOf(echoes: readonly Echo[]): number {
  return echoes.filter(({ delayMs }) => delayMs === null).length
}

function rowsOf(suffix: string, run: Run): Measured[] {
  const delays = delaysOf(run.result.echoes, run.hostLate)
  return [
    capacity(`C_byo${suffix}`, run),
    figure(
      `E_byo${suffix}`,
      { n: delays.length, p50: rounded(percentile(delays, 0.5)), p99: rounded(percentile(delays, 0.99)) },
      contextOf(run),
    ),
  ]
}

/** Returns the delays of the echoes on whose way the host was in time. */
export function delaysOf(echoes: readonly Echo[], hostLate: LateWindows): number[] {
  return judgedEchoes(echoes, hostLate).flatMap(({ delayMs }) => (delayMs === null ? [] : [delayMs]))
}

function capacity(id: string, run: Run): Measured {
  const calls = Math.floor((SHARE * 1e6) / (FRAMES_PER_SECOND * run.usPerCallFrame))
  return figure(id, { n: run.established, value: holds(run) ? calls : 0 }, contextOf(run))
}

function contextOf(run: Run): Readonly<Record<string, unknown>> {
  const { result, usage } = run
  return {
    calls: run.calls,
    established: run.established,
    invites: run.tries,
    judged: 'by CPU share; callers and bot run on the same cores',
    usPerCallFrame: rounded(run.usPerCallFrame),
    engineCores: rounded(run.cores),
    rssMbPerCall: rounded(run.rssMbPerCall),
    gapP99: rounded(result.gapP99),
    gapP999: rounded(result.gapP999),
    gapMax: rounded(result.gapMax),
    lost: result.lost,
    echoes: result.echoes.length,
    missingEchoes: missingOf(result.echoes),
    missingWhileHostInTime: missingOf(judgedEchoes(result.echoes, run.hostLate)),
    beatP99: usage.workers[0]?.p99Ms,
    beatMax: usage.workers[0]?.maxMs,
    skippedFrames: run.skipped,
    callerLateP99: rounded(result.ownLateP99),
    callerCores: rounded(result.ownCores),
    botCores: rounded(run.botCores),
  }
}

async function bridge(way: BotEndpoint, calls: number, probe: Probe): Promise<Run> {
  const rig = await openByoRig(way)
  try {
    const idle = await rig.service.usage()
    const caller = await rig.call(calls, EVERY_MS)
    await pause(SETTLE_MS)
    await probe.begin()
    const before = await rig.service.usage()
    const botBefore = await rig.bot.cpuMs()
    const startedMs = performance.now()
    caller.send({ type: 'begin' })
    await pause(MEASURE_MS)
    const after = await rig.service.usage()
    const elapsedMs = performance.now() - startedMs
    const botCores = ((await rig.bot.cpuMs()) - botBefore) / elapsedMs
    const { late: hostLate } = await probe.judge()
    const result = await caller.result()
    const cpuMs = after.cpuMs - before.cpuMs
    const skipped = (usage: ProcessUsage) =>
      usage.workers.reduce((sum, { skippedFrames }) => sum + skippedFrames, 0)
    return {
      calls,
      result,
      hostLate,
      established: caller.established,
      tries: caller.tries,
      botCores,
      usPerCallFrame: (cpuMs * 1000) / ((caller.established * elapsedMs * FRAMES_PER_SECOND) / 1000),
      cores: cpuMs / elapsedMs,
      rssMbPerCall: (after.rssBytes - idle.rssBytes) / 1e6 / caller.established,
      usage: after,
      skipped: skipped(after) - skipped(before),
    }
  } finally {
    await rig.close()
  }
}
