/*
 * Calling hours. India has one zone and no daylight saving, so IST is UTC plus 330 minutes, always.
 */

export type Purpose = 'promotional' | 'service' | 'transactional' | 'collections'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const IST_OFFSET_MS = 330 * MINUTE_MS

export interface CallingWindow {
  /** Minutes from midnight IST; the start is inside, the end is not. */
  readonly startMinute: number
  readonly endMinute: number
  readonly source: string
  /** First day (IST, ISO date) the rule applies. */
  readonly effectiveFrom: string
}

/** Legal windows by purpose; null where no hour is forbidden. Configuration, not law in code. */
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

/** An organization's own narrower hours for commercial calls; minutes from midnight IST. */
export interface WindowNarrowing {
  readonly startMinute: number
  readonly endMinute: number
}

/** The window that applies to a purpose, narrowed but never widened. */
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

/** Minutes and fraction from midnight IST. */
export function istMinuteOfDay(unixMs: number): number {
  return positiveRest(unixMs + IST_OFFSET_MS, DAY_MS) / MINUTE_MS
}

/** Unix ms of the midnight IST that begins the day of `unixMs`. */
export function istMidnight(unixMs: number): number {
  return unixMs - positiveRest(unixMs + IST_OFFSET_MS, DAY_MS)
}

/** The calendar day in India, ISO. */
export function istDate(unixMs: number): string {
  return new Date(unixMs + IST_OFFSET_MS).toISOString().slice(0, 10)
}

/** Monday 0 to Sunday 6, by the IST day. */
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
 * The first instant, not before `unixMs`, at which the window is open; null when it never is
 * (a narrowing that leaves nothing).
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
