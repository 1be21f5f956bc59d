import type { Kysely } from 'kysely'

/** Migration 0018: telephones of persons to whom calls are transferred, and their verification. */
export async function createTransferDestinations({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('transferDestinations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('label', 'text', (c) => c.notNull())
    .addColumn('e164', 'text', (c) => c.notNull())
    .addColumn('hours', 'text', (c) => c.notNull())
    .addColumn('language', 'text', (c) => c.notNull())
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('transferDestinationsKey', ['organizationId', 'key'])
    .execute()
  await schema
    .createIndex('transferDestinationsList')
    .on('transferDestinations')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  await schema
    .createTable('destinationVerifications')
    .addColumn('destinationId', 'text', (c) =>
      c.notNull().references('transferDestinations.id').onDelete('cascade'),
    )
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('e164', 'text', (c) => c.notNull())
    .addColumn('codeHash', 'text')
    .addColumn('codeExpiresAt', 'bigint')
    .addColumn('attemptsLeft', 'integer', (c) => c.notNull())
    .addColumn('lastCallAt', 'bigint')
    .addColumn('verifiedAt', 'bigint')
    .addPrimaryKeyConstraint('destinationVerificationsKey', ['destinationId', 'environment'])
    .execute()
  // No reference to the destination: the calls to a deleted one still count.
  await schema
    .createTable('verificationCallSlots')
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('slot', 'integer', (c) => c.notNull())
    .addColumn('takenAt', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('verificationCallSlotsKey', ['environment', 'scope', 'slot'])
    .execute()
  await schema.createIndex('verificationCallSlotsAge').on('verificationCallSlots').column('takenAt').execute()
  await schema
    .createTable('destinationUses')
    .addColumn('destinationId', 'text', (c) => c.notNull().references('transferDestinations.id'))
    .addColumn('agentId', 'text', (c) => c.notNull().references('agents.id'))
    .addPrimaryKeyConstraint('destinationUsesKey', ['destinationId', 'agentId'])
    .execute()
  await schema.createIndex('destinationUsesAgent').on('destinationUses').column('agentId').execute()
}
