import { sql } from 'kysely'
import { countCapped, type Page, type PageRequest, pageOf } from '../api/pagination.js'
import type { Db, Trx } from '../db/database.js'
import type { CampaignRow, RecipientRow } from '../db/tables/campaigns.js'
import { recordCampaignChange } from '../live/changes.js'
import { addToCounters, WAITS } from './attempts.js'

type Owner = Pick<CampaignRow, 'organizationId' | 'environment'>
/** A campaign whose owner was checked. */
type OwnedCampaign = Pick<CampaignRow, 'id' | 'uploaded' | 'organizationId' | 'environment'>

export interface RecipientFilter {
  readonly status?: string | undefined
  readonly outcome?: string | undefined
  readonly excludedReason?: string | undefined
  readonly e164?: string | undefined
}

/** Returns the recipients of a campaign. Rows of an import that is not complete do not exist yet. */
function recipientsOf(db: Db | Trx, campaign: OwnedCampaign) {
  return db
    .selectFrom('campaignRecipients')
    .where('campaignId', '=', campaign.id)
    .where('organizationId', '=', campaign.organizationId)
    .where('environment', '=', campaign.environment)
    .where('position', '<=', campaign.uploaded)
}

/** Lists recipients in the order of upload. The first page carries the total. */
export async function listRecipients(
  db: Db,
  campaign: OwnedCampaign,
  filter: RecipientFilter,
  page: PageRequest,
): Promise<Page<RecipientRow>> {
  let query = recipientsOf(db, campaign)
  for (const name of ['status', 'outcome', 'excludedReason', 'e164'] as const) {
    const wanted = filter[name]
    if (wanted !== undefined) query = query.where(sql.ref<string>(name), '=', wanted)
  }
  const total = page.after === null ? await countCapped(db, query.select('id')) : undefined
  const rows = await query
    .selectAll()
    .where('position', '>', page.after === null ? 0 : Number(page.after.key))
    .orderBy('position')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    ({ position, id }) => ({ key: position, id }),
    (row) => row,
    total,
  )
}

export async function findRecipient(
  db: Db | Trx,
  campaign: OwnedCampaign,
  id: string,
): Promise<RecipientRow | null> {
  return (await recipientsOf(db, campaign).selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

/** Removes a recipient that was not dialled. Returns false if the recipient or the campaign cannot be changed. */
export async function removeRecipient(
  trx: Trx,
  campaign: OwnedCampaign,
  recipient: Pick<RecipientRow, 'id'>,
  now: number,
): Promise<boolean> {
  const waiting = await trx
    .updateTable('campaigns')
    .set((column) => ({ total: column('total', '-', 1) }))
    .where('id', '=', campaign.id)
    .where('status', 'in', ['draft', 'paused'])
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('campaignRecipients')
          .select('id')
          .where('id', '=', recipient.id)
          .where('status', '=', 'pending')
          .where('attempts', '=', 0),
      ),
    )
    .returning('id')
    .executeTakeFirst()
  if (waiting === undefined) return false
  await trx.deleteFrom('campaignRecipients').where('id', '=', recipient.id).execute()
  await recordCampaignChange(trx, campaign, campaign.id, now)
  return true
}

/** Counters of a campaign as its recipients' rows give them. */
export type Counters = Pick<
  CampaignRow,
  'total' | 'dialed' | 'connected' | 'excluded' | 'settled' | 'spentPaise'
>

/** Counts the recipients of a campaign. Reads all of them. */
export async function countRecipients(db: Db | Trx, campaign: OwnedCampaign): Promise<Counters> {
  const sum = (condition: string) =>
    sql<number>`coalesce(sum(case when ${sql.raw(condition)} then 1 else 0 end), 0)`
  const row = await recipientsOf(db, campaign)
    .select([
      sql<number>`count(*)`.as('total'),
      sum('"lastAttemptAt" is not null').as('dialed'),
      sum('"connectedAt" is not null').as('connected'),
      sum(`"outcome" = 'excluded'`).as('excluded'),
      sum(`"status" = 'settled'`).as('settled'),
      sql<number>`coalesce(sum("spentPaise"), 0)`.as('spentPaise'),
    ])
    .executeTakeFirstOrThrow()
  return row
}

