import fc from 'fast-check'
import t from 'tap'
import { onEachSharedDialect } from '../../fixtures/database/databases.js'
import { type MortalDatabase, openMortal } from '../../fixtures/database/mortal.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import {
  AT,
  type LedgerPlace,
  openLedgerPlace,
  perform,
  plainCause,
} from '../../fixtures/payments/ledger-actions.js'
import {
  type Action,
  availableOf,
  balanceOf,
  chargesOf,
  heldOf,
  isFrozen,
  type LedgerModel,
  newLedgerModel,
  predict,
  TOPUPS,
} from '../../fixtures/payments/ledger-model.js'
import { silentLog } from '../../media/base/log.js'
import { type Db, type OpenDatabase, openDatabase } from '../db/database.js'
import { readWallet } from '../wallet/store.js'
import { checkWallets } from '../wallet/wallet-check.js'

/** Steps of the random test on each database; PARLEY_LEDGER_STEPS=100000 is the full run. */
const STEPS = Number(process.env.PARLEY_LEDGER_STEPS ?? 200)
/** Another seed gives other steps. */
const SEED = Number(process.env.PARLEY_LEDGER_SEED ?? 1)
const MOST_STEPS_OF_A_RUN = 60
/** Runs are shorter than the longest one: on average 36 steps. */
const STEPS_OF_A_RUN = 30

/** Two processes at one database. One that dies is replaced by a new one. */
class Processes {
  readonly views: [MortalDatabase, MortalDatabase]

  constructor(readonly databases: readonly [OpenDatabase, OpenDatabase]) {
    this.views = [openMortal(databases[0], () => {}), openMortal(databases[1], () => {})]
  }

  restart(index: 0 | 1): void {
    this.views[index] = openMortal(this.databases[index], () => {})
  }
}

interface Holder {
  model: LedgerModel
}

interface Real {
  readonly processes: Processes
  readonly place: LedgerPlace
  readonly seen: Record<string, number>
}

/** State of the database, in the terms of the model. */
type Facts = Readonly<Record<string, unknown>>

async function readFacts(db: Db, place: LedgerPlace): Promise<Facts> {
  const { organizationId } = place
  const wallet = await readWallet(db, organizationId, AT)
  const entries = await db
    .selectFrom('ledgerEntries')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .orderBy('seq')
    .execute()
  const causes = new Map(entries.map(({ id, cause }) => [id, cause]))
  let balance = 0
  const running = entries.map((entry, index) => {
    balance += entry.amountPaise
    return entry.balanceAfterPaise === balance && entry.seq === index + 1
  })
  const holds = await db
    .selectFrom('walletHolds')
    .select(['referenceId', 'amountPaise'])
    .where('organizationId', '=', organizationId)
    .execute()
  const crossings = await db
    .selectFrom('events')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('type', '=', 'wallet.balance.low')
    .execute()
  const documents = await db
    .selectFrom('invoices')
    .select(['topupId', 'cause'])
    .where('organizationId', '=', organizationId)
    .execute()
  const nameOf = (id: string) => TOPUPS.find((name) => place.topups[name] === id) ?? id
  return {
    balance: wallet.balancePaise,
    held: wallet.heldPaise,
    count: wallet.entries,
    frozen: wallet.onHold === 1,
    holdReason: wallet.holdReason,
    disputeHold: wallet.disputeHold,
    entries: entries.map(({ cause, amountPaise, reversesEntryId }) => {
      const reversed = reversesEntryId === null ? null : (causes.get(reversesEntryId) ?? '')
      return [plainCause(place, reversed === null ? cause : `reversal of ${reversed}`), amountPaise]
    }),
    unnumbered: running.filter((right) => !right).length,
    holds: holds.map(({ referenceId, amountPaise }) => [referenceId, amountPaise]).toSorted(),
    crossings: crossings.length,
    documents: documents
      .map(({ topupId, cause }) => `${nameOf(topupId)} ${plainCause(place, cause)}`)
      .toSorted(),
  }
}

