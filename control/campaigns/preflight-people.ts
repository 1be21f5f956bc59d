import { setImmediate as endOfTurn } from 'node:timers/promises'
import { newId } from '../../media/base/ids.js'
import { isAllowedNumber, type TrunkLimits } from '../../signalling/trunk/trunk-limiter.js'
import type { AgentConfig } from '../agents/config.js'
import { resolveVariables } from '../agents/placeholders.js'
import type { Deps } from '../api/deps.js'
import type { Check, GateFacts, GateRequest } from '../compliance/check.js'
import { checkRows } from '../compliance/check-store.js'
import { CHECKS } from '../compliance/checks/registry.js'
import { askRegister } from '../compliance/dnd/ask-register.js'
import { type PersonFacts, readPeople } from '../compliance/people-facts.js'
import type { CampaignRow, RecipientRow } from '../db/tables/campaigns.js'
import { recipientBatches } from '../recipients/store.js'
import { PERSON_CHECKS } from './check-roles.js'
import type { ExcludedReason } from './view.js'

/** Numbers that are listed per reason. */
const MAX_LISTED = 100
const BATCH = 1_000

const OFF_TRUNK = { reason: 'trunk_prefix', check: null } as const

/** Numbers of people who can be called, and of those who cannot, by reason. */
export interface People {
  readonly total: number
  readonly callable: number
  readonly excluded: Readonly<Record<string, number>>
  readonly excludedE164s: Readonly<Record<string, string[]>>
  /** Callable people about whom the register is asked at the dial. */
  readonly unanswered: number
}

/**
 * Passes once over the recipients that wait. Stores a check row for each person that a check refuses. Scrub files are
 * asked about all people who could be called otherwise. The service of the operator is not asked, because its answers cost
 * money: a number without an answer counts as callable.
 */
export async function examinePeople(
  { db, rootKey }: Pick<Deps, 'db' | 'rootKey'>,
  campaign: CampaignRow,
  known: {
    readonly facts: GateFacts
    readonly request: GateRequest
    readonly config: AgentConfig
    /** Limits of the trunk of the campaign's number. Null without one. */
    readonly trunkLimits: TrunkLimits | null
  },
  now: number,
): Promise<People> {
  const { organizationId, environment } = campaign
  const { purpose } = known.request
  let unanswered = 0
  const decideOn = (recipient: RecipientRow, person: PersonFacts) =>
    known.trunkLimits !== null && !isAllowedNumber(known.trunkLimits, recipient.e164)
      ? OFF_TRUNK
      : exclusionOf(
          recipient,
          { ...known.request, to: recipient.e164, recipientId: recipient.id },
          { ...known.facts, ...person },
          known.config,
          now,
        )
  const readAll = (e164s: readonly string[]) =>
    readPeople(
      db,
      { rules: known.facts.policy, rootKey },
      { organizationId, environment, purpose, campaignId: campaign.id },
      e164s,
      now,
    )
  const excluded: Record<string, number> = {}
  const excludedE164s: Record<string, string[]> = {}
  let total = 0
  let callable = 0
  for await (const batch of recipientBatches(db, campaign, BATCH)) {
    const e164s = batch.map(({ e164 }) => e164)
    let people = await readAll(e164s)
    const asking = { organizationId, environment, purpose, peId: known.facts.sender.peId, at: now }
    const unknown = batch.flatMap((recipient) =>
      decideOn(recipient, people(recipient.e164)) === 'unanswered' ? [recipient.e164] : [],
    )
    if (unknown.length > 0) {
      await askRegister({ db, dndService: null }, unknown, { ...asking, runId: newId('run', now) })
      people = await readAll(e164s)
    }
    const refused: { recipient: RecipientRow; check: Check }[] = []
    for (const recipient of batch) {
      total++
      const found = decideOn(recipient, people(recipient.e164))
      if (found === null || found === 'unanswered') {
        callable++
        if (found !== null) unanswered++
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
        // A run has one check of each type.
        runId: newId('run', now),
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
  return { total, callable, excluded, excludedE164s, unanswered }
}

/** Returns why a person cannot be called, null for one who can, and `unanswered` if only the register's answer is missing. */
function exclusionOf(
  recipient: RecipientRow,
  request: GateRequest,
  facts: GateFacts,
  config: AgentConfig,
  now: number,
): { readonly reason: ExcludedReason; readonly check: Check | null } | 'unanswered' | null {
  let answered = true
  for (const { type, reason } of PERSON_CHECKS) {
    const found = CHECKS[type].decide(request, facts, now)
    if (found.reason === 'register_unknown') answered = false
    if (found.outcome !== 'block' || found.reason === 'register_unknown') continue
    return { reason, check: { type, code: CHECKS[type].code, ...found } }
  }
  const { missing } = resolveVariables(config, JSON.parse(recipient.variables))
  if (missing.length > 0) return { reason: 'missing_variables', check: null }
  return answered ? null : 'unanswered'
}
