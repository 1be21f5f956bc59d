import { type Kysely, sql } from 'kysely'
import { appendOnly } from './append-only.js'

/** Migration 0005: organization profiles, verifications, registrations, the audit log and secrets. */
export async function createOrganizationTables(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
): Promise<void> {
  await createProfiles(db)
  await createRegistrations(db, dialect)
  await createAudit(db, dialect)
  await createSecrets(db)
}

async function createProfiles({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('organizationProfiles')
    .addColumn('organizationId', 'text', (c) => c.primaryKey().references('organizations.id'))
    .addColumn('billingName', 'text')
    .addColumn('billingAddress', 'text')
    .addColumn('billingCity', 'text')
    .addColumn('billingPincode', 'text')
    .addColumn('billingStateCode', 'text')
    .addColumn('billingGstin', 'text')
    .addColumn('peId', 'text')
    .addColumn('robocallMode', 'text')
    .addColumn('campaignSharePercent', 'integer')
    .addColumn('byoCallsTest', 'integer')
    .addColumn('byoCallsLive', 'integer')
    .addColumn('trunkingEnabled', 'integer', (c) => c.notNull())
    .addColumn('revision', 'integer', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('organizationVerifications')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('details', 'text', (c) => c.notNull())
    .addColumn('submittedBy', 'text', (c) => c.notNull())
    .addColumn('submittedAt', 'bigint', (c) => c.notNull())
    .addColumn('decidedBy', 'text')
    .addColumn('decidedAt', 'bigint')
    .addColumn('rejectionReason', 'text')
    .execute()
  // At most one submission is pending or granted. Rejected submissions are kept as history.
  await schema
    .createIndex('organizationVerificationsOpen')
    .unique()
    .on('organizationVerifications')
    .column('organizationId')
    .where(sql.ref('status'), 'in', [sql.lit('submitted'), sql.lit('verified')])
    .execute()
}

async function createRegistrations(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const { schema } = db
  await schema
    .createTable('robocallDeclarations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('provider', 'text', (c) => c.notNull())
    .addColumn('reference', 'text', (c) => c.notNull())
    .addColumn('objective', 'text', (c) => c.notNull())
    .addColumn('callerIds', 'text', (c) => c.notNull())
    .addColumn('declaredOn', 'text', (c) => c.notNull())
    .addColumn('effectiveFrom', 'text', (c) => c.notNull())
    .addColumn('createdBy', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('withdrawnAt', 'bigint')
    .execute()
  await schema
    .createIndex('robocallDeclarationsList')
    .on('robocallDeclarations')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  await appendOnly(db, dialect, {
    table: 'robocallDeclarations',
    columns: [
      'id',
      'organizationId',
      'provider',
      'reference',
      'objective',
      'callerIds',
      'declaredOn',
      'effectiveFrom',
      'createdBy',
      'createdAt',
      'withdrawnAt',
    ],
    settable: 'withdrawnAt',
    refusal: 'declarations are only added and withdrawn',
  })
  await schema
    .createTable('senderIds')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('series', 'text', (c) => c.notNull())
    .addColumn('e164', 'text', (c) => c.notNull())
    .addColumn('category', 'text', (c) => c.notNull())
    .addColumn('dltHeaderId', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('submittedBy', 'text', (c) => c.notNull())
    .addColumn('decidedBy', 'text')
    .addColumn('decidedAt', 'bigint')
    .addColumn('rejectionReason', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('senderIdsList')
    .on('senderIds')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  // An organization can have one open or approved submission per number.
  await schema
    .createIndex('senderIdsOpen')
    .unique()
    .on('senderIds')
    .columns(['organizationId', 'e164'])
    .where(sql.ref('status'), 'in', [sql.lit('submitted'), sql.lit('approved')])
    .execute()
  // A number is approved for one organization only.
  await schema
    .createIndex('senderIdsHeld')
    .unique()
    .on('senderIds')
    .column('e164')
    .where(sql.ref('status'), '=', sql.lit('approved'))
    .execute()
}

async function createAudit(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const { schema } = db
  await schema
    .createTable('auditEntries')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('actorType', 'text', (c) => c.notNull())
    .addColumn('actorId', 'text', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('subjectType', 'text', (c) => c.notNull())
    .addColumn('subjectId', 'text', (c) => c.notNull())
    .addColumn('reason', 'text')
    .addColumn('before', 'text')
    .addColumn('after', 'text')
    .addColumn('requestId', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('auditEntriesList')
    .on('auditEntries')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  await appendOnly(db, dialect, {
    table: 'auditEntries',
    columns: [],
    settable: null,
    refusal: 'the audit log is only added to',
  })
}

async function createSecrets({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('secrets')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('keyId', 'text', (c) => c.notNull())
    .addColumn('last4', 'text')
    .addColumn('createdBy', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('secretsNamed', ['organizationId', 'name'])
    .execute()
  await schema
    .createIndex('secretsList')
    .on('secrets')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  await schema
    .createTable('secretUses')
    .addColumn('secretId', 'text', (c) => c.notNull().references('secrets.id'))
    .addColumn('usedByType', 'text', (c) => c.notNull())
    .addColumn('usedById', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('secretUsesKey', ['secretId', 'usedByType', 'usedById'])
    .execute()
  await schema.createIndex('secretUsesUser').on('secretUses').columns(['usedByType', 'usedById']).execute()
  await schema
    .createTable('connections')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('baseUrl', 'text', (c) => c.notNull())
    .addColumn('secretId', 'text', (c) => c.references('secrets.id'))
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('testedAt', 'bigint')
    .addColumn('revision', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('connectionsNamed', ['organizationId', 'name'])
    .execute()
  await schema
    .createIndex('connectionsList')
    .on('connections')
    .columns(['organizationId', 'createdAt', 'id'])
    .execute()
  await schema.createIndex('connectionsSecret').on('connections').column('secretId').execute()
  await schema
    .createTable('connectionUses')
    .addColumn('connectionId', 'text', (c) => c.notNull().references('connections.id'))
    .addColumn('agentId', 'text', (c) => c.notNull().references('agents.id'))
    .addPrimaryKeyConstraint('connectionUsesKey', ['connectionId', 'agentId'])
    .execute()
  await schema.createIndex('connectionUsesAgent').on('connectionUses').column('agentId').execute()
}
