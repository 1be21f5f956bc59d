import { setImmediate as endOfTurn } from 'node:timers/promises'
import { newId } from '../../media/base/ids.js'
import { mobilePrefixes } from '../compliance/policy.js'
import type { PolicyInForce } from '../config/policy-file.js'
import type { Db, Trx } from '../db/database.js'
import type { CampaignRow, RecipientRow } from '../db/tables/campaigns.js'
import { recordCampaignChange } from '../live/changes.js'
import {
  type CheckedRecipient,
  checkRecipient,
  type GivenRecipient,
  type RejectedRecipient,
} from './recipient-rules.js'

/*
 * Imports write their rows in batches above `campaigns.uploaded`, where nothing reads them, and become visible by one
 * update of that mark. An import that ends early leaves nothing, and no transaction lasts longer than one batch.
 */

/** Recipients of a campaign. */
export const MAX_RECIPIENTS = 100_000
const BATCH = 500
/** Time for which an import that writes nothing keeps others out (ms). A crash ends it. */
const IMPORT_LEASE_MS = 120_000

/** Rejected rows that an answer lists. */
export const MAX_LISTED = 1_000

export interface ImportResult {
  readonly imported: number
  readonly rejectedCount: number
  /** The first of the rejected rows, at most `MAX_LISTED`, in the order of the request. */
  readonly rejected: RejectedRecipient[]
}

/** `busy`: another import runs. `closed`: the campaign is neither a draft nor paused, or does not exist. */
export type ImportRefusal = 'busy' | 'closed'

/** Rows with their position in the request, in order. */
export interface GivenRow {
  readonly recipient: GivenRecipient
  /** From 0. */
  readonly index: number
  /** Line of a CSV body. */
  readonly line?: number
}

interface ImportDeps {
  readonly db: Db
  readonly clock: { wall(): number }
  readonly policy: PolicyInForce
}

/**
 * Imports recipients into a draft or a paused campaign: all valid rows, or none if reading them fails. Rejected rows
 * are returned with their reasons. `keep` is called last in the transaction that makes the rows visible.
 */
export async function importRecipients(
  { db, clock, policy }: ImportDeps,
  campaign: Pick<CampaignRow, 'id' | 'organizationId' | 'environment'>,
  rows: AsyncIterable<GivenRow> | Iterable<GivenRow>,
  keep: (trx: Trx, result: ImportResult) => Promise<ImportResult>,
): Promise<ImportResult | ImportRefusal> {
  const importId = newId('req', clock.wall())
  try {
    const begun = await begin(db, campaign.id, importId, clock.wall())
    if (typeof begun === 'string') return begun
    const run = new Import({ db, clock, policy }, campaign, importId, begun)
    for await (const row of rows) await run.add(row)
    const result = await run.commit(keep)
    if (result === 'closed') await discard(db, campaign.id, importId)
    return result
  } catch (error) {
    // Also when `begin` failed: its commit may have taken effect.
    await discard(db, campaign.id, importId)
    throw error
  }
}

class Import {
  readonly #db: Db
  readonly #clock: ImportDeps['clock']
  readonly #policy: PolicyInForce
  readonly #campaign: Pick<CampaignRow, 'id' | 'organizationId' | 'environment'>
  readonly #importId: string
  readonly #begun: Pick<CampaignRow, 'uploaded' | 'total'>
  #rejected: RejectedRecipient[] = []
  #rejectedCount = 0
  #batch: { readonly row: GivenRow; readonly checked: CheckedRecipient }[] = []
  #position: number
  #imported = 0

  constructor(
    { db, clock, policy }: ImportDeps,
    campaign: Pick<CampaignRow, 'id' | 'organizationId' | 'environment'>,
    importId: string,
    begun: Pick<CampaignRow, 'uploaded' | 'total'>,
  ) {
    this.#db = db
    this.#clock = clock
    this.#policy = policy
    this.#campaign = campaign
    this.#importId = importId
    this.#begun = begun
    this.#position = begun.uploaded
  }

