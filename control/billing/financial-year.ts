/** Returns the financial year of a day (IST, `YYYY-MM-DD`), as `26-27`. It begins on 1 April. */
export function financialYear(day: string): string {
  const start = startYear(day)
  return `${twoDigits(start)}-${twoDigits(start + 1)}`
}

/**
 * Returns the last day (IST) on which a credit note for a supply of `day` lowers the tax: 30 November after the
 * end of the financial year (CGST Act 34(2)).
 */
export function lastCreditNoteDay(day: string): string {
  return `${startYear(day) + 1}-11-30`
}

function startYear(day: string): number {
  const year = Number(day.slice(0, 4))
  return day.slice(5, 7) < '04' ? year - 1 : year
}

function twoDigits(year: number): string {
  return String(year % 100).padStart(2, '0')
}
