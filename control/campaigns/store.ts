import { sql } from 'kysely'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import { unindexed } from '../db/owned-rows.js'
import type { CampaignRow, CampaignStatus } from '../db/tables/campaigns.js'
import { recordCampaignChange } from '../live/changes.js'
import type { CampaignWithTarget } from './view.js'

export type Owner = Pick<CampaignRow, 'organizationId' | 'environment'>

const target = [
  sql<number>`case when exists (select 1 from "agents" where "agents"."id" = "campaigns"."agentId"
    and "agents"."deletedAt" is null) then 0 else 1 end`.as('agentGone'),
  sql<number>`case when exists (select 1 from "numbers" where "numbers"."id" = "campaigns"."numberId"
    and "numbers"."releasedAt" is null) then 0 else 1 end`.as('numberGone'),
]

function owned(db: Db | Trx, owner: Owner) {
  return db
    .selectFrom('campaigns')
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
}

export async function insertCampaign(db: Db | Trx, row: CampaignRow): Promise<void> {
  await db.insertInto('campaigns').values(row).execute()
}

export async function findCampaign(
  db: Db | Trx,
  owner: Owner,
  id: string,
): Promise<CampaignWithTarget | null> {
  const row = await owned(db, owner).selectAll().select(target).where('id', '=', id).executeTakeFirst()
  return row ?? null
}

/** Lists campaigns, newest first. The first page carries the total. */
export function listCampaigns(
  db: Db,
  owner: Owner,
  filter: { readonly archived: boolean; readonly status?: string | undefined },
  page: PageRequest,
): Promise<Page<CampaignWithTarget>> {
  let query = owned(db, owner)
  if (!filter.archived) query = query.where('archivedAt', 'is', null)
  const { status } = filter
  if (status !== undefined) query = query.where(unindexed('status'), '=', status)
  return newestFirst(query.selectAll().select(target), page, { count: { db, query: query.select('id') } })
}

/**
 * Changes a campaign that is in one of the given states. Returns null, and changes nothing, if it is not. `now` is needed only
 * for a change that leaves `updatedAt` as it is.
 */
export async function changeCampaign(
  trx: Trx,
  owner: Owner,
  id: string,
  from: readonly CampaignStatus[],
  change: Partial<CampaignRow>,
  now?: number,
): Promise<CampaignRow | null> {
  const row = await trx
    .updateTable('campaigns')
    .set(change)
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('status', 'in', from)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  await recordCampaignChange(trx, row, id, now ?? row.updatedAt)
  return row
}

/** Deletes a draft. The caller has removed its recipients in the same transaction. */
export async function deleteDraft(trx: Trx, owner: Owner, id: string): Promise<boolean> {
  const row = await trx
    .deleteFrom('campaigns')
    .where('id', '=', id)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .where('status', '=', 'draft')
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
