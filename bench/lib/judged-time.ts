import { maximum, percentile, rounded } from './statistics.js'

/** Length of the windows in which the host is judged (ms). */
export const WINDOW_MS = 100
/** A window counts as late above this lateness of the probe (ms). */
export const LATE_MS = 2
/** A run is void when more than this share of its windows was late. */
export const VOID_PERCENT = 20

/** One wake-up of the probe: due at this time of the monotonic clock, and that much later. */
export interface Wake {
  readonly dueMs: number
  readonly lateMs: number
}

/** Numbers of the windows in which the host was late. */
export type LateWindows = ReadonlySet<number>

export const NO_LATE_WINDOWS: LateWindows = new Set()

/** A measured action: its start on the monotonic clock, and its duration. */
export interface Timed {
  readonly atMs: number
  readonly ms: number
}

/** Judgement of the host during one run. */
export interface Judgement {
  readonly late: LateWindows
  /** Number of windows that were judged. */
  readonly windows: number
  /** Share of the windows that were late. */
  readonly leftOutPercent: number
  readonly isVoid: boolean
  /** Lateness of the probe: p99.9 and maximum (ms). */
  readonly nullProbeMs: number
  readonly worstMs: number
}

/** Returns the number of the window that holds this time of the monotonic clock. */
export function windowOf(atMs: number): number {
  return Math.floor(atMs / WINDOW_MS)
}

/** Returns true if the host was in time in every window that the interval touches. */
export function isJudged(late: LateWindows, fromMs: number, toMs = fromMs): boolean {
  if (late.size === 0) return true
  for (let window = windowOf(fromMs); window <= windowOf(toMs); window++) if (late.has(window)) return false
  return true
}

/** Returns the durations of the actions during which the host was in time (ms). */
export function judgedTimes(late: LateWindows, actions: readonly Timed[]): number[] {
  return actions.filter(({ atMs, ms }) => isJudged(late, atMs, atMs + ms)).map(({ ms }) => ms)
}

/**
 * Judges the host by the probe's wake-ups, in order of time. A late wake-up makes every window late between the time
 * it was due and the time it came. A run without wake-ups is void.
 */
export function judgementOf(wakes: readonly Wake[]): Judgement {
  const [first] = wakes
  const last = wakes.at(-1)
  if (first === undefined || last === undefined) {
    return {
      late: NO_LATE_WINDOWS,
      windows: 0,
      leftOutPercent: 100,
      isVoid: true,
      nullProbeMs: 0,
      worstMs: 0,
    }
  }
  const late = new Set<number>()
  for (const { dueMs, lateMs } of wakes) {
    if (lateMs <= LATE_MS) continue
    for (let window = windowOf(dueMs); window <= windowOf(dueMs + lateMs); window++) late.add(window)
  }
  const windows = windowOf(last.dueMs + last.lateMs) - windowOf(first.dueMs) + 1
  const lateness = wakes.map(({ lateMs }) => lateMs)
  const leftOutPercent = rounded((100 * late.size) / windows)
  return {
    late,
    windows,
    leftOutPercent,
    isVoid: leftOutPercent > VOID_PERCENT,
    nullProbeMs: rounded(percentile(lateness, 0.999)),
    worstMs: rounded(maximum(lateness)),
  }
}

/** Joins the judgements of the separate times that one run measured. Without a judgement the run is void. */
export function joined(judgements: readonly Judgement[]): Judgement {
  const windows = judgements.reduce((sum, one) => sum + one.windows, 0)
  if (windows === 0) return judgementOf([])
  const late = new Set(judgements.flatMap((one) => [...one.late]))
  const lateWindows = judgements.reduce((sum, one) => sum + one.late.size, 0)
  const leftOutPercent = rounded((100 * lateWindows) / windows)
  return {
    late,
    windows,
    leftOutPercent,
    isVoid: leftOutPercent > VOID_PERCENT,
    nullProbeMs: maximum(judgements.map((one) => one.nullProbeMs)),
    worstMs: maximum(judgements.map((one) => one.worstMs)),
  }
}
