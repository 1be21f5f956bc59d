import type { Kysely } from 'kysely'

/** Migration 0017: files that customers upload at signed addresses. */
export async function createUploads({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('uploads')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organizationId', 'text', (c) => c.notNull().references('organizations.id'))
    .addColumn('purpose', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('fileName', 'text', (c) => c.notNull())
    .addColumn('contentType', 'text', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('key', 'text')
    .addColumn('sha256', 'text')
    .addColumn('createdBy', 'text', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .execute()
  await schema.createIndex('uploadsOwner').on('uploads').columns(['organizationId', 'state']).execute()
  await schema.createIndex('uploadsAge').on('uploads').columns(['state', 'createdAt']).execute()
}
