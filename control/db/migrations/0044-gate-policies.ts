import type { Kysely } from 'kysely'

/**
 * Migration 0044: rules of operators by which calls were decided, which are exported with the sealed records; and the
 * indexes of an organization's latest verification, which the gate asks for, and of a number's do-not-call history.
 */
export async function createGatePolicies({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('gatePolicies')
    .addColumn('version', 'text', (c) => c.primaryKey())
    .addColumn('rules', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('organizationVerificationsLatest')
    .on('organizationVerifications')
    .columns(['organizationId', 'submittedAt', 'id'])
    .execute()
  await schema
    .createIndex('suppressionsHistory')
    .on('suppressions')
    .columns(['organizationId', 'environment', 'e164', 'createdAt'])
    .execute()
}
