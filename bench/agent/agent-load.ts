import type { ThreadUsage } from '../../fixtures/service/service-process-messages.js'
import { systemClock } from '../../media/base/clock.js'
import type { LateFrame, WorkerLoad } from '../../workers/channel/protocol.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged, type Judgement } from '../lib/judged-time.js'
import { PROFILES } from '../vendors/messages.js'
import { engineShare, type Share } from './engine-share.js'
import type { DensityResult } from './job.js'
import { judgingClips } from './reply-time.js'
import { openRig, type Rig } from './rig.js'

const REPLY_SECONDS = 4
/** Calls start at most at this rate; the measurement concerns established calls. */
const CALLS_PER_SECOND = 5
/** The engine reports late frames of the last 10 s. */
const LOOK_EVERY_MS = 4000
const LATE_MS = 5
const VERY_LATE_MS = 20

/** CPU time used while all calls were established, in cores. */
export interface Cores {
  readonly engine: number
  /** Part of the engine's share: the media thread, and the main thread. */
  readonly media: number
  readonly main: number
  readonly vendors: number
  readonly callers: number
}

export interface Load {
  readonly result: DensityResult
  readonly shares: readonly Share[]
  readonly errors: readonly string[]
  readonly cores: Cores
  readonly rssMb: number
  /** The engine's own frame clock counters, without the windows in which the host was late. */
  readonly frameClock: FrameClockCounts
  readonly judged: Judgement
}

export interface FrameClockCounts {
  readonly frames: number
  readonly over5: number
  readonly over20: number
  readonly skipped: number
}

interface Meter {
  readonly atMs: number
  readonly engineMs: number
  readonly threads: readonly ThreadUsage[]
  readonly vendorsMs: number
  readonly callersMs: number
  readonly rssBytes: number
  readonly frames: number
  readonly skipped: number
}

/** Collects the late frames that the engine reports, each of them once. */
class LateFrames {
  readonly seen: LateFrame[] = []
  #lastMs = 0

  add(workers: readonly WorkerLoad[]): void {
    const fresh = workers.flatMap(({ lateFrames }) => lateFrames.filter(({ atMs }) => atMs > this.#lastMs))
    this.seen.push(...fresh)
    this.#lastMs = fresh.reduce((last, { atMs }) => Math.max(last, atMs), this.#lastMs)
  }
}

function add(a: number, b: number): number {
  return a + b
}

async function read(rig: Rig, callersMs: number): Promise<Meter> {
  const [usage, report] = await Promise.all([rig.service.usage(), rig.vendors.report()])
  return {
    atMs: systemClock.now(),
    engineMs: usage.cpuMs,
    threads: usage.threads,
    vendorsMs: report.cpuMs,
    callersMs,
    rssBytes: usage.rssBytes,
    frames: sumOf(usage.workers, ({ histogram }) => histogram.reduce(add, 0)),
    skipped: sumOf(usage.workers, ({ skippedFrames }) => skippedFrames),
  }
}

function sumOf(workers: readonly WorkerLoad[], value: (worker: WorkerLoad) => number): number {
  return workers.map(value).reduce(add, 0)
}

/** Counts the late frames of the held time in which the host was in time. */
function countFrames(
  before: Meter,
  after: Meter,
  lateFrames: readonly LateFrame[],
  { late, leftOutPercent }: Judgement,
): FrameClockCounts {
  const judged = lateFrames.filter(
    ({ atMs, lateMs }) =>
      atMs - lateMs >= before.atMs && atMs <= after.atMs && isJudged(late, atMs - lateMs, atMs),
  )
  return {
    frames: Math.round((after.frames - before.frames) * (1 - leftOutPercent / 100)),
    over5: judged.filter(({ lateMs }) => lateMs > LATE_MS).length,
    over20: judged.filter(({ lateMs }) => lateMs > VERY_LATE_MS).length,
    skipped: after.skipped - before.skipped,
  }
}

/** Other work of the service during the measurement. */
export interface OtherWork {
  prepare(service: Rig['service']): Promise<void>
  /** Begins when all calls are established. The measurement does not wait for it. */
  run(service: Rig['service']): Promise<void>
}

/** Holds `calls` ordinary conversations and measures for `holdMs` after all are established. */
export async function load(calls: number, holdMs: number, probe: Probe, other?: OtherWork): Promise<Load> {
  const rig = await openRig({ profile: PROFILES.zero, replySeconds: REPLY_SECONDS, record: true })
  const lateFrames = new LateFrames()
  const look = async (): Promise<void> => lateFrames.add((await rig.service.usage()).workers)
  const looking = setInterval(() => void look(), LOOK_EVERY_MS)
  try {
    const meters: Promise<Meter>[] = []
    const judged: Promise<Judgement>[] = []
    await other?.prepare(rig.service)
    let work: Promise<void> | undefined
    const result = await rig.call(
      { kind: 'density', calls, clips: judgingClips(), holdMs, callsPerSecond: CALLS_PER_SECOND },
      {
        phase: (phase, callersMs) => {
          meters.push(phase === 'up' ? probe.begin().then(() => read(rig, callersMs)) : read(rig, callersMs))
          if (phase === 'up') {
            work = other?.run(rig.service)
            // Its failure is thrown below.
            work?.catch(() => {})
          }
          if (phase === 'over') judged.push(look().then(() => probe.judge()))
        },
        hostLate: async () => [...((await judged[0])?.late ?? [])],
      },
    )
    const [before, after] = await Promise.all(meters)
    const [host] = await Promise.all(judged)
    await work
    if (result.density === null || before === undefined || after === undefined || host === undefined) {
      throw new Error('the caller measured no density')
    }
    const { turns: waits } = await rig.vendors.report()
    const wallMs = after.atMs - before.atMs
    const [main = 0, ...others] = after.threads.map(
      ({ id, cpuMs }) => cpuMs - (before.threads.find((thread) => thread.id === id)?.cpuMs ?? 0),
    )
    return {
      result: result.density,
      // Clean clips only: their labels are exact.
      shares: result.turns.flatMap((turn) =>
        turn.clip.endsWith('-clean') ? (engineShare(turn, waits, host.late) ?? []) : [],
      ),
      errors: result.errors,
      cores: {
        engine: (after.engineMs - before.engineMs) / wallMs,
        // The single media worker is by far the busiest of the other threads.
        media: Math.max(0, ...others) / wallMs,
        main: main / wallMs,
        vendors: (after.vendorsMs - before.vendorsMs) / wallMs,
        callers: (after.callersMs - before.callersMs) / wallMs,
      },
      rssMb: Math.round(after.rssBytes / 1e6),
      frameClock: countFrames(before, after, lateFrames.seen, host),
      judged: host,
    }
  } finally {
    clearInterval(looking)
    await rig.close()
  }
}
