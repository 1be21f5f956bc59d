import fc from 'fast-check'
import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { RATES, rateCall } from '../billing/rating.js'
import type { Db, Trx } from '../db/database.js'
import { reverseBridge, settleCall } from './call-billing.js'
import { extendHold, findEntry, freeze, hold, post, releaseHold, reverse, setThreshold } from './ledger.js'
import { payRental } from './rental.js'
import { readWallet, sumByCategory } from './store.js'
import { checkWallets } from './wallet-check.js'

const AT = 1_700_000_000_000
/** Steps of the random test on each database; PARLEY_LEDGER_STEPS=100000 is the full run. */
const STEPS = Number(process.env.PARLEY_LEDGER_STEPS ?? 300)

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
  const check = () => checkWallets({ db, reads, clock: new VirtualClock({ wallMs: AT }), log: silentLog })

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
      inOne(db, (trx) => extendHold(trx, org, call(id), paise, AT + 60_000, AT))
    t.equal(await extend('a', 1_800), true)
    t.equal(await extend('b', 1_201), false)
    t.equal(await extend('b', 1_000), true, 'a hold never shrinks')
    t.equal(await extend('gone', 99_999), true, 'nothing to extend')
    t.match(await readWallet(db, org, AT), { heldPaise: 3_000 })
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    t.match(await readWallet(db, org, AT), { heldPaise: 1_200 })
    await inOne(db, (trx) => freeze(trx, org, 'payment_dispute', AT))
    t.equal(await take('c', 1), false, 'a frozen wallet takes no new hold')
    t.equal(await extend('b', 1_500), true, 'a call in progress goes on')
    await inOne(db, (trx) => freeze(trx, org, null, AT))
    t.equal(await take('c', 1), true)
  })

  await t.test('a month of rental is debited once, and only from what is available', async (t) => {
    const org = await organization(db)
    const rental = { numberId: 'num_1', e164: '+918041234567', startsAt: AT, amountPaise: 5_000 }
    const debit = (change: object = {}) =>
      inOne(db, (trx) => payRental(trx, org, { ...rental, ...change }, AT))
    t.equal(await debit(), false, 'no money')
    t.equal(await debit({ amountPaise: 0 }), true, 'nothing to pay')
    await inOne(db, (trx) => post(trx, org, topup('a', 6_000), AT))
    await inOne(db, (trx) => hold(trx, org, call('a'), 1_200, AT))
    t.equal(await debit(), false, 'a call in progress needs the money')
    await inOne(db, (trx) => releaseHold(trx, org, call('a'), AT))
    t.equal(await debit(), true)
    t.equal(await debit(), true, 'paid already')
    t.equal(await debit({ startsAt: AT + 1 }), false, 'the next month')
    t.match(await readWallet(db, org, AT), { balancePaise: 1_000, entries: 2 })
  })

  await t.test(
    'ninety seconds with the agent, thirty with a person: 850 paise, 100 of them come back',
    async (t) => {
      const org = await organization(db)
      await inOne(db, (trx) => post(trx, org, topup('a', 5_000), AT))
      const bridged = { id: 'call_1', organizationId: org, environment: 'live', agentId: 'agt_1' } as const
      const { charges } = rateCall({
        answeredAt: AT,
        bridgedAt: AT + 90_000,
        endedAt: AT + 120_000,
        ratePaisePerMinute: RATES.service,
        personRatePaisePerMinute: RATES.person,
      })
      await inOne(db, (trx) => settleCall(trx, bridged, charges, AT))
      t.match(await readWallet(db, org, AT), { balancePaise: 5_000 - 850 })
      t.equal(await inOne(db, (trx) => reverseBridge(trx, bridged, AT)), true)
      t.equal(await inOne(db, (trx) => reverseBridge(trx, bridged, AT)), true)
      t.match(await readWallet(db, org, AT), { balancePaise: 5_000 - 750, entries: 4 })
      t.equal(await inOne(db, (trx) => reverseBridge(trx, { ...bridged, id: 'call_2' }, AT)), false)
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
})

/** What the wallet should be. */
interface Model {
  balance: number
  readonly holds: Map<string, number>
  readonly causes: Set<string>
  frozen: boolean
}

interface Real {
  readonly db: Db
  readonly org: string
  seen: number
}

const KINDS = ['topup', 'charge', 'reverse', 'hold', 'extend', 'release', 'freeze', 'settle'] as const
const REFERENCES = ['a', 'b', 'c', 'd', 'e']

/** One step: an action in a transaction of a process that may die before its commit. */
class Step implements fc.AsyncCommand<Model, Real> {
  constructor(
    readonly kind: (typeof KINDS)[number],
    readonly reference: string,
    readonly paise: number,
    readonly dies: boolean,
  ) {}

  check = () => true

  async run(model: Model, real: Real): Promise<void> {
    const expected = this.dies ? structuredClone(model) : model
    const outcome = await inOne(real.db, async (trx) => {
      const result = await this.act(trx, real.org)
      if (this.dies) throw new Died()
      return result
    }).catch((error: unknown) => {
      if (error instanceof Died) return DIED
      throw error
    })
    const should = this.predict(expected)
    if (outcome !== DIED && outcome !== should)
      throw new Error(`${this}: ${String(outcome)}, expected ${should}`)
    await this.compare(model, real)
  }

