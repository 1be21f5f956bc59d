import type { ThreadUsage } from '../../fixtures/service/service-process-messages.js'
import { LATENESS_BOUNDS_MS, type WorkerLoad } from '../../workers/channel/protocol.js'
import { PROFILES } from '../vendors/messages.js'
import { engineShare, type Share } from './engine-share.js'
import type { DensityResult } from './job.js'
import { judgingClips } from './reply-time.js'
import { openRig, type Rig } from './rig.js'

const REPLY_SECONDS = 4
/** Calls start at most at this rate; the measurement concerns established calls. */
const CALLS_PER_SECOND = 5

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
  /** The engine's own frame clock counters. */
  readonly frameClock: FrameClockCounts
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
  readonly beats: FrameClockCounts
}

/** Frames since the workers started. */
function beatsOf(workers: readonly WorkerLoad[]): FrameClockCounts {
  const over = (limitMs: (typeof LATENESS_BOUNDS_MS)[number]): number =>
    workers.reduce(
      (sum, { histogram }) => sum + histogram.slice(LATENESS_BOUNDS_MS.indexOf(limitMs) + 1).reduce(add, 0),
      0,
    )
  return {
    frames: workers.reduce((sum, { histogram }) => sum + histogram.reduce(add, 0), 0),
    over5: over(5),
    over20: over(20),
    skipped: workers.reduce((sum, { skippedFrames }) => sum + skippedFrames, 0),
  }
}

function add(a: number, b: number): number {
  return a + b
}

async function read(rig: Rig, callersMs: number): Promise<Meter> {
  const [usage, report] = await Promise.all([rig.service.usage(), rig.vendors.report()])
  return {
    atMs: performance.now(),
    engineMs: usage.cpuMs,
    threads: usage.threads,
    vendorsMs: report.cpuMs,
    callersMs,
    rssBytes: usage.rssBytes,
    beats: beatsOf(usage.workers),
  }
}

/** Holds `calls` ordinary conversations and measures for `holdMs` after all are established. */
export async function load(calls: number, holdMs: number): Promise<Load> {
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
      // Clean clips only: their labels are exact.
      shares: result.turns.flatMap((turn) =>
        turn.clip.endsWith('-clean') ? (engineShare(turn, waits) ?? []) : [],
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
      frameClock: {
        frames: after.beats.frames - before.beats.frames,
        over5: after.beats.over5 - before.beats.over5,
        over20: after.beats.over20 - before.beats.over20,
        skipped: after.beats.skipped - before.beats.skipped,
      },
    }
  } finally {
    await rig.close()
  }
}
