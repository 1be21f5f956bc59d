import { type Kysely, sql } from 'kysely'

/**
 * Migration 0080: the addresses of a trunk that wait for approval, and single addresses that a password proved.
 * `sipTrunkRanges` keeps the addresses that identify a caller, among them those of approved trunks and of the trunk
 * file.
 */
export async function addTrunkClaims(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('sipTrunks')
    .addColumn('ipAclPending', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
  await sql`update "sipTrunks" set "ipAclPending" = "ipAcl" where "source" = 'api' and "approvedAt" is null`.execute(
    db,
  )
  await sql`delete from "sipTrunkRanges" where "trunkId" in
    (select "id" from "sipTrunks" where "source" = 'api' and "approvedAt" is null)`.execute(db)
  await schema
    .createTable('sipTrunkProofs')
    .addColumn('trunkId', 'text', (c) => c.notNull().references('sipTrunks.id'))
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('provenAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('sipTrunkProofsKey', ['trunkId', 'address'])
    .execute()
}
