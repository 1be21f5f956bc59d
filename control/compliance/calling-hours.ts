/*
 * Calling hours. India has one time zone and no daylight saving: IST is always UTC plus 330 minutes.
 */

import type { Dated } from '../config/policy-file.js'
import { appliesOn } from './dated-rule.js'

export type Purpose = 'promotional' | 'service' | 'transactional' | 'collections'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const IST_OFFSET_MS = 330 * MINUTE_MS

/** Calling hours of one day. */
export interface CallingWindow {
  /** Minutes from midnight IST. The start is inclusive, the end exclusive. */
  readonly startMinute: number
  readonly endMinute: number
  readonly source: string
  /** First day on which the rule applies (IST, ISO date). */
  readonly effectiveFrom: string
}

/** Calling hours of a purpose, from a day on. Of several that apply, each narrows the others. */
export interface HoursRule extends CallingWindow, Dated {
  readonly purpose: Purpose
  /** Set if the rule applies in this environment only. */
  readonly environment?: 'test' | 'live'
}

/** An organization's own narrower hours for commercial calls (minutes from midnight IST). */
export interface WindowNarrowing {
  readonly startMinute: number
  readonly endMinute: number
}

/** Question about calling hours. */
export interface HoursQuestion {
  readonly rules: readonly HoursRule[]
  readonly purpose: Purpose
  readonly environment: 'test' | 'live'
  readonly narrowing: WindowNarrowing | null
}

/**
 * Returns the calling hours of the day (IST) of `unixMs`, or null where no rule sets any. An organization can narrow
 * them but never widen them.
 */
export function hoursOn(question: HoursQuestion, unixMs: number): CallingWindow | null {
  const { rules, purpose, environment, narrowing } = question
  const day = istDate(unixMs)
  const found = rules.filter(
    (rule) =>
      rule.purpose === purpose &&
      (rule.environment === undefined || rule.environment === environment) &&
      appliesOn(rule, day),
  )
  if (found.length === 0) return null
  const own = narrowing === null ? [] : [narrowing]
  return {
    startMinute: Math.max(...[...found, ...own].map(({ startMinute }) => startMinute)),
    endMinute: Math.min(...[...found, ...own].map(({ endMinute }) => endMinute)),
    source: found.map(({ source }) => source).join('; '),
    effectiveFrom:
      found
        .map((rule) => rule.effectiveFrom)
        .sort()
        .at(-1) ?? day,
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

/** The day that was asked for last: a decision of the gate asks for its own day about ten times. */
let lastDay = { day: Number.NaN, date: '' }

/** Returns the calendar day in India (ISO date). */
export function istDate(unixMs: number): string {
  const day = Math.floor((unixMs + IST_OFFSET_MS) / DAY_MS)
  if (day !== lastDay.day) {
    lastDay = { day, date: new Date(unixMs + IST_OFFSET_MS).toISOString().slice(0, 10) }
  }
  return lastDay.date
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

/** Days after which a search for an open hour ends: the hours repeat every day, except around a change of rules. */
const SEARCH_DAYS = 3

/**
 * Returns the first instant (Unix ms), not before `unixMs`, at which calls are allowed. Returns null when the
 * narrowing leaves no time.
 */
export function nextAllowedAt(question: HoursQuestion, unixMs: number): number | null {
  for (let day = 0; day < SEARCH_DAYS; day++) {
    const midnight = istMidnight(unixMs) + day * DAY_MS
    const window = hoursOn(question, midnight)
    const opens = Math.max(unixMs, midnight + (window?.startMinute ?? 0) * MINUTE_MS)
    if (opens < midnight + (window?.endMinute ?? 1_440) * MINUTE_MS) return opens
  }
  return null
}

function positiveRest(value: number, by: number): number {
  return ((value % by) + by) % by
}