function factsOf(model: LedgerModel): Facts {
  return {
    balance: balanceOf(model),
    held: heldOf(model),
    count: model.entries.length,
    frozen: isFrozen(model),
    holdReason: model.holdReason,
    disputeHold: model.disputeHold,
    entries: model.entries.map(({ cause, paise }) => [cause, paise]),
    unnumbered: 0,
    holds: [...model.holds].toSorted(),
    crossings: model.crossings,
    documents: model.documents.toSorted(),
  }
}

const text = (value: unknown): string => JSON.stringify(value)

/** The database equals one of the models; less than nothing is available only after what may take it. */
async function compare(
  what: string,
  { processes, place }: Real,
  models: readonly LedgerModel[],
): Promise<LedgerModel> {
  const facts = await readFacts(processes.databases[0].db, place)
  const model = models.find((one) => text(factsOf(one)) === text(facts))
  if (model === undefined) {
    throw new Error(
      `${what}\n${text(facts)}, expected\n${models.map((one) => text(factsOf(one))).join('\n')}`,
    )
  }
  if (availableOf(model) < 0 && !model.overdrawn) throw new Error(`${what} overdraws the wallet`)
  return model
}

type Death = { readonly statements: number; readonly after: boolean } | null

const DIED = Symbol('died')

async function act(
  real: Real,
  index: 0 | 1,
  action: Action,
  charges: readonly [number, number],
  death: Death,
): Promise<boolean | typeof DIED> {
  const view = real.processes.views[index]
  if (death !== null) view.dieIn(death.statements, death.after)
  try {
    const outcome = await view.db.transaction().execute((trx) => perform(trx, real.place, action, charges))
    if (death !== null) view.dieIn(Number.POSITIVE_INFINITY, false)
    return outcome
  } catch (error) {
    if (!view.dead) throw error
    real.processes.restart(index)
    return DIED
  }
}

/** An action of one process. A process that dies is started again, and does again what it was told. */
class One implements fc.AsyncCommand<Holder, Real> {
  constructor(
    readonly action: Action,
    readonly index: 0 | 1,
    readonly death: Death,
  ) {}

  check = () => true

  async run(holder: Holder, real: Real): Promise<void> {
    const { action, index, death } = this
    const charges = action.type === 'settle' ? chargesOf(holder.model, action) : ([0, 0] as const)
    const next = structuredClone(holder.model)
    const expected = predict(next, action, charges)
    const outcome = await act(real, index, action, charges, death)
    if (outcome === DIED) {
      await compare(`${this} died`, real, [holder.model, next])
      await act(real, index, action, charges, null)
    } else if (outcome !== expected) throw new Error(`${this}: ${outcome}, expected ${expected}`)
    holder.model = await compare(String(this), real, [next])
    count(real, outcome === DIED ? 'died' : action.type)
  }

  toString = () => `${text(this.action)} ${text(this.death)}`
}

/** Actions of two processes at once. The outcome is that of one after the other. */
class Both implements fc.AsyncCommand<Holder, Real> {
  constructor(readonly actions: readonly [Action, Action]) {}

  check = () => true

  async run(holder: Holder, real: Real): Promise<void> {
    const charges = this.actions.map((action) =>
      action.type === 'settle' ? chargesOf(holder.model, action) : ([0, 0] as const),
    )
    const outcomes = await Promise.all(
      this.actions.map((action, index) => act(real, index as 0 | 1, action, charges[index] ?? [0, 0], null)),
    )
    const orders = [
      [0, 1],
      [1, 0],
    ].map((order) => {
      const model = structuredClone(holder.model)
      const expected: boolean[] = []
      for (const index of order) {
        const action = this.actions[index]
        if (action !== undefined) expected[index] = predict(model, action, charges[index] ?? [0, 0])
      }
      return { model, expected }
    })
    const possible = orders.filter(({ expected }) => text(expected) === text(outcomes))
    if (possible.length === 0) throw new Error(`${this}: ${text(outcomes)} in no order`)
    holder.model = await compare(
      String(this),
      real,
      possible.map(({ model }) => model),
    )
    count(real, 'both')
  }

  toString = () => `both ${text(this.actions)}`
}

function count({ seen }: Real, kind: string): void {
  seen[kind] = (seen[kind] ?? 0) + 1
}

