import t from 'tap'
import { ThreadWork } from './thread-work.js'

t.test('the share is that of the last second, however often it is asked', async (t) => {
  const now = { ms: 0, workMs: 0 }
  const work = new ThreadWork(
    () => now.ms,
    () => now.workMs,
  )
  const pass = (ms: number, share: number): number => {
    now.ms += ms
    now.workMs += ms * share
    return work.share()
  }
  t.equal(work.share(), 0)
  t.equal(pass(1000, 0.25), 0.25)
  t.equal(pass(1000, 0.75), 0.75)
  // Ten short questions do not make it the share of a tenth of a second.
  for (let i = 0; i < 9; i++) pass(100, 0)
  t.ok(pass(100, 1) < 0.2)
  t.equal(work.share(), pass(0, 0))
})

t.test('a thread that computes is busy, one that waits is not', async (t) => {
  const work = new ThreadWork()
  work.share()
  const until = process.cpuUsage().user + 300_000
  while (process.cpuUsage().user < until);
  t.ok(work.share() > 0)
})