/** Settles the recipients of a campaign that wait, with their last outcome or else with `never`. Returns how many. */
export async function settleWaiting(
  trx: Trx,
  campaign: OwnedCampaign,
  never:
    | { readonly outcome: 'abandoned' }
    | { readonly outcome: 'excluded'; readonly excludedReason: string },
  now: number,
): Promise<void> {
  const excludedReason = 'excludedReason' in never ? never.excludedReason : null
  await trx
    .updateTable('campaignRecipients')
    .set({
      status: 'settled',
      outcome: sql<string>`coalesce("outcome", ${never.outcome})`,
      excludedReason: sql<
        string | null
      >`case when "outcome" is null then ${excludedReason} else "excludedReason" end`,
      claimedBy: null,
      settledAt: now,
    })
    .where('campaignId', '=', campaign.id)
    .where('position', '<=', campaign.uploaded)
    .where(WAITS)
    .execute()
}

/** Returns the campaigns that have a person as a recipient, in the order of their ids. */
export async function campaignsOfPerson(
  db: Db | Trx,
  { organizationId, environment }: Owner,
  e164: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('campaigns')
    .innerJoin('campaignRecipients', 'campaignRecipients.campaignId', 'campaigns.id')
    .select('campaigns.id')
    .where('campaigns.organizationId', '=', organizationId)
    .where('campaigns.environment', '=', environment)
    .where('e164', '=', e164)
    .orderBy('campaigns.id')
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Replaces the number of a recipient by `marker` and removes the recipient's data. A recipient that waits settles: with
 * the last outcome, or as excluded without one. Returns false, and changes nothing, while the recipient is called or
 * imported.
 */
export async function eraseRecipient(
  trx: Trx,
  campaignId: string,
  e164: string,
  marker: string,
  now: number,
): Promise<boolean> {
  // Locks the campaign before its recipient.
  const campaign = await trx
    .updateTable('campaigns')
    .set((column) => ({ settled: column.ref('settled') }))
    .where('id', '=', campaignId)
    .returning(['uploaded', 'importUntil', 'preflight'])
    .executeTakeFirst()
  const recipient = await trx
    .selectFrom('campaignRecipients')
    .selectAll()
    .where('campaignId', '=', campaignId)
    .where('e164', '=', e164)
    .executeTakeFirst()
  if (campaign === undefined || recipient === undefined) return true
  const { id, status, outcome, excludedReason, position } = recipient
  if (status === 'dialing' || status === 'in_call') return false
  if (position > campaign.uploaded) {
    if ((campaign.importUntil ?? 0) > now) return false
    // An import that has crashed left it.
    await trx.deleteFrom('campaignRecipients').where('id', '=', id).execute()
    return true
  }
  const never = outcome === null
  if (status !== 'settled') await addToCounters(trx, campaignId, { settled: 1, excluded: never ? 1 : 0 })
  await trx
    .updateTable('campaignRecipients')
    .set({
      ...{ e164: marker, externalId: null, variables: '{}' },
      ...(status === 'settled'
        ? {}
        : {
            ...{ status: 'settled', claimedBy: null, settledAt: now },
            ...{ outcome: outcome ?? 'excluded', excludedReason: never ? 'erased' : excludedReason },
          }),
    })
    .where('id', '=', id)
    .execute()
  // The pre-flight lists numbers that cannot be called.
  const preflight = campaign.preflight?.replaceAll(JSON.stringify(e164), JSON.stringify(marker)) ?? null
  await trx.updateTable('campaigns').set({ preflight }).where('id', '=', campaignId).execute()
  await recordCampaignChange(trx, recipient, campaignId, now)
  return true
}

/** Removes all recipients of a campaign. */
export async function removeRecipients(trx: Trx, owner: Owner, campaignId: string): Promise<void> {
  await trx
    .deleteFrom('campaignRecipients')
    .where('campaignId', '=', campaignId)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
    .execute()
}

/** Reads the recipients of a campaign that wait, in the order of upload and in batches. */
export async function* recipientBatches(
  db: Db,
  campaign: OwnedCampaign,
  size: number,
): AsyncGenerator<readonly RecipientRow[]> {
  for (let after = 0; ; ) {
    const rows = await recipientsOf(db, campaign)
      .selectAll()
      .where('position', '>', after)
      .where('status', 'in', ['pending', 'retry_wait'])
      .orderBy('position')
      .limit(size)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.position
  }
}
