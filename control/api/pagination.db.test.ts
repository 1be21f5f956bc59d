import t from 'tap'
import { z } from 'zod'
import { openTestApi } from '../../fixtures/api/api.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { rootKeyOf } from '../base/root-key.js'
import { type CursorScope, readCursor, writeCursor } from '../http/cursor.js'
import { listOperation } from './operation.js'
import { COUNT_LIMIT, countCapped, olderThan, pageOf } from './pagination.js'

const SCOPE: CursorScope = {
  organizationId: 'org_1',
  environment: 'test',
  operation: 'list',
  filters: { a: '1' },
}

t.test('a cursor is valid for its own list only', async (t) => {
  const rootKey = rootKeyOf(Buffer.alloc(32, 1))
  const cursor = writeCursor(rootKey, SCOPE, { key: 1_700_000_000_000, id: 'call_1' })
  t.match(cursor, /^[A-Za-z0-9_-]+$/)
  t.same(readCursor(rootKey, SCOPE, cursor), { key: 1_700_000_000_000, id: 'call_1' })
  const others: Partial<CursorScope>[] = [
    { organizationId: 'org_2' },
    { environment: 'live' },
    { operation: 'other' },
    { filters: { a: '2' } },
    { filters: {} },
  ]
  for (const other of others) t.equal(readCursor(rootKey, { ...SCOPE, ...other }, cursor), null)
  t.equal(readCursor(rootKeyOf(Buffer.alloc(32, 2)), SCOPE, cursor), null, 'another root key')

  const bytes = Buffer.from(cursor, 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const altered = Buffer.from(bytes)
    altered[i] = (bytes[i] ?? 0) ^ 1
    t.equal(readCursor(rootKey, SCOPE, altered.toString('base64url')), null, `byte ${i} altered`)
  }
  for (const garbage of ['', 'AAAA', '%', cursor.slice(0, -2), 'a'.repeat(1000)]) {
    t.equal(readCursor(rootKey, SCOPE, garbage), null, garbage)
  }
})

const listUsers = listOperation({
  id: 'listUsers',
  path: '/v1/users',
  tag: 'Users',
  summary: 'Lists users',
  audience: 'key',
  scope: 'read',
  query: z.object({ search: z.string().optional() }),
  defaultLimit: 3,
  result: z.object({ id: z.string() }),
  fails: [],
  run: async ({ deps, page, query }) => {
    const matching = deps.db
      .selectFrom('users')
      .where('name', '=', 'listed')
      .$if(query.search !== undefined, (q) => q.where('email', 'like', `%${query.search}%`))
    const rows = await matching
      .where(olderThan(page, 'createdAt', 'id'))
      .select(['id', 'createdAt'])
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      .limit(page.limit + 1)
      .execute()
    const total = page.after === null ? await countCapped(deps.db, matching.select('id')) : undefined
    return pageOf(
      rows,
      page,
      (row) => ({ key: row.createdAt, id: row.id }),
      ({ id }) => ({ id }),
      total,
    )
  },
})

const listFew = listOperation({
  id: 'listFew',
  path: '/v1/few',
  tag: 'Users',
  summary: 'A list that always fits',
  audience: 'key',
  scope: 'read',
  paged: false,
  result: z.object({ id: z.string() }),
  fails: [],
  run: () => ({ items: [{ id: 'a' }], next: null }),
})

interface ListBody {
  readonly data: readonly { id: string }[]
  readonly meta: { readonly pagination: { cursor: string | null; hasMore: boolean; total?: number } }
}

t.test('lists over HTTP', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openTestApi({ database, operations: [listUsers, listFew] })
    const user = (n: number, createdAt: number) => ({
      id: `usr_${String(n).padStart(5, '0')}`,
      email: `u${n}@example.com`,
      name: 'listed',
      passwordHash: '',
      createdAt,
    })
    // Ids 1-10; three share a millisecond, so that ties are cut by a page's end.
    const times = [100, 200, 300, 300, 300, 400, 500, 600, 700, 800]
    await database.db
      .insertInto('users')
      .values(times.map((time, index) => user(index + 1, time)))
      .execute()
    const get = async (query: string): Promise<ListBody> => {
      const answer = await api.send('GET', `/v1/users?${query}`)
      t.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body as ListBody
    }

    await t.test('every row once, newest first, while rows are added', async (t) => {
      const seen: string[] = []
      let cursor: string | null = null
      let pages = 0
      do {
        const body: ListBody = await get(cursor === null ? '' : `cursor=${cursor}`)
        seen.push(...body.data.map(({ id }) => id))
        t.equal(body.meta.pagination.total, pages === 0 ? 10 : undefined)
        t.equal(body.meta.pagination.hasMore, body.meta.pagination.cursor !== null)
        cursor = body.meta.pagination.cursor
        pages++
        await database.db
          .insertInto('users')
          .values(user(100 + pages, 10_000 + pages))
          .execute()
      } while (cursor !== null)
      t.equal(pages, 4)
      t.same(
        seen,
        [10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((n) => user(n, 0).id),
      )
    })

    await t.test('limits and cursors of the wrong kind are issues', async (t) => {
      for (const limit of ['0', '101', '-1', '1.5', 'x', '']) {
        const answer = await api.send('GET', `/v1/users?limit=${limit}`)
        t.match(answer, {
          status: 400,
          body: { error: { code: 'validation_error', details: { issues: [{ path: 'query.limit' }] } } },
        })
      }
      t.equal((await get('limit=100')).data.length, 14)
      const { cursor } = (await get('limit=2&search=u')).meta.pagination
      t.equal((await get(`limit=1&search=u&cursor=${cursor}`)).data.length, 1, 'limit may change')
      const wrong = [`cursor=${cursor}`, `search=x&cursor=${cursor}`, 'cursor=abc', 'cursor=']
      for (const query of wrong) {
        t.match(await api.send('GET', `/v1/users?${query}`), {
          status: 400,
          body: { error: { details: { issues: [{ path: 'query.cursor' }] } } },
        })
      }
      const foreign = await api.send('GET', `/v1/users?search=u&cursor=${cursor}`, { key: api.liveKey })
      t.equal(foreign.status, 400, 'of the other environment')
    })

    await t.test('unpaged lists keep the shape and take no limit', async (t) => {
      t.same((await api.send('GET', '/v1/few')).body, {
        data: [{ id: 'a' }],
        meta: { pagination: { cursor: null, hasMore: false } },
      })
      t.equal((await api.send('GET', '/v1/few?limit=5')).status, 400)
    })

    await t.test('totals stop at 10,000', async (t) => {
      const { db } = database
      const { n } = await db
        .selectFrom('users')
        .where('name', '=', 'listed')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow()
      const fill = async (from: number, to: number): Promise<void> => {
        for (let at = from; at < to; at += 1000) {
          const many = Array.from({ length: Math.min(1000, to - at) }, (_, i) => user(10_000 + at + i, 1))
          await db.insertInto('users').values(many).execute()
        }
      }
      await fill(Number(n), COUNT_LIMIT)
      t.match((await get('')).meta.pagination, { total: COUNT_LIMIT, totalCapped: undefined })
      await fill(COUNT_LIMIT, COUNT_LIMIT + 1)
      t.match((await get('')).meta.pagination, { total: COUNT_LIMIT, totalCapped: true })
    })

    await api.close()
  })
})
