import t from 'tap'
import { openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { type RootKey, rootKeyOf } from '../../base/root-key.js'
import type { OpenDatabase } from '../../db/database.js'
import { CHECK_TYPES } from '../check.js'
import { clearDial, type DialRequest } from '../clearance.js'
import { RECORD_DAYS, sweepChecks, sweepEvidence } from '../retention.js'
import { openEvidenceKeys } from './seal.js'
import { appendRecord } from './store.js'
import { verifyStoredChain } from './stored-chain.js'

const request = (organizationId: string, environment: 'test' | 'live' = 'test'): DialRequest => ({
  organizationId,
  callId: 'call_x',
  from: '+919000000100',
  gate: { to: '+919876543210', environment, purpose: 'service', trigger: 'call' },
  agentId: 'agt_x',
  agentVersionId: 'agv_x',
})

const DAY = 24 * 3_600_000
const ERASED = { e164: null, salt: null, personal: null }

async function withChain(database: OpenDatabase, length: number) {
  const calling = await openTestCalling(database)
  const { deps, owner } = calling
  const keys = openEvidenceKeys(deps.rootKey)
  const clearances = await Promise.all(
    Array.from({ length }, () => clearDial(deps, request(owner.organizationId), async () => {})),
  )
  const verify = () => verifyStoredChain(deps.db, owner, keys)
  return { calling, deps, owner, keys, clearances, verify }
}

await onEachDialect(t, async (t, open, engine) => {
  await t.test('records sealed at the same time form one gapless chain', async (t) => {
    const { calling, deps, clearances, owner, keys, verify } = await withChain(await open(), 20)
    t.match(await verify(), { valid: true, seq: 20 })
    const permits = clearances.flatMap((clearance) => (clearance.cleared ? [clearance.permit] : []))
    t.equal(permits.length, 20)
    t.ok(permits.every((permit) => calling.permits.claim(permit)))
    // Each environment and each organization has its own chain.
    await clearDial(deps, request(owner.organizationId, 'live'), async () => {})
    t.match(await verifyStoredChain(deps.db, { ...owner, environment: 'live' }, keys), {
      valid: true,
      seq: 1,
    })
    t.match(await verifyStoredChain(deps.db, { ...owner, organizationId: 'org_none' }, keys), {
      valid: true,
      seq: 0,
    })
    await calling.close()
  })

  await t.test('a dial that cannot be stored is neither sealed nor permitted', async (t) => {
    const { calling, deps, owner, verify } = await withChain(await open(), 1)
    const failed = clearDial(deps, request(owner.organizationId), async () => {
      throw new Error('disk full')
    })
    await t.rejects(failed, { message: 'disk full' })
    t.match(await verify(), { valid: true, seq: 1 }, 'rolled back with its place in the chain')
    t.equal((await deps.db.selectFrom('checks').selectAll().execute()).length, CHECK_TYPES.length)
    await calling.close()
  })

  await t.test('the database rejects changes of sealed records', async (t) => {
    const { calling, deps, owner, keys, verify } = await withChain(await open(), 2)
    const { db } = deps
    const changes = [
      { record: '{}' },
      { hash: '0'.repeat(64) },
      { prevHash: 'x' },
      { signature: '' },
      { seq: 9 },
      { callId: 'call_y' },
      { sealedAt: 0 },
      { organizationId: 'org_y' },
      { e164: '+919999999999' },
      { e164: null },
      { salt: null },
      { e164: null, salt: null, personal: null, record: '{}' },
    ]
    for (const change of changes) {
      await t.rejects(db.updateTable('evidence').set(change).where('seq', '=', 1).execute(), /sealed/)
    }
    await t.rejects(db.deleteFrom('evidence').execute(), /sealed/)
    if (engine === 'postgres') {
      const { sql } = await import('kysely')
      await t.rejects(sql`truncate evidence`.execute(db), /sealed/)
    }
    t.match(await verify(), { valid: true, seq: 2 })

    await db.updateTable('evidence').set(ERASED).where('seq', '=', 1).execute()
    t.match(await verify(), { valid: false, problem: { seq: 1, code: 'person_missing' } })
    const part = { erased: [1] }
    await db.transaction().execute(async (trx) => {
      const record = { kind: 'erasure', callId: null, gateRunId: null, person: null, part } as const
      await appendRecord(trx, keys, owner, record, deps.clock.wall())
    })
    t.match(await verify(), { valid: true, seq: 3 }, 'an erasure record explains it')
    await t.rejects(db.updateTable('evidence').set({ e164: '+919876543210' }).execute(), /sealed/)
    await calling.close()
  })

  await t.test('expired records are removed, and a sealed record says which', async (t) => {
    const { calling, deps, owner, keys, verify } = await withChain(await open(), 3)
    const { db, clock } = deps
    const live = { ...owner, environment: 'live' } as const
    const kinds = async ({ environment }: { environment: 'test' | 'live' }) => {
      const query = db.selectFrom('evidence').select(['seq', 'kind']).where('environment', '=', environment)
      return (await query.orderBy('seq').execute()).map(({ seq, kind }) => `${seq} ${kind}`)
    }
    const sweepAll = async () => {
      while (await sweepEvidence(db, keys, clock.wall()));
      while (await sweepChecks(db, clock.wall()));
    }
    await clearDial(deps, request(owner.organizationId, 'live'), async () => {})
    calling.clock.advance((RECORD_DAYS.test + 1) * DAY)
    await sweepAll()
    t.same(await kinds(owner), ['1 gate', '2 gate', '3 gate'], 'at the limit')
    await clearDial(deps, request(owner.organizationId), async () => {})
    calling.clock.advance(1)
    await sweepAll()
    t.same(await kinds(owner), ['4 gate', '5 retention'])
    t.same(await kinds(live), ['1 gate'])
    t.match(await verify(), { valid: true, seq: 5 })
    t.same(
      (await db.selectFrom('checks').select('id').execute()).length,
      2 * CHECK_TYPES.length,
      'a run each',
    )
    await t.rejects(db.deleteFrom('evidence').execute(), /sealed/)

    await sweepAll()
    t.same(await kinds(owner), ['4 gate', '5 retention'], 'nothing more')
    calling.clock.advance((RECORD_DAYS.test + 1) * DAY + 1)
    await sweepAll()
    t.same(await kinds(owner), ['6 retention'], 'a chain of which nothing else is kept')
    t.match(await verify(), { valid: true, seq: 6 })
    calling.clock.advance((RECORD_DAYS.test + 1) * DAY + 1)
    await sweepAll()
    t.same(await kinds(owner), ['6 retention'], 'is left alone')
    await clearDial(deps, request(owner.organizationId), async () => {})
    t.match(await verify(), { valid: true, seq: 7 }, 'and goes on')

    calling.clock.advance((RECORD_DAYS.live + 1) * DAY)
    await sweepAll()
    t.same(await kinds(live), ['2 retention'], 'three years')
    t.same(await db.selectFrom('checks').select('id').execute(), [])
    await clearDial(deps, request(owner.organizationId), async () => {})
    await db.updateTable('evidenceHeads').set({ keptFrom: 9 }).where('environment', '=', 'test').execute()
    await db.deleteFrom('evidence').where('environment', '=', 'test').where('seq', '<', 9).execute()
    t.match(await verify(), { valid: false, problem: { code: 'records_missing' } }, 'no record says it')
    await calling.close()
  })

  await t.test('a new root key is announced by the key before it', async (t) => {
    const { calling, deps, owner, verify } = await withChain(await open(), 2)
    const rotated = rootKeyOf(Buffer.alloc(32, 8), [deps.rootKey])
    const append = async (rootKey: RootKey) => {
      await clearDial({ ...deps, rootKey }, request(owner.organizationId), async () => {})
      return verifyStoredChain(deps.db, owner, openEvidenceKeys(rootKey))
    }
    t.match(await append(rotated), { valid: true, seq: 4 })
    const kinds = await deps.db.selectFrom('evidence').select('kind').orderBy('seq').execute()
    t.same(
      kinds.map(({ kind }) => kind),
      ['gate', 'gate', 'key', 'gate'],
    )
    t.match(await append(rotated), { valid: true, seq: 5 })
    // The earlier root key is gone, and with it the key that could announce the next one.
    const stranger = rootKeyOf(Buffer.alloc(32, 9))
    t.match(await append(stranger), { valid: false, problem: { seq: 6, code: 'wrong_key' } })
    t.match(await verify(), { valid: false, problem: { seq: 6 } })
    await calling.close()
  })

  await t.test('tampering that bypasses the trigger is detected', async (t) => {
    const { calling, deps, verify } = await withChain(await open(), 3)
    const { db } = deps
    const { sql } = await import('kysely')
    // The owner of the database can drop its triggers.
    if (engine === 'sqlite') await sql`drop trigger "evidenceUnchanged"`.execute(db)
    else await sql`drop trigger "evidenceKept" on "evidence"`.execute(db)
    const { record } = await db
      .selectFrom('evidence')
      .select('record')
      .where('seq', '=', 2)
      .executeTakeFirstOrThrow()
    const set = (changed: string) =>
      db.updateTable('evidence').set({ record: changed }).where('seq', '=', 2).execute()
    await set(record.replace('"outcome":"pass"', '"outcome":"warn"'))
    t.match(await verify(), { valid: false, problem: { seq: 2 } })
    await set(record)
    t.match(await verify(), { valid: true })
    await db
      .updateTable('evidenceHeads')
      .set({ hash: '0'.repeat(64) })
      .execute()
    t.match(await verify(), { valid: false, problem: { seq: 4 } })
    await db.updateTable('evidenceHeads').set({ seq: 4 }).execute()
    t.match(await verify(), { valid: false, problem: { seq: 4 } }, 'a record cut off the end')
    await calling.close()
  })
})
