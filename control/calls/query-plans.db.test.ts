import { sql } from 'kysely'
import t from 'tap'
import { onEachSharedDialect } from '../../fixtures/database/databases.js'
import { fillCalls } from '../../fixtures/database/fill-calls.js'
import { queryPlans } from '../../fixtures/database/query-plans.js'
import { silentLog } from '../../media/base/log.js'
import { defaultConfig } from '../agents/config.js'
import { createAgent } from '../agents/store.js'
import { type Db, openDatabase } from '../db/database.js'
import { assignSandboxNumber } from '../numbers/sandbox-number.js'
import { type CallFilter, findCall, listCalls, requestHangup } from './store.js'

const CALLS = 20_000
const NO_FILTER: CallFilter = {
  ...{ digits: null, status: undefined, disposition: undefined, direction: undefined, agentId: undefined },
  ...{ numberId: undefined, campaignId: undefined, startedAfter: undefined, startedBefore: undefined },
}

await onEachSharedDialect(t, async (t, make, dialect) => {
  const url = await make()
  const database = openDatabase(url, silentLog)
  t.teardown(() => database.close())
  const { db } = database
  const values = { id: 'org_1', name: 'x', senderClassification: null, createdAt: 1 }
  await db.insertInto('organizations').values(values).execute()
  const number = await assignSandboxNumber(db, 'org_1', 1)
  if (number === null) throw new Error('no number is free')
  const owner = { organizationId: 'org_1', environment: 'test' } as const
  const ids = await fillCalls(url, CALLS)
  const oldest = ids[0] ?? ''
  const stepsOf = async (use: (db: Db) => Promise<unknown>) => {
    const plans = await queryPlans(database, use)
    return plans
      .filter(({ sql }) => sql.includes('"calls"'))
      .map(({ steps }) =>
        steps.filter((step) => /\bcalls\b/.test(step) && /scan|search/i.test(step)).join('; '),
      )
  }

  await t.test('a call is read and changed by its id, also before there are statistics', async (t) => {
    const steps = [
      ...(await stepsOf((db) => findCall(db, owner, oldest))),
      ...(await stepsOf((db) => requestHangup(db, owner, oldest, 1))),
    ]
    t.equal(steps.length, 2)
    t.match(steps[0], dialect === 'sqlite' ? /autoindex_calls_1 \(id=/ : /calls_pkey/)
    // PostgreSQL may take the index of the few calls that have not ended.
    t.match(steps[1], dialect === 'sqlite' ? /autoindex_calls_1 \(id=/ : /calls_pkey|callsOpen/)
  })

  await t.test('a list by each filter reads the calls that match', async (t) => {
    await db
      .insertInto('numbers')
      .values({ ...number, id: 'num_1', e164: '+15550001' })
      .execute()
    const agent = { organizationId: 'org_1', name: 'Asha', description: null, config: defaultConfig }
    const { id: agentId } = await createAgent(db, agent, 1)
    const rare = { disposition: 'busy', direction: 'inbound', agentId, numberId: 'num_1' } as const
    await db
      .updateTable('calls')
      .set({ ...rare, campaignId: 'cmp_1', status: 'in_progress', endedAt: null })
      .where('id', '=', oldest)
      .execute()
    if (dialect === 'postgres') await sql`analyze`.execute(db)
    const indexes: readonly (readonly [Partial<CallFilter>, string])[] = [
      [{ disposition: rare.disposition }, 'callsByDisposition'],
      [{ direction: rare.direction }, 'callsByDirection'],
      [{ agentId: rare.agentId }, 'callsByAgentId'],
      [{ numberId: rare.numberId }, 'callsByNumberId'],
      [{ campaignId: 'cmp_1' }, 'callsOfCampaign'],
      [{ status: 'in_progress' }, 'callsOpen'],
      [{ startedBefore: 1_760_000_000_001 }, 'callsSearch'],
      [{ startedAfter: 1_759_999_999_999, startedBefore: 1_760_000_000_001 }, 'callsSearch'],
      [{}, 'callsSearch'],
      [{ status: 'ended' }, 'callsSearch'],
    ]
    for (const [filter, index] of indexes) {
      const name = Object.keys(filter).join(', ')
      const list = (db: Db) => listCalls(db, owner, { ...NO_FILTER, ...filter }, { limit: 20, after: null })
      const [step] = await stepsOf(list)
      t.match(step, new RegExp(`\\b${index}\\b`), name)
      if (filter.startedBefore !== undefined) {
        t.match(step, dialect === 'sqlite' ? /createdAt</ : /calls/, `${name}: a range of the index`)
      }
      const { items } = await list(db)
      const others = name === '' || filter.status === 'ended'
      t.same(items.map(({ id }) => id).slice(0, 1), [others ? ids.at(-1) : oldest], name)
      if (!others) t.equal(items.length, 1, name)
    }
  })
})
