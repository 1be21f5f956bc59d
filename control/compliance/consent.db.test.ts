import { sql } from 'kysely'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { until } from '../../fixtures/host/until.js'
import type { Db } from '../db/database.js'
import { recordConsents } from './consent-store.js'
import { POLICY } from './policy.js'
import { suppress } from './suppression-store.js'

const PERSON = '+919876543210'
const DAY_MS = 86_400_000
const CONSENT = {
  e164: PERSON,
  purpose: 'promotional',
  kind: 'explicit',
  scope: 'Offers',
  source: 'web_form',
}

/** Tells whether a transaction on this database waits for an advisory lock of PostgreSQL. */
async function waitsForLock(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())`.execute(db)
  return rows.length > 0
}

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error

await onEachDialect(t, async (t, open, dialect) => {
  const start = async () => {
    const calling = await openTestCalling(await open(), { wallMs: Date.parse('2026-03-02T06:30:00Z') })
    const send = (method: string, path: string, json?: unknown) =>
      calling.send(method, path, json === undefined ? {} : { json })
    const record = (more: object = {}) => send('POST', '/v1/consent', { ...CONSENT, ...more })
    return { calling, send, record, iso: (ms: number) => new Date(calling.clock.wall() + ms).toISOString() }
  }

  await t.test('the rules of each kind of consent', async (t) => {
    const { calling, record, iso } = await start()
    const refused = async (path: string, more: object) => {
      const answer = await record(more)
      t.equal(answer.status, 400, JSON.stringify(more))
      t.match(errorOf(answer), { code: 'validation_error', details: { issues: [{ path }] } })
    }
    const week = { purpose: 'transactional', capturedAt: iso(-DAY_MS) }
    t.match(dataOf(await record(week)), { expiresAt: iso(6 * DAY_MS), active: true })
    await refused('expiresAt', { ...week, expiresAt: iso(6 * DAY_MS + 1) })
    t.equal((await record({ ...week, expiresAt: iso(6 * DAY_MS) })).status, 201)
    t.match(dataOf(await record({ source: 'enquiry' })), { expiresAt: iso(7 * DAY_MS) })
    await refused('expiresAt', { source: 'enquiry', expiresAt: iso(8 * DAY_MS) })
    await refused('expiresAt', { kind: 'inferred' })
    await refused('expiresAt', { expiresAt: iso(0) })
    t.equal((await record({ capturedAt: iso(5 * 60_000) })).status, 201, 'a clock that is ahead')
    await refused('capturedAt', { capturedAt: iso(5 * 60_000 + 1) })
    await refused('e164', { e164: '+14155550100' })
    await refused('e164', { e164: '+910000000000' })
    await refused('purpose', { purpose: 'other' })
    t.equal((await record({ e164: '+9118001234567' })).status, 201, 'eleven digits')
    await calling.close()
  })

  await t.test('a newer consent replaces the older one; an inferred one never an explicit one', async (t) => {
    const { calling, send, record, iso } = await start()
    const first = dataOf(await record())
    const second = dataOf(await record({ scope: 'Other offers' }))
    t.equal((await send('GET', `/v1/consent/${first.id}`)).status, 404)
    t.match(itemsOf(await send('GET', '/v1/consent')), [{ id: second.id, scope: 'Other offers' }])
    const kept = await calling.deps.db
      .selectFrom('consents')
      .select(['revokedReason', 'current'])
      .where('id', '=', String(first.id))
      .executeTakeFirstOrThrow()
    t.same(kept, { revokedReason: 'superseded', current: 0 })
    const inferred = { kind: 'inferred', expiresAt: iso(DAY_MS) }
    t.match(errorOf(await record(inferred)), { code: 'conflict' })
    t.equal((await record({ ...inferred, purpose: 'service' })).status, 201, 'another purpose')

    const revoked = await send('POST', `/v1/consent/${second.id}/revoke`, { reason: 'Asked by e-mail' })
    t.match(dataOf(revoked), { active: false, revokedReason: 'Asked by e-mail' })
    t.match(dataOf(await send('POST', `/v1/consent/${second.id}/revoke`, { reason: 'x' })), {
      revokedReason: 'Asked by e-mail',
    })
    t.equal((await record(inferred)).status, 201, 'nothing active stands against it')
    t.equal(itemsOf(await send('GET', '/v1/consent?active=true')).length, 2)
    t.equal(itemsOf(await send('GET', '/v1/consent?purpose=service')).length, 1)
    calling.clock.advance(DAY_MS)
    t.equal(itemsOf(await send('GET', '/v1/consent?active=false')).length, 2, 'both have expired')
    const service = itemsOf(await send('GET', '/v1/consent?purpose=service'))[0]
    await send('POST', `/v1/consent/${service?.id}/revoke`, { reason: 'No more', optOut: true })
    t.match(itemsOf(await send('GET', '/v1/dnc')), [{ e164: PERSON, source: 'opt_out', reason: 'No more' }])
    t.equal((await record()).status, 409)
    t.equal((await calling.send('GET', `/v1/consent`, { key: calling.api.liveKey })).status, 200)
    t.same(itemsOf(await calling.send('GET', '/v1/consent', { key: calling.api.liveKey })), [])
    await calling.close()
  })

  await t.test('a bulk import takes the rows that are valid', async (t) => {
    const { calling, send, iso } = await start()
    await send('POST', '/v1/dnc', { e164: '+919876543299', source: 'opt_out' })
    const records = [
      CONSENT,
      { ...CONSENT, kind: 'inferred' },
      { ...CONSENT, e164: '+919876543299' },
      { ...CONSENT, e164: 'x' },
      { ...CONSENT, scope: 'Twice in one request' },
      { ...CONSENT, kind: 'inferred', expiresAt: iso(DAY_MS) },
      { ...CONSENT, capturedAt: 'yesterday' },
    ]
    t.match(dataOf(await send('POST', '/v1/consent/bulk', { records })), {
      imported: 2,
      rejected: [
        { index: 1, code: 'validation_error', message: /expiresAt/ },
        { index: 2, code: 'conflict', message: /opted out/ },
        { index: 3, e164: 'x', code: 'validation_error' },
        { index: 5, code: 'conflict' },
        { index: 6, code: 'validation_error', message: /capturedAt/ },
      ],
    })
    t.match(itemsOf(await send('GET', '/v1/consent')), [{ scope: 'Twice in one request' }])
    t.equal((await calling.deps.db.selectFrom('consents').select('id').execute()).length, 2)
    const many = Array.from({ length: 1_000 }, (_, i) => ({
      ...CONSENT,
      e164: `+91987654${String(i).padStart(4, '0')}`,
    }))
    t.match(dataOf(await send('POST', '/v1/consent/bulk', { records: many })), { imported: 1_000 })
    await calling.close()
  })

  await t.test(
    'an opt-out revokes a consent that is being recorded, and a later one is refused',
    async (t) => {
      const { calling, record } = await start()
      const { db } = calling.deps
      const now = calling.clock.wall()
      const owner = { organizationId: calling.api.organizationId, environment: 'test' } as const
      const by = { type: 'key', id: 'key_1' }
      const write = { ...CONSENT, evidenceRef: null, capturedAt: null, expiresAt: null }
      const optOut = { e164: PERSON, source: 'opt_out', reason: null, callId: null }
      let ended = false
      let optingOut: Promise<unknown> = Promise.resolve()
      await db.transaction().execute(async (trx) => {
        await recordConsents(trx, { rules: POLICY, rootKey: calling.deps.rootKey }, owner, [write], by, now)
        optingOut = db
          .transaction()
          .execute((other) => suppress(other, { rules: POLICY, rootKey: null }, owner, optOut, by, now))
          .then(() => {
            ended = true
          })
        // SQLite lets no second writer in.
        if (dialect === 'postgres') await until(async () => ended || (await waitsForLock(trx)))
        t.equal(ended, false, 'the opt-out waits for the consent')
      })
      await optingOut
      const row = await db.selectFrom('consents').selectAll().executeTakeFirstOrThrow()
      t.match(row, { current: 1, revokedAt: now, revokedReason: 'opt_out' })
      t.equal((await record()).status, 409)
      await calling.close()
    },
  )

  await t.test('consents of one number that are recorded at once leave one', async (t) => {
    const { calling, record } = await start()
    const answers = await Promise.all(Array.from({ length: 8 }, () => record()))
    t.ok(answers.every(({ status }) => status === 201 || status === 409))
    const current = await calling.deps.db
      .selectFrom('consents')
      .select('id')
      .where('current', '=', 1)
      .execute()
    t.equal(current.length, 1)
    await calling.close()
  })

  await t.test(
    'consent of the right purpose overrides the register, and the gate says on what it rests',
    async (t) => {
      const { calling, send, record } = await start()
      const { deps, numberId } = calling
      await calling.publishAgent()
      await deps.db.updateTable('agentVersions').set({ purpose: 'promotional' }).execute()
      const LISTED = '+919000000001'
      const call = () => send('POST', '/v1/calls', { to: LISTED, numberId })
      t.match(errorOf(await call()), { code: 'blocked_dnd', details: { checkType: 'dnd_register' } })
      await record({ e164: LISTED, purpose: 'service' })
      t.equal((await call()).status, 403, 'another purpose')
      const given = dataOf(await record({ e164: LISTED }))
      const placed = dataOf(await call())
      const rows = await deps.db
        .selectFrom('checks')
        .select(['type', 'outcome', 'reason', 'details'])
        .where('runId', '=', String(placed.complianceRunId))
        .execute()
      t.match(
        rows.find(({ type }) => type === 'consent'),
        {
          outcome: 'pass',
          reason: 'explicit_consent',
          details: JSON.stringify({ consentId: given.id, kind: 'explicit' }),
        },
      )
      t.match(
        rows.find(({ type }) => type === 'dnd_register'),
        { reason: 'explicit_consent' },
      )
      t.equal((await send('POST', '/v1/calls', { to: '+919000000009', numberId })).status, 201, 'not listed')
      await calling.close()
    },
  )
})
