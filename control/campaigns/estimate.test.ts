import t from 'tap'
import { afterOpenTime, nextOpening, openTime } from './dial-window.js'
import { dialRate, estimateFinish, expectedDials, NO_EXPERIENCE } from './estimate.js'

/** Wednesday, 10:00 in India. */
const NOW = Date.UTC(2025, 0, 15, 4, 30)
const HOUR = 3_600_000
const window = { weekdays: 127, startMinute: 540, endMinute: 1_260 }

t.test('windows', (t) => {
  const weekdays = { ...window, weekdays: 0b11111 }
  t.equal(nextOpening(window, NOW), NOW)
  t.equal(nextOpening(weekdays, NOW + 3 * 24 * HOUR), NOW + 5 * 24 * HOUR - HOUR, 'Saturday to Monday')
  t.equal(nextOpening({ ...window, endMinute: 540 }, NOW), null)
  t.equal(openTime(window, NOW, NOW + 24 * HOUR), 12 * HOUR)
  t.equal(openTime(weekdays, NOW, NOW + 7 * 24 * HOUR), 60 * HOUR)
  t.equal(afterOpenTime(window, NOW, 11 * HOUR), NOW + 11 * HOUR)
  t.equal(afterOpenTime(window, NOW, 12 * HOUR), NOW + 24 * HOUR)
  t.equal(afterOpenTime(window, NOW, 400 * 12 * HOUR), null)
  t.end()
})

t.test('100,000 recipients at 120 calls a minute need 13.9 hours of window', (t) => {
  const input = {
    callable: 100_000,
    attempts: 1,
    callsPerMinute: 120,
    slots: 1_000,
    experience: NO_EXPERIENCE,
    window,
    retryTailMs: 0,
    startsAt: NOW,
  }
  const { low, likely, high } = estimateFinish(input)
  t.equal(low, likely)
  t.equal(low, high)
  t.equal(Math.round((openTime(window, NOW, low ?? 0) / HOUR) * 10), 139)
  t.equal(dialRate({ ...input, slots: 5 }), 5 / (0.35 * 75 + 0.65 * 25), 'the slots are the limit')
  t.equal(expectedDials(0.5, 3), 1.75)
  const retried = estimateFinish({ ...input, attempts: 2, retryTailMs: 48 * HOUR })
  t.equal(retried.low, low)
  t.equal(retried.likely, NOW + 48 * HOUR, 'the last retry comes after the last first dial')
  t.ok((retried.high ?? 0) >= (retried.likely ?? 0))
  t.end()
})
