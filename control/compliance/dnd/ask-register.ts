import type { Deps } from '../../api/deps.js'
import type { DndRegister, RegisterAnswer } from '../../api/dnd-register.js'
import type { Db, Trx } from '../../db/database.js'
import type { WalletRow } from '../../db/tables/wallet.js'
import { availablePaise, lockWallet, post } from '../../wallet/ledger.js'
import { readWallet } from '../../wallet/store.js'
import { istMidnight } from '../calling-hours.js'
import type { Environment, RegisterFact } from '../check.js'
import { sandboxRegister, scrubRegister } from './register.js'

const DAY_MS = 86_400_000

/** Text before the run in the cause of a ledger entry for a fee. */
export const REGISTER_CAUSE = 'register:'

/** A question of one run of the gate, or of one batch of a pre-flight. */
export interface RegisterRun {
  readonly organizationId: string
  readonly environment: Environment
  /** Run that asks, once. The ledger names it. */
  readonly runId: string
  readonly purpose: string
  readonly peId: string | null
  /** Unix ms. */
  readonly at: number
}

type AskDeps = Pick<Deps, 'db' | 'dndService'>

/**
 * Asks the DND register about called numbers and stores its answers until the IST day ends. It runs outside the
 * transaction of the gate: a register is another service. Unknown numbers are not stored. Live calls ask the scrub files,
 * then the service of the operator, whose fee is charged with the stored answer, once for each number and day.
 * Returns false when the wallet does not cover the fees of all numbers; the service is asked about those that it covers.
 */
export async function askRegister(
  { db, dndService }: AskDeps,
  e164s: readonly string[],
  run: RegisterRun,
): Promise<boolean> {
  if (run.environment === 'test') return (await askOne(db, sandboxRegister, e164s, run)).paid
  const { unknown } = await askOne(db, scrubRegister(db), e164s, run)
  return dndService === null || (await askOne(db, dndService, unknown, run)).paid
}

/**
 * Returns the answer that the free registers will give about a number on another day (Unix ms): the sandbox, or a
 * scrub that is valid then. Null without an answer. Nothing is stored.
 */
export async function foreseeRegister(
  db: Db,
  e164: string,
  run: Omit<RegisterRun, 'runId'>,
): Promise<RegisterFact | null> {
  const register = run.environment === 'test' ? sandboxRegister : scrubRegister(db)
  const answer = (await register.lookUp({ ...run, e164s: [e164] })).get(e164)
  if (answer === undefined) return null
  const { state, category, reference, checkedAt = run.at, validUntil } = answer
  const endOfDay = istMidnight(run.at) + DAY_MS
  return {
    ...{ state, category, reference, checkedAt, register: register.name },
    validUntil: Math.min(validUntil ?? endOfDay, endOfDay),
  }
}

async function askOne(
  db: Db,
  register: DndRegister,
  e164s: readonly string[],
  run: RegisterRun,
): Promise<{ readonly paid: boolean; readonly unknown: readonly string[] }> {
  const { feePaise, maxNumbers } = register
  const unknown: string[] = []
  for (let from = 0; from < e164s.length; ) {
    const wanted = e164s.slice(from, from + maxNumbers)
    const covered =
      feePaise === 0
        ? wanted.length
        : coveredNumbers(await readWallet(db, run.organizationId, run.at), feePaise)
    const asked = wanted.slice(0, covered)
    const answers = asked.length === 0 ? null : await register.lookUp({ ...run, e164s: asked })
    for (const e164 of asked) if (!answers?.has(e164)) unknown.push(e164)
    if (answers !== null && answers.size > 0 && !(await store(db, register, answers, { ...run, from }))) {
      return { paid: false, unknown }
    }
    if (asked.length < wanted.length) return { paid: false, unknown }
    from += wanted.length
  }
  return { paid: true, unknown }
}

/** Stores and charges answers. Returns false, and stores none, when the wallet does not cover the fees any longer. */
async function store(
  db: Db,
  register: DndRegister,
  answers: ReadonlyMap<string, RegisterAnswer>,
  run: RegisterRun & { readonly from: number },
): Promise<boolean> {
  const { organizationId, environment, at } = run
  const endOfDay = istMidnight(at) + DAY_MS
  const rows = [...answers].map(([e164, { state, category, reference, checkedAt, validUntil }]) => ({
    ...{ organizationId, environment, e164, state, category, reference },
    register: register.name,
    checkedAt: checkedAt ?? at,
    validUntil: Math.min(validUntil ?? endOfDay, endOfDay),
    costPaise: register.feePaise,
  }))
  return db.transaction().execute(async (trx) => {
    if (register.feePaise > 0 && !(await charge(trx, register, [...answers.keys()], run))) return false
    await trx
      .insertInto('registerAnswers')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['organizationId', 'environment', 'e164']).doUpdateSet((eb) => ({
          state: eb.ref('excluded.state'),
          category: eb.ref('excluded.category'),
          reference: eb.ref('excluded.reference'),
          register: eb.ref('excluded.register'),
          checkedAt: eb.ref('excluded.checkedAt'),
          validUntil: eb.ref('excluded.validUntil'),
          // A free answer of the same day keeps what was paid for the one before it.
          costPaise: eb
            .case()
            .when(
              eb.and([
                eb('excluded.costPaise', '=', 0),
                eb('registerAnswers.checkedAt', '>=', istMidnight(at)),
              ]),
            )
            .then(eb.ref('registerAnswers.costPaise'))
            .else(eb.ref('excluded.costPaise'))
            .end(),
        })),
      )
      .execute()
    return true
  })
}

/**
 * Charges the fees in one entry, but for numbers whose answer of this day another run has bought meanwhile: runs of one
 * organization wait for its wallet. Returns false when the wallet does not cover the fees any longer.
 */
async function charge(
  trx: Trx,
  { feePaise }: DndRegister,
  e164s: readonly string[],
  { organizationId, environment, runId, at, from }: RegisterRun & { readonly from: number },
): Promise<boolean> {
  const wallet = await lockWallet(trx, organizationId, at)
  const bought = await trx
    .selectFrom('registerAnswers')
    .select('e164')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', 'in', e164s)
    .where('costPaise', '>', 0)
    .where('checkedAt', '>=', istMidnight(at))
    .execute()
  const count = e164s.length - bought.length
  if (count === 0) return true
  if (coveredNumbers(wallet, feePaise) < count) return false
  const posting = {
    type: 'compliance_check',
    amountPaise: -feePaise * count,
    cause: from === 0 ? `${REGISTER_CAUSE}${runId}` : `${REGISTER_CAUSE}${runId}:${from}`,
    description:
      count === 1 ? 'Question to the DND register' : `Question to the DND register about ${count} numbers`,
    reference: { type: 'compliance_run', id: runId },
  } as const
  await post(trx, organizationId, posting, at)
  return true
}

/** Returns for how many numbers the wallet can pay. */
function coveredNumbers(wallet: WalletRow, feePaise: number): number {
  if (wallet.onHold !== 0 || wallet.haltedAt !== null) return 0
  return Math.max(0, Math.floor(availablePaise(wallet) / feePaise))
}

/** Deletes answers that count no longer, after the day for which they were paid. */
export async function sweepRegisterAnswers(db: Db, now: number): Promise<boolean> {
  await db
    .deleteFrom('registerAnswers')
    .where('validUntil', '<', now)
    .where('checkedAt', '<', istMidnight(now))
    .execute()
  return false
}
