import { cpuMsOf, threadsOf } from '../../fixtures/host/process-cpu.js'
import { type Asterisk, HOW_TO_GET_ASTERISK, type Installed } from '../../fixtures/sip/asterisk.js'
import { pause } from '../agent/telephone.js'
import { type Figure, figure, type Measured, part } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import type { Judgement } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import { openAsterisk } from './asterisk.js'
import { BOT_EXTENSION } from './asterisk-config.js'
import { delaysOf, freezeAndWatch, RECOVERY_CALLS, RECOVERY_EVERY_MS, WATCH_MS } from './calls.js'
import type { ByoJob, ByoResult } from './job.js'
import { openBot, openCaller } from './processes.js'
import { BINARY, type ByoRig, CALLS_PER_SECOND, openByoRig } from './rig.js'

/*
 * Compares Parley and Asterisk with the same callers, calls and bot process, in turn (A-B-A-B), with both
 * engines running all the time. Asterisk bridges in the caller's own codec (A-law), its cheapest mode; Parley
 * sends linear samples to the bot in messages twice as large. CPU is that of the whole process of each
 * engine, SIP included, as the kernel reports it.
 */

export const COMPARISON_CALLS = [25, 50, 100, 200] as const

/** Valid pairs of runs, and how many are tried for that on a noisy host. */
const PAIRS = 3
const TRIES = 5
const SETTLE_MS = 3_000
const MEASURE_MS = 10_000
/** Pause after the calls: one engine is idle while the other is measured (ms). */
const REST_MS = 1_000
const EVERY_MS = 500
/** Added to the time that the calls need to start (ms). */
const PATIENCE_MS = 15_000
const FRAMES_PER_MS = 0.05

/** One engine under comparison. */
interface Side {
  readonly pid: number
  readonly sipPort: number
  readonly to: string
}

/** One run of one engine. */
export interface ComparisonRun {
  readonly established: number
  readonly elapsedMs: number
  readonly cpuMs: number
  /** CPU time of the busiest thread except the main one. */
  readonly threadCpuMs: number
  readonly result: ByoResult
  readonly botCores: number
  readonly judged: Judgement
}

/** One run of each engine, one after the other. */
export interface Pair {
  readonly parley: ComparisonRun
  readonly asterisk: ComparisonRun
}

export interface ComparisonStep {
  readonly ids: readonly string[]
  measure(
    installed: Installed,
    probe: Probe,
    say: (line: string) => void,
    mayGoOn: () => boolean,
  ): Promise<Figure[]>
}

export const COMPARISON_STEPS: readonly ComparisonStep[] = COMPARISON_CALLS.map((calls) => ({
  ids: [`CPU_ratio@${calls}`, `E_byo_asterisk@${calls}`],
  measure: (installed, probe, say, mayGoOn) => measureComparison(calls, installed, probe, say, mayGoOn),
}))

async function measureComparison(
  calls: number,
  installed: Installed,
  probe: Probe,
  say: (line: string) => void,
  mayGoOn: () => boolean,
): Promise<Figure[]> {
  const pairs: Pair[] = []
  const rig = await openByoRig(BINARY)
  try {
    const asterisk = await openAsterisk(installed, rig.bot.port)
    try {
      while (
        pairs.filter(quiet).length < PAIRS &&
        pairs.length < TRIES &&
        (pairs.length === 0 || mayGoOn())
      ) {
        const pair = await takePair(rig, asterisk, calls, probe)
        pairs.push(pair)
        say(`  ${tell(pair)}${quiet(pair) ? '' : ': the host was too noisy, void'}`)
      }
    } finally {
      await asterisk.close()
    }
  } finally {
    await rig.close()
  }
  return comparisonRows(calls, pairs, installed)
}

/** Returns rows without a value, which state how to install Asterisk. */
export function withoutAsterisk(ids: readonly string[]): Figure[] {
  return ids.map((id) => ({ ...figure(id, { n: 0 }, { notMeasured: HOW_TO_GET_ASTERISK }), nullProbeMs: 0 }))
}

