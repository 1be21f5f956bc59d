import t from 'tap'
import { type AttemptResult, MAX_ATTEMPTS, planNextAttempt, retryAfterMs } from './retry-schedule.js'

const MINUTE = 60_000
const NOW = Date.UTC(2026, 0, 15, 10)
const FAILED: AttemptResult = { kind: 'failed' }
const answered = (status: number, retryAfter: number | null = null): AttemptResult => ({
  kind: 'answered',
  status,
  retryAfterMs: retryAfter,
})

t.test('the whole schedule: 14 attempts, the last 24 h 15 min after the first', async (t) => {
  const cumulative: number[] = []
  let at = NOW
  for (let attempt = 1; ; attempt++) {
    cumulative.push((at - NOW) / MINUTE)
    // In the middle of the jitter nothing is added or taken.
    const next = planNextAttempt(attempt, FAILED, at, 0.5)
    if (next.kind !== 'retry') {
      t.strictSame(next, { kind: 'give-up' })
      break
    }
    at = next.at
  }
  t.strictSame(cumulative, [0, 1, 3, 7, 15, 31, 63, 127, 255, 495, 735, 975, 1215, 1455])
  t.equal(cumulative.length, MAX_ATTEMPTS)
})

t.test('jitter is at most a tenth in either direction', async (t) => {
  for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
    const at = (random: number): number => {
      const next = planNextAttempt(attempt, FAILED, 0, random)
      return next.kind === 'retry' ? next.at : Number.NaN
    }
    t.equal(at(0), at(0.5) * 0.9, `attempt ${attempt}, shortest`)
    t.ok(at(0.999_999) <= at(0.5) * 1.1 && at(0.999_999) > at(0.5) * 1.09, `attempt ${attempt}, longest`)
  }
})

t.test('the meaning of every class of response', async (t) => {
  for (const status of [200, 201, 202, 204, 299]) {
    t.equal(planNextAttempt(1, answered(status), NOW, 0.5).kind, 'delivered', `${status}`)
  }
  for (const status of [408, 429, 500, 502, 503, 504, 599]) {
    t.equal(planNextAttempt(1, answered(status), NOW, 0.5).kind, 'retry', `${status}`)
  }
  for (const status of [300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 409, 410, 422, 499]) {
    t.equal(planNextAttempt(1, answered(status), NOW, 0.5).kind, 'give-up', `${status}`)
  }
  t.equal(planNextAttempt(1, FAILED, NOW, 0.5).kind, 'retry')
  t.equal(planNextAttempt(14, answered(500), NOW, 0.5).kind, 'give-up', 'after the last attempt')
  t.equal(planNextAttempt(14, answered(200), NOW, 0.5).kind, 'delivered', 'the last attempt may still do it')
})

t.test('a longer Retry-After is honoured, four hours at most', async (t) => {
  const at = (result: AttemptResult, attempt = 1) => {
    const next = planNextAttempt(attempt, result, NOW, 0.5)
    return next.kind === 'retry' ? (next.at - NOW) / MINUTE : Number.NaN
  }
  t.equal(at(answered(429, 10 * MINUTE)), 10)
  t.equal(at(answered(503, 30_000)), 1, 'shorter than planned')
  t.equal(at(answered(503, 1000 * MINUTE)), 240, 'capped')
  t.equal(at(answered(503, 1000 * MINUTE), 13), 240)
})

t.test('the Retry-After header', async (t) => {
  t.equal(retryAfterMs('120', NOW), 120_000)
  t.equal(retryAfterMs(' 0 ', NOW), 0)
  t.equal(retryAfterMs('Thu, 15 Jan 2026 10:02:00 GMT', NOW), 120_000)
  t.equal(retryAfterMs('Thu, 15 Jan 2026 09:00:00 GMT', NOW), 0, 'in the past')
  for (const nonsense of [undefined, '', 'soon', '-5', '1.5', '9999999999']) {
    t.equal(retryAfterMs(nonsense, NOW), null, String(nonsense))
  }
})
