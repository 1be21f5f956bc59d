import t from 'tap'
import { openTestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { openMortal } from '../../../fixtures/database/mortal.js'
import { silentLog } from '../../../media/base/log.js'
import type { Db } from '../../db/database.js'
import { openJobRunner } from '../../jobs/runner.js'
import { clearDial } from '../clearance.js'
import { anchorsOf } from './anchors.js'
import { closeChain, closeHandler, scheduleCloses } from './close.js'
import { openEvidenceKeys } from './seal.js'
import { recordsOf } from './store.js'
import { verifyStoredChain } from './stored-chain.js'

const DAY_MS = 86_400_000

await onEachDialect(t, async (t, open) => {
  const start = async () => {
    const database = await open()
    const calling = await openTestCalling(database)
    const { deps, owner, clock } = calling
    const seal = (environment: 'test' | 'live') =>
      clearDial(
        deps,
        {
          ...{ organizationId: owner.organizationId, callId: 'call_x', from: '+919000000100' },
          gate: { to: '+919876543210', environment, purpose: 'service', trigger: 'call' },
          ...{ agentId: 'agt_x', agentVersionId: 'agv_x' },
        },
        async () => {},
      )
    const run = async (db: Db = deps.db) => {
      const handlers = [closeHandler({ db, rootKey: deps.rootKey, clock, timeStamps: true })]
      const runner = openJobRunner({ db, clock, log: silentLog, handlers, pollMs: 1_000_000_000 })
      await runner.idle()
      await runner.close()
    }
    const live = { ...owner, environment: 'live' } as const
    const keys = openEvidenceKeys(deps.rootKey)
    return { database, calling, deps, owner, live, clock, keys, seal, run }
  }

  await t.test('once a day each chain with new records is closed, and its head is given away', async (t) => {
    const { calling, deps, owner, live, clock, keys, seal, run } = await start()
    const { db } = deps
    await calling.publishAgent()
    const url = 'https://example.com/hooks'
    const hook = { url, events: ['evidence.head'] }
    await calling.send('POST', '/v1/integrations/webhooks', { json: hook, key: calling.api.liveKey })
    await seal('test')
    await seal('test')
    await seal('live')
    await scheduleCloses(db, clock.wall())
    await run()
    const [anchor] = await anchorsOf(db, owner).execute()
    t.match(anchor, { seq: 3, token: null, stampedAt: null })
    const closed = await recordsOf(db, owner).where('seq', '=', 3).executeTakeFirstOrThrow()
    t.equal(anchor?.hash, closed.hash, 'the head is the record that closes')
    t.match(JSON.parse(closed.record), { kind: 'close', firstSeq: 1, counts: { gate: 2 } })
    t.match(await anchorsOf(db, live).execute(), [{ seq: 2 }])
    const events = await db.selectFrom('events').selectAll().where('type', '=', 'evidence.head').execute()
    t.equal(events.length, 2)
    t.equal((await db.selectFrom('webhookDeliveries').selectAll().execute()).length, 2, 'customers get them')
    const stamps = db.selectFrom('jobs').select('payload').where('kind', '=', 'evidence-time-stamp')
    t.ok((await stamps.execute()).some(({ payload }) => payload === anchor?.id))
    const midnight = Date.parse('2025-01-15T18:30:00Z')
    const job = await db.selectFrom('jobs').selectAll().where('kind', '=', 'evidence-close').execute()
    t.match(job, [{ dueAt: midnight }])

    clock.advance(midnight - clock.wall())
    await run()
    t.equal((await anchorsOf(db, owner).execute()).length, 1, 'a chain without new records stays as it is')
    await seal('test')
    clock.advance(DAY_MS)
    await run()
    t.match(JSON.parse((await recordsOf(db, owner).where('seq', '=', 5).executeTakeFirstOrThrow()).record), {
      ...{ kind: 'close', firstSeq: 4, counts: { gate: 1 } },
    })
    t.match(await verifyStoredChain(db, owner, keys), { valid: true, seq: 5 })
    const payload = await calling.send('GET', `/v1/events?type=evidence.head`, { key: calling.api.testKey })
    t.match(payload.body, { data: [{ type: 'evidence.head', subjectType: 'evidence_head' }, {}] })
    await calling.close()
  })

  await t.test('two processes close a chain once', async (t) => {
    const { calling, deps, live, clock, keys, seal } = await start()
    await seal('live')
    const close = () =>
      deps.db.transaction().execute((trx) => closeChain(trx, keys, live, true, clock.wall()))
    await Promise.all([close(), close(), close()])
    t.match(await anchorsOf(deps.db, live).execute(), [{ seq: 2 }])
    t.match(await verifyStoredChain(deps.db, live, keys), { valid: true, seq: 2 })
    await calling.close()
  })

  await t.test('a process that dies at any commit loses nothing and closes nothing twice', async (t) => {
    const { database, calling, deps, owner, live, clock, keys, seal, run } = await start()
    await seal('test')
    await seal('live')
    await scheduleCloses(deps.db, clock.wall())
    let deaths = 0
    for (let commits = 0; commits < 20; commits++) {
      const mortal = openMortal(database, () => {})
      mortal.dieAtCommit(commits)
      await run(mortal.db).catch(() => {})
      if (!mortal.dead) break
      deaths++
      // The lease of the dead process expires.
      clock.advance(60_000)
    }
    t.ok(deaths >= 3, `${deaths} deaths`)
    for (const chain of [owner, live]) {
      t.match(await anchorsOf(deps.db, chain).execute(), [{ seq: 2 }])
      t.match(await verifyStoredChain(deps.db, chain, keys), { valid: true, seq: 2 })
    }
    const count = (table: 'events' | 'jobs', column: 'type' | 'kind', value: string) =>
      deps.db
        .selectFrom(table)
        .select((eb) => eb.fn.countAll<number>().as('rows'))
        .where(column as never, '=', value as never)
        .executeTakeFirstOrThrow()
    t.match(await count('events', 'type', 'evidence.head'), { rows: 2 })
    t.match(await count('jobs', 'kind', 'evidence-time-stamp'), { rows: 2 })
    await calling.close()
  })
})
