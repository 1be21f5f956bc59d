import { type Kysely, sql } from 'kysely'

/** Migration 0003: sessions, mail, and limits against guessing. */
export async function createAccessTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('users').addColumn('emailVerifiedAt', 'bigint').execute()
  await schema
    .alterTable('users')
    .addColumn('staff', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // The operator created all users that existed before mail, so their addresses count as verified.
  await sql`update users set ${sql.ref('emailVerifiedAt')} = ${sql.ref('createdAt')}`.execute(db)
  await schema.alterTable('apiKeys').addColumn('overlapUntil', 'bigint').execute()
  await schema
    .createIndex('apiKeysList')
    .on('apiKeys')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .execute()
  await schema.createIndex('membersByUser').on('members').column('userId').execute()
  await schema
    .createTable('sessions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('userId', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('lastSeenAt', 'bigint', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('sessionsByUser').on('sessions').column('userId').execute()
  await schema.createIndex('sessionExpiry').on('sessions').column('expiresAt').execute()
  await schema
    .createTable('mailTokens')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('subjectId', 'text', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .addColumn('usedAt', 'bigint')
    .execute()
  await schema.createIndex('mailTokensBySubject').on('mailTokens').columns(['kind', 'subjectId']).execute()
  await schema
    .createTable('invitations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('invitedBy', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .addColumn('acceptedAt', 'bigint')
    .addUniqueConstraint('invitationAddress', ['organizationId', 'email'])
    .execute()
  await schema
    .createTable('mails')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('recipient', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('fields', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('dueAt', 'bigint', (c) => c.notNull())
    .addColumn('lease', 'text')
    .addColumn('lastError', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('finishedAt', 'bigint')
    .execute()
  await schema.createIndex('mailsDue').on('mails').columns(['state', 'dueAt']).execute()
  await schema
    .createTable('throttles')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('startedAt', 'bigint', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .execute()
  await schema
    .createTable('usedSignatures')
    .addColumn('signature', 'text', (c) => c.primaryKey())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .execute()
}
