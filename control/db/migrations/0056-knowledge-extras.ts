import type { Kysely } from 'kysely'

/** Migration 0056: what models made for the passages of knowledge bases, and what it took. */
export async function createKnowledgeExtras({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('knowledgeExtras')
    .addColumn('knowledgeBaseId', 'text', (c) => c.notNull().references('knowledgeBases.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('model', 'text', (c) => c.notNull())
    .addColumn('hash', 'text', (c) => c.notNull())
    .addColumn('value', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('knowledgeExtrasKey', ['knowledgeBaseId', 'kind', 'model', 'hash'])
    .execute()
  for (const column of ['embeddingTokens', 'promptTokens', 'completionTokens']) {
    await schema
      .alterTable('knowledgeBuilds')
      .addColumn(column, 'bigint', (c) => c.notNull().defaultTo(0))
      .execute()
  }
  await schema.alterTable('knowledgeBuilds').addColumn('embeddingModel', 'text').execute()
  await schema
    .alterTable('knowledgeBuilds')
    .addColumn('warnings', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
}
