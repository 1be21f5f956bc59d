import t, { type Test } from 'tap'
import { onEachSharedDialect } from '../../fixtures/database/databases.js'
import { fillCalls } from '../../fixtures/database/fill-calls.js'
import { queryPlans } from '../../fixtures/database/query-plans.js'
import { silentLog } from '../../media/base/log.js'
import { type Db, openDatabase } from '../db/database.js'
import { assignSandboxNumber } from '../numbers/sandbox-number.js'
import { type CallFilter, countCalls, listCalls } from './store.js'

/** More than those that SQLite reads from the index. */
const CALLS = 6_000
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
  await fillCalls(url, CALLS)
  const all = () => db.selectFrom('calls').select(['id', 'fromNumber', 'toNumber', 'createdAt']).execute()
  const expected = async (digits: string) =>
    (await all())
      .filter(({ fromNumber, toNumber }) => fromNumber.includes(digits) || toNumber.includes(digits))
      .sort((a, b) => b.createdAt - a.createdAt)
      .map(({ id }) => id)
  const found = (from: Db, digits: string) =>
    listCalls(from, owner, { ...NO_FILTER, digits }, { limit: 100, after: null })

  const matches = async (t: Test, digits: string): Promise<void> => {
    const ids = await expected(digits)
    const page = await found(db, digits)
    t.same(
      page.items.map(({ id }) => id),
      ids.slice(0, 100),
      digits,
    )
    t.equal(page.total, ids.length, digits)
    t.equal(await countCalls(db, owner, { ...NO_FILTER, digits }, 100_000), ids.length)
  }

  await t.test('any part of either number is found, newest first', async (t) => {
    const own = number.e164.slice(1)
    for (const digits of [
      '98000',
      '00005',
      '123',
      '0001234',
      '919800001234',
      '555',
      own,
      own.slice(-4),
      '99999999',
    ]) {
      await matches(t, digits)
    }
  })

  await t.test('a number that is erased is not found, and what replaces it is', async (t) => {
    const [call] = await all()
    if (call === undefined) throw new Error('there is no call')
    const digits = call.toNumber.slice(1)
    t.equal((await found(db, digits)).items.length, 1)
    await db.updateTable('calls').set({ toNumber: 'erased-777' }).where('id', '=', call.id).execute()
    t.equal((await found(db, digits)).items.length, 0)
    t.same((await found(db, '777')).items.map(({ id }) => id).includes(call.id), true)
    await matches(t, '777')
  })

  await t.test('calls of other organizations and environments are not found', async (t) => {
    t.equal(
      (
        await listCalls(
          db,
          { ...owner, environment: 'live' },
          { ...NO_FILTER, digits: '0001234' },
          { limit: 10, after: null },
        )
      ).total,
      0,
    )
  })

  if (dialect === 'sqlite') {
    await t.test('rare digits are read from the index, common ones from the newest calls', async (t) => {
      const stepsOf = async (digits: string) => {
        const plans = await queryPlans(database, (db) => found(db, digits))
        return plans.filter(({ sql }) => sql.includes('from "calls"')).flatMap(({ steps }) => steps)
      }
      const rare = (await stepsOf('0001234')).join('\n')
      t.match(rare, 'callDigitsIndex VIRTUAL TABLE INDEX')
      t.notMatch(rare, 'callsSearch')
      const common = (await stepsOf('98000')).join('\n')
      t.match(common, 'callsSearch')
      t.notMatch(common, 'callDigits')
    })
  }
})