const call = fc.constantFrom('call_1', 'call_2', 'call_3', 'call_4')
const refund = fc.record({
  name: fc.constantFrom('r1', 'r2', 'r3'),
  grossPaise: fc.constantFrom(100, 1_001, 2_950, 6_000),
  status: fc.constantFrom('pending', 'processed', 'failed'),
})
const dispute = fc.record({
  name: fc.constantFrom('d1', 'd2'),
  phase: fc.constantFrom('retrieval', 'chargeback', 'chargeback', 'chargeback'),
  status: fc.constantFrom('open', 'under_review', 'won', 'won', 'lost', 'closed'),
  paise: fc.constantFrom(500, 2_950, 9_000),
  deductedPaise: fc.constantFrom(0, 500, 2_950, 9_000),
})
const report = fc.record({
  type: fc.constant('report'),
  topup: fc.constantFrom(...TOPUPS),
  payment: fc.constantFrom(
    'pending',
    'failed',
    'short',
    'twice',
    ...(['captured', 'captured', 'captured'] as const),
  ),
  refunds: fc.uniqueArray(refund, { maxLength: 2, selector: ({ name }) => name }),
  dispute: fc.option(dispute, { freq: 1 }),
})
const action = fc.oneof<fc.WeightedArbitrary<Action>[]>(
  { weight: 6, arbitrary: report as fc.Arbitrary<Action> },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('hold'), call }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('extend'),
      call,
      paise: fc.integer({ min: 1_000, max: 3_500 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('settle'),
      call,
      percent: fc.integer({ min: 0, max: 100 }),
      late: fc.constantFrom(0, 500, 2_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('release'), call }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('deny_bridge'), call }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('rental'), month: fc.integer({ min: 1, max: 9 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('adjust'),
      reference: fc.integer({ min: 1, max: 40 }).map(String),
      paise: fc.integer({ min: -1_500, max: 2_500 }).filter((paise) => paise !== 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('freeze'),
      reason: fc.constantFrom(null, null, null, 'payment_dispute'),
    }),
  },
)
const death = fc.option(fc.record({ statements: fc.integer({ min: 0, max: 14 }), after: fc.boolean() }), {
  freq: 7,
  nil: null,
})
const one = fc
  .tuple(action, fc.constantFrom<(0 | 1)[]>(0, 1), death, fc.nat(9))
  .map(
    ([what, index, dies, n]) =>
      new One(what, index, n === 0 ? (dies ?? { statements: 2, after: true }) : null),
  )
const both = fc.tuple(action, action).map((actions) => new Both(actions))

await onEachSharedDialect(t, async (t, make) => {
  const url = await make()
  const databases = [openDatabase(url, silentLog), openDatabase(url, silentLog)] as const

  await t.test(`${STEPS} random steps of two processes that may die at each statement`, async (t) => {
    const seen: Record<string, number> = {}
    const processes = new Processes(databases)
    const run = fc.asyncProperty(
      fc.commands([one, one, one, both], { size: 'max', maxCommands: MOST_STEPS_OF_A_RUN }),
      async (commands) => {
        const place = await openLedgerPlace(databases[0].db)
        const holder: Holder = { model: newLedgerModel() }
        await fc.asyncModelRun(() => ({ model: holder, real: { processes, place, seen } }), commands)
      },
    )
    await fc.assert(run, { numRuns: Math.ceil(STEPS / STEPS_OF_A_RUN), seed: SEED, endOnFailure: true })
    const steps = Object.values(seen).reduce((total, n) => total + n, 0)
    t.ok(steps >= STEPS, `${steps} steps: ${text(seen)}`)
  })

  await t.test(
    'afterwards every wallet equals its ledger, and no document is missing in its series',
    async (t) => {
      const [{ db, reads }] = databases
      t.same(
        await checkWallets({ db, reads, clock: new VirtualClock({ wallMs: AT }), log: silentLog }, 'all'),
        [],
      )
      const series = await db.selectFrom('invoiceSeries').selectAll().execute()
      for (const { series: name, last } of series) {
        const issued = await db
          .selectFrom('invoices')
          .select('seq')
          .where('series', '=', name)
          .orderBy('seq')
          .execute()
        t.same(
          issued.map(({ seq }) => seq),
          Array.from({ length: last }, (_, index) => index + 1),
        )
      }
    },
  )

  for (const database of databases) await database.close()
})
