import t from 'tap'
import { renewalAfter } from './rental-dates.js'

/** Times in IST without a zone. */
const ist = (text: string): number => Date.parse(`${text}+05:30`)
const shown = (ms: number): string => new Date(ms + 330 * 60_000).toISOString().slice(0, 16)

function renewals(bought: string, cycle: 'anniversary' | 'calendar_month', count: number): string[] {
  const purchasedAt = ist(bought)
  const dates: string[] = []
  for (let at = purchasedAt; dates.length < count; dates.push(shown(at))) {
    at = renewalAfter(purchasedAt, cycle, at)
  }
  return dates
}

t.test('the day of the purchase is kept, and restored after shorter months', async (t) => {
  t.same(renewals('2027-01-31T10:30', 'anniversary', 4), [
    '2027-02-28T10:30',
    '2027-03-31T10:30',
    '2027-04-30T10:30',
    '2027-05-31T10:30',
  ])
  t.same(
    renewals('2028-01-29T00:00', 'anniversary', 2),
    ['2028-02-29T00:00', '2028-03-29T00:00'],
    'leap year',
  )
  t.same(renewals('2027-01-30T23:59', 'anniversary', 2), ['2027-02-28T23:59', '2027-03-30T23:59'])
})

t.test('calendar months begin on the first, 00:00 IST', async (t) => {
  t.same(renewals('2026-11-30T23:59', 'calendar_month', 3), [
    '2026-12-01T00:00',
    '2027-01-01T00:00',
    '2027-02-01T00:00',
  ])
  // 20:00 UTC on the 31st is the first in India.
  t.equal(
    shown(renewalAfter(Date.parse('2026-12-31T20:00Z'), 'calendar_month', Date.parse('2026-12-31T20:00Z'))),
    '2027-02-01T00:00',
  )
})

t.test('three years of every day of January', async (t) => {
  for (const cycle of ['anniversary', 'calendar_month'] as const) {
    for (let day = 1; day <= 31; day++) {
      const dates = renewals(`2027-01-${String(day).padStart(2, '0')}T03:00`, cycle, 36)
      const months = dates.map((date) => date.slice(0, 7))
      t.equal(new Set(months).size, 36, `${cycle} ${day}: one renewal a month`)
      t.equal(months.at(-1), '2030-01')
    }
  }
})
