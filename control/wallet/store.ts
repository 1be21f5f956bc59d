import { sql } from 'kysely'
import { type Page, type PageRequest, pageOf } from '../api/pagination.js'
import { RATES } from '../billing/rating.js'
import type { Db, Trx } from '../db/database.js'
import type { LedgerEntryRow, WalletRow } from '../db/tables/wallet.js'
import { emptyWallet } from './ledger.js'
import { type WalletView, walletView } from './view.js'

/** Returns the wallet of an organization as it is now, without a lock. */
export async function readWallet(db: Db | Trx, organizationId: string, now: number): Promise<WalletRow> {
  return (await findWallet(db, organizationId)) ?? emptyWallet(organizationId, now)
}

/** Returns the wallet as the API shows it, or null if the organization never had money. */
export async function findWalletView(db: Db, organizationId: string): Promise<WalletView | null> {
  const row = await findWallet(db, organizationId)
  return row === null ? null : walletView(row, 'live', await agreedRate(db, organizationId))
}

async function findWallet(db: Db | Trx, organizationId: string): Promise<WalletRow | null> {
  const row = await db
    .selectFrom('wallets')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the price of a minute with an agent of the service (paise). */
export async function agreedRate(db: Db | Trx, organizationId: string): Promise<number> {
  const profile = await db
    .selectFrom('callingProfiles')
    .select('ratePaisePerMinute')
    .where('organizationId', '=', organizationId)
    .executeTakeFirst()
  return profile?.ratePaisePerMinute ?? RATES.service
}

/** Returns a page of the ledger, newest first. */
export async function listEntries(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<LedgerEntryRow>> {
  let query = db.selectFrom('ledgerEntries').selectAll().where('organizationId', '=', organizationId)
  if (page.after !== null) query = query.where('seq', '<', Number(page.after.key))
  const rows = await query
    .orderBy('seq', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    ({ seq, id }) => ({ key: seq, id }),
    (row) => row,
  )
}

/** Sum and number of the entries of one category; null is that of top-ups. */
export interface CategoryTotal {
  readonly category: string | null
  readonly amountPaise: number
  readonly entries: number
}

/** Sums the ledger by category from `from` (Unix ms, null for all) on. A reversal counts where its original does. */
export async function sumByCategory(
  db: Db,
  organizationId: string,
  filter: { readonly from: number | null; readonly agentId: string | null },
): Promise<readonly CategoryTotal[]> {
  let query = db
    .selectFrom('ledgerEntries')
    .select([
      'category',
      sql<number>`sum("amountPaise")`.as('amountPaise'),
      sql<number>`count(*)`.as('entries'),
    ])
    .where('organizationId', '=', organizationId)
    .groupBy('category')
  if (filter.from !== null) query = query.where('countsAt', '>=', filter.from)
  if (filter.agentId !== null) query = query.where('agentId', '=', filter.agentId)
  return query.execute()
}
