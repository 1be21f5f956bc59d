import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { Db } from '../db/database.js'
import type { WalletRow } from '../db/tables/wallet.js'
import type { JobHandler } from '../jobs/runner.js'
import { addJobs } from '../jobs/store.js'
import { queueMailToStaff } from '../mail/outbox.js'

const KIND = 'wallet-check'
const HOUR_MS = 3_600_000
const HOURLY = 'hourly'
/** Wallets that are read together. */
const PAGE = 200

interface CheckOptions {
  readonly db: Db
  /** Reads whole ledgers. */
  readonly reads: Db
  readonly clock: Clock
  readonly log: Log
}

/** Adds the hourly comparison of changed wallets with their ledgers, and one of all wallets for this start of the service. */
export async function scheduleWalletChecks(db: Db, nodeId: string, now: number): Promise<void> {
  await addJobs(
    db,
    [
      { id: KIND, kind: KIND, dueAt: now, payload: HOURLY },
      { id: `${KIND}:${nodeId}`, kind: KIND, dueAt: now },
    ],
    now,
  )
}

export function walletCheckHandler(options: CheckOptions): JobHandler {
  return {
    kind: KIND,
    concurrency: 1,
    async run({ payload }) {
      await checkWallets(options, payload === HOURLY ? 'changed' : 'all')
      return async () => (payload === HOURLY ? options.clock.wall() + HOUR_MS : null)
    },
  }
}

/**
 * Compares each wallet with the sums of its entries and holds: those that have changed since their last comparison and those
 * that are halted, or all, of which a restored backup may have damaged any. A wallet that differs is halted: it takes no new
 * hold, and staff gets a mail. It is released by the first check that finds no difference. Returns the organizations whose
 * wallets differ.
 */
export async function checkWallets(
  options: CheckOptions,
  which: 'changed' | 'all',
): Promise<readonly string[]> {
  const differing: string[] = []
  for (let after = ''; ; ) {
    // Before the wallets are read: what changes meanwhile is compared the next time.
    const now = options.clock.wall()
    let page = options.reads
      .selectFrom('wallets')
      .select(['organizationId', 'haltedAt', 'updatedAt', 'checkedAt'])
      .where('organizationId', '>', after)
    if (which === 'changed') {
      page = page.where((eb) =>
        eb.or([eb('updatedAt', '>=', eb.ref('checkedAt')), eb('haltedAt', 'is not', null)]),
      )
    }
    const wallets = await page.orderBy('organizationId').limit(PAGE).execute()
    for (const wallet of wallets) {
      if (!(await checkWallet(options, wallet, now))) differing.push(wallet.organizationId)
    }
    const last = wallets.at(-1)
    if (last === undefined || wallets.length < PAGE) return differing
    after = last.organizationId
  }
}

/** Compares a wallet, and halts or releases it. Returns false if it differs. */
async function checkWallet(
  { db, reads, log }: CheckOptions,
  wallet: Pick<WalletRow, 'organizationId' | 'haltedAt' | 'updatedAt' | 'checkedAt'>,
  now: number,
): Promise<boolean> {
  const { organizationId, haltedAt, updatedAt, checkedAt } = wallet
  // One statement sees one state of the database, so that it needs no lock.
  const found = await differences(reads, organizationId)
  if (found === null) {
    if (haltedAt !== null || updatedAt >= checkedAt) {
      await db
        .updateTable('wallets')
        .set({ checkedAt: now, haltedAt: null })
        .where('organizationId', '=', organizationId)
        .execute()
    }
    return true
  }
  log.error({ organizationId, ...found }, 'wallet.differs_from_ledger')
  await db.transaction().execute(async (trx) => {
    const halted = await trx
      .updateTable('wallets')
      .set({ checkedAt: now, haltedAt: now })
      .where('organizationId', '=', organizationId)
      .where('haltedAt', 'is', null)
      .returning('organizationId')
      .executeTakeFirst()
    if (halted !== undefined) await queueMailToStaff(trx, now, notice(organizationId, found))
  })
  return false
}

interface Differences {
  readonly balancePaise: number
  readonly entriesSumPaise: number
  readonly heldPaise: number
  readonly holdsSumPaise: number
}

/** Returns the stored amounts and the sums if they differ, else null. */
async function differences(db: Db, organizationId: string): Promise<Differences | null> {
  const row = await db
    .selectFrom('wallets')
    .select(['balancePaise', 'heldPaise'])
    .select([
      sql<number>`(select coalesce(sum("amountPaise"), 0) from "ledgerEntries"
        where "ledgerEntries"."organizationId" = "wallets"."organizationId")`.as('entriesSumPaise'),
      sql<number>`(select coalesce(sum("amountPaise"), 0) from "walletHolds"
        where "walletHolds"."organizationId" = "wallets"."organizationId")`.as('holdsSumPaise'),
    ])
    .where('organizationId', '=', organizationId)
    .executeTakeFirstOrThrow()
  return row.balancePaise === row.entriesSumPaise && row.heldPaise === row.holdsSumPaise ? null : row
}

function notice(organizationId: string, found: Differences) {
  return {
    kind: 'notice',
    subject: `A wallet does not equal its ledger (${organizationId})`,
    text:
      `The stored balance is ${found.balancePaise} paise, and the sum of the ledger is ${found.entriesSumPaise} paise. ` +
      `The stored held amount is ${found.heldPaise} paise, and the sum of the holds is ${found.holdsSumPaise} paise.\n\n` +
      'The wallet places no call, buys nothing and pays no rental until they are equal. No number is released meanwhile.',
  } as const
}
