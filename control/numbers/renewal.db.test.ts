import t from 'tap'
import { itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { ScriptedCarrier } from '../../fixtures/carriers/scripted-carrier.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { addFunds } from '../../fixtures/database/funds.js'
import { silentLog } from '../../media/base/log.js'
import { openJobRunner } from '../jobs/runner.js'
import { readWallet } from '../wallet/store.js'
import { numberHandlers } from './number-jobs.js'
import { renewNumbers } from './renewal.js'
import { renewalAfter } from './rental-dates.js'
import { findNumberEver, insertNumber } from './store.js'

const DAY = 86_400_000
const IST = 330 * 60_000

await onEachDialect(t, async (t, open) => {
  const carrier = new ScriptedCarrier('vobiz')
  const database = await open()
  // 29 January 2025, 10:00 IST.
  const wallMs = Date.UTC(2025, 0, 29, 4, 30)
  const calling = await openTestCalling(database, { wallMs, carriers: () => [carrier] })
  const { deps, clock, api } = calling
  const { db } = database
  const owner = { organizationId: calling.owner.organizationId, environment: 'live' } as const
  const balance = async () => (await readWallet(db, owner.organizationId, clock.wall())).balancePaise
  let made = 0
  const buy = async (renewalCycle: 'anniversary' | 'calendar_month', rentalPaise: number) => {
    const e164 = `+9180471${String(++made).padStart(5, '0')}`
    const number = { ...owner, e164, label: e164, provider: 'vobiz', region: 'KA', numberType: 'landline' }
    const row = await insertNumber(db, number, clock.wall())
    if (row === null) throw new Error('taken')
    const now = clock.wall()
    const nextRentalAt = renewalAfter(now, renewalCycle, now)
    await db
      .updateTable('numbers')
      .set({ renewalCycle, rentalPaise, nextRentalAt })
      .where('id', '=', row.id)
      .execute()
    return row.id
  }
  const stateOf = async (id: string) => {
    const row = await findNumberEver(db, owner, id)
    if (row === null) throw new Error('gone')
    return row
  }
  const eventsOf = async (type: string) =>
    itemsOf(await api.send('GET', `/v1/events?type=${type}`, { key: api.liveKey })).map(
      ({ subjectId }) => subjectId,
    )
  const paidFor = async (id: string) =>
    (
      await db
        .selectFrom('ledgerEntries')
        .select('amountPaise')
        .where('referenceId', '=', id)
        .where('type', '=', 'number_rental')
        .execute()
    ).length

  await t.test('three years of renewals, each once, on their days', async (t) => {
    const [daily, monthly] = [await buy('anniversary', 50_000), await buy('calendar_month', 30_000)]
    const last = [await buyOn(30), await buyOn(31)]
    await addFunds(db, owner.organizationId, 10_000_000, clock.wall())
    for (let day = 0; day < 3 * 365; day += 5) {
      // The job is asleep for a hundred days once: the months are paid afterwards.
      if (day < 400 || day > 500) {
        await renewNumbers(deps)
        if (day % 100 === 0) await renewNumbers(deps)
      }
      clock.advance(5 * DAY)
    }
    await renewNumbers(deps)
    for (const id of [daily, ...last])
      t.equal(await paidFor(id), 36 - (id === daily ? 0 : 1), 'months from 29 to 31 January')
    t.equal(await paidFor(monthly), 36)
    t.equal(new Date(Number((await stateOf(monthly)).nextRentalAt) + IST).getUTCDate(), 1)
    const total = 36 * 50_000 + 36 * 30_000 + 2 * 35 * 10_000
    t.equal(await balance(), 10_000_000 - total)
    t.same(await eventsOf('number.renewal_due'), [])

    /** A number that was bought on another day of this January: its anchor is moved. */
    async function buyOn(day: number): Promise<string> {
      const id = await buy('anniversary', 10_000)
      const purchasedAt = Date.UTC(2025, 0, day, 4, 30)
      const nextRentalAt = renewalAfter(purchasedAt, 'anniversary', purchasedAt)
      await db.updateTable('numbers').set({ purchasedAt, nextRentalAt }).where('id', '=', id).execute()
      return id
    }
  })

  await t.test('an unpaid month: one event, a week, a payment in time or the release', async (t) => {
    await db.updateTable('numbers').set({ nextRentalAt: null }).execute()
    const left = await balance()
    const kept = await buy('anniversary', left + 1_000)
    const lost = await buy('anniversary', left + 500_000)
    clock.advance(32 * DAY)
    for (let run = 0; run < 3; run++) await renewNumbers(deps)
    const due = Number((await stateOf(kept)).nextRentalAt)
    t.equal((await stateOf(kept)).releaseAt, due + 7 * DAY)
    t.same((await eventsOf('number.renewal_due')).toSorted(), [kept, lost].toSorted(), 'each once')
    await addFunds(db, owner.organizationId, 2_000, clock.wall())
    await renewNumbers(deps)
    const after = await stateOf(kept)
    t.equal(after.releaseAt, null)
    t.equal(
      after.nextRentalAt,
      renewalAfter(Number(after.purchasedAt), 'anniversary', due),
      'from the due date',
    )
    t.equal(await balance(), 1_000)
    clock.advance(7 * DAY)
    await Promise.all([renewNumbers(deps), renewNumbers(deps)])
    t.match(await stateOf(lost), { status: 'released', agentId: null })
    t.same(await eventsOf('number.released'), [lost])
    const runner = openJobRunner({ db, clock, log: silentLog, handlers: numberHandlers(deps) })
    await runner.idle()
    t.equal(carrier.released.length, 1, 'the carrier gets it back')
    await runner.close()
    t.equal(await balance(), 1_000, 'a released number costs nothing')
  })

  await t.test('a wallet that its own check has halted costs no number', async (t) => {
    await db.updateTable('numbers').set({ nextRentalAt: null }).execute()
    const halt = (haltedAt: number | null) =>
      db.updateTable('wallets').set({ haltedAt }).where('organizationId', '=', owner.organizationId).execute()
    const left = await balance()
    const [covered, uncovered] = [await buy('anniversary', left), await buy('anniversary', left + 1)]
    const told = async () =>
      (await eventsOf('number.renewal_due')).filter((id) => [covered, uncovered].includes(String(id)))
    clock.advance(32 * DAY)
    await renewNumbers(deps)
    t.match(await stateOf(covered), { releaseAt: null }, 'it is paid')
    t.not((await stateOf(uncovered)).releaseAt, null)
    const waiting = await buy('anniversary', 1)
    await halt(clock.wall())
    t.same(await told(), [uncovered])
    clock.advance(40 * DAY)
    for (let run = 0; run < 2; run++) await renewNumbers(deps)
    for (const id of [covered, uncovered, waiting])
      t.match(await stateOf(id), { status: 'active', releaseAt: null, nextRentalAt: Number }, 'it waits')
    t.same(await told(), [], 'none within the days of the event log')

    await halt(null)
    await addFunds(db, owner.organizationId, 1, clock.wall())
    await renewNumbers(deps)
    t.match(await stateOf(waiting), { releaseAt: null }, 'it is paid after the halt')
    t.equal(await paidFor(waiting), 1)
    // No mail told about these months while the wallet was halted.
    for (const id of [covered, uncovered])
      t.match(await stateOf(id), { status: 'active', releaseAt: clock.wall() + 3 * DAY })
    t.same((await told()).toSorted(), [covered, uncovered].toSorted())
    clock.advance(3 * DAY)
    await renewNumbers(deps)
    for (const id of [covered, uncovered]) t.match(await stateOf(id), { status: 'released' })
    t.match(await stateOf(waiting), { status: 'active' })
  })
  await calling.close()
})
