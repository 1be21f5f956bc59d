import type { Kysely } from 'kysely'

/** What a conversation came to, found out after the call. */
export interface CallResultRow {
  readonly callId: string
  readonly organizationId: string
  readonly state: 'pending' | 'done' | 'failed'
  readonly summary: string | null
  /** JSON: an object by output variable, and a list of evaluated criteria. */
  readonly outputs: string
  readonly evaluation: string
  /** Why there is no result; null when there is one. */
  readonly error: string | null
  /** `call.completed` was recorded: it happens once, when the result is there or its time is up. */
  readonly announced: number
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ResultTables {
  callResults: CallResultRow
}

export async function createResultTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('callResults')
    .addColumn('callId', 'text', (c) => c.primaryKey().references('calls.id'))
    .addColumn('organizationId', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('summary', 'text')
    .addColumn('outputs', 'text', (c) => c.notNull())
    .addColumn('evaluation', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('announced', 'integer', (c) => c.notNull())
    .addColumn('createdAt', 'bigint', (c) => c.notNull())
    .addColumn('updatedAt', 'bigint', (c) => c.notNull())
    .execute()
}
