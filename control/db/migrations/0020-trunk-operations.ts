import { type Kysely, sql } from 'kysely'

/** Migration 0020: requests for access to SIP trunks, retries of trunk creation, imported numbers. */
export async function addTrunkOperations(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('sipTrunks').addColumn('idempotencyId', 'text').execute()
  await schema
    .createIndex('sipTrunksIdempotency')
    .unique()
    .on('sipTrunks')
    .column('idempotencyId')
    .where(sql.ref('idempotencyId'), 'is not', null)
    .execute()
  await schema
    .createTable('sipAccessRequests')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('message', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('rejectionReason', 'text')
    .addColumn('reviewedBy', 'text')
    .addColumn('reviewedAt', 'bigint')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('sipAccessRequestsPending')
    .unique()
    .on('sipAccessRequests')
    .column('organizationId')
    .where(sql.ref('status'), '=', 'pending')
    .execute()
  await schema
    .createIndex('sipAccessRequestsList')
    .on('sipAccessRequests')
    .columns(['createdAt', 'id'])
    .execute()
  // One row. A transaction that adds address ranges updates it first, so that overlaps are found one after the other.
  await schema
    .createTable('sipTrunkRangeLock')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('revision', 'bigint', (c) => c.notNull())
    .execute()
  await sql`insert into "sipTrunkRangeLock" ("id", "revision") values (1, 0)`.execute(db)
  // Numbers of carriers have one holder on the whole platform, imported numbers one trunk per organization.
  await schema.dropIndex('numbersHeld').execute()
  await sql`create unique index "numbersHeld" on "numbers" ("e164")
    where "releasedAt" is null and "provider" <> 'sip_trunk'`.execute(db)
  await sql`create unique index "numbersImported" on "numbers" ("organizationId", "environment", "e164")
    where "releasedAt" is null and "provider" = 'sip_trunk'`.execute(db)
}
