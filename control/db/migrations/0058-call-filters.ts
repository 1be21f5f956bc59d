import { type Kysely, sql } from 'kysely'

/** Columns by which the list of calls is filtered. Campaigns have an index since migration 0022. */
const FILTERS = ['disposition', 'direction', 'agentId', 'numberId'] as const

/**
 * Migration 0058: indexes of the filters of the list of calls, each in the order of the list. Of the states only `ended` is
 * common: the other calls have one index. A call gets its disposition at its end and is not in that index before.
 */
export async function indexCallFilters({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of FILTERS) {
    await schema
      .createIndex(`callsBy${column.charAt(0).toUpperCase()}${column.slice(1)}`)
      .on('calls')
      .columns(['organizationId', 'environment', column, 'createdAt', 'id'])
      .where(sql.ref(column), 'is not', null)
      .execute()
  }
  await schema
    .createIndex('callsOpen')
    .on('calls')
    .columns(['organizationId', 'environment', 'createdAt', 'id'])
    .where(sql.ref('endedAt'), 'is', null)
    .execute()
}