  async add(row: GivenRow): Promise<void> {
    const checked = checkRecipient(row.recipient, mobilePrefixes(this.#policy.rules, this.#clock.wall()))
    if ('message' in checked) this.#reject(row, checked)
    else if (this.#begun.total + this.#imported + this.#batch.length >= MAX_RECIPIENTS) {
      const message = `A campaign has at most ${MAX_RECIPIENTS} recipients.`
      this.#reject(row, { code: 'unprocessable_entity', reason: 'recipient_limit', message })
    } else this.#batch.push({ row, checked })
    if (this.#batch.length >= BATCH) await this.#write()
  }

  async commit(
    keep: (trx: Trx, result: ImportResult) => Promise<ImportResult>,
  ): Promise<ImportResult | 'closed'> {
    if (this.#batch.length > 0) await this.#write()
    const now = this.#clock.wall()
    return await this.#db.transaction().execute(async (trx) => {
      const row = await trx
        .updateTable('campaigns')
        .set((column) => ({
          uploaded: this.#position,
          total: column('total', '+', this.#imported),
          importId: null,
          importUntil: null,
          preflight: null,
          updatedAt: now,
        }))
        .where('id', '=', this.#campaign.id)
        .where('importId', '=', this.#importId)
        .where('status', 'in', ['draft', 'paused'])
        .returning('id')
        .executeTakeFirst()
      if (row === undefined) return 'closed'
      await recordCampaignChange(trx, this.#campaign, this.#campaign.id, now)
      const rejected = this.#firstRejected()
      return keep(trx, { imported: this.#imported, rejectedCount: this.#rejectedCount, rejected })
    })
  }

  #firstRejected(): RejectedRecipient[] {
    return this.#rejected.toSorted((a, b) => a.index - b.index).slice(0, MAX_LISTED)
  }

  #reject(row: GivenRow, why: Pick<RejectedRecipient, 'code' | 'reason' | 'message'>): void {
    const { index, line, recipient } = row
    const { code, reason, message } = why
    this.#rejected.push({
      index,
      ...(line === undefined ? {} : { line }),
      e164: recipient.e164.slice(0, 40),
      code,
      reason,
      message,
    })
    this.#rejectedCount++
    // Duplicates are found when a batch is written, after later rows were rejected.
    if (this.#rejected.length >= 2 * MAX_LISTED + BATCH) this.#rejected = this.#firstRejected()
  }

  async #write(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    const now = this.#clock.wall()
    const rows = batch.map(({ checked }): RecipientRow => this.#rowOf(checked, now))
    const stored = await this.#db.transaction().execute(async (trx) => {
      const own = await trx
        .updateTable('campaigns')
        .set({ importUntil: now + IMPORT_LEASE_MS })
        .where('id', '=', this.#campaign.id)
        .where('importId', '=', this.#importId)
        .returning('id')
        .executeTakeFirst()
      if (own === undefined) throw new Error('another import of the campaign took over')
      return await trx
        .insertInto('campaignRecipients')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['campaignId', 'e164']).doNothing())
        .returning('id')
        .execute()
    })
    this.#imported += stored.length
    if (stored.length < rows.length) {
      const ids = new Set(stored.map(({ id }) => id))
      for (const [index, { row }] of batch.entries()) {
        if (!ids.has(rows[index]?.id ?? '')) {
          const message = 'The number is already a recipient of the campaign.'
          this.#reject(row, { code: 'conflict', reason: 'duplicate', message })
        }
      }
    }
    // Lets other requests run between two batches.
    await endOfTurn()
  }

  #rowOf({ e164, externalId, variables }: CheckedRecipient, now: number): RecipientRow {
    const { id: campaignId, organizationId, environment } = this.#campaign
    this.#position++
    return {
      id: newId('rcp', now),
      campaignId,
      organizationId,
      environment,
      position: this.#position,
      e164,
      externalId,
      variables: JSON.stringify(variables),
      status: 'pending',
      outcome: null,
      excludedReason: null,
      attempts: 0,
      nextAttemptAt: 0,
      lastAttemptAt: null,
      lastCallId: null,
      connectedAt: null,
      spentPaise: 0,
      undone: 0,
      claimedBy: null,
      createdAt: now,
      settledAt: null,
    }
  }
}

/** Takes the right to import, and removes what an import left that crashed. */
async function begin(
  db: Db,
  campaignId: string,
  importId: string,
  now: number,
): Promise<Pick<CampaignRow, 'uploaded' | 'total'> | ImportRefusal> {
  return db.transaction().execute(async (trx) => {
    const begun = await trx
      .updateTable('campaigns')
      .set({ importId, importUntil: now + IMPORT_LEASE_MS })
      .where('id', '=', campaignId)
      .where('status', 'in', ['draft', 'paused'])
      .where((column) => column.or([column('importId', 'is', null), column('importUntil', '<=', now)]))
      .returning(['uploaded', 'total'])
      .executeTakeFirst()
    if (begun !== undefined) {
      await removeAbove(trx, campaignId, begun.uploaded)
      return begun
    }
    const campaign = await trx
      .selectFrom('campaigns')
      .select('status')
      .where('id', '=', campaignId)
      .executeTakeFirst()
    return campaign?.status === 'draft' || campaign?.status === 'paused' ? 'busy' : 'closed'
  })
}

/** Ends an import that is not committed. A later one that has taken over removes what was written by itself. */
async function discard(db: Db, campaignId: string, importId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const own = await trx
      .updateTable('campaigns')
      .set({ importId: null, importUntil: null })
      .where('id', '=', campaignId)
      .where('importId', '=', importId)
      .returning('uploaded')
      .executeTakeFirst()
    if (own !== undefined) await removeAbove(trx, campaignId, own.uploaded)
  })
}

async function removeAbove(trx: Trx, campaignId: string, position: number): Promise<void> {
  await trx
    .deleteFrom('campaignRecipients')
    .where('campaignId', '=', campaignId)
    .where('position', '>', position)
    .execute()
}
