/** India has one time zone and no daylight saving: IST is always UTC plus 330 minutes. */
const IST_OFFSET_MS = 330 * 60_000

/** Returns the date in India at a time (Unix ms), as `YYYY-MM-DD`. */
export function istDate(ms: number): string {
  return new Date(ms + IST_OFFSET_MS).toISOString().slice(0, 10)
}

/** Returns the time of day in India at a time (Unix ms), as `HH:MM:SS`. */
export function istTime(ms: number): string {
  return new Date(ms + IST_OFFSET_MS).toISOString().slice(11, 19)
}

/** Returns the beginning of a day in India (Unix ms). `date` is `YYYY-MM-DD`. */
export function istMidnight(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) - IST_OFFSET_MS
}

/** Returns the day before a day (`YYYY-MM-DD`). */
export function dayBefore(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)
}
