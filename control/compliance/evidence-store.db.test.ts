import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import type { OpenDatabase } from '../db/database.js'
import { clearDial, type DialRequest } from './clearance.js'
import { openEvidenceKeys } from './evidence.js'
import { verifyStoredChain } from './evidence-store.js'
import { sweepTestChecks, sweepTestEvidence, TEST_RECORD_DAYS } from './retention.js'

const request = (organizationId: string, environment: 'test' | 'live' = 'test'): DialRequest => ({
  organizationId,
  callId: 'call_x',
  from: '+919000000100',
  gate: { to: '+919876543210', environment, purpose: 'service', trigger: 'call' },
  agentId: 'agt_x',
  agentVersionId: 'agv_x',
})

async function withChain(database: OpenDatabase, length: number) {
  const calling = await openTestCalling(database)
  const { deps, owner } = calling
  const keys = openEvidenceKeys(deps.rootKey)
  const clearances = await Promise.all(
    Array.from({ length }, () => clearDial(deps, request(owner.organizationId), async () => {})),
  )
  const verify = () => verifyStoredChain(deps.db, owner.organizationId, 'test', keys)
  return { calling, deps, owner, clearances, verify }
}

await onEachDialect(t, async (t, open, engine) => {
  await t.test('records sealed at the same time form one gapless chain', async (t) => {
    const { calling, deps, clearances, owner, verify } = await withChain(await open(), 20)
    t.match(await verify(), { valid: true, seq: 20 })
    const permits = clearances.flatMap((clearance) => (clearance.cleared ? [clearance.permit] : []))
    t.equal(permits.length, 20)
    t.ok(permits.every((permit) => calling.permits.spend(permit)))
    // Each environment and each organization has its own chain.
    await clearDial(deps, request(owner.organizationId, 'live'), async () => {})
    t.match(await verifyStoredChain(deps.db, owner.organizationId, 'live', openEvidenceKeys(deps.rootKey)), {
      valid: true,
      seq: 1,
    })
    t.match(await verifyStoredChain(deps.db, 'org_none', 'test', openEvidenceKeys(deps.rootKey)), {
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
    t.equal((await deps.db.selectFrom('checks').selectAll().execute()).length, 4)
    await calling.close()
  })

  await t.test('the database rejects changes of sealed records', async (t) => {
    const { calling, deps, verify } = await withChain(await open(), 2)
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
      { e164: null, record: '{}' },
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

    await db.updateTable('evidence').set({ e164: null }).where('seq', '=', 1).execute()
    t.match(await verify(), { valid: true, seq: 2 }, 'erasing the person keeps the chain')
    await t.rejects(db.updateTable('evidence').set({ e164: '+919876543210' }).execute(), /sealed/)
    await calling.close()
  })

  await t.test('expired records of the test environment are removed, all others stay', async (t) => {
    const { calling, deps, owner, verify } = await withChain(await open(), 3)
    const { db, clock } = deps
    await clearDial(deps, request(owner.organizationId, 'live'), async () => {})
    calling.clock.advance(TEST_RECORD_DAYS * 24 * 3_600_000)
    t.equal(await sweepTestEvidence(db, clock.wall()), false)
    await clearDial(deps, request(owner.organizationId), async () => {})
    calling.clock.advance(1)
    t.equal(await sweepTestEvidence(db, clock.wall()), false)
    t.equal(await sweepTestChecks(db, clock.wall()), false)
    for (const table of ['evidence', 'checks'] as const) {
      const kept = await db.selectFrom(table).select('environment').orderBy('environment').execute()
      const each = table === 'evidence' ? 1 : 4
      t.same(
        kept.map(({ environment }) => environment),
        [...Array(each).fill('live'), ...Array(each).fill('test')],
      )
    }
    t.match(await verify(), { valid: true, seq: 4 })
    await db.updateTable('evidence').set({ e164: null }).execute()
    await t.rejects(db.deleteFrom('evidence').where('environment', '=', 'live').execute(), /sealed/)

    calling.clock.advance(TEST_RECORD_DAYS * 24 * 3_600_000)
    await sweepTestEvidence(db, clock.wall())
    t.match(await verify(), { valid: true, seq: 4 }, 'a chain of which nothing is kept')
    await clearDial(deps, request(owner.organizationId), async () => {})
    t.match(await verify(), { valid: true, seq: 5 }, 'goes on')
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
    t.match(await verify(), { valid: false, brokenAt: 2 })
    await set(record)
    t.match(await verify(), { valid: true })
    await db
      .updateTable('evidenceHeads')
      .set({ hash: '0'.repeat(64) })
      .execute()
    t.match(await verify(), { valid: false, brokenAt: 3 })
    await db.updateTable('evidenceHeads').set({ seq: 4 }).execute()
    t.match(await verify(), { valid: false, brokenAt: 4 }, 'a record cut off the end')
    await calling.close()
  })
})
