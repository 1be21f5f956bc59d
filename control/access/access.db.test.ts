import t from 'tap'
import { openTestApi } from '../../fixtures/api/api.js'
import { cheapPasswords } from '../../fixtures/api/cheap-passwords.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { Actor, Environment, Scope } from '../api/actor.js'
import { operation } from '../api/operation.js'
import { effectiveScopes, expandScopes } from '../api/scopes.js'
import { seal, unseal } from '../base/crypto.js'
import { openPasswordHasher } from '../base/passwords.js'
import { rootKeyOf } from '../base/root-key.js'
import { migrate } from '../db/migrate.js'
import type { Role } from '../db/tables/identity.js'
import { bootstrap, createOperatorKey } from './accounts/bootstrap.js'
import { accessOperations } from './api.js'
import { authenticate, createKey } from './keys/api-keys.js'
import { openLastUsedWriter } from './keys/last-used.js'

t.test('scopes imply the lower ones and stop at the role', async (t) => {
  t.same(expandScopes(['write']), ['read', 'write'])
  t.same(expandScopes(['admin', 'read']), ['read', 'write', 'admin'])
  t.same(expandScopes([]), [])
  const table: [stored: Scope[], role: Role | null, effective: Scope[]][] = [
    [['admin'], 'owner', ['read', 'write', 'admin']],
    [['admin'], 'admin', ['read', 'write', 'admin']],
    [['admin'], 'developer', ['read', 'write']],
    [['admin'], 'viewer', ['read']],
    [['write'], 'billing', ['read']],
    [['write'], 'owner', ['read', 'write']],
    [['read'], 'owner', ['read']],
    [['admin'], null, []],
  ]
  for (const [stored, role, effective] of table) t.same(effectiveScopes(stored, role), effective, `${role}`)
})

t.test('passwords and sealed texts', async (t) => {
  const passwords = openPasswordHasher()
  const hash = await passwords.hash('correct horse')
  t.match(hash, /^scrypt\$32768\$8\$3\$/)
  t.equal(await passwords.verify('correct horse', hash), true)
  t.equal(await passwords.verify('Correct horse', hash), false)
  t.equal(await passwords.verify('x', 'bcrypt$1'), false)
  t.not(await passwords.hash('correct horse'), hash, 'salted')

  const key = Buffer.alloc(32, 1)
  const sealed = seal(key, 'नमस्ते', 'row 1')
  t.equal(unseal(key, sealed, 'row 1'), 'नमस्ते')
  t.throws(() => unseal(key, sealed, 'row 2'), { code: 'storage_failed' }, 'moved to another row')
  t.throws(() => unseal(Buffer.alloc(32, 2), sealed, 'row 1'), { code: 'storage_failed' })
  const bytes = Buffer.from(sealed, 'base64')
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  t.throws(() => unseal(key, bytes.toString('base64'), 'row 1'), { code: 'storage_failed' }, 'altered')
  t.throws(() => unseal(key, 'AAAA', 'row 1'), { code: 'storage_failed' }, 'cut short')
})

