import t from 'tap'
import {
  type HoursQuestion,
  hoursOn,
  isInside,
  istMidnight,
  istMinuteOfDay,
  istWeekday,
  nextAllowedAt,
} from './calling-hours.js'
import { POLICY } from './policy.js'

const asked = (more: Partial<HoursQuestion> = {}): HoursQuestion => ({
  rules: POLICY.hours,
  purpose: 'promotional',
  environment: 'test',
  narrowing: null,
  ...more,
})
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
    // Leap day, IST.
    ['promotional', '2028-02-28T18:30:00.000Z', false],
    ['promotional', '2028-02-29T03:30:00.000Z', true],
  ]
  for (const [purpose, iso, open] of rows) {
    t.equal(isInside(hoursOn(asked({ purpose }), at(iso)), at(iso)), open, `${purpose} ${iso}`)
  }
  for (const hour of [0, 6, 12, 18, 23]) {
    const when = at('2026-03-01T00:00:00Z') + hour * 3_600_000
    t.equal(hoursOn(asked({ purpose: 'service' }), when), null)
    t.equal(hoursOn(asked({ purpose: 'transactional' }), when), null)
  }
})

t.test('live promotional calls begin at 10:00', async (t) => {
  const live = asked({ environment: 'live' })
  t.match(hoursOn(live, at('2026-03-01T05:00:00Z')), {
    startMinute: 600,
    endMinute: 1260,
    source: /band \(iii\)/,
  })
  t.equal(text(nextAllowedAt(live, at('2026-03-01T03:30:00Z'))), '2026-03-01T04:30:00.000Z')
})

t.test('the next allowed instant', async (t) => {
  const next = (iso: string, question = asked()) => text(nextAllowedAt(question, at(iso)))
  t.equal(next('2026-03-01T15:30:00Z'), '2026-03-02T03:30:00.000Z')
  t.equal(next('2026-03-01T18:29:59.999Z'), '2026-03-02T03:30:00.000Z', 'before midnight in India')
  t.equal(next('2026-03-01T18:30:00Z'), '2026-03-02T03:30:00.000Z', 'and at it')
  t.equal(next('2026-03-01T02:00:00Z'), '2026-03-01T03:30:00.000Z')
  t.equal(next('2028-02-28T15:30:00Z'), '2028-02-29T03:30:00.000Z', 'on a leap day')
  t.equal(next('2026-03-01T05:00:00Z'), '2026-03-01T05:00:00.000Z')
  t.equal(nextAllowedAt(asked({ purpose: 'service' }), 42), 42)
})

t.test('a rule that changes on a day applies from its first minute', async (t) => {
  const rule = { purpose: 'promotional', source: 'a rule' } as const
  const rules = [
    { ...rule, startMinute: 540, endMinute: 1260, effectiveFrom: '2020-01-01', effectiveTo: '2026-03-02' },
    { ...rule, startMinute: 720, endMinute: 780, effectiveFrom: '2026-03-02' },
  ]
  const minutes = (iso: string) => hoursOn(asked({ rules }), at(iso))?.startMinute
  t.equal(minutes('2026-03-01T18:29:59.999Z'), 540)
  t.equal(minutes('2026-03-01T18:30:00Z'), 720)
  t.equal(
    text(nextAllowedAt(asked({ rules }), at('2026-03-01T15:30:00Z'))),
    '2026-03-02T06:30:00.000Z',
    'the next hours are those of the new rule',
  )
  t.match(hoursOn(asked({ purpose: 'collections' }), at('2026-12-31T18:29:59Z')), { source: /2022-23/ })
  t.match(hoursOn(asked({ purpose: 'collections' }), at('2026-12-31T18:30:00Z')), { source: /2026-27/ })
})

t.test('an organization may narrow the hours, never widen them', async (t) => {
  const noon = at('2026-03-01T06:30:00Z')
  const narrowed = hoursOn(asked({ narrowing: { startMinute: 600, endMinute: 1300 } }), noon)
  t.match(narrowed, { startMinute: 600, endMinute: 1260 })
  const service = asked({ purpose: 'service', narrowing: { startMinute: 600, endMinute: 700 } })
  t.equal(hoursOn(service, noon), null)
  const nothing = asked({ narrowing: { startMinute: 1300, endMinute: 1320 } })
  t.notOk(isInside(hoursOn(nothing, noon), noon))
  t.equal(nextAllowedAt(nothing, noon), null)
})
