import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openDatabaseClock } from './database-clock.js'

const REFRESH_MS = 20_000

await onEachDialect(t, async (t, open, engine) => {
  const database = await open()
  // Of 2025: nowhere near the server's time.
  const clock = new VirtualClock()
  const databaseClock = await openDatabaseClock(database, clock, silentLog)
  if (engine === 'sqlite') {
    t.equal(databaseClock.wall(), clock.wall(), 'one machine, one clock')
  } else {
    const near = (ms: number) => Math.abs(databaseClock.wall() - Date.now() - ms) < 30_000
    t.ok(near(0), `${databaseClock.wall()}`)
    clock.advance(REFRESH_MS - 1)
    // Several measurements fail to fit into the test's patience only if the clock does not go on by itself.
    t.ok(near(REFRESH_MS), 'goes on by itself between two looks')
    clock.advance(1)
    clock.advance(60_000)
    for (let looks = 0; !near(0) && looks < 10_000; looks++) {
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    t.ok(near(0), 'measured again')
  }
  t.equal(databaseClock.now(), clock.now())
  await databaseClock.close()
  t.equal(clock.pending, 0)
})

t.test('setting the time of a machine moves the clock at the next measurement, and is known', async (t) => {
  const clock = new VirtualClock()
  let setMs = 0
  const moved = {
    now: () => clock.now(),
    wall: () => clock.wall() + setMs,
    after: (ms: number, run: () => void) => clock.after(ms, run),
  }
  await onEachDialect(t, async (t, open, engine) => {
    if (engine !== 'sqlite') return
    const databaseClock = await openDatabaseClock(await open(), moved, silentLog)
    t.equal(databaseClock.steadyMs, Number.POSITIVE_INFINITY)
    const before = databaseClock.wall()
    setMs += 300_000
    clock.advance(1_000)
    t.equal(databaseClock.wall(), before + 1_000, 'it does not jump')
    await clock.advanceAsync(REFRESH_MS, 1_000)
    t.equal(databaseClock.wall(), moved.wall())
    t.ok(databaseClock.steadyMs < REFRESH_MS)
    await databaseClock.close()
  })
})
