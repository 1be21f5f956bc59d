import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openMortal } from '../../fixtures/database/mortal.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { silentLog } from '../../media/base/log.js'
import type { Db } from '../db/database.js'
import { endOfEventLoopTurn } from './group-commit.js'
import {
  type ClaimedJob,
  failureRetryMs,
  type JobHandler,
  type JobRunner,
  LEASE_MS,
  openJobRunner,
  POLL_MS,
  shareSlots,
} from './runner.js'
import { addJobs, claimJobs, releaseClaim, renewClaims } from './store.js'

const jobsOf = (db: Db) => db.selectFrom('jobs').selectAll().orderBy('id').execute()

/** A handler that writes down what it ran. */
function recorder(over: Partial<JobHandler> = {}): JobHandler & { readonly ran: ClaimedJob[] } {
  const ran: ClaimedJob[] = []
  return {
    kind: 'work',
    concurrency: 100,
    async run(job) {
      ran.push(job)
      return async () => null
    },
    ...over,
    ran,
  }
}

const job = (id: string, dueAt: number, lane = '') => ({ id, kind: 'work', lane, dueAt, payload: `p-${id}` })

await onEachDialect(t, async (t, open, dialect) => {
  await t.test('a job runs once when it is due, and is deleted', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(db, [job('a', now), job('b', now + 10_000)], now)
    await addJobs(db, [job('a', now + 99)], now)
    const handler = recorder()
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    await runner.idle()
    t.strictSame(
      handler.ran.map(({ id, payload, attempts }) => [id, payload, attempts]),
      [['a', 'p-a', 1]],
    )
    clock.advance(10_000)
    await runner.idle()
    t.strictSame(
      handler.ran.map(({ id }) => id),
      ['a', 'b'],
    )
    t.strictSame(await jobsOf(db), [])
    await runner.close()
    t.equal(clock.pending, 0, 'no timer is left')
  })

  await t.test('a job that is due again waits; a fault is retried with growing delays', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const start = clock.wall()
    await addJobs(db, [job('fault', start)], start)
    const at: number[] = []
    const handler = recorder({
      async run(held) {
        at.push(clock.wall() - start)
        if (at.length <= 3) throw new Error('broken')
        if (at.length === 4) return async () => clock.wall() + 5_000
        return async () => {
          t.equal(held.attempts, 5)
          return null
        }
      },
    })
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    for (let i = 0; i < 60; i++) {
      await runner.idle()
      clock.advance(250)
    }
    t.strictSame(at, [0, 1_000, 3_000, 7_000, 12_000])
    t.strictSame(await jobsOf(db), [])
    await runner.close()
  })

  await t.test('a job of this process runs at once, any other one when it is due', async (t) => {
    const watched = openMortal(await open(), () => {})
    const { db } = watched
    const clock = new VirtualClock()
    const handler = recorder()
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    await runner.idle()
    clock.advance(100)
    await runner.idle()
    await addJobs(db, [job('at-once', clock.wall())], clock.wall())
    clock.advance(10)
    await until(() => handler.ran.length === 1)

    // The hint comes before the commit, which the first look therefore does not see.
    await db.transaction().execute(async (trx) => {
      await addJobs(trx, [job('committed', clock.wall())], clock.wall())
      for (let i = 0; i < 20; i++) await endOfEventLoopTurn()
    })
    // Time passes only while no look is under way.
    await until(async () => {
      clock.advance(1)
      await watched.quiet()
      return handler.ran.length === 2
    })
    t.ok(clock.now() < POLL_MS / 2, `after ${clock.now()} ms`)

    // Known from the last look, long before the next one.
    await addJobs(db, [job('later', clock.wall() + 700)], clock.wall())
    await runner.idle()
    clock.advance(699)
    await runner.idle()
    t.equal(handler.ran.length, 2)
    clock.advance(1)
    await until(() => handler.ran.length === 3)
    await runner.close()
    t.equal(clock.pending, 0)
  })

  await t.test('a runner leaves a job to the others for a time', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const ran: string[] = []
    const runnerOf = (name: string): JobRunner => {
      const handler: JobHandler = {
        ...{ kind: 'work', concurrency: 1 },
        async run({ id }) {
          ran.push(`${name} ${id}`)
          const again = ran.filter((one) => one.endsWith(id)).length < 2
          return async () => (again ? { dueAt: clock.wall(), leaveMs: 2_500 } : null)
        },
      }
      return openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    }
    await addJobs(db, [job('alone', clock.wall())], clock.wall())
    const one = runnerOf('one')
    await one.idle()
    clock.advance(2_499)
    await one.idle()
    t.same(ran, ['one alone'])
    clock.advance(1)
    await until(() => ran.length === 2)
    await one.idle()
    t.same(ran.splice(0), ['one alone', 'one alone'], 'it takes the job itself if nobody else does')

    await addJobs(db, [job('shared', clock.wall())], clock.wall())
    await one.idle()
    const two = runnerOf('two')
    await two.idle()
    t.same(ran, ['one shared', 'two shared'])
    t.same(await jobsOf(db), [])
    await one.close()
    await two.close()
    t.equal(clock.pending, 0)
  })

  if (dialect === 'postgres') {
    await t.test('a claim passes over the jobs of a claim that is not committed', async (t) => {
      const { db } = await open()
      await addJobs(db, [job('a', 1), job('b', 2), job('c', 3)], 0)
      const wanted = { kind: 'work', lane: '', owner: 'one', leaseMs: 1_000, limit: 1 }
      await db.transaction().execute(async (trx) => {
        t.same(
          (await claimJobs(trx, wanted, 10)).map(({ id }) => id),
          ['a'],
        )
        const others = await claimJobs(db, { ...wanted, owner: 'two', limit: 2 }, 10)
        t.same(others.map(({ id }) => id).sort(), ['b', 'c'], 'without waiting')
      })
      t.same(await claimJobs(db, wanted, 10), [])
    })

    await t.test('a renewal passes over the jobs that a transaction ends', async (t) => {
      const { db } = await open()
      await addJobs(db, [job('a', 1), job('b', 2)], 0)
      const owner = 'one'
      await claimJobs(db, { kind: 'work', lane: '', owner, leaseMs: 1_000, limit: 2 }, 10)
      const claims = ['a', 'b'].map((id) => ({ id, owner, attempts: 1 }))
      const times = async () => (await jobsOf(db)).map(({ dueAt }) => dueAt)
      await db.transaction().execute(async (trx) => {
        t.ok(await releaseClaim(trx, { id: 'b', owner, attempts: 1 }, 20))
        await renewClaims(db, claims, 5_000)
        t.same(await times(), [5_000, 1_010], 'without waiting')
      })
      await renewClaims(db, claims, 6_000)
      t.same(await times(), [6_000, 20], 'a job that is no longer held keeps its time')
    })
  }

  await t.test("a handler's writes and the end of the job are one transaction", async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(db, [job('a', now), job('b', now)], now)
    const handler = recorder({
      run: async (held) => async (trx) => {
        await addJobs(trx, [{ id: `after-${held.id}`, kind: 'other', dueAt: now }], now)
        if (held.id === 'a') throw new Error('cannot be stored')
        return null
      },
    })
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    await runner.idle()
    const left = await jobsOf(db)
    t.strictSame(
      left.map(({ id, owner }) => [id, owner === null]),
      [
        ['a', true],
        ['after-b', true],
      ],
      'one failing write does not take its neighbour with it',
    )
    t.equal(left[0]?.dueAt, now + failureRetryMs(1), 'it is an attempt')
    await runner.close()
  })

  await t.test(
    'outcomes that lock what others wait for share a transaction with their lane only',
    async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const now = clock.wall()
      await addJobs(db, [job('a', now, 'one'), job('b', now, 'one'), job('c', now, 'two')], now)
      const transactions = new Map<string, unknown>()
      const handler = recorder({
        alone: true,
        run:
          async ({ id }) =>
          async (trx) => {
            transactions.set(id, trx)
            return null
          },
      })
      const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
      await runner.idle()
      const [a, b, c] = ['a', 'b', 'c'].map((id) => transactions.get(id))
      t.ok(a !== undefined && a === b, 'one transaction for a lane')
      t.ok(c !== undefined && c !== a, 'another one for another lane')
      t.strictSame(await jobsOf(db), [])
      await runner.close()
    },
  )

  await t.test('a handler ends a job whose outcome cannot be stored', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(db, [job('a', now)], now)
    const unstored: [number, string][] = []
    const handler = recorder({
      run: async () => async () => {
        throw new Error('not a valid text')
      },
      unstored: (held, error) => {
        unstored.push([held.attempts, String(error)])
        return async () => (held.attempts < 3 ? clock.wall() + 5_000 : null)
      },
    })
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    for (let i = 0; i < 60; i++) {
      await runner.idle()
      clock.advance(POLL_MS)
    }
    t.strictSame(
      unstored,
      [1, 2, 3].map((attempt) => [attempt, 'Error: not a valid text']),
    )
    t.strictSame(await jobsOf(db), [])
    await runner.close()
  })

  await t.test('two runners: each job runs in one of them', async (t) => {
    const database = await open()
    const { db } = database
    const clock = new VirtualClock()
    const now = clock.wall()
    const names = Array.from({ length: 120 }, (_, i) => `j${String(i).padStart(3, '0')}`)
    await addJobs(
      db,
      names.map((name, i) => job(name, now, `lane-${i % 5}`)),
      now,
    )
    const handlers = [recorder({ concurrency: 7 }), recorder({ concurrency: 7 })]
    const runners = handlers.map((handler) =>
      openJobRunner({ db, clock, log: silentLog, handlers: [handler] }),
    )
    // Claims of both are under way at once.
    for (let round = 0; round < 100 && (await jobsOf(db)).length > 0; round++) {
      await Promise.all(runners.map((runner) => runner.idle()))
      clock.advance(POLL_MS)
    }
    const ran = handlers.flatMap((handler) => handler.ran.map(({ id }) => id))
    t.strictSame(ran.toSorted(), names)
    await Promise.all(runners.map((runner) => runner.close()))
  })

  await t.test('concurrent claims: no job is claimed twice', async (t) => {
    const { db } = await open()
    const now = 1_000
    await addJobs(
      db,
      Array.from({ length: 40 }, (_, i) => job(`j${i}`, i)),
      0,
    )
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        claimJobs(db, { kind: 'work', lane: '', owner: `o${i}`, leaseMs: 10, limit: 10 }, now),
      ),
    )
    const ids = claims.flat().map(({ id }) => id)
    t.equal(new Set(ids).size, ids.length)
    t.ok(ids.length >= 10)
  })

  await t.test('the job of a dead runner is taken over when its lease ends', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(db, [job('a', now)], now)
    await claimJobs(db, { kind: 'work', lane: '', owner: 'dead', leaseMs: LEASE_MS, limit: 1 }, now)
    const handler = recorder()
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    clock.advance(LEASE_MS - 1)
    await runner.idle()
    t.equal(handler.ran.length, 0, 'not while the lease lasts')
    clock.advance(1)
    await runner.idle()
    t.strictSame(
      handler.ran.map(({ attempts }) => attempts),
      [2],
    )
    await runner.close()
  })

  await t.test('a long job keeps its lease; one that lost it writes nothing', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(db, [job('long', now)], now)
    let finish = () => {}
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    let started = () => {}
    const begun = new Promise<void>((resolve) => {
      started = resolve
    })
    let wrote = 0
    const slow = recorder({
      async run(held) {
        await held.write(async () => {})
        started()
        await gate
        await held.write(async () => {
          wrote++
        })
        return async () => {
          wrote++
          return null
        }
      },
    })
    // Nothing but renewals is due meanwhile.
    const pollMs = 100 * LEASE_MS
    const first = openJobRunner({ db, clock, log: silentLog, handlers: [slow], pollMs })
    await begun
    for (let i = 0; i < 9; i++) {
      clock.advance(LEASE_MS / 3)
      await until(() => clock.nextDueMs === clock.now() + LEASE_MS / 3)
    }
    const [held] = await jobsOf(db)
    t.ok((held?.dueAt ?? 0) > clock.wall(), 'renewed nine times')
    // Another process has it: the process was stopped for longer than the lease.
    await db
      .updateTable('jobs')
      .set({ owner: 'other', dueAt: clock.wall() + LEASE_MS })
      .execute()
    finish()
    await first.idle()
    t.equal(wrote, 0)
    t.match(await jobsOf(db), [{ owner: 'other' }])
    await first.close()
  })

  await t.test('lanes take turns and keep their limits', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(
      db,
      [
        ...Array.from({ length: 50 }, (_, i) => job(`big-${i}`, now - 1_000, 'big')),
        ...Array.from({ length: 3 }, (_, i) => job(`small-${i}`, now, 'small')),
      ],
      now,
    )
    const open_ = new Map<string, number>()
    let most = 0
    const order: string[] = []
    let release: (() => void)[] = []
    const handler: JobHandler = {
      kind: 'work',
      concurrency: 8,
      laneLimit: (lane) => (lane === 'big' ? 4 : 8),
      async run(held) {
        order.push(held.lane)
        open_.set(held.lane, (open_.get(held.lane) ?? 0) + 1)
        most = Math.max(most, open_.get('big') ?? 0)
        await new Promise<void>((resolve) => release.push(resolve))
        open_.set(held.lane, (open_.get(held.lane) ?? 0) - 1)
        return async () => null
      },
    }
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    await until(() => order.length >= 7)
    t.strictSame(order.filter((lane) => lane === 'small').length, 3, 'the short queue is not behind the long')
    t.equal(order.filter((lane) => lane === 'big').length, 4)
    let over = false
    const idle = runner.idle().then(() => {
      over = true
    })
    while (!over) {
      const now = release
      release = []
      for (const go of now) go()
      await endOfEventLoopTurn()
    }
    await idle
    t.equal(most, 4)
    t.equal(order.length, 53)
    await runner.close()
  })

  await t.test('closing waits for running jobs, then asks them to stop', async (t) => {
    const { db } = await open()
    const clock = new VirtualClock()
    const now = clock.wall()
    await addJobs(db, [job('a', now), job('later', now + 60_000)], now)
    let started = () => {}
    const begun = new Promise<void>((resolve) => {
      started = resolve
    })
    const handler = recorder({
      run: (held) =>
        new Promise((resolve) => {
          started()
          held.signal.addEventListener('abort', () => resolve(async () => clock.wall()))
        }),
    })
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: [handler] })
    await begun
    const closing = runner.close()
    await until(() => clock.nextDueMs === clock.now() + 2_000)
    clock.advance(2_000)
    await closing
    t.match(await jobsOf(db), [
      { id: 'a', owner: null, dueAt: clock.wall() },
      { id: 'later', owner: null },
    ])
    t.equal(clock.pending, 0)
  })
})

t.test('delays after faults', async (t) => {
  t.strictSame([1, 2, 3, 10, 11, 50].map(failureRetryMs), [1_000, 2_000, 4_000, 512_000, 600_000, 600_000])
})

t.test('slots are assigned in rotation', async (t) => {
  const lanes = (...free: number[]) => free.map((room, i) => ({ lane: `l${i}`, free: room }))
  const counts = (free: number, ...rooms: number[]) =>
    shareSlots(free, lanes(...rooms)).map(({ count }) => count)
  t.strictSame(counts(10, 4, 4), [4, 4])
  t.strictSame(counts(5, 4, 4), [3, 2])
  t.strictSame(counts(10, 1, 20), [1, 9])
  t.strictSame(counts(1, 5, 5, 5), [1])
  t.strictSame(counts(0, 5), [])
  t.strictSame(counts(5), [])
})