  private async act(trx: Trx, org: string): Promise<boolean> {
    const { kind, reference, paise } = this
    const held = call(reference)
    switch (kind) {
      case 'topup':
        return (await post(trx, org, topup(`${reference}${paise}`, paise), AT)).amountPaise === paise
      case 'charge':
        return (await post(trx, org, charge(`${reference}${paise}`, paise), AT)).amountPaise === -paise
      case 'reverse': {
        const entry = await findEntry(trx, org, `call:${reference}${paise}`)
        if (entry === null) return false
        await reverse(trx, entry, 'Reversed', AT)
        return true
      }
      case 'hold':
        return hold(trx, org, held, paise, AT)
      case 'extend':
        return extendHold(trx, org, held, paise, AT, AT)
      case 'release':
        await releaseHold(trx, org, held, AT)
        return true
      case 'settle':
        await releaseHold(trx, org, held, AT)
        await post(trx, org, charge(`${reference}${paise}`, paise), AT)
        return true
      case 'freeze':
        await freeze(trx, org, paise % 2 === 0 ? 'dispute' : null, AT)
        return true
    }
  }

  private predict(model: Model): boolean {
    const { kind, reference, paise } = this
    const heldPaise = [...model.holds.values()].reduce((sum, amount) => sum + amount, 0)
    const available = model.balance - heldPaise
    const move = (cause: string, amount: number): true => {
      if (!model.causes.has(cause)) model.balance += amount
      model.causes.add(cause)
      return true
    }
    const own = model.holds.get(reference)
    switch (kind) {
      case 'topup':
        return move(`topup:${reference}${paise}`, paise)
      case 'charge':
        return move(`call:${reference}${paise}`, -paise)
      case 'reverse':
        if (!model.causes.has(`call:${reference}${paise}`)) return false
        return move(`reversal:${reference}${paise}`, paise)
      case 'hold':
        if (own !== undefined) return true
        if (model.frozen || available < paise) return false
        model.holds.set(reference, paise)
        return true
      case 'extend':
        if (own === undefined) return true
        if (available < paise - own && paise > own) return false
        model.holds.set(reference, Math.max(own, paise))
        return true
      case 'release':
        model.holds.delete(reference)
        return true
      case 'settle':
        model.holds.delete(reference)
        return move(`call:${reference}${paise}`, -paise)
      case 'freeze':
        model.frozen = paise % 2 === 0
        return true
    }
  }

  /** The sum equals the balance after each step, the numbers have no gaps, and the model agrees. */
  private async compare(model: Model, real: Real): Promise<void> {
    const { db } = real
    const wallet = await readWallet(db, real.org, AT)
    const { sum, count, last } = await db
      .selectFrom('ledgerEntries')
      .select((eb) => [
        eb.fn.coalesce(eb.fn.sum<number>('amountPaise'), eb.lit(0)).as('sum'),
        eb.fn.countAll<number>().as('count'),
        eb.fn.coalesce(eb.fn.max('seq'), eb.lit(0)).as('last'),
      ])
      .where('organizationId', '=', real.org)
      .executeTakeFirstOrThrow()
    const heldPaise = [...model.holds.values()].reduce((total, amount) => total + amount, 0)
    const actual = [wallet.balancePaise, wallet.heldPaise, wallet.entries, count, last]
    const expected = [sum, heldPaise, model.causes.size, model.causes.size, model.causes.size]
    if (actual.join() !== expected.join() || sum !== model.balance) {
      throw new Error(`${this}: ${actual} and ${sum}, expected ${expected} and ${model.balance}`)
    }
    real.seen++
  }

  toString = () => `${this.kind}(${this.reference}, ${this.paise})${this.dies ? ' and dies' : ''}`
}

const DIED = Symbol('died')
class Died extends Error {}

const steps = fc
  .record({
    kind: fc.constantFrom(...KINDS),
    reference: fc.constantFrom(...REFERENCES),
    paise: fc.integer({ min: 1, max: 40 }),
    dies: fc.nat(9).map((n) => n === 0),
  })
  .map(({ kind, reference, paise, dies }) => new Step(kind, reference, paise, dies))

await onEachDialect(t, async (t, open) => {
  const { db } = await open()

  await t.test(`${STEPS} random steps of a process that may die before each commit`, async (t) => {
    let seen = 0
    const run = fc.asyncProperty(
      fc.commands([steps], { size: 'max', maxCommands: 100 }),
      async (commands) => {
        const model: Model = { balance: 0, holds: new Map(), causes: new Set(), frozen: false }
        const real: Real = { db, org: await organization(db), seen: 0 }
        await fc.asyncModelRun(() => ({ model, real }), commands)
        seen += real.seen
      },
    )
    await fc.assert(run, { numRuns: Math.ceil(STEPS / 30), seed: 1, endOnFailure: true })
    t.ok(seen >= STEPS, `${seen} steps`)
  })

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
