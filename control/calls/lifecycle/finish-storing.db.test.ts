import t from 'tap'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { addJobs } from '../../jobs/store.js'
import { finishStoring } from './finish-storing.js'
import { storingJob } from './storing-job.js'

await onEachDialect(t, async (t, open) => {
  const { db } = await open()
  const clock = new VirtualClock()
  const said: string[] = []
  const never = new AbortController().signal
  const say = (_fields: object, event: string) => said.push(event)
  const log = { debug() {}, info: say, warn: say, error: say }

  /** Waits, while `each` runs with every 250 ms. */
  const waited = async (
    limitMs: number,
    flush: () => Promise<boolean>,
    each: (ms: number) => Promise<void>,
  ) => {
    const start = clock.now()
    let over: number | null = null
    const running = finishStoring({ db, nodeId: 'node-1', clock, log, flush, signal: never }, limitMs).then(
      (left) => {
        over = left
      },
    )
    while (over === null) {
      await each(clock.now() - start)
      // The statement runs on real sockets or in another thread.
      await db.selectFrom('jobs').select('id').execute()
      await clock.advanceAsync(250, 250)
    }
    await running
    return { left: over as number, ms: clock.now() - start }
  }
  const removed = (id: string) => db.deleteFrom('jobs').where('id', '=', id).execute()

  await t.test('it waits for the recordings of this node, also those of the last events', async (t) => {
    await addJobs(db, [storingJob('call_1', 'node-1', 0), storingJob('call_9', 'node-2', 0)], 0)
    const flush = async () => {
      await addJobs(db, [storingJob('call_2', 'node-1', 0)], 0)
      return true
    }
    const { left, ms } = await waited(60_000, flush, async (ms) => {
      if (ms >= 1_000) await removed('recording:call_1')
      if (ms >= 2_000) await removed('recording:call_2')
    })
    t.equal(left, 0)
    t.ok(ms >= 2_000 && ms < 60_000, `${ms}`)
    t.strictSame(said, [])
  })

  await t.test('it does not wait for ever', async (t) => {
    await addJobs(db, [storingJob('call_3', 'node-1', 0)], 0)
    const { left, ms } = await waited(
      3_000,
      async () => false,
      async () => {},
    )
    t.equal(left, 1)
    t.ok(ms >= 3_000 && ms < 10_000, `${ms}`)
    t.strictSame(said, ['recordings.left_on_disk'])
  })

  await t.test('a count that fails is repeated', async (t) => {
    let fails = true
    const faulty = {
      selectFrom(table: 'jobs') {
        if (!fails) return db.selectFrom(table)
        fails = false
        throw new Error('no database')
      },
    } as unknown as typeof db
    said.length = 0
    const end = new AbortController()
    const flush = async () => true
    const running = finishStoring(
      { db: faulty, nodeId: 'node-1', clock, log, flush, signal: end.signal },
      1_000,
    )
    let left: number | null = null
    void running.then((count) => {
      left = count
    })
    while (left === null) {
      await db.selectFrom('jobs').select('id').execute()
      await clock.advanceAsync(250, 250)
    }
    t.equal(left, 1, 'the recording of the test before')
    t.strictSame(said, ['recordings.left_unknown', 'recordings.left_on_disk'])
  })

  await t.test('the end of the service ends the wait', async (t) => {
    const end = new AbortController()
    const flush = async () => true
    const waiting = finishStoring({ db, nodeId: 'node-1', clock, log, flush, signal: end.signal }, 60_000)
    setImmediate(() => end.abort())
    await waiting
    t.equal(clock.pending, 0, 'no timer is left')
  })
})
