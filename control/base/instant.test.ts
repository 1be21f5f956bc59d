import t from 'tap'
import { parseInstant } from './instant.js'

t.test('ISO 8601 date-times', async (t) => {
  const table: readonly [string, string | null][] = [
    ['2026-03-01T10:00:00.000Z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00:00', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T15:30:00+05:30', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T15:30:00+0530', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T05:00:00-05', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01t10:00:00z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01', null],
    ['2026-02-30T10:00:00Z', null],
    ['2026-13-01T10:00:00Z', null],
    ['2026-03-01T25:00:00Z', null],
    ['1772359200', null],
    ['yesterday', null],
    ['', null],
  ]
  for (const [text, expected] of table) {
    const ms = parseInstant(text)
    t.equal(ms === null ? null : new Date(ms).toISOString(), expected, text)
  }
})
