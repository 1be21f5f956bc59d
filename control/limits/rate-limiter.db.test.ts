import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { until } from '../../fixtures/host/until.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { listOperation, operation } from '../api/operation.js'
import type { Db } from '../db/database.js'
import { type BudgetStore, setRequestLimit, storedBudgets } from './rate-limit-store.js'
import { budgetHeaders, openRateLimiter, requestCost } from './rate-limiter.js'

/** An owner whose organization exists. */
async function newOwner(db: Db) {
  const organizationId = newId('org', 1)
  await db
    .insertInto('organizations')
    .values({ id: organizationId, name: 'Shop', senderClassification: null, createdAt: 1 })
    .execute()
  return { organizationId, environment: 'test' } as const
}

const START = 1_700_000_000_000

await onEachDialect(t, async (t, openDatabase) => {
  const { db } = await openDatabase()
  const store = storedBudgets(db)

  await t.test('a bucket: full at first, ten a second, no more than its size', async (t) => {
    const owner = await newOwner(db)
    const clock = new VirtualClock({ wallMs: START })
    const limiter = openRateLimiter(clock, store, silentLog)
    t.same(await limiter.peek(owner), { limit: 600, remaining: 600, resetSeconds: 0, fullAt: 1_700_000_000 })
    t.same(await limiter.take(owner, 1), {
      allowed: true,
      limit: 600,
      remaining: 599,
      resetSeconds: 1,
      fullAt: 1_700_000_001,
    })
    for (let i = 0; i < 599; i++) t.ok((await limiter.take(owner, 1)).allowed)
    t.match(await limiter.take(owner, 1), { allowed: false, remaining: 0, resetSeconds: 1 })
    t.match(await limiter.take({ ...owner, environment: 'live' }, 1), { allowed: true, remaining: 599 })
    clock.advance(99)
    t.equal((await limiter.take(owner, 1)).allowed, false, 'a tenth of a second is a token, not less')
    clock.advance(1)
    t.equal((await limiter.take(owner, 1)).allowed, true)
    t.equal((await limiter.take(owner, 1)).allowed, false)
    clock.advance(3_600_000)
    t.match(await limiter.peek(owner), { remaining: 600, resetSeconds: 0 })
  })

  await t.test('an expensive operation takes all of its cost or nothing', async (t) => {
    const clock = new VirtualClock({ wallMs: START })
    const limited = (limit: number) =>
      openRateLimiter(clock, { ...store, limitOf: async () => limit }, silentLog)
    const owner = await newOwner(db)
    const limiter = limited(60)
    t.match(await limiter.take(owner, 58), { allowed: true, remaining: 2 })
    t.match(await limiter.take(owner, 5), { allowed: false, remaining: 2, resetSeconds: 3 })
    clock.advance(3000)
    t.match(await limiter.take(owner, 5), { allowed: true, remaining: 0 })
    const tiny = limited(2)
    t.match(await tiny.take(await newOwner(db), 5), { allowed: true, remaining: 0 }, 'never closed for ever')
  })

  await t.test('two processes admit what one bucket admits, plus one lease each', async (t) => {
    const owner = await newOwner(db)
    const clock = new VirtualClock({ wallMs: START })
    let statements = 0
    const counted: BudgetStore = {
      ...store,
      takeTokens(...request) {
        statements++
        return store.takeTokens(...request)
      },
    }
    const limiters = [1, 2].map(() => openRateLimiter(clock, counted, silentLog))
    const lease = 30
    // Both hold a lease that they took long ago.
    for (const limiter of limiters) await limiter.take(owner, 1)
    clock.advance(3_600_000)

    /** Sends until both processes refuse. Returns the number of admitted requests. */
    async function exhaust(): Promise<number> {
      let admitted = 0
      for (let refused = 0; refused < 2; ) {
        refused = 0
        for (const limiter of limiters) {
          const { allowed, remaining } = await limiter.take(owner, 1)
          if (allowed) admitted++
          else refused++
          t.ok(remaining <= 600 && (allowed || remaining === 0))
        }
      }
      return admitted
    }
    const before = statements
    const burst = await exhaust()
    t.ok(burst >= 600 && burst <= 600 + 2 * lease, `${burst} at once`)
    let refilled = 0
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000)
      refilled += await exhaust()
    }
    t.equal(refilled, 600, 'the refill of one bucket')
    t.ok(burst + refilled <= 2 * 600 + 2 * lease)
    t.ok(statements - before < 250, `${statements - before} statements for ${burst + refilled} requests`)
    const asked = statements
    for (let i = 0; i < 100; i++) t.equal((await limiters[0]?.take(owner, 1))?.allowed, false)
    t.equal(statements, asked, 'refusals cost none')
  })

  await t.test('the budget is true within one lease of the other process', async (t) => {
    const owner = await newOwner(db)
    const clock = new VirtualClock({ wallMs: START })
    const [one, two] = [1, 2].map(() => openRateLimiter(clock, store, silentLog))
    if (one === undefined || two === undefined) throw new Error('two limiters')
    let spent = 0
    for (; spent < 100; spent++) await one.take(owner, 1)
    const { remaining } = await two.peek(owner)
    t.ok(remaining <= 600 - spent && remaining >= 600 - spent - 30, `${remaining} left of ${600 - spent}`)
    t.equal((await one.take(owner, 1)).remaining, 600 - spent - 1, 'the own requests are exact')
  })

  await t.test('requests at the same moment share a statement and are all counted', async (t) => {
    const owner = await newOwner(db)
    const clock = new VirtualClock({ wallMs: START })
    const limiter = openRateLimiter(clock, store, silentLog)
    const results = await Promise.all(Array.from({ length: 700 }, () => limiter.take(owner, 1)))
    t.equal(results.filter(({ allowed }) => allowed).length, 600)
  })

  await t.test('a database that fails or hangs refuses and delays nobody', async (t) => {
    const owner = await newOwner(db)
    const clock = new VirtualClock({ wallMs: START })
    let state: 'up' | 'down' | 'hanging' = 'down'
    let asked = 0
    const pending: (() => void)[] = []
    const store2: BudgetStore = {
      limitOf: async () => null,
      async takeTokens(...request) {
        asked++
        if (state === 'down') throw new Error('connection refused')
        if (state === 'hanging') await new Promise<void>((resolve) => pending.push(resolve))
        return store.takeTokens(...request)
      },
    }
    const limiter = openRateLimiter(clock, store2, silentLog)
    for (let i = 0; i < 600; i++) t.ok((await limiter.take(owner, 1)).allowed)
    t.match(await limiter.take(owner, 1), { allowed: false, remaining: 0, resetSeconds: 1 })
    t.match(await limiter.peek(owner), { remaining: 0 })
    t.equal(asked, 1, 'it is asked once a second')

    state = 'hanging'
    clock.advance(1_000)
    const waiting = limiter.take(owner, 1)
    await until(() => pending.length === 1)
    clock.advance(250)
    t.match(await waiting, { allowed: true }, 'one of the ten tokens of a second')
    t.match(await limiter.take(owner, 1), { allowed: true }, 'without another wait')

    state = 'up'
    for (const resolve of pending) resolve()
    clock.advance(1_000)
    t.match(
      await limiter.take(owner, 1),
      { allowed: true, remaining: 600 },
      'spends the lease that came late',
    )
    t.equal(asked, 2)
    for (let i = 0; i < 30; i++) t.ok((await limiter.take(owner, 1)).allowed)
    t.equal(asked, 3, 'the database is asked again')
  })
})