t.test('bootstrap and keys', async (t) => {
  const rootKey = rootKeyOf(Buffer.alloc(32, 3))
  await onEachDialect(t, async (t, open) => {
    await t.test(
      'the first start creates one organization, also when several processes start at once',
      async (t) => {
        const { db } = await open()
        const clock = new VirtualClock()
        t.equal(
          await createOperatorKey(db, rootKey, clock, {
            environment: 'test',
            scopes: ['admin'],
            name: 'early',
            expiresAt: null,
          }),
          null,
        )
        const seeded: string[] = []
        const start = () =>
          bootstrap({ db, rootKey, clock, passwords: cheapPasswords }, async (_trx, organizationId) => {
            seeded.push(organizationId)
          })
        const made = (await Promise.all([start(), start(), start()])).filter((one) => one !== null)
        t.equal(made.length, 1)
        t.same(seeded, [made[0]?.organizationId])
        t.equal(await start(), null, 'later starts change nothing')
        t.match(await db.selectFrom('organizations').selectAll().execute(), [
          { senderClassification: 'transactional' },
        ])
        const user = await db.selectFrom('users').selectAll().executeTakeFirstOrThrow()
        t.equal(await cheapPasswords.verify(made[0]?.password ?? '', user.passwordHash), true)
        const keys = await db.selectFrom('apiKeys').selectAll().execute()
        t.same(keys.map(({ environment }) => environment).sort(), ['live', 'test'])
        t.notMatch(JSON.stringify(keys), made[0]?.testKey ?? 'none', 'no key is stored')
      },
    )

    await t.test('migrating again changes nothing', async (t) => {
      const database = await open()
      await t.resolves(Promise.all([migrate(database), migrate(database)]))
    })

    await t.test('authentication by the state of the key', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const made = await bootstrap({ db, rootKey, clock, passwords: cheapPasswords })
      const owner = await db.selectFrom('members').selectAll().executeTakeFirstOrThrow()
      const lastUsed = openLastUsedWriter(db, clock, silentLog)
      const verifier = { db, rootKey, clock, lastUsed }
      const create = (environment: Environment, scopes: Scope[], expiresAt: number | null) =>
        createKey(db, rootKey, clock, {
          organizationId: owner.organizationId,
          createdBy: owner.userId,
          environment,
          name: 'the parts of a key',
          scopes,
          expiresAt,
        })
      const check = (key: string) => authenticate(verifier, `Bearer ${key}`)

      const key = await create('live', ['write'], clock.wall() + 1000)
      t.match(await check(key.key), {
        kind: 'key',
        keyId: key.id,
        organizationId: made?.organizationId,
        environment: 'live',
        scopes: ['read', 'write'],
      })
      clock.advance(999)
      t.match(await check(key.key), { kind: 'key' })
      clock.advance(1)
      t.match(await check(key.key), { code: 'invalid_credentials', message: /expired/ })

      const revoked = await create('test', ['read'], null)
      await db.updateTable('apiKeys').set({ revokedAt: 1 }).where('id', '=', revoked.id).execute()
      t.match(await check(revoked.key), { code: 'invalid_credentials', message: /revoked/ })

      const other = rootKeyOf(Buffer.alloc(32, 4))
      t.match(await authenticate({ ...verifier, rootKey: other }, `Bearer ${made?.testKey}`), {
        code: 'unauthenticated',
      })

      const admin = await create('test', ['admin'], null)
      const scopes = async () => ((await check(admin.key)) as Actor).scopes
      t.same(await scopes(), ['read', 'write', 'admin'])
      await db.updateTable('members').set({ role: 'developer' }).execute()
      t.same(await scopes(), ['read', 'write'], 'a key does not outlive a demotion')
      await db.deleteFrom('members').execute()
      t.same(await scopes(), [], 'nor its creator')
      await lastUsed.close()
    })

    await t.test('last use is written in batches', async (t) => {
      const { db } = await open()
      const clock = new VirtualClock()
      const made = await bootstrap({ db, rootKey, clock, passwords: cheapPasswords })
      const lastUsed = openLastUsedWriter(db, clock, silentLog)
      const storedUse = async () =>
        (
          await db
            .selectFrom('apiKeys')
            .select('lastUsedAt')
            .where('environment', '=', 'test')
            .executeTakeFirst()
        )?.lastUsedAt
      const verifier = { db, rootKey, clock, lastUsed }
      await authenticate(verifier, `Bearer ${made?.testKey}`)
      t.equal(await storedUse(), null)
      const at = clock.wall()
      clock.advance(3000)
      await lastUsed.close()
      t.equal(await storedUse(), at)
      await lastUsed.close()
    })

    await t.test('over HTTP: whoami and scopes', async (t) => {
      const write = operation({
        id: 'write',
        method: 'post',
        path: '/v1/write',
        tag: 'Test',
        summary: 'Needs write',
        audience: 'key',
        scope: 'write',
        status: 204,
        fails: [],
        run: () => {},
      })
      const database = await open()
      const api = await openTestApi({ database, operations: [...accessOperations, write] })
      const who = await api.send('GET', '/v1/whoami', { key: api.liveKey })
      t.match(who, {
        status: 200,
        body: {
          data: {
            keyId: /^key_/,
            organizationId: api.organizationId,
            environment: 'live',
            scopes: ['read', 'write', 'admin'],
          },
        },
      })
      const reader = await createOperatorKey(database.db, api.deps.rootKey, api.deps.clock, {
        environment: 'test',
        scopes: ['read'],
        name: 'reader',
        expiresAt: null,
      })
      t.equal((await api.send('GET', '/v1/whoami', { key: reader?.key ?? '' })).status, 200)
      t.match(await api.send('POST', '/v1/write?unknown=1', { key: reader?.key ?? '', raw: '{' }), {
        status: 403,
        body: {
          error: {
            type: 'authorization',
            code: 'insufficient_scope',
            details: { required: 'write', granted: ['read'] },
          },
        },
      })
      await api.close()
    })
  })
})
