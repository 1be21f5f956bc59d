import t from 'tap'
import { Hours, isOpen } from './hours.js'

/** Monday, 23 November 2026, 00:00 in India. */
const MONDAY = Date.parse('2026-11-23T00:00:00+05:30')
const DAY_MS = 86_400_000
const at = (day: number, time: string) =>
  MONDAY + day * DAY_MS + Number(time.slice(0, 2)) * 3_600_000 + Number(time.slice(3)) * 60_000

t.test('windows count in Indian time', async (t) => {
  const office = [{ days: 'mon-fri', from: '09:30', to: '18:00' }]
  t.ok(isOpen(office, at(0, '09:30')))
  t.notOk(isOpen(office, at(0, '09:30') - 1))
  t.ok(isOpen(office, at(4, '18:00') - 1))
  t.notOk(isOpen(office, at(4, '18:00')))
  t.notOk(isOpen(office, at(5, '12:00')))
  // Monday evening in UTC is Tuesday in India.
  t.ok(isOpen([{ days: 'tue', from: '00:00', to: '06:00' }], Date.parse('2026-11-23T20:00:00Z')))
})

t.test('several windows, lists of days, and ranges over Sunday', async (t) => {
  const hours = [
    { days: 'mon,wed', from: '10:00', to: '12:00' },
    { days: 'sat-mon', from: '20:00', to: '24:00' },
  ]
  t.ok(isOpen(hours, at(2, '11:59')))
  t.notOk(isOpen(hours, at(1, '11:00')))
  for (const day of [5, 6, 0]) t.ok(isOpen(hours, at(day, '23:59')))
  t.notOk(isOpen(hours, at(2, '23:00')))
  t.ok(isOpen([], at(3, '03:00')), 'no window means any time')
})

t.test('the grammar', async (t) => {
  const good = (days: string, from: string, to: string) => Hours.safeParse([{ days, from, to }]).success
  t.ok(good('mon', '00:00', '24:00'))
  t.ok(good('mon-wed,sat', '09:05', '09:06'))
  for (const days of ['', 'Mon', 'monday', 'mon - fri', 'mon,', 'mon-', 'mon-tue-wed', '0']) {
    t.notOk(good(days, '09:00', '10:00'), days)
  }
  for (const [from, to] of [
    ['10:00', '10:00'],
    ['10:00', '09:00'],
    ['24:00', '24:00'],
    ['9:00', '10:00'],
    ['09:00', '24:01'],
    ['09:60', '10:00'],
  ] as const) {
    t.notOk(good('mon', from, to), `${from}-${to}`)
  }
  t.ok(Hours.safeParse(null).success)
})
