import { type Kysely, sql } from 'kysely'
import type { Role } from './identity.js'

export interface SessionRow {
  readonly id: string
  readonly userId: string
  /** HMAC-SHA256 of the cookie's value, hex; unique. */
  readonly hash: string
  readonly createdAt: number
  /** Written at most once a minute. */
  readonly lastSeenAt: number
  /** However active, it ends here. */
  readonly expiresAt: number
}

export type MailTokenKind = 'verify_email' | 'reset_password' | 'invitation'

/** What a mailed link proves. The token itself is not stored. */
export interface MailTokenRow {
  /** HMAC-SHA256 of the token, hex. */
  readonly hash: string
  readonly kind: MailTokenKind
  /** A user, or an invitation. */
  readonly subjectId: string
  readonly expiresAt: number
  readonly usedAt: number | null
}

export interface InvitationRow {
  readonly id: string
  readonly organizationId: string
  /** Lower case. One invitation an address and organization: a later one replaces it. */
  readonly email: string
  readonly role: Role
  readonly invitedBy: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly acceptedAt: number | null
}

/** Mail on its way. Holds no token: links are made when the text is. */
export interface MailRow {
  readonly id: string
  readonly recipient: string
  /** Which template, see mail/templates.ts. */
  readonly kind: string
  /** JSON of what the template needs. */
  readonly fields: string
  readonly state: 'waiting' | 'sent' | 'failed'
  readonly attempts: number
  /** When to try, and, while one process tries, until when the others must not. */
  readonly dueAt: number
  /** Which attempt holds the lease. */
  readonly lease: string | null
  readonly lastError: string | null
  readonly createdAt: number
  readonly finishedAt: number | null
}

/** Attempts of one address or account within a minute. */
export interface ThrottleRow {
  /** HMAC of what is counted, so that no address is stored. */
  readonly name: string
  readonly startedAt: number
  readonly attempts: number
}

/** Signatures that were accepted, so that none is twice. */
export interface UsedSignatureRow {
  readonly signature: string
  readonly expiresAt: number
}

export interface AccessTables {
  sessions: SessionRow
  mailTokens: MailTokenRow
  invitations: InvitationRow
  mails: MailRow
  throttles: ThrottleRow
  usedSignatures: UsedSignatureRow
}

/** Migration 0003: people signing in, mail, and what bounds guessing. */
export async function createAccessTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  await schema.alterTable('users').addColumn('emailVerifiedAt', 'bigint').execute()
  await schema
    .alterTable('users')
    .addColumn('staff', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // Whoever existed before there was mail was made by the operator.
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
