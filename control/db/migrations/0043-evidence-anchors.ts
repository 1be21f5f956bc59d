import type { Kysely } from 'kysely'

/** Migration 0043: heads of evidence chains that were given away, with their time stamps. */
export async function createEvidenceAnchors({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('evidenceAnchors')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('keyId', 'text', (c) => c.notNull())
    .addColumn('publicKey', 'text', (c) => c.notNull())
    .addColumn('sealedAt', 'bigint', (c) => c.notNull())
    .addColumn('token', 'text')
    .addColumn('stampedAt', 'bigint')
    .addColumn('authority', 'text')
    .addUniqueConstraint('evidenceAnchorOfHead', ['organizationId', 'environment', 'seq'])
    .execute()
}