/**
 * Measures `Recovery` on Asterisk. The value is null if its echo was not on time again within the
 * observation.
 */
export async function measureAsteriskRecovery(installed: Installed): Promise<Measured[]> {
  const bot = await openBot()
  try {
    const asterisk = await openAsterisk(installed, bot.port)
    try {
      const side = { pid: asterisk.pid, sipPort: asterisk.sipPort, to: BOT_EXTENSION }
      const caller = await openCaller(jobOf(side, RECOVERY_CALLS, RECOVERY_EVERY_MS))
      try {
        return [recoveryRow(await freezeAndWatch(bot, caller), installed)]
      } finally {
        caller.close()
      }
    } finally {
      await asterisk.close()
    }
  } finally {
    bot.close()
  }
}

export function recoveryRow(seconds: readonly number[], { version }: Pick<Installed, 'version'>): Measured {
  const worst = maximum(seconds)
  const never = seconds.filter((each) => each === Number.POSITIVE_INFINITY).length
  return part(
    'Recovery_asterisk',
    { n: seconds.length, ...(never === 0 ? { value: rounded(worst) } : {}) },
    { calls: RECOVERY_CALLS, beside: version, watchedSeconds: WATCH_MS / 1000, never },
  )
}

const comparisonIds = (calls: number): readonly string[] => [`CPU_ratio@${calls}`, `E_byo_asterisk@${calls}`]

async function takePair(rig: ByoRig, asterisk: Asterisk, calls: number, probe: Probe): Promise<Pair> {
  const parley = { pid: rig.service.pid, sipPort: rig.service.sipPort, to: rig.to }
  const other = { pid: asterisk.pid, sipPort: asterisk.sipPort, to: BOT_EXTENSION }
  return {
    parley: await runSide(rig, parley, calls, probe),
    asterisk: await runSide(rig, other, calls, probe),
  }
}

async function runSide(rig: ByoRig, side: Side, calls: number, probe: Probe): Promise<ComparisonRun> {
  const caller = await openCaller(jobOf(side, calls, EVERY_MS))
  try {
    await pause(SETTLE_MS)
    await probe.begin()
    const botBefore = await rig.bot.cpuMs()
    const threadsBefore = threadsOf(side.pid)
    const cpuBefore = cpuMsOf(side.pid)
    const startedMs = performance.now()
    caller.send({ type: 'begin' })
    await pause(MEASURE_MS)
    const cpuMs = cpuMsOf(side.pid) - cpuBefore
    const elapsedMs = performance.now() - startedMs
    const [, ...threads] = threadsOf(side.pid).map(
      ({ id, cpuMs }) => cpuMs - (threadsBefore.find((thread) => thread.id === id)?.cpuMs ?? 0),
    )
    const botCores = ((await rig.bot.cpuMs()) - botBefore) / elapsedMs
    const judged = await probe.judge()
    const result = await caller.result()
    await pause(REST_MS)
    return {
      established: caller.established,
      elapsedMs,
      cpuMs,
      threadCpuMs: maximum([0, ...threads]),
      result,
      botCores,
      judged,
    }
  } finally {
    caller.close()
  }
}

function jobOf(side: Side, calls: number, everyMs: number): ByoJob {
  return {
    target: { address: '127.0.0.1', port: side.sipPort },
    to: side.to,
    calls,
    callsPerSecond: CALLS_PER_SECOND,
    patienceMs: (calls * 1000) / CALLS_PER_SECOND + PATIENCE_MS,
    everyMs,
    exact: true,
  }
}

/** Returns CPU time (us) per call and frame, both directions. */
export function usPerCallFrame({ established, elapsedMs }: ComparisonRun, cpuMs: number): number {
  return (cpuMs * 1000) / (established * elapsedMs * FRAMES_PER_MS)
}

export function ratioOf({ parley, asterisk }: Pair): number {
  return usPerCallFrame(parley, parley.cpuMs) / usPerCallFrame(asterisk, asterisk.cpuMs)
}

