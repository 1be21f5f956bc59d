import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { RATES, rateCall } from '../billing/rating.js'
import type { Db, Trx } from '../db/database.js'
import { reverseBridge, settleCall } from './call-billing.js'
import { extendHold, findHold, freeze, hold, post, releaseHold, reverse, setThreshold } from './ledger.js'
import { payRental } from './rental.js'
import { readWallet, sumByCategory } from './store.js'
import { checkWallets } from './wallet-check.js'

const AT = 1_700_000_000_000

async function organization(db: Db): Promise<string> {
  const id = newId('org', AT)
  await db
    .insertInto('organizations')
    .values({ id, name: 'Asha', senderClassification: null, createdAt: AT })
    .execute()
  return id
}

const inOne = <T>(db: Db, run: (trx: Trx) => Promise<T>): Promise<T> => db.transaction().execute(run)
const call = (id: string) => ({ type: 'call', id })
const topup = (id: string, amountPaise: number) =>
  ({
    type: 'topup',
    amountPaise,
    cause: `topup:${id}`,
    description: 'Top-up',
    reference: { type: 'topup', id },
  }) as const
const charge = (id: string, amountPaise: number) =>
  ({
    type: 'call',
    amountPaise: -amountPaise,
    cause: `call:${id}`,
    description: 'Call',
    reference: call(id),
  }) as const

