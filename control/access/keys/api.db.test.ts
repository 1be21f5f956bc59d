import t from 'tap'
import { openUsersApi, type SignedInUser } from '../../../fixtures/api/browser-session.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import type { Role } from '../../db/tables/identity.js'
import { accessOperations } from '../api.js'
import { keyEnvironment } from './key-format.js'

const HOUR_MS = 3_600_000

interface Key {
  readonly id: string
  readonly key: string
  readonly scopes: readonly string[]
  readonly expiresAt: string | null
  readonly oldExpiresAt?: string
}

t.test('API keys', async (t) => {
  await onEachDialect(t, async (t, open) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: accessOperations })
    const refusal = (code: string) => ({ body: { error: { code } } })
    const owner = await api.member('owner')
    const create = async (person: SignedInUser, json: object): Promise<Key> => {
      const answer = await person.browser.send('POST', '/v1/api-keys', { json })
      t.equal(answer.status, 201, JSON.stringify(answer.body))
      return (answer.body as { data: Key }).data
    }
    const whoami = (key: string) => api.send('GET', '/v1/whoami', { key })

    await t.test('members create keys with at most the scopes of their role', async (t) => {
      const made = await create(owner, { name: 'CRM', environment: 'live', scopes: ['write'] })
      t.match(made, {
        id: /^key_/,
        name: 'CRM',
        environment: 'live',
        scopes: ['read', 'write'],
        start: made.key.slice(0, 13),
        enabled: true,
        lastUsedAt: null,
        expiresAt: null,
      })
      t.equal(keyEnvironment(made.key), 'live')
      t.match(await whoami(made.key), {
        status: 200,
        body: { data: { keyId: made.id, environment: 'live' } },
      })
      t.same((await create(owner, { name: 'x', environment: 'test' })).scopes, ['read'], 'read unless given')

      const ceilings: readonly [role: Role, scopes: readonly string[]][] = [
        ['owner', ['read', 'write', 'admin']],
        ['admin', ['read', 'write', 'admin']],
        ['developer', ['read', 'write']],
        ['viewer', ['read']],
        ['billing', ['read']],
      ]
      for (const [role, scopes] of ceilings) {
        const person = await api.member(role)
        t.same(
          (await create(person, { name: role, environment: 'test', scopes: ['admin'] })).scopes,
          scopes,
          role,
        )
      }

      const wrong: readonly [json: object, path: string][] = [
        [{ environment: 'test' }, 'name'],
        [{ name: '', environment: 'test' }, 'name'],
        [{ name: 'x'.repeat(81), environment: 'test' }, 'name'],
        [{ name: 'x' }, 'environment'],
        [{ name: 'x', environment: 'prod' }, 'environment'],
        [{ name: 'x', environment: 'test', scopes: [] }, 'scopes'],
        [{ name: 'x', environment: 'test', scopes: ['root'] }, 'scopes[0]'],
        [{ name: 'x', environment: 'test', expiresAt: 'tomorrow' }, 'expiresAt'],
        [
          { name: 'x', environment: 'test', expiresAt: new Date(api.clock.wall()).toISOString() },
          'expiresAt',
        ],
        [{ name: 'x', environment: 'test', key: 'svc_live_mine' }, 'key'],
      ]
      for (const [json, path] of wrong) {
        t.match(await owner.browser.send('POST', '/v1/api-keys', { json }), {
          status: 400,
          body: { error: { code: 'validation_error', details: { issues: [{ path }] } } },
        })
      }
      t.match(
        await api.send('POST', '/v1/api-keys', {
          key: api.liveKey,
          json: { name: 'x', environment: 'test' },
        }),
        { status: 401, ...refusal('unauthenticated') },
        'keys make no keys',
      )
    })

    await t.test('keys are read and listed without the secret, per environment', async (t) => {
      const made = await create(owner, { name: 'listed', environment: 'test', scopes: ['admin'] })
      const read = await api.send('GET', `/v1/api-keys/${made.id}`)
      t.match(read, { status: 200, body: { data: { id: made.id, name: 'listed' } } })
      const list = await api.send('GET', '/v1/api-keys?limit=100')
      t.match(list, {
        status: 200,
        body: { data: [{ id: made.id }], meta: { pagination: { hasMore: false } } },
      })
      for (const { body } of [read, list]) t.notMatch(JSON.stringify(body), made.key)
      t.match(await api.send('GET', `/v1/api-keys/${made.id}`, { key: api.liveKey }), { status: 404 })
      t.match(await api.send('GET', '/v1/api-keys/key_nonsense'), { status: 404, ...refusal('not_found') })
      const live = { 'x-svc-environment': 'live' }
      t.match(await owner.browser.send('GET', `/v1/api-keys/${made.id}`, { headers: live }), { status: 404 })
      const stranger = await api.owner()
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['POST', '/roll'],
        ['DELETE', ''],
      ] as const) {
        const json = method === 'PATCH' ? { scopes: ['read'] } : undefined
        const request = json === undefined ? {} : { json }
        t.match(
          await stranger.browser.send(method, `/v1/api-keys/${made.id}${path}`, request),
          { status: 404, ...refusal('not_found') },
          `${method} by another organization`,
        )
      }
      const ids: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const more: string = cursor === '' ? '' : `&cursor=${cursor}`
        const page = (await api.send('GET', `/v1/api-keys?limit=2${more}`)).body as {
          data: { id: string }[]
          meta: { pagination: { cursor: string | null } }
        }
        ids.push(...page.data.map(({ id }) => id))
        cursor = page.meta.pagination.cursor
      }
      t.same(
        ids,
        (list.body as { data: { id: string }[] }).data.map(({ id }) => id),
      )
    })

    await t.test('scopes are only ever narrowed', async (t) => {
      const made = await create(owner, { name: 'narrow', environment: 'test', scopes: ['admin'] })
      const patch = (scopes: unknown, key = api.testKey) =>
        api.send('PATCH', `/v1/api-keys/${made.id}`, { key, json: { scopes } })
      t.match(await patch(['write']), { status: 200, body: { data: { scopes: ['read', 'write'] } } })
      t.match(await patch(['write']), { status: 200 }, 'no change is no widening')
      const invalid = {
        status: 400,
        body: { error: { code: 'validation_error', details: { issues: [{ path: 'scopes' }] } } },
      }
      t.match(await patch(['admin']), invalid)
      t.match(await patch([]), invalid)
      t.match(await api.send('PATCH', `/v1/api-keys/${made.id}`, { json: {} }), { status: 400 })
      t.match(await patch(['read']), { status: 200, body: { data: { scopes: ['read'] } } })
      t.match((await whoami(made.key)).body, { data: { scopes: ['read'] } })
      t.match(await patch(['read'], made.key), { status: 403, ...refusal('insufficient_scope') })
      const developer = await api.member('developer')
      t.match(
        await developer.browser.send('PATCH', `/v1/api-keys/${made.id}`, { json: { scopes: ['read'] } }),
        { status: 403, ...refusal('forbidden') },
      )
    })

    await t.test('rolling: both keys work during the overlap', async (t) => {
      const roll = (id: string, json?: object) =>
        api.send('POST', `/v1/api-keys/${id}/roll`, json === undefined ? {} : { json })
      const windows: readonly [body: object | undefined, ms: number][] = [
        [undefined, 24 * HOUR_MS],
        [{}, 24 * HOUR_MS],
        [{ expireOldIn: '1h' }, HOUR_MS],
        [{ expireOldIn: '7d' }, 7 * 24 * HOUR_MS],
      ]
      for (const [body, ms] of windows) {
        const old = await create(await api.member('owner'), {
          name: 'rolled',
          environment: 'test',
          scopes: ['write'],
        })
        const start = api.clock.wall()
        const answer = await roll(old.id, body)
        const fresh = (answer.body as { data: Key }).data
        t.match(answer, { status: 200 })
        t.match(fresh, {
          name: 'rolled',
          environment: 'test',
          scopes: ['read', 'write'],
          expiresAt: null,
          enabled: true,
        })
        t.equal(fresh.oldExpiresAt, new Date(start + ms).toISOString())
        t.not(fresh.id, old.id)
        t.match((await api.send('GET', `/v1/api-keys/${old.id}`)).body, {
          data: { expiresAt: fresh.oldExpiresAt, enabled: true },
        })
        t.same([(await whoami(old.key)).status, (await whoami(fresh.key)).status], [200, 200])
        api.clock.advance(ms - 1)
        t.equal((await whoami(old.key)).status, 200, 'to the last millisecond')
        api.clock.advance(1)
        t.match(await whoami(old.key), { status: 401, ...refusal('invalid_credentials') })
        t.equal((await whoami(fresh.key)).status, 200)
        t.match((await api.send('GET', `/v1/api-keys/${old.id}`)).body, { data: { enabled: false } })
        t.match(await roll(old.id), { status: 409, ...refusal('conflict') }, 'an ended key is not rolled')
      }
      const owner = await api.member('owner')
      const old = await create(owner, { name: 'now', environment: 'test' })
      t.equal((await roll(old.id, { expireOldIn: 'now' })).status, 200)
      t.match(await whoami(old.key), { status: 401, ...refusal('invalid_credentials') })
      t.match(await roll(old.id, { expireOldIn: '2h' }), { status: 400 })

      const expiresAt = new Date(api.clock.wall() + 48 * HOUR_MS).toISOString()
      const first = await create(owner, { name: 'chain', environment: 'test', expiresAt })
      const second = ((await roll(first.id, { expireOldIn: '7d' })).body as { data: Key }).data
      t.equal(second.oldExpiresAt, expiresAt, 'an overlap does not prolong a key')
      t.equal(second.expiresAt, expiresAt, 'the new one ends when the old one would have')
      const third = ((await roll(second.id, { expireOldIn: '1h' })).body as { data: Key }).data
      const again = ((await roll(second.id, { expireOldIn: '7d' })).body as { data: Key }).data
      t.equal(third.oldExpiresAt, new Date(api.clock.wall() + HOUR_MS).toISOString())
      t.equal(again.oldExpiresAt, expiresAt, 'the second roll counts, up to the end of the key')
      t.equal(again.expiresAt, expiresAt)
      for (const { key } of [first, second, third, again]) t.equal((await whoami(key)).status, 200)

      const endless = await create(owner, { name: 'twice', environment: 'test' })
      const inHour = ((await roll(endless.id, { expireOldIn: '1h' })).body as { data: Key }).data
      api.clock.advance(HOUR_MS / 2)
      const inWeek = ((await roll(endless.id, { expireOldIn: '7d' })).body as { data: Key }).data
      const week = new Date(api.clock.wall() + 7 * 24 * HOUR_MS).toISOString()
      t.equal(inWeek.oldExpiresAt, week)
      t.match((await api.send('GET', `/v1/api-keys/${endless.id}`)).body, { data: { expiresAt: week } })
      t.same([inHour.expiresAt, inWeek.expiresAt], [null, null], 'both new keys last')
      api.clock.advance(HOUR_MS)
      for (const { key } of [endless, inHour, inWeek]) t.equal((await whoami(key)).status, 200)
      const short = ((await roll(endless.id, { expireOldIn: 'now' })).body as { data: Key }).data
      t.equal((await whoami(endless.key)).status, 401, 'a later roll can also be shorter')
      for (const { key } of [inHour, inWeek, short]) t.equal((await whoami(key)).status, 200)
    })

    await t.test('rolled keys stay limited by the role of their creator', async (t) => {
      const admin = await api.member('admin')
      const made = await create(admin, { name: 'ceiling', environment: 'test', scopes: ['admin'] })
      await database.db
        .updateTable('members')
        .set({ role: 'viewer' })
        .where('userId', '=', admin.userId)
        .execute()
      const rolled = (await api.send('POST', `/v1/api-keys/${made.id}/roll`)).body as { data: Key }
      t.match((await whoami(rolled.data.key)).body, { data: { scopes: ['read'] } })
    })

    await t.test('deleted keys are not listed but recognised', async (t) => {
      const made = await create(await api.member('owner'), {
        name: 'deleted',
        environment: 'test',
        scopes: ['admin'],
      })
      t.equal((await whoami(made.key)).status, 200)
      t.equal(
        (await api.send('DELETE', `/v1/api-keys/${made.id}`, { key: made.key })).status,
        204,
        'by itself',
      )
      t.match(await whoami(made.key), { status: 401, ...refusal('invalid_credentials') })
      t.match(await api.send('GET', `/v1/api-keys/${made.id}`), { status: 404 })
      t.match(await api.send('DELETE', `/v1/api-keys/${made.id}`), { status: 404 })
      t.match(await api.send('POST', `/v1/api-keys/${made.id}/roll`), { status: 404 })
      t.notMatch(JSON.stringify((await api.send('GET', '/v1/api-keys?limit=100')).body), made.id)
    })
    await api.close()
  })
})
