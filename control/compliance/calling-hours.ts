/*
 * Calling hours. India has one time zone and no daylight saving: IST is always UTC plus 330 minutes.
 */

export type Purpose = 'promotional' | 'service' | 'transactional' | 'collections'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const IST_OFFSET_MS = 330 * MINUTE_MS

export interface CallingWindow {
  /** Minutes from midnight IST. The start is inclusive, the end exclusive. */
  readonly startMinute: number
  readonly endMinute: number
  readonly source: string
  /** First day on which the rule applies (IST, ISO date). */
  readonly effectiveFrom: string
}

/**
 * Legal calling hours by purpose; null where the law sets none. They are configuration, passed to the gate as
 * facts.
 */
export type WindowRules = Readonly<Record<Purpose, CallingWindow | null>>

export const DEFAULT_WINDOWS: WindowRules = {
  promotional: {
    startMinute: 540,
    endMinute: 1260,
    source: 'TCCCPR 2018 default-off bands (ii) and (ix); 09:00-21:00 as operators apply them',
    effectiveFrom: '2018-07-19',
  },
  collections: {
    startMinute: 480,
    endMinute: 1140,
    source: 'RBI/2022-23/108 DOR.ORG.REC.65/21.04.158/2022-23',
    effectiveFrom: '2022-08-12',
  },
  service: null,
  transactional: null,
}

/** An organization's own narrower hours for commercial calls (minutes from midnight IST). */
export interface WindowNarrowing {
  readonly startMinute: number
  readonly endMinute: number
}

/** Returns the window of a purpose. An organization can narrow it but never widen it. */
export function windowFor(
  purpose: Purpose,
  rules: WindowRules,
  narrowing: WindowNarrowing | null,
): CallingWindow | null {
  const legal = rules[purpose]
  if (!legal || !narrowing) return legal
  return {
    ...legal,
    startMinute: Math.max(legal.startMinute, narrowing.startMinute),
    endMinute: Math.min(legal.endMinute, narrowing.endMinute),
  }
}

/** Returns minutes from midnight IST, with their fraction. */
export function istMinuteOfDay(unixMs: number): number {
  return positiveRest(unixMs + IST_OFFSET_MS, DAY_MS) / MINUTE_MS
}

/** Returns the midnight IST (Unix ms) at which the day of `unixMs` begins. */
export function istMidnight(unixMs: number): number {
  return unixMs - positiveRest(unixMs + IST_OFFSET_MS, DAY_MS)
}

/** Returns the calendar day in India (ISO date). */
export function istDate(unixMs: number): string {
  return new Date(unixMs + IST_OFFSET_MS).toISOString().slice(0, 10)
}

/** Returns the weekday in India: Monday is 0, Sunday is 6. */
export function istWeekday(unixMs: number): number {
  // 1 January 1970 was a Thursday.
  return positiveRest(Math.floor((unixMs + IST_OFFSET_MS) / DAY_MS) + 3, 7)
}

export function isInside(window: CallingWindow | null, unixMs: number): boolean {
  if (!window) return true
  const minute = istMinuteOfDay(unixMs)
  return minute >= window.startMinute && minute < window.endMinute
}

/**
 * Returns the first instant (Unix ms), not before `unixMs`, at which the window is open. Returns null when it
 * never opens because the narrowing leaves no time.
 */
export function nextAllowedAt(window: CallingWindow | null, unixMs: number): number | null {
  if (!window || isInside(window, unixMs)) return unixMs
  if (window.startMinute >= window.endMinute) return null
  const today = istMidnight(unixMs) + window.startMinute * MINUTE_MS
  return today > unixMs ? today : today + DAY_MS
}

function positiveRest(value: number, by: number): number {
  return ((value % by) + by) % by
}