function quiet({ parley, asterisk }: Pair): boolean {
  return !parley.judged.isVoid && !asterisk.judged.isVoid
}

function tell(pair: Pair): string {
  const { parley, asterisk } = pair
  const us = (turn: ComparisonRun): string =>
    `${rounded(usPerCallFrame(turn, turn.cpuMs))} us (${turn.established} calls)`
  return `Parley ${us(parley)}, Asterisk ${us(asterisk)}: ${rounded(ratioOf(pair))}`
}

/**
 * Returns the rows of the valid pairs: the quiet ones, or, marked void, all of them if none was quiet.
 * CPU_ratio is their median.
 */
export function comparisonRows(
  calls: number,
  pairs: readonly Pair[],
  { version }: Pick<Installed, 'version'>,
): Figure[] {
  const counted = pairs.some(quiet) ? pairs.filter(quiet) : pairs
  const ratios = counted.map(ratioOf)
  const parley = counted.map((pair) => pair.parley)
  const asterisk = counted.map((pair) => pair.asterisk)
  const judged = [...parley, ...asterisk].map((turn) => turn.judged)
  const nullProbeMs = maximum(judged.map((each) => each.nullProbeMs))
  const context = {
    calls,
    beside: version,
    pairs: pairs.length,
    counted: counted.length,
    leftOutPercent: maximum(judged.map((each) => each.leftOutPercent)),
    ...(pairs.some(quiet) ? {} : { void: true }),
  }
  const [cpuId = '', echoId = ''] = comparisonIds(calls)
  const rows: Measured[] = [
    figure(
      cpuId,
      { n: counted.length, value: rounded(percentile(ratios, 0.5)) },
      {
        ...context,
        ratios: ratios.map(rounded),
        parley: sideOf(parley),
        asterisk: sideOf(asterisk),
        mediaThreadUsPerCallFrame: middle(parley, (turn) => usPerCallFrame(turn, turn.threadCpuMs)),
      },
    ),
    part(echoId, echoOf(asterisk), {
      ...context,
      established: Math.min(...asterisk.map(({ established }) => established)),
      engineCores: middle(asterisk, coresOf),
      parley: echoOf(parley),
    }),
  ]
  return rows.map((row) => ({ ...row, nullProbeMs }))
}

const coresOf = ({ cpuMs, elapsedMs }: ComparisonRun): number => cpuMs / elapsedMs

function middle(turns: readonly ComparisonRun[], value: (turn: ComparisonRun) => number): number {
  return rounded(percentile(turns.map(value), 0.5))
}

function echoOf(turns: readonly ComparisonRun[]): { n: number; p50: number; p99: number } {
  const delays = turns.flatMap(({ result, judged }) => delaysOf(result.echoes, judged.late))
  return { n: delays.length, p50: rounded(percentile(delays, 0.5)), p99: rounded(percentile(delays, 0.99)) }
}

/** Returns the medians of an engine's runs, and all their failures. */
function sideOf(turns: readonly ComparisonRun[]): Readonly<Record<string, unknown>> {
  const sum = (value: (turn: ComparisonRun) => number): number =>
    turns.reduce((total, turn) => total + value(turn), 0)
  return {
    established: turns.map(({ established }) => established),
    usPerCallFrame: turns.map((turn) => rounded(usPerCallFrame(turn, turn.cpuMs))),
    cores: middle(turns, coresOf),
    gapP99: middle(turns, ({ result }) => result.gapP99),
    gapP999: middle(turns, ({ result }) => result.gapP999),
    lost: sum(({ result }) => result.lost),
    echoes: sum(({ result }) => result.echoes.length),
    missingEchoes: sum(({ result }) => result.echoes.filter(({ delayMs }) => delayMs === null).length),
    callerLateP99: middle(turns, ({ result }) => result.ownLateP99),
    callerCores: middle(turns, ({ result }) => result.ownCores),
    botCores: middle(turns, ({ botCores }) => botCores),
  }
}
