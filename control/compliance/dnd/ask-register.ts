import type { Deps } from '../../api/deps.js'
import type { DndRegister, RegisterQuestion } from '../../api/dnd-register.js'
import type { Db, Trx } from '../../db/database.js'
import type { WalletRow } from '../../db/tables/wallet.js'
import { availablePaise, lockWallet, post } from '../../wallet/ledger.js'
import { readWallet } from '../../wallet/store.js'
import { istMidnight } from '../calling-hours.js'
import type { Environment } from '../check.js'
import { sandboxRegister, scrubRegister } from './register.js'

const DAY_MS = 86_400_000

/** A question of one run of the gate. */
export interface RegisterRun extends RegisterQuestion {
  readonly organizationId: string
  readonly environment: Environment
  /** Run of the gate that asks. The ledger names it. */
  readonly runId: string
}

/**
 * Asks the DND register about the called number and stores the answer until the IST day ends. It runs outside the
 * transaction of the gate: a register is another service. An answer `unknown` is not stored. Live calls ask the scrub
 * files, then the service of the operator, whose fee is charged with the stored answer, once for each number and day.
 * Returns false when the wallet does not cover the fee; the service is not asked then.
 */
export async function askRegister(deps: Pick<Deps, 'db' | 'dndService'>, run: RegisterRun): Promise<boolean> {
  const { db, dndService } = deps
  if (run.environment === 'test') return (await askOne(db, sandboxRegister, run)) !== 'unpaid'
  const scrubbed = await askOne(db, scrubRegister(db), run)
  if (scrubbed !== 'unknown' || dndService === null) return true
  return (await askOne(db, dndService, run)) !== 'unpaid'
}

async function askOne(
  db: Db,
  register: DndRegister,
  run: RegisterRun,
): Promise<'stored' | 'unknown' | 'unpaid'> {
  const { organizationId, at } = run
  const { feePaise } = register
  if (feePaise > 0 && !covers(await readWallet(db, organizationId, at), feePaise)) return 'unpaid'
  const answer = await register.lookUp(run)
  if (answer.state === 'unknown') return 'unknown'
  const { state, category, reference } = answer
  const endOfDay = istMidnight(at) + DAY_MS
  const row = {
    state,
    category,
    reference,
    register: register.name,
    checkedAt: answer.checkedAt ?? at,
    validUntil: Math.min(answer.validUntil ?? endOfDay, endOfDay),
    costPaise: feePaise,
  }
  const stored = await db.transaction().execute(async (trx) => {
    if (feePaise > 0 && !(await charge(trx, register, run))) return false
    await trx
      .insertInto('registerAnswers')
      .values({ organizationId, environment: run.environment, e164: run.e164, ...row })
      .onConflict((conflict) => conflict.columns(['organizationId', 'environment', 'e164']).doUpdateSet(row))
      .execute()
    return true
  })
  return stored ? 'stored' : 'unpaid'
}

/**
 * Charges the fee, unless another run has bought an answer of this day meanwhile: runs of one organization wait for its
 * wallet. Returns false when the wallet does not cover the fee any longer.
 */
async function charge(trx: Trx, { name, feePaise }: DndRegister, run: RegisterRun): Promise<boolean> {
  const { organizationId, environment, e164, runId, at } = run
  const wallet = await lockWallet(trx, organizationId, at)
  const bought = await trx
    .selectFrom('registerAnswers')
    .select('e164')
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .where('e164', '=', e164)
    .where('register', '=', name)
    .where('checkedAt', '>=', istMidnight(at))
    .executeTakeFirst()
  if (bought !== undefined) return true
  if (!covers(wallet, feePaise)) return false
  const posting = {
    type: 'compliance_check',
    amountPaise: -feePaise,
    cause: `register:${runId}`,
    description: 'Question to the DND register',
    reference: { type: 'compliance_run', id: runId },
  } as const
  await post(trx, organizationId, posting, at)
  return true
}

function covers(wallet: WalletRow, feePaise: number): boolean {
  return wallet.onHold === 0 && wallet.haltedAt === null && availablePaise(wallet) >= feePaise
}

/** Deletes answers that count no longer. */
export async function sweepRegisterAnswers(db: Db, now: number): Promise<boolean> {
  await db.deleteFrom('registerAnswers').where('validUntil', '<', now).execute()
  return false
}
