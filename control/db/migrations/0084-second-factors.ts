import type { Kysely } from 'kysely'
import { appendOnly } from './append-only.js'

/** Migration 0084: second factors of accounts, their recovery codes and challenges, and what happened to accounts. */
export async function createSecondFactors(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
): Promise<void> {
  const { schema } = db
  await schema
    .createTable('secondFactors')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('userId', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text')
    .addColumn('lastStep', 'bigint')
    .addColumn('credentialId', 'text', (c) => c.unique())
    .addColumn('publicKey', 'text')
    .addColumn('counter', 'bigint')
    .addColumn('transports', 'text')
    .addColumn('rpId', 'text')
    .addColumn('challenge', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint')
    .addColumn('confirmedAt', 'bigint')
    .addColumn('lastUsedAt', 'bigint')
    .execute()
  await schema.createIndex('secondFactorsOfUser').on('secondFactors').columns(['userId', 'id']).execute()
  await schema
    .createTable('recoveryCodes')
    .addColumn('hash', 'text', (c) => c.primaryKey())
    .addColumn('userId', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('usedAt', 'bigint')
    .execute()
  await schema.createIndex('recoveryCodesOfUser').on('recoveryCodes').column('userId').execute()
  await schema
    .createTable('factorChallenges')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('userId', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('sessionId', 'text')
    .addColumn('challenge', 'text', (c) => c.notNull())
    .addColumn('tries', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('expiresAt', 'bigint', (c) => c.notNull())
    .addColumn('usedAt', 'bigint')
    .execute()
  await schema.createIndex('factorChallengesOfUser').on('factorChallenges').column('userId').execute()
  await schema.createIndex('factorChallengesEnd').on('factorChallenges').column('expiresAt').execute()
  await schema
    .createTable('accountEvents')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('userId', 'text', (c) => c.notNull().references('users.id'))
    .addColumn('actorType', 'text', (c) => c.notNull())
    .addColumn('actorId', 'text', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('kind', 'text')
    .addColumn('name', 'text')
    .addColumn('requestId', 'text')
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createIndex('accountEventsOfUser')
    .on('accountEvents')
    .columns(['userId', 'createdAt', 'id'])
    .execute()
  await schema.createIndex('accountEventsList').on('accountEvents').columns(['createdAt', 'id']).execute()
  await appendOnly(db, dialect, {
    table: 'accountEvents',
    columns: [],
    settable: null,
    refusal: 'events of accounts are only added to',
  })
  for (const column of ['factorAt', 'steppedUpAt'] as const) {
    await schema.alterTable('sessions').addColumn(column, 'bigint').execute()
  }
  await schema
    .alterTable('organizationProfiles')
    .addColumn('requireSecondFactor', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}
