import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { type Clock, systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { SynthesisRequest } from '../../media/vendors/espeak/synthesis-port.js'
import { SynthesisJobs } from './synthesis-jobs.js'

const LONG = 'This sentence is said again and again, so that it takes its time. '.repeat(8)

function request(text: string, voice = 'asha'): SynthesisRequest {
  return { text, voice, language: 'en-IN', pace: 1, rate: 8000 }
}

function setUp(
  t: Pick<Test, 'teardown'>,
  options: { maxQueued?: number; deadlineMs?: number; clock?: Clock } = {},
): SynthesisJobs {
  assertNothingLeft(t)
  // A long deadline, because the machine may be busy; tests of deadlines set a short one.
  const jobs = new SynthesisJobs({ clock: systemClock, log: silentLog, deadlineMs: 60_000, ...options })
  t.teardown(() => jobs.close())
  return jobs
}

/** Serves the tests that need no limits of their own: its thread takes more than a second to start. */
const shared = setUp(t)

t.test('synthesis runs in its own thread, one job at a time', async (t) => {
  const jobs = shared
  const [one, two] = await Promise.all([
    jobs.synthesize(request('Hello there.')),
    jobs.synthesize(request('Goodbye, and thank you.', 'ravi')),
  ])
  t.ok(one.pcm.length > 4000)
  t.ok(two.pcm.length > one.pcm.length)
  t.same(
    one.words.map(({ textOffset }) => textOffset),
    [0, 6],
  )
  t.equal(jobs.pending, 0)
})

t.test('the calling thread stays responsive', async (t) => {
  const jobs = shared
  await jobs.synthesize(request('Warm.'))
  let turns = 0
  let done = false
  const work = jobs.synthesize(request(LONG)).then(() => {
    done = true
  })
  while (!done) {
    turns++
    await new Promise((resolve) => setImmediate(resolve))
  }
  await work
  t.ok(turns > 20, `${turns} turns of the loop`)
})

t.test('errors keep their code, and the thread continues', async (t) => {
  const jobs = shared
  await t.rejects(jobs.synthesize(request('Hi', 'nobody')), { code: 'vendor_rejected' })
  await t.rejects(jobs.synthesize(request('x'.repeat(5000))), { code: 'vendor_rejected' })
  t.ok((await jobs.synthesize(request('Hi'))).pcm.length > 0)
})

t.test('the queue is limited', async (t) => {
  const jobs = setUp(t, { maxQueued: 2 })
  const taken = [1, 2, 3].map((n) => jobs.synthesize(request(`Hello ${n}.`)))
  await t.rejects(jobs.synthesize(request('Hello 4.')), { code: 'overloaded', retryable: true })
  t.equal((await Promise.all(taken)).length, 3, 'one running, two waiting')
})

t.test('a slow job ends at its deadline', async (t) => {
  const clock = new VirtualClock()
  const jobs = setUp(t, { deadlineMs: 400, clock })
  const all = Array.from({ length: 12 }, (_, i) => jobs.synthesize(request(`${i} ${LONG.slice(10)}`)))
  clock.advance(399)
  t.equal(jobs.pending, 12)
  const outcomes = Promise.allSettled(all)
  clock.advance(1)
  t.equal(jobs.pending, 1, 'what runs is let end, what waited never runs')
  for (const outcome of await outcomes) {
    t.match(outcome, { status: 'rejected', reason: { code: 'vendor_stalled', retryable: true } })
  }
  t.equal(clock.pending, 0)
})

t.test('simultaneous requests for the same text share one job', async (t) => {
  const jobs = shared
  const stop = new AbortController()
  const cancelled = jobs.synthesize(request('Good morning.'), stop.signal)
  const others = [1, 2, 3].map(() => jobs.synthesize(request('Good morning.')))
  const louder = jobs.synthesize(request('Good morning.', 'ravi'))
  t.equal(jobs.pending, 2)
  stop.abort()
  await t.rejects(cancelled, { code: 'closed' }, 'one may leave')
  const [one, two, three] = await Promise.all(others)
  t.same(two?.pcm, one?.pcm)
  t.same(three?.words, one?.words)
  t.not(two?.pcm.buffer, one?.pcm.buffer, 'each has its own samples')
  t.notSame((await louder).pcm, one?.pcm)
})

t.test('an aborted waiting job never runs', async (t) => {
  const jobs = shared
  const stop = new AbortController()
  const first = jobs.synthesize(request('Hello.'))
  const second = jobs.synthesize(request('Hello again.'), stop.signal)
  stop.abort()
  await t.rejects(second, { code: 'closed' })
  t.equal(jobs.pending, 1)
  await first
  await t.rejects(jobs.synthesize(request('Hello.'), stop.signal), { code: 'closed' })
})

t.test('closing rejects waiting jobs, ends running ones and leaves nothing open', async (t) => {
  const jobs = setUp(t)
  const running = jobs.synthesize(request('Hello.'))
  const waiting = jobs.synthesize(request('Hello again.'))
  const outcome = t.rejects(waiting, { code: 'closed' })
  await Promise.all([jobs.close(), jobs.close(), outcome])
  t.ok((await running).pcm.length > 0)
  await t.rejects(jobs.synthesize(request('Hello.')), { code: 'closed' })
})