await onEachDialect(t, async (t, open) => {
  const { db, reads } = await open()
  const check = (which: 'changed' | 'all' = 'changed') =>
    checkWallets({ db, reads, clock: new VirtualClock({ wallMs: AT }), log: silentLog }, which)

  await t.test('entries are numbered, carry the balance, and are made once for each cause', async (t) => {
    const org = await organization(db)
    const first = await inOne(db, (trx) => post(trx, org, topup('a', 50_000), AT))
    t.match(first, { seq: 1, amountPaise: 50_000, balanceAfterPaise: 50_000, category: null })
    const again = await inOne(db, (trx) => post(trx, org, topup('a', 99), AT + 1))
    t.equal(again.id, first.id, 'the same cause moves no money twice')
    const spent = await inOne(db, (trx) => post(trx, org, charge('c', 850), AT + 2))
    t.match(spent, { seq: 2, balanceAfterPaise: 49_150, category: 'calls' })
    const back = await inOne(db, (trx) => reverse(trx, spent, 'The bridge was denied', AT + 3))
    t.match(back, {
      seq: 3,
      amountPaise: 850,
      category: 'calls',
      reversesEntryId: spent.id,
      countsAt: AT + 2,
    })
    t.equal((await inOne(db, (trx) => reverse(trx, spent, 'again', AT + 4))).id, back.id)
    t.match(await readWallet(db, org, AT), { balancePaise: 50_000, heldPaise: 0, entries: 3 })
    // The reversal counts where its original does, so that both vanish from a period that begins between them.
    const since = (from: number | null) => sumByCategory(db, org, { from, agentId: null })
    t.same(await since(AT + 3), [])
    t.strictSame(
      (await since(null)).toSorted((a, b) => String(a.category).localeCompare(String(b.category))),
      [
        { category: 'calls', amountPaise: 0, entries: 2 },
        { category: null, amountPaise: 50_000, entries: 1 },
      ],
    )
  })

  await t.test('the database refuses to change or remove an entry', async (t) => {
    const org = await organization(db)
    const { id } = await inOne(db, (trx) => post(trx, org, topup('a', 100), AT))
    await t.rejects(
      db.updateTable('ledgerEntries').set({ amountPaise: 1 }).where('id', '=', id).execute(),
      /append-only/,
    )
    await t.rejects(db.deleteFrom('ledgerEntries').where('id', '=', id).execute(), /append-only/)
    await t.rejects(
      inOne(db, (trx) => post(trx, org, topup('b', 0.5), AT)),
      /whole number of paise/,
    )
    t.match(await readWallet(db, org, AT), { balancePaise: 100, entries: 1 })
  })

  await t.test('a hold takes what is available, once; it grows, and ends', async (t) => {
    const org = await organization(db)
    const take = (id: string, paise: number) => inOne(db, (trx) => hold(trx, org, call(id), paise, AT))
    t.equal(await take('a', 1_200), false, 'no wallet yet')
    await inOne(db, (trx) => post(trx, org, topup('a', 3_000), AT))
    t.equal(await take('a', 1_200), true)
    t.equal(await take('a', 1_200), true, 'held already')
    t.equal(await take('b', 1_801), false, 'one paisa too much')
    t.equal(await take('b', 1_200), true)
    t.match(await readWallet(db, org, AT), { balancePaise: 3_000, heldPaise: 2_400 })
    const extend = (id: string, paise: number) =>
      inOne(db, (trx) => extendHold(trx, org, call(id), paise, (held) => AT + held, AT))
    t.equal(await extend('a', 1_700), 1_700)
    t.equal(await extend('a', 1_801), 1_800, 'by what is left')
    t.match(await findHold(db, org, call('a')), { amountPaise: 1_800, extendAt: AT + 1_800 })
    t.equal(await extend('b', 1_201), 1_200, 'nothing is left')
    t.equal(await extend('b', 1_000), 1_200, 'a hold never shrinks')
    t.equal(await extend('gone', 99_999), null, 'nothing to extend')
    t.match(await readWallet(db, org, AT), { heldPaise: 3_000 })
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    t.match(await readWallet(db, org, AT), { heldPaise: 1_200 })
    await inOne(db, (trx) => freeze(trx, org, 'payment_dispute', AT))
    t.equal(await take('c', 1), false, 'a frozen wallet takes no new hold')
    t.equal(await extend('b', 1_500), 1_500, 'a call in progress goes on')
    await inOne(db, (trx) => freeze(trx, org, null, AT))
    t.equal(await take('c', 1), true)
  })

  await t.test('a month of rental is debited once, and only from what is available', async (t) => {
    const org = await organization(db)
    const rental = { numberId: 'num_1', e164: '+918041234567', startsAt: AT, amountPaise: 5_000 }
    const debit = (change: object = {}) =>
      inOne(db, (trx) => payRental(trx, org, { ...rental, ...change }, AT))
    t.equal(await debit(), 'uncovered', 'no money')
    t.equal(await debit({ amountPaise: 0 }), 'paid', 'nothing to pay')
    await inOne(db, (trx) => post(trx, org, topup('a', 6_000), AT))
    await inOne(db, (trx) => hold(trx, org, call('a'), 1_200, AT))
    t.equal(await debit(), 'uncovered', 'a call in progress needs the money')
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    t.equal(await debit(), 'paid')
    t.equal(await debit(), 'paid', 'paid already')
    t.equal(await debit({ startsAt: AT + 1 }), 'uncovered', 'the next month')
    t.match(await readWallet(db, org, AT), { balancePaise: 1_000, entries: 2 })
  })

  await t.test(
    'ninety seconds with the agent, thirty with a person: 850 paise, 100 of them come back',
    async (t) => {
      const org = await organization(db)
      await inOne(db, (trx) => post(trx, org, topup('a', 5_000), AT))
      const NONE_KEPT = { keptPaise: 0, why: 'The carrier denies the bridge to the person' }
      const live = { environment: 'live', answeredAt: AT } as const
      const bridged = { id: 'call_1', organizationId: org, agentId: 'agt_1', ...live }
      const { charges } = rateCall({
        answeredAt: AT,
        bridgedAt: AT + 90_000,
        endedAt: AT + 120_000,
        ratePaisePerMinute: RATES.service,
        personRatePaisePerMinute: RATES.person,
      })
      await inOne(db, (trx) => settleCall(trx, bridged, charges, AT))
      t.match(await readWallet(db, org, AT), { balancePaise: 5_000 - 850 })
      t.equal(await inOne(db, (trx) => reverseBridge(trx, bridged, NONE_KEPT, AT)), true)
      t.equal(await inOne(db, (trx) => reverseBridge(trx, bridged, NONE_KEPT, AT)), true)
      t.match(await readWallet(db, org, AT), { balancePaise: 5_000 - 750, entries: 4 })
      t.equal(
        await inOne(db, (trx) => reverseBridge(trx, { ...bridged, id: 'call_2' }, NONE_KEPT, AT)),
        false,
      )
    },
  )

  await t.test('the low balance is reported once for each crossing', async (t) => {
    const org = await organization(db)
    const events = async () =>
      (await db.selectFrom('events').select('type').where('organizationId', '=', org).execute()).length
    const move = async (id: string, paise: number) => {
      await inOne(db, (trx) => post(trx, org, paise > 0 ? topup(id, paise) : charge(id, -paise), AT))
      return events()
    }
    t.equal(await move('a', 49_999), 0, 'never was above')
    t.equal(await move('b', 1), 0, 'at the threshold')
    t.equal(await move('c', -1), 1, 'below')
    t.equal(await move('d', -1), 1, 'still below')
    t.equal(await move('e', 2), 1, 'armed again')
    t.equal(await move('f', -1), 2)
    await inOne(db, (trx) => setThreshold(trx, org, 10, AT))
    t.equal(await events(), 2)
    await inOne(db, (trx) => setThreshold(trx, org, 60_000, AT))
    t.equal(await events(), 3, 'a raised threshold is crossed too')
  })

  await t.test('a wallet that differs from its ledger is halted, and staff is told once', async (t) => {
    const org = await organization(db)
    await inOne(db, (trx) => post(trx, org, topup('a', 5_000), AT))
    await inOne(db, (trx) => hold(trx, org, call('a'), 1_200, AT))
    const email = `${org.toLowerCase()}@staff.example`
    await db
      .insertInto('users')
      .values({
        id: newId('usr', AT),
        email,
        name: 'Staff',
        passwordHash: '',
        emailVerifiedAt: AT,
        staff: 1,
        createdAt: AT,
      })
      .execute()
    t.notOk((await check()).includes(org))
    const set = (balancePaise: number) =>
      db
        .updateTable('wallets')
        .set({ balancePaise, updatedAt: AT })
        .where('organizationId', '=', org)
        .execute()
    await set(5_001)
    t.ok((await check()).includes(org))
    t.ok((await check()).includes(org))
    const mails = await db.selectFrom('mails').selectAll().where('recipient', '=', email).execute()
    t.equal(mails.length, 1)
    t.equal(await inOne(db, (trx) => hold(trx, org, call('b'), 1, AT)), false, 'no new hold')
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    await inOne(db, (trx) => post(trx, org, charge('a', 500), AT))
    t.match(
      await readWallet(db, org, AT),
      { balancePaise: 4_501, heldPaise: 0 },
      'a call in progress is charged',
    )
    await set(4_500)
    t.notOk((await check()).includes(org))
    t.equal(await inOne(db, (trx) => hold(trx, org, call('b'), 1, AT)), true)
  })

  await t.test(
    'the check of a start finds wallets that nobody has used for long, on every page',
    async (t) => {
      const dormant: string[] = []
      // More than a page.
      for (let n = 0; n < 205; n++) {
        const org = await organization(db)
        await inOne(db, (trx) => post(trx, org, topup('a', 5_000), AT - 10))
        dormant.push(org)
      }
      await check('all')
      const damaged = [dormant[0], dormant[102], dormant[204]].map(String)
      // As a restored backup may leave them: nothing says that they have changed.
      await db
        .updateTable('wallets')
        .set({ balancePaise: 4_999 })
        .where('organizationId', 'in', damaged)
        .execute()
      const found = (all: readonly string[]) => all.filter((org) => dormant.includes(org)).toSorted()
      t.same(found(await check()), [])
      t.same(found(await check('all')), damaged.toSorted())
      t.same(found(await check()), damaged.toSorted(), 'they stay halted')
      await db
        .updateTable('wallets')
        .set({ balancePaise: 5_000 })
        .where('organizationId', 'in', damaged)
        .execute()
      t.same(found(await check()), [])
      t.match(await readWallet(db, String(damaged[0]), AT), { haltedAt: null })
    },
  )

  await t.test('calls that begin at once never hold more than there is', async (t) => {
    const org = await organization(db)
    await inOne(db, (trx) => post(trx, org, topup('a', 12_500), AT))
    const held = await Promise.all(
      Array.from({ length: 40 }, (_, n) => inOne(db, (trx) => hold(trx, org, call(`call ${n}`), 1_200, AT))),
    )
    t.equal(held.filter(Boolean).length, 10)
    t.match(await readWallet(db, org, AT), { balancePaise: 12_500, heldPaise: 12_000 })
  })
})
