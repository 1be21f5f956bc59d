import { setImmediate as endOfTurn } from 'node:timers/promises'
import { newId } from '../../media/base/ids.js'
import type { AgentConfig } from '../agents/config.js'
import { resolveVariables } from '../agents/placeholders.js'
import type { Check, CheckType, GateFacts, GateRequest } from '../compliance/check.js'
import { checkRows } from '../compliance/check-store.js'
import { CHECKS } from '../compliance/checks/registry.js'
import { readPeople } from '../compliance/people-facts.js'
import type { Db } from '../db/database.js'
import type { CampaignRow, RecipientRow } from '../db/tables/campaigns.js'
import { recipientBatches } from '../recipients/store.js'
import type { ExcludedReason } from './view.js'

/** Numbers that are listed per reason. */
const MAX_LISTED = 100
const BATCH = 1_000

/** Checks about one person, in the order in which they decide. */
const PERSON_CHECKS: readonly (readonly [CheckType, ExcludedReason])[] = [
  ['number_format', 'invalid_number'],
  ['dnc', 'suppressed'],
  ['dnd_register', 'dnd_register'],
  ['consent', 'missing_consent'],
  ['frequency_cap', 'frequency_cap'],
]

/** Who can be called, and who cannot, by reason. */
export interface People {
  readonly total: number
  readonly callable: number
  readonly excluded: Readonly<Record<string, number>>
  readonly excludedE164s: Readonly<Record<string, string[]>>
}

/**
 * Passes once over the recipients that wait. Stores a check row for each person that a check refuses. The register is
 * not asked: a number without an answer counts as callable.
 */
export async function examinePeople(
  db: Db,
  campaign: CampaignRow,
  known: { readonly facts: GateFacts; readonly request: GateRequest; readonly config: AgentConfig },
  now: number,
): Promise<People> {
  const runId = newId('run', now)
  const excluded: Record<string, number> = {}
  const excludedE164s: Record<string, string[]> = {}
  let total = 0
  let callable = 0
  for await (const batch of recipientBatches(db, campaign, BATCH)) {
    const { organizationId, environment } = campaign
    const people = await readPeople(
      db,
      known.facts.policy,
      { organizationId, environment, purpose: known.request.purpose, campaignId: campaign.id },
      batch.map(({ e164 }) => e164),
      now,
    )
    const refused: { recipient: RecipientRow; check: Check }[] = []
    for (const recipient of batch) {
      total++
      const facts: GateFacts = { ...known.facts, ...people(recipient.e164) }
      const request = { ...known.request, to: recipient.e164, recipientId: recipient.id }
      const found = exclusionOf(recipient, request, facts, known.config, now)
      if (found === null) {
        callable++
        continue
      }
      const { reason, check } = found
      excluded[reason] = (excluded[reason] ?? 0) + 1
      const listed = excludedE164s[reason] ?? []
      excludedE164s[reason] = listed
      if (listed.length < MAX_LISTED) listed.push(recipient.e164)
      if (check !== null) refused.push({ recipient, check })
    }
    const rows = refused.flatMap(({ recipient, check }) =>
      checkRows({
        runId,
        organizationId,
        callId: null,
        request: { ...known.request, to: recipient.e164, recipientId: recipient.id },
        checks: [check],
        at: now,
      }),
    )
    if (rows.length > 0) await db.insertInto('checks').values(rows).execute()
    // Lets other requests run between two batches.
    await endOfTurn()
  }
  return { total, callable, excluded, excludedE164s }
}

function exclusionOf(
  recipient: RecipientRow,
  request: GateRequest,
  facts: GateFacts,
  config: AgentConfig,
  now: number,
): { readonly reason: ExcludedReason; readonly check: Check | null } | null {
  for (const [type, reason] of PERSON_CHECKS) {
    const found = CHECKS[type].decide(request, facts, now)
    if (found.outcome !== 'block' || found.reason === 'register_unknown') continue
    return { reason, check: { type, code: CHECKS[type].code, ...found } }
  }
  const { missing } = resolveVariables(config, JSON.parse(recipient.variables))
  return missing.length === 0 ? null : { reason: 'missing_variables', check: null }
}
