import t from 'tap'
import { usePeriodOf } from './use-period.js'

t.test('half a month, at most 16 days', async (t) => {
  t.same(usePeriodOf('2026-01-01'), { startsOn: '2026-01-01', before: '2026-01-16' })
  t.same(usePeriodOf('2026-01-15'), { startsOn: '2026-01-01', before: '2026-01-16' })
  t.same(usePeriodOf('2026-01-16'), { startsOn: '2026-01-16', before: '2026-02-01' })
  t.same(usePeriodOf('2028-02-29'), { startsOn: '2028-02-16', before: '2028-03-01' })
  t.same(usePeriodOf('2026-12-31'), { startsOn: '2026-12-16', before: '2027-01-01' })
})
