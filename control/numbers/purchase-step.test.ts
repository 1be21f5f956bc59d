import t from 'tap'
import { type Finding, nextStep } from './purchase-step.js'

t.test('every state and finding of a purchase', async (t) => {
  const wait = (until: number) => ({ type: 'wait', until })
  const rows: readonly [askedAt: number | null, finding: Finding, now: number, step: object][] = [
    [null, 'unreadable', 0, wait(60_000)],
    [null, 'unreadable', 59_999, wait(60_000)],
    [null, 'unreadable', 60_000, { type: 'fail' }],
    [1_000, 'owned', 1_000, { type: 'activate' }],
    [1_000, 'absent', 1_000, wait(6_000)],
    [1_000, 'unreadable', 6_000, wait(31_000)],
    [1_000, 'absent', 31_000, wait(121_000)],
    [1_000, 'absent', 120_999, wait(121_000)],
    [1_000, 'absent', 121_000, { type: 'fail' }],
    [1_000, 'owned', 900_000, { type: 'activate' }],
    [1_000, 'unreadable', 121_000, wait(181_000)],
    [1_000, 'unreadable', 9_000_000, wait(9_060_000)],
  ]
  for (const [askedAt, finding, now, step] of rows) {
    t.same(nextStep({ askedAt, createdAt: 0 }, finding, now), step, `${askedAt} ${finding} ${now}`)
  }
})
