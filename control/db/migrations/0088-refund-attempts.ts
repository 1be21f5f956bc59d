import { type Kysely, sql } from 'kysely'

/**
 * Migration 0088: the number of attempts to refund the payment of an exception, and the time of the latest attempt whose
 * outcome may be unknown. An exception with a claim has no such time yet. The present time is the latest possible one.
 */
export async function addRefundAttempts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('paymentExceptions')
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema.alterTable('paymentExceptions').addColumn('attemptedAt', 'bigint').execute()
  await sql`update "paymentExceptions" set "attempts" = 1, "attemptedAt" = ${Date.now()}
    where "resolution" is not null and "resolvedAt" is null`.execute(db)
}
