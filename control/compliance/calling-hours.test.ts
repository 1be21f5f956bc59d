import t from 'tap'
import {
  DEFAULT_WINDOWS,
  isInside,
  istMidnight,
  istMinuteOfDay,
  istWeekday,
  nextAllowedAt,
  windowFor,
} from './calling-hours.js'

const at = (iso: string) => Date.parse(iso)
const text = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

t.test('IST is UTC plus 5:30', async (t) => {
  t.equal(istMinuteOfDay(at('2026-01-01T18:30:00Z')), 0)
  t.equal(istMinuteOfDay(at('2026-01-01T18:29:00Z')), 1439)
  t.equal(istMinuteOfDay(at('2026-01-01T00:00:30Z')), 330.5)
  t.equal(text(istMidnight(at('2026-01-01T18:29:59.999Z'))), '2025-12-31T18:30:00.000Z')
  t.equal(text(istMidnight(at('2026-01-01T18:30:00Z'))), '2026-01-01T18:30:00.000Z')
  t.equal(istWeekday(at('1970-01-01T00:00:00Z')), 3, 'the epoch was a Thursday')
  t.equal(istWeekday(at('2026-08-02T18:29:00Z')), 6, 'Sunday, one minute to midnight')
  t.equal(istWeekday(at('2026-08-02T18:30:00Z')), 0, 'Monday begins at 18:30 UTC')
  t.equal(istMidnight(at('1969-12-31T10:00:00Z')), at('1969-12-30T18:30:00Z'), 'before the epoch too')
})

t.test('the end of a window is outside it', async (t) => {
  const rows: readonly ['promotional' | 'collections', string, boolean][] = [
    ['promotional', '2026-03-01T03:29:59.999Z', false],
    ['promotional', '2026-03-01T03:30:00.000Z', true],
    ['promotional', '2026-03-01T15:29:59.999Z', true],
    ['promotional', '2026-03-01T15:30:00.000Z', false],
    ['collections', '2026-03-01T02:29:59.999Z', false],
    ['collections', '2026-03-01T02:30:00.000Z', true],
    ['collections', '2026-03-01T13:29:59.999Z', true],
    ['collections', '2026-03-01T13:30:00.000Z', false],
  ]
  for (const [purpose, iso, open] of rows) {
    t.equal(isInside(DEFAULT_WINDOWS[purpose], at(iso)), open, `${purpose} ${iso}`)
  }
  for (const hour of [0, 6, 12, 18, 23]) {
    const when = at('2026-03-01T00:00:00Z') + hour * 3_600_000
    t.ok(isInside(DEFAULT_WINDOWS.service, when))
    t.ok(isInside(DEFAULT_WINDOWS.transactional, when))
  }
})

t.test('the next allowed instant', async (t) => {
  const promotional = DEFAULT_WINDOWS.promotional
  t.equal(text(nextAllowedAt(promotional, at('2026-03-01T15:30:00Z'))), '2026-03-02T03:30:00.000Z')
  t.equal(text(nextAllowedAt(promotional, at('2026-03-01T18:31:00Z'))), '2026-03-02T03:30:00.000Z')
  t.equal(text(nextAllowedAt(promotional, at('2026-03-01T02:00:00Z'))), '2026-03-01T03:30:00.000Z')
  t.equal(nextAllowedAt(promotional, at('2026-03-01T05:00:00Z')), at('2026-03-01T05:00:00Z'))
  t.equal(nextAllowedAt(null, 42), 42)
})

t.test('an organization may narrow the hours, never widen them', async (t) => {
  const narrowed = windowFor('promotional', DEFAULT_WINDOWS, { startMinute: 600, endMinute: 1300 })
  t.equal(narrowed?.startMinute, 600)
  t.equal(narrowed?.endMinute, 1260)
  t.equal(windowFor('service', DEFAULT_WINDOWS, { startMinute: 600, endMinute: 700 }), null)
  const nothing = windowFor('promotional', DEFAULT_WINDOWS, { startMinute: 1300, endMinute: 1320 })
  t.notOk(isInside(nothing, at('2026-03-01T05:00:00Z')))
  t.equal(nextAllowedAt(nothing, at('2026-03-01T05:00:00Z')), null)
})
