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
    const purchase = { askedAt, createdAt: 0, failureCode: null }
    t.same(nextStep(purchase, finding, now), step, `${askedAt} ${finding} ${now}`)
  }
})

t.test('an order that the carrier took may be carried out for a week', async (t) => {
  const week = 7 * 86_400_000
  const rows: readonly [finding: Finding, now: number, step: object][] = [
    ['absent', 1_000, { type: 'wait', until: 6_000 }],
    ['absent', 121_000, { type: 'wait', until: 121_000 + 3_600_000 }],
    ['owned', week, { type: 'activate' }],
    ['absent', week + 999, { type: 'wait', until: week + 999 + 3_600_000 }],
    ['absent', week + 1_000, { type: 'fail' }],
    ['unreadable', week + 1_000, { type: 'wait', until: week + 61_000 }],
  ]
  for (const [finding, now, step] of rows) {
    const purchase = { askedAt: 1_000, createdAt: 0, failureCode: 'compliance_incomplete' }
    t.same(nextStep(purchase, finding, now), step, `${finding} ${now}`)
  }
})
