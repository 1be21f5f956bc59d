import { type Kysely, sql } from 'kysely'

/** Migration 0060: the hold of disputes stands beside that of staff, whose text may be any. */
export async function addDisputeHold(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('wallets').addColumn('disputeHold', 'text').execute()
  await sql`update "wallets" set "disputeHold" = "holdReason", "holdReason" = null
    where "onHold" = 1 and "holdReason" in ('payment_dispute', 'payment_dispute_lost')`.execute(db)
}
