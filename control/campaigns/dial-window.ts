import { type CallingWindow, istMidnight, istMinuteOfDay, istWeekday } from '../compliance/calling-hours.js'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS

/** Days and minutes in which a campaign dials. */
export interface DialWindow {
  /** Bit mask. Monday is bit 0. */
  readonly weekdays: number
  /** Minutes after midnight IST. The start is inclusive, the end exclusive. */
  readonly startMinute: number
  readonly endMinute: number
}

/** Returns the part of a window that the law and the organization leave. Its start may not precede its end. */
export function lawfulWindow(window: DialWindow, legal: CallingWindow | null): DialWindow {
  if (legal === null) return window
  return {
    weekdays: window.weekdays,
    startMinute: Math.max(window.startMinute, legal.startMinute),
    endMinute: Math.min(window.endMinute, legal.endMinute),
  }
}

/**
 * Returns the first instant (Unix ms), not before `from`, at which the window is open. Returns null if the window
 * never opens.
 */
export function nextOpening(window: DialWindow, from: number): number | null {
  const { weekdays, startMinute, endMinute } = window
  if (startMinute >= endMinute) return null
  for (let day = 0; day <= 7; day++) {
    const midnight = istMidnight(from) + day * DAY_MS
    if ((weekdays & (1 << istWeekday(midnight))) === 0) continue
    const opens = midnight + startMinute * MINUTE_MS
    if (from < midnight + endMinute * MINUTE_MS) return Math.max(from, opens)
  }
  return null
}

/** Returns the time (ms) that the window is open from `from` until `until`. */
export function openTime(window: DialWindow, from: number, until: number): number {
  let sum = 0
  for (let at = nextOpening(window, from); at !== null && at < until; at = nextOpening(window, at)) {
    const closes = at + (window.endMinute - istMinuteOfDay(at)) * MINUTE_MS
    sum += Math.min(closes, until) - at
    at = closes
  }
  return sum
}

/**
 * Returns the instant (Unix ms) at which the window has been open for `ms` since `from`. Returns null if it takes
 * longer than a year.
 */
export function afterOpenTime(window: DialWindow, from: number, ms: number): number | null {
  let left = ms
  const limit = from + 366 * DAY_MS
  for (let at = nextOpening(window, from); at !== null && at < limit; at = nextOpening(window, at)) {
    const closes = at + (window.endMinute - istMinuteOfDay(at)) * MINUTE_MS
    if (at + left <= closes) return at + left
    left -= closes - at
    at = closes
  }
  return null
}
