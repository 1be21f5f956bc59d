import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openDatabaseClock } from './database-clock.js'

await onEachDialect(t, async (t, open, engine) => {
  const database = await open()
  // Of 2025: nowhere near the server's time.
  const clock = new VirtualClock()
  const databaseClock = await openDatabaseClock(database, clock, silentLog)
  if (engine === 'sqlite') {
    t.equal(databaseClock.wall(), clock.wall(), 'one machine, one clock')
    t.equal(clock.pending, 0)
  } else {
    const near = (ms: number) => Math.abs(databaseClock.wall() - Date.now() - ms) < 30_000
    t.ok(near(0), `${databaseClock.wall()}`)
    clock.advance(50_000)
    t.ok(near(50_000), 'goes on by itself between two looks')
    clock.advance(10_000)
    for (let looks = 0; !near(0) && looks < 10_000; looks++) {
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    t.ok(near(0), 'measured again after a minute')
  }
  t.equal(databaseClock.now(), clock.now())
  await databaseClock.close()
  t.equal(clock.pending, 0)
})