t.test('operations that cost five', (t) => {
  const cost = (path: string, contentType = 'application/json') => requestCost({ path, contentType })
  t.equal(cost('/v1/calls'), 1)
  t.equal(cost('/v1/consent/bulk'), 5)
  t.equal(cost('/v1/campaigns/:id/recipients/import'), 5)
  t.equal(cost('/v1/calls/export.csv'), 5)
  t.equal(cost('/v1/calls/:id/evidence.pdf'), 5)
  t.equal(cost('/v1/media/:token', 'audio/wav'), 1)
  t.end()
})

t.test('the exact headers', (t) => {
  t.same(budgetHeaders({ limit: 600, remaining: 599, resetSeconds: 1, fullAt: 17 }), {
    'ratelimit-policy': '"default";q=600;w=60',
    ratelimit: '"default";r=599;t=1',
    'x-ratelimit-limit': '600',
    'x-ratelimit-remaining': '599',
    'x-ratelimit-reset': '17',
  })
  t.end()
})

const read = listOperation({
  id: 'listThings',
  path: '/v1/things',
  tag: 'Things',
  summary: 'Lists',
  audience: 'key',
  scope: 'read',
  result: z.object({}),
  fails: [],
  run: () => ({ items: [], next: null }),
})
const open = operation({
  id: 'readOpen',
  method: 'get',
  path: '/v1/open',
  tag: 'Things',
  summary: 'Open',
  audience: 'public',
  status: 200,
  result: z.object({}),
  fails: [],
  run: () => ({}),
})

t.test(
  'over HTTP: every response with a key carries the budget, rejections too; an override counts',
  async (t) => {
    await onEachDialect(t, async (t, openDatabase) => {
      const clock = new VirtualClock({ wallMs: 1_700_000_000_000 })
      const api = await openTestApi({ database: await openDatabase(), operations: [read, open], clock })
      try {
        const names = [
          'ratelimit-policy',
          'ratelimit',
          'x-ratelimit-limit',
          'x-ratelimit-remaining',
          'x-ratelimit-reset',
        ]
        const first = await api.send('GET', '/v1/things')
        t.equal(first.status, 200)
        for (const name of names) t.ok(first.headers.has(name), name)
        const refused = await api.send('GET', '/v1/things?nonsense=1')
        t.equal(refused.status, 400)
        t.equal(refused.headers.get('x-ratelimit-remaining'), '598')
        const unknown = await api.send('GET', '/v1/things', { key: null })
        t.equal(unknown.status, 401)
        for (const name of names) t.notOk(unknown.headers.has(name), `${name} is not on a 401`)
        t.notOk((await api.send('GET', '/v1/open')).headers.has('ratelimit'))

        const mine = { organizationId: api.organizationId, environment: 'test' } as const
        await setRequestLimit(api.deps.db, mine, 3)
        await setRequestLimit(api.deps.db, mine, 2)
        t.equal(await storedBudgets(api.deps.db).limitOf(mine), 2)
        clock.advance(10_001)
        t.equal((await api.send('GET', '/v1/things')).headers.get('ratelimit-policy'), '"default";q=2;w=60')
        t.equal((await api.send('GET', '/v1/things')).status, 200)
        const spent = await api.send('GET', '/v1/things')
        t.equal(spent.status, 429)
        t.equal(spent.headers.get('retry-after'), '30')
        t.equal(spent.headers.get('ratelimit'), '"default";r=0;t=30')
        t.match(spent.body, {
          error: { type: 'rate_limit', code: 'rate_limited', details: { retry_after_seconds: 30 } },
        })
        const live = await api.send('GET', '/v1/things', { key: api.liveKey })
        t.equal(live.headers.get('x-ratelimit-remaining'), '599', 'the other environment is untouched')
        await setRequestLimit(api.deps.db, mine, null)
        clock.advance(30_000)
        t.equal((await api.send('GET', '/v1/things')).headers.get('x-ratelimit-limit'), '600')
      } finally {
        await api.close()
      }
    })
  },
)
