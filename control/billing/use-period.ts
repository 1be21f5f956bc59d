/*
 * Use of money with a receipt voucher is invoiced twice a month (IST): after the 15th and after the last day. Rule 47
 * of the CGST Rules allows 30 days from the supply, which a month of 31 days exceeds.
 */

/** Days (IST, `YYYY-MM-DD`), `before` not included. */
export interface UsePeriod {
  readonly startsOn: string
  readonly before: string
}

/** Returns the period of a day (IST, `YYYY-MM-DD`). */
export function usePeriodOf(day: string): UsePeriod {
  const month = day.slice(0, 7)
  if (day.slice(8) <= '15') return { startsOn: `${month}-01`, before: `${month}-16` }
  const next = new Date(`${month}-01T00:00:00Z`)
  next.setUTCMonth(next.getUTCMonth() + 1)
  return { startsOn: `${month}-16`, before: next.toISOString().slice(0, 10) }
}
