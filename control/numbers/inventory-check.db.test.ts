import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { ScriptedCarrier } from '../../fixtures/carriers/scripted-carrier.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { silentLog } from '../../media/base/log.js'
import { failed, ok } from '../carriers/carrier.js'
import { openJobRunner } from '../jobs/runner.js'
import { checkInventory, inventoryCheckHandler, scheduleInventoryCheck } from './inventory-check.js'
import { insertNumber } from './store.js'

const HOUR = 3_600_000
/** 15 January 2025, 10:00 IST. */
const WALL = Date.UTC(2025, 0, 15, 4, 30)

await onEachDialect(t, async (t, open) => {
  const carrier = new ScriptedCarrier('vobiz')
  const database = await open()
  const calling = await openTestCalling(database, { wallMs: WALL, carriers: () => [carrier] })
  const { deps, clock } = calling
  const { db } = database
  const { organizationId } = calling.owner
  let made = 0
  const add = async (
    state: { readonly status?: string; readonly releasedAt?: number | null; readonly owned?: boolean } = {},
    provider = 'vobiz',
  ): Promise<string> => {
    const e164 = `+9180471${String(++made).padStart(5, '0')}`
    const owner = { organizationId, environment: 'live' } as const
    const row = { ...owner, e164, label: e164, provider, region: 'KA', numberType: 'landline' }
    const number = await insertNumber(db, row, clock.wall())
    if (number === null) throw new Error('taken')
    const { owned = true, ...change } = state
    if (Object.keys(change).length > 0)
      await db
        .updateTable('numbers')
        .set(change as object)
        .where('id', '=', number.id)
        .execute()
    if (owned) carrier.owned.set(e164, number.id)
    return e164
  }
  await db.updateTable('users').set({ staff: 1 }).execute()
  const mails = async () =>
    (await db.selectFrom('mails').select('fields').where('kind', '=', 'notice').execute()).map(
      ({ fields }) => JSON.parse(fields).text as string,
    )

  await t.test('purchases, releases and other carriers are no difference', async (t) => {
    await add()
    await add({ status: 'pending', owned: false })
    await add({ status: 'pending' })
    await add({ status: 'failed', owned: false })
    await add({ releasedAt: WALL - 47 * HOUR })
    await add({ releasedAt: WALL - 100 * HOUR, owned: false })
    await add({ owned: false }, 'plivo')
    t.same(await checkInventory(deps, carrier), { ownerless: [], missing: [] })
    t.same(await mails(), [])
  })

  await t.test('a release that never arrived, a purchase by hand, a lost number', async (t) => {
    const kept = await add({ releasedAt: WALL - 49 * HOUR })
    const lost = await add({ owned: false })
    carrier.owned.set('+918099999999', 'bought by hand')
    t.same(await checkInventory(deps, carrier), { ownerless: [kept, '+918099999999'], missing: [lost] })
    const [mail = ''] = await mails()
    t.match(
      mail,
      `charges for these numbers, or is about to, and no organization has them:\n${kept}\n+918099999999`,
    )
    t.match(mail, `the carrier does not list them:\n${lost}`)
  })

  await t.test('a purchase and a release while the list is read are no difference', async (t) => {
    const sold = await add()
    const listed = carrier.listOwned.bind(carrier)
    carrier.listOwned = async () => {
      const bought = await add()
      const list = await listed()
      await db.updateTable('numbers').set({ releasedAt: WALL }).where('e164', '=', sold).execute()
      carrier.owned.delete(sold)
      return list.ok ? ok(list.value.filter(({ e164 }) => e164 !== sold || bought === '')) : list
    }
    const found = await checkInventory(deps, carrier)
    carrier.listOwned = listed
    t.equal(found?.missing.includes(sold), false)
    t.equal(found?.ownerless.length, 2, 'those of before')
  })

  await t.test('a list that cannot be read tells nothing', async (t) => {
    carrier.outage = failed('provider_unavailable', 'no answer')
    t.equal(await checkInventory(deps, carrier), null)
    carrier.outage = null
    t.equal((await mails()).length, 2)
  })

  await t.test(
    'staff hears of a list with a row that cannot be read, and no number is missing',
    async (t) => {
      carrier.outage = failed('provider_unavailable', 'a list that cannot be read', { unreadable: true })
      t.equal(await checkInventory(deps, carrier), null)
      carrier.outage = null
      const told = (await mails()).filter((text) =>
        text.includes('cannot be read, and the numbers were not compared: a list that cannot be read.'),
      )
      t.equal(told.length, 1)
      t.notMatch(told[0], 'does not list them')
    },
  )

  await t.test('staff hears of a purchase whose outcome stays open', async (t) => {
    const e164 = await add({ status: 'pending', owned: false })
    const { id } = await db
      .selectFrom('numbers')
      .select('id')
      .where('e164', '=', e164)
      .executeTakeFirstOrThrow()
    const order = { numberId: id, organizationId, environment: 'live', idempotencyId: 'open' } as const
    const askedAt = clock.wall() - HOUR
    const open = { totalPaise: 60_000, failureCode: null, failureReason: null, createdAt: askedAt }
    await db
      .insertInto('numberPurchases')
      .values({ ...order, ...open, askedAt: askedAt + 1 })
      .execute()
    /** Returns the number of mails about the purchase after a check. */
    const check = async (columns: { readonly askedAt: number; readonly failureCode: string | null }) => {
      await db.updateTable('numberPurchases').set(columns).where('numberId', '=', id).execute()
      await checkInventory(deps, carrier)
      const text = `The price stays held:\n${e164} (${id})`
      return (await mails()).filter((mail) => mail.includes(text)).length
    }
    t.equal(await check({ askedAt: askedAt + 1, failureCode: null }), 0, 'its list is read again soon')
    t.equal(await check({ askedAt, failureCode: null }), 1)
    t.equal(await check({ askedAt, failureCode: 'compliance_incomplete' }), 1, 'it waits for documents')
    await db.deleteFrom('numberPurchases').where('numberId', '=', id).execute()
  })

  await t.test('the job runs at the start and at 03:00 IST', async (t) => {
    const before = (await mails()).length
    await scheduleInventoryCheck(db, clock.wall())
    const handlers = [inventoryCheckHandler(deps)]
    const runner = openJobRunner({ db, clock, log: silentLog, handlers })
    await runner.idle()
    await runner.close()
    t.equal((await mails()).length, before + 1)
    const job = await db.selectFrom('jobs').select('dueAt').where('kind', '=', 'number-inventory').execute()
    t.same(
      job.map(({ dueAt }) => new Date(Number(dueAt)).toISOString()),
      ['2025-01-15T21:30:00.000Z'],
    )
  })
  await calling.close()
})
