import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { listOperation, operation } from '../api/operation.js'
import { setRequestLimit, storedLimits } from './rate-limit-store.js'
import { budgetHeaders, openRateLimiter, requestCost } from './rate-limiter.js'

const owner = { organizationId: 'org_1', environment: 'test' } as const

t.test('a bucket: full at first, ten a second, no more than its size', async (t) => {
  const clock = new VirtualClock({ wallMs: 1_700_000_000_000 })
  const limiter = openRateLimiter(clock, async () => null)
  t.same(await limiter.peek(owner), {
    limit: 600,
    remaining: 600,
    resetSeconds: 0,
    fullAt: 1_700_000_000,
  })
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

t.test(
  'an expensive operation takes all of its cost or nothing, and reports when it is available',
  async (t) => {
    const clock = new VirtualClock()
    const limiter = openRateLimiter(clock, async () => 60)
    t.match(await limiter.take(owner, 58), { allowed: true, remaining: 2 })
    t.match(await limiter.take(owner, 5), { allowed: false, remaining: 2, resetSeconds: 3 })
    clock.advance(3000)
    t.match(await limiter.take(owner, 5), { allowed: true, remaining: 0 })
    const tiny = openRateLimiter(clock, async () => 2)
    t.match(await tiny.take(owner, 5), { allowed: true, remaining: 0 }, 'never closed for ever')
  },
)

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
        t.equal(await storedLimits(api.deps.db)(mine), 2)
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
