import type { RenewalCycle } from '../carriers/carrier.js'

/** India has one time zone without daylight saving time. */
const IST_MS = 330 * 60_000

/**
 * Returns the first renewal after `after` (Unix ms) of a number bought at `purchasedAt`. `anniversary`: each month at
 * the day and time of the purchase in IST, on the last day of a shorter month. `calendar_month`: on the first of each
 * month, 00:00 IST.
 */
export function renewalAfter(purchasedAt: number, cycle: RenewalCycle, after: number): number {
  const bought = new Date(purchasedAt + IST_MS)
  const from = new Date(after + IST_MS)
  const month = from.getUTCFullYear() * 12 + from.getUTCMonth()
  for (let next = month; ; next++) {
    const at = cycle === 'calendar_month' ? startOfMonth(next) : sameDay(next, bought)
    if (at > after) return at
  }
}

/** Months are counted from the year 0. Returns Unix ms. */
function startOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1) - IST_MS
}

function sameDay(month: number, bought: Date): number {
  const year = Math.floor(month / 12)
  const lastDay = new Date(Date.UTC(year, (month % 12) + 1, 0)).getUTCDate()
  const timeOfDay = bought.getTime() % 86_400_000
  return Date.UTC(year, month % 12, Math.min(bought.getUTCDate(), lastDay)) + timeOfDay - IST_MS
}
