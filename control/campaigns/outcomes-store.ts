import { sql } from 'kysely'
import { countCapped, olderThan, type Page, type PageRequest, pageOf } from '../api/pagination.js'
import type { Db } from '../db/database.js'
import type { CheckRow } from '../db/tables/calling.js'
import type { CampaignRow } from '../db/tables/campaigns.js'
import type { Owner } from './store.js'

/** Distinct values that are counted per output. Rarer ones are summed up as `other`. */
const MAX_VALUES = 100

/** Returns the outputs (JSON text) of calls by id. */
export async function outputsOfCalls(
  db: Db,
  owner: Owner,
  callIds: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const ids = callIds.filter((id) => id !== null)
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('callResults')
    .select(['callId', 'outputs'])
    .where('organizationId', '=', owner.organizationId)
    .where('callId', 'in', ids)
    .execute()
  return new Map(rows.map(({ callId, outputs }) => [callId, outputs]))
}

/** Recipients with one outcome, reason and number of attempts. */
export interface OutcomeGroup {
  readonly outcome: string | null
  readonly excludedReason: string | null
  readonly attempts: number
  readonly recipients: number
  /** 1 if they are settled. */
  readonly settled: number
}

/** Groups the recipients of a campaign. Reads all of them. */
export function groupOutcomes(
  db: Db,
  campaign: Pick<CampaignRow, 'id' | 'uploaded'>,
): Promise<readonly OutcomeGroup[]> {
  return db
    .selectFrom('campaignRecipients')
    .select(['outcome', 'excludedReason', 'attempts', sql<number>`count(*)`.as('recipients')])
    .select(sql<number>`case when "settledAt" is null then 0 else 1 end`.as('settled'))
    .where('campaignId', '=', campaign.id)
    .where('position', '<=', campaign.uploaded)
    .groupBy(['outcome', 'excludedReason', 'attempts'])
    .groupBy(sql`case when "settledAt" is null then 0 else 1 end`)
    .execute()
}

/** Returns the mean duration of the answered calls of a campaign in seconds, or null without one. */
export async function averageDuration(db: Db, owner: Owner, campaignId: string): Promise<number | null> {
  const row = await callsOf(db, owner, campaignId)
    .select([
      sql<number>`coalesce(sum("calls"."agentSeconds" + "calls"."humanSeconds"), 0)`.as('seconds'),
      sql<number>`count(*)`.as('calls'),
    ])
    .where('calls.answeredAt', 'is not', null)
    .where('calls.endedAt', 'is not', null)
    .executeTakeFirstOrThrow()
  return row.calls === 0 ? null : row.seconds / row.calls
}

/** Summary of the results of a campaign's calls. */
export interface ResultSummary {
  readonly outputs: Record<string, Record<string, number>>
  readonly evaluation: {
    readonly id: string
    readonly name: string
    readonly passed: number
    readonly failed: number
  }[]
}

const RESULT_BATCH = 1_000

/** Counts the outputs and the evaluations of all calls of a campaign, a batch at a time. */
export async function summarizeResults(db: Db, owner: Owner, campaignId: string): Promise<ResultSummary> {
  const outputs = new Map<string, Map<string, number>>()
  const criteria = new Map<string, { id: string; name: string; passed: number; failed: number }>()
  for (let after = ''; ; ) {
    const rows = await callsOf(db, owner, campaignId)
      .innerJoin('callResults', 'callResults.callId', 'calls.id')
      .select(['calls.id', 'callResults.outputs', 'callResults.evaluation'])
      .where('callResults.state', '=', 'done')
      .where('calls.id', '>', after)
      .orderBy('calls.id')
      .limit(RESULT_BATCH)
      .execute()
    for (const row of rows) {
      for (const [name, value] of Object.entries(JSON.parse(row.outputs) as Record<string, unknown>)) {
        if (value === null) continue
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        const counts = outputs.get(name) ?? new Map<string, number>()
        outputs.set(name, counts)
        const known = counts.has(text) || counts.size < MAX_VALUES ? text : 'other'
        counts.set(known, (counts.get(known) ?? 0) + 1)
      }
      for (const { id, name, passed } of JSON.parse(row.evaluation) as readonly Verdict[]) {
        const count = criteria.get(id) ?? { id, name, passed: 0, failed: 0 }
        criteria.set(id, count)
        if (passed) count.passed++
        else count.failed++
      }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < RESULT_BATCH) break
    after = last.id
  }
  return {
    outputs: Object.fromEntries([...outputs].map(([name, counts]) => [name, Object.fromEntries(counts)])),
    evaluation: [...criteria.values()],
  }
}

interface Verdict {
  readonly id: string
  readonly name: string
  readonly passed: boolean
}

/** Lists the checks of a campaign's dials and of its pre-flight, newest first. */
export async function listCampaignChecks(
  db: Db,
  owner: Owner,
  campaignId: string,
  page: PageRequest,
): Promise<Page<CheckRow>> {
  const query = db
    .selectFrom('checks')
    .where('campaignId', '=', campaignId)
    .where('organizationId', '=', owner.organizationId)
    .where('environment', '=', owner.environment)
  const total = page.after === null ? await countCapped(db, query.select('id')) : undefined
  const rows = await query
    .selectAll()
    .where(olderThan(page, 'checkedAt', 'id'))
    .orderBy('checkedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(
    rows,
    page,
    ({ checkedAt, id }) => ({ key: checkedAt, id }),
    (row) => row,
    total,
  )
}

function callsOf(db: Db, owner: Owner, campaignId: string) {
  return db
    .selectFrom('calls')
    .where('calls.campaignId', '=', campaignId)
    .where('calls.organizationId', '=', owner.organizationId)
    .where('calls.environment', '=', owner.environment)
}
