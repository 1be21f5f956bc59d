import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { cachedRead } from './cached-read.js'

t.test('concurrent reads share one, and a later read is new', async (t) => {
  const clock = new VirtualClock()
  let reads = 0
  const read = cachedRead(clock, 1_000, async () => ++reads)
  t.strictSame(await Promise.all([read(), read(), read()]), [1, 1, 1])
  clock.advance(999)
  t.equal(await read(), 1)
  clock.advance(1)
  t.equal(await read(), 2)
})

t.test('a failed read rejects for all its waiters, and is not cached', async (t) => {
  const clock = new VirtualClock()
  let fail = true
  const read = cachedRead(clock, 1_000, async () => {
    if (fail) throw new Error('no database')
    return 'there'
  })
  await t.rejects(Promise.all([read(), read()]), { message: 'no database' })
  fail = false
  t.equal(await read(), 'there')
})
