import t from 'tap'
import { EventStream } from '../../clients/typescript/event-stream.js'
import { type BrowserSession, openUsersApi, type UsersApi } from '../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { newId } from '../../media/base/ids.js'
import { watchLive } from './api.js'
import { type Change, parsePosition, recordChange, sweepLiveChanges } from './changes.js'
import { openLiveFeed } from './feed.js'

type Live =
  | { readonly event: 'hello'; readonly data: { readonly resumed: boolean } }
  | { readonly event: 'changed'; readonly data: { readonly kind: string; readonly id: string } }
  | { readonly event: 'end'; readonly data: { readonly reason: string } }

const cookies = (browser: BrowserSession) =>
  [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

async function openStream(
  api: UsersApi,
  browser: BrowserSession,
  { query = '', ...headers }: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`${api.url}/v1/live${query}`, {
    headers: { cookie: cookies(browser), connection: 'close', ...headers },
  })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const stream = new EventStream<Live>(response)
  return { stream, events: stream[Symbol.asyncIterator]() }
}

type Events = AsyncGenerator<Live, void, undefined>

/** Reads events until one fits, with the clock going on. */
async function readUntil(api: UsersApi, events: Events, last: (event: Live) => boolean): Promise<Live[]> {
  const read: Live[] = []
  for (;;) {
    let arrived: Live | null = null
    const next = events.next().then(({ value }) => {
      if (value === undefined) throw new Error('the stream ended')
      arrived = value
      return value
    })
    while (arrived === null) {
      api.clock.advance(300)
      await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 20))])
    }
    read.push(await next)
    const event = read.at(-1)
    if (event !== undefined && last(event)) return read
  }
}

const isChange = (id: string) => (event: Live) => event.event === 'changed' && event.data.id === id
const ids = (events: readonly Live[]) =>
  events.map((event) => (event.event === 'changed' ? event.data.id : event.event))

t.test('changes reach the streams of their environment', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const api = await openUsersApi({ database: await open(), operations: [watchLive] })
    const { db } = api.deps
    const record = (subjectId: string, change: Partial<Change> = {}) =>
      db
        .transaction()
        .execute((trx) =>
          recordChange(
            trx,
            { organizationId: api.organizationId, environment: 'test', kind: 'call', subjectId, ...change },
            api.clock.wall(),
          ),
        )
    await record('before')
    const { browser } = await api.member('viewer')
    const other = await api.owner()
    const { stream, events } = await openStream(api, browser)
    t.same((await events.next()).value, { event: 'hello', data: { resumed: false } })
    await record('a')
    await record('live', { environment: 'live' })
    await record('foreign', { organizationId: other.organizationId })
    await record('both', { environment: null, kind: 'wallet' })
    await record('said', { kind: 'transcript' })
    await record('a')
    await record('last')
    const read = await readUntil(api, events, isChange('last'))
    t.same(
      // On PostgreSQL a transaction of another database that runs meanwhile puts the beginning before `before`.
      ids(read.filter((event) => !isChange('a')(event) && !isChange('before')(event))),
      ['both', 'last'],
      'no other environment or call',
    )
    t.ok(ids(read).filter((id) => id === 'a').length <= 2)
    t.ok(ids(read).lastIndexOf('a') > ids(read).indexOf('both'), 'in the order of the last changes')

    // The client goes away, and continues where it was.
    await events.return()
    await record('missed')
    await record('missed too')
    const id = stream.lastEventId ?? ''
    const again = await openStream(api, browser, { 'last-event-id': id, query: '?callId=said' })
    await record('said', { kind: 'transcript' })
    await record('new')
    const continued = await readUntil(api, again.events, isChange('new'))
    t.same(continued[0], { event: 'hello', data: { resumed: true } })
    t.same(ids(continued.slice(1)), ['missed', 'missed too', 'said', 'new'], 'each once')
    await again.events.return()

    for (const [name, lastEventId] of [
      ['unknown', 'x'],
      ['too old', id.replace(/\d+$/, String(api.clock.wall() - 900_000))],
    ] as const) {
      const fresh = await openStream(api, browser, { 'last-event-id': lastEventId })
      t.same((await fresh.events.next()).value, { event: 'hello', data: { resumed: false } }, name)
      await fresh.events.return()
    }
    t.equal(await sweepLiveChanges(db, api.clock.wall()), false)
    t.not((await db.selectFrom('liveChanges').selectAll().execute()).length, 0)
    await sweepLiveChanges(db, api.clock.wall() + 900_000)
    t.same(await db.selectFrom('liveChanges').selectAll().execute(), [])
    await api.close()
  })
})

t.test('a change that is committed late is neither missed nor repeated', async (t) => {
  await onEachDialect(t, async (t, open, dialect) => {
    // SQLite has one writer at a time.
    if (dialect === 'sqlite') return
    const api = await openUsersApi({ database: await open(), operations: [watchLive] })
    const { db } = api.deps
    const change = (subjectId: string): Change => ({
      organizationId: api.organizationId,
      environment: 'test',
      kind: 'call',
      subjectId,
    })
    const { browser } = await api.member('viewer')
    const { stream, events } = await openStream(api, browser)
    await events.next()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let written = () => {}
    const early = new Promise<void>((resolve) => {
      written = resolve
    })
    const late = db.transaction().execute(async (trx) => {
      await recordChange(trx, change('late'), api.clock.wall())
      written()
      await held
    })
    await early
    await db.transaction().execute((trx) => recordChange(trx, change('quick'), api.clock.wall()))
    const read = readUntil(api, events, isChange('quick'))
    release()
    await late
    t.same(ids(await read), ['late', 'quick'], 'in the order of the transactions')
    t.ok(parsePosition(stream.lastEventId ?? ''))
    await events.return()
    await api.close()
  })
})

t.test('a user and an organization have a limited number of streams', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const api = await openUsersApi({ database: await open(), operations: [watchLive] })
    const { browser } = await api.member('viewer')
    const streams = await Promise.all(Array.from({ length: 6 }, () => openStream(api, browser)))
    const refused = await fetch(`${api.url}/v1/live`, { headers: { cookie: cookies(browser) } })
    t.equal(refused.status, 429)
    t.equal(refused.headers.get('retry-after'), '10')
    t.match(await refused.json(), { error: { code: 'rate_limited' } })
    await streams[0]?.events.return()
    await streams[0]?.events.next()
    const other = await api.member('viewer')
    streams.push(await openStream(api, other.browser))
    for (const { events } of streams) await events.return()
    await api.close()
  })
})

t.test('a client with too much to catch up reads everything again', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const api = await openUsersApi({ database: await open(), operations: [watchLive] })
    const { db, clock, log } = api.deps
    const feed = openLiveFeed({ db, clock, log })
    const owner = { organizationId: api.organizationId, environment: 'test' } as const
    const watch = (lastEventId: string | null) =>
      feed.watch({ ...owner, userId: newId('usr', clock.wall()), callId: null, lastEventId })
    const first = await watch(null)
    const hello = 'next' in first ? await first.next() : null
    await db.transaction().execute(async (trx) => {
      for (let i = 0; i < 1001; i++) {
        await recordChange(trx, { ...owner, kind: 'call', subjectId: `call ${i}` }, clock.wall())
      }
    })
    await feed.close()
    const later = openLiveFeed({ db, clock, log })
    const again = await later.watch({
      ...owner,
      userId: 'usr',
      callId: null,
      lastEventId: hello?.[0]?.id ?? null,
    })
    t.match('next' in again ? await again.next() : null, [{ event: 'hello', data: { resumed: false } }])
    await later.close()
    await api.close()
  })
})
