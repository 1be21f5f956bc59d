import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { dataOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import { authenticate } from '../access/keys/api-keys.js'
import { openLastUsedWriter } from '../access/keys/last-used.js'
import { operations } from '../app/operations.js'
import { addRootKey, openRootKey, type RootKey, rootKeyOf } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { latestVerification, unsealDetails } from '../organization/verification-store.js'
import { sealPassword, unsealPassword } from '../trunks/trunk-passwords.js'
import { activeSecrets } from '../webhooks/endpoint-store.js'
import { readSecretFor } from './host-store.js'
import { resealAll } from './reseal.js'
import { openVault } from './vault.js'

const SUBMISSION = {
  legalName: 'Asha Clinics',
  entityType: 'llp',
  registeredAddress: { address: '1 MG Road', city: 'Bengaluru', pincode: '560001', stateCode: '29' },
  authorisedPerson: { name: 'A Person', email: 'a@example.com', phone: '+919876543210' },
}

t.test('a new root key is written before the others of the file', async (t) => {
  const folder = t.testdir({})
  t.throws(() => addRootKey(folder), { code: 'config_invalid' }, 'nothing to rotate')
  const first = openRootKey(null, folder)
  const second = addRootKey(folder)
  const third = addRootKey(folder)
  t.equal(second.previous.length, 1)
  t.same(
    [third, ...third.previous].map((key) => key.subkey('permit')).slice(1),
    [second, first].map((key) => key.subkey('permit')),
  )
  t.equal(statSync(join(folder, 'root.key')).mode & 0o777, 0o600)
  t.same(openRootKey(null, folder).subkey('permit'), third.subkey('permit'), 'after a restart too')
  const listed = readFileSync(join(folder, 'root.key'), 'utf8').trim().split('\n')
  const configured = openRootKey(listed.join(','), folder)
  t.same(configured.subkey('permit'), third.subkey('permit'), 'the variable takes the same list')
  t.equal(configured.previous.length, 2)
})

await onEachDialect(t, async (t, open) => {
  const api = await openUsersApi({ database: await open(), operations })
  const { organizationId } = api
  const { db, rootKey: old } = api.deps
  const { browser: admin } = await api.member('admin')
  const made = await admin.send('POST', '/v1/secrets', {
    json: { name: 'S', value: 'a-secret-of-the-crm', hosts: ['crm.example.com'] },
  })
  const secretId = String(dataOf(made).id)
  await admin.send('POST', '/v1/organization/verification', { json: SUBMISSION })
  const endpoint = await admin.send('POST', '/v1/integrations/webhooks', {
    json: { url: 'https://hooks.example.com/', events: ['call.completed'] },
  })
  t.equal(endpoint.status, 201)
  const endpointSecret = String(dataOf(endpoint).secret)

  const trunkId = await insertTestTrunk(db, old, organizationId, api.clock.wall())

  const rotated = rootKeyOf(Buffer.alloc(32, 8), [old])
  const alone = rootKeyOf(Buffer.alloc(32, 8))

  /** Returns the secrets as a service with this root key reads them. */
  async function readAll(rootKey: typeof old) {
    const verification = await latestVerification(db, organizationId)
    if (verification === null) throw new Error('no verification')
    const row = await db.selectFrom('webhookEndpoints').selectAll().executeTakeFirstOrThrow()
    const trunk = await db.selectFrom('sipTrunks').selectAll().executeTakeFirstOrThrow()
    return {
      secret: await readSecretFor(db, openVault(rootKey, 'secret-encryption'), organizationId, {
        secretId,
        url: 'https://crm.example.com/',
      }),
      details: unsealDetails(rootKey, verification),
      endpoint: activeSecrets(rootKey, row, api.clock.wall()),
      trunk: [
        unsealPassword(rootKey, trunkId, 'inbound', trunk.digestPassword ?? ''),
        unsealPassword(rootKey, trunkId, 'outbound', trunk.outboundPassword ?? ''),
      ],
    }
  }
  const expected = {
    secret: { kind: 'value', value: 'a-secret-of-the-crm' },
    details: { ...SUBMISSION, gstin: null, pan: null, documents: [] },
    endpoint: [endpointSecret],
    trunk: ['theirs', 'ours'],
  }

  await t.test('with the earlier key configured everything is readable at once', async (t) => {
    t.same(await readAll(rotated), expected)
    await t.rejects(readAll(alone), { code: 'storage_failed' })
  })

  await t.test('data that no key opens is counted and left unchanged', async (t) => {
    t.same(await resealAll(db, alone), { changed: 0, unreadable: 5 })
    t.same(await readAll(old), expected)
  })

  await t.test('after re-encryption the earlier key is not needed', async (t) => {
    t.same(await resealAll(db, rotated), { changed: 5, unreadable: 0 })
    t.same(await readAll(alone), expected)
    await t.rejects(readAll(old), { code: 'storage_failed' })
    t.same(await resealAll(db, rotated), { changed: 0, unreadable: 0 }, 'nothing is left to do')
  })

  await t.test('API keys stay valid, and move to the new root key when they are used', async (t) => {
    const clock = new VirtualClock()
    const use = openLastUsedWriter(db, clock, silentLog)
    const check = (rootKey: typeof old) =>
      authenticate({ db, rootKey, clock, lastUsed: use }, `Bearer ${api.testKey}`)
    t.match(await check(alone), { code: 'unauthenticated' })
    t.match(await check(rotated), { kind: 'key', organizationId })
    t.match(await check(alone), { kind: 'key', organizationId })
    t.match(await check(old), { code: 'unauthenticated' })
    await use.close()
  })
  await api.close()
})

/** A trunk with both passwords, which operations for trunks will make one day. */
async function insertTestTrunk(
  db: Db,
  rootKey: RootKey,
  organizationId: string,
  now: number,
): Promise<string> {
  const id = 'trk_01JZ0000000000000000000000'
  await db
    .insertInto('sipTrunks')
    .values({
      id,
      organizationId,
      environment: 'live',
      name: 'T',
      status: 'active',
      disabledReason: null,
      approvedAt: now,
      allowOrigination: 0,
      callerIdPolicy: 'did',
      callerId: null,
      codecs: '[]',
      customHeaders: '{}',
      digestUsername: 'user',
      digestPassword: sealPassword(rootKey, id, 'inbound', 'theirs'),
      digestAlgorithm: 'MD5',
      realm: 'parley.test',
      inboundAuth: 'digest',
      ipAcl: '[]',
      lastInboundAt: null,
      lastOutboundAt: null,
      lastProbe: null,
      maxConcurrent: 10,
      callsPerMinute: 60,
      allowedPrefixes: '[]',
      outboundAuthUsername: 'us',
      outboundPassword: sealPassword(rootKey, id, 'outbound', 'ours'),
      outboundHost: 'sip.example.com',
      outboundPort: 5061,
      outboundTransport: 'tls',
      outboundNumberFormat: 'e164',
      outboundDomain: null,
      ringTimeoutMs: 30_000,
      register: 0,
      registerSeconds: 300,
      source: 'api',
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    })
    .execute()
  return id
}
