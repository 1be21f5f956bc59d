import type { Json } from '../../base/canonical-json.js'
import type { RootKey } from '../../base/root-key.js'
import { timestamp, timestampOrNull } from '../../base/schemas.js'
import type { Trx } from '../../db/database.js'
import type { CheckRow } from '../../db/tables/calling.js'
import type { GateFacts, GateRequest } from '../check.js'
import { declarationInForce } from '../checks/robocall-declaration.js'
import { namesOf } from '../person-names.js'
import { personCopies } from './person-copies.js'
import { commitTo, type EvidenceKeys, type JsonObject } from './seal.js'
import { type Appended, appendRecord } from './store.js'

/** A gate decision before it becomes a link of the chain. */
export interface GateEvidence {
  /** Id of the record. */
  readonly id: string
  readonly rootKey: RootKey
  readonly organizationId: string
  readonly callId: string | null
  readonly gateRunId: string
  readonly request: GateRequest
  /** Facts from which the gate decided. They are sealed, so that a verifier can decide again. */
  readonly facts: GateFacts
  readonly allowed: boolean
  readonly checks: readonly CheckRow[]
  /** The caller id. */
  readonly number: string
  readonly agentId: string | null
  readonly agentVersionId: string | null
  /** Unix ms. */
  readonly decidedAt: number
}

/** Appends a sealed gate decision to its chain. Call it in the transaction that stores the check rows. */
export async function appendGateRecord(
  trx: Trx,
  keys: EvidenceKeys,
  evidence: GateEvidence,
): Promise<Appended> {
  const { id, organizationId, callId, gateRunId, request, facts, checks, decidedAt } = evidence
  const { to, campaignId = null, recipientId = null, ...asked } = request
  // `policyVersion` names the policy, which `POLICIES` keeps.
  const { policy: _, ...known } = facts
  const part: JsonObject = {
    request: { ...asked, campaignId, recipientId },
    facts: plainJson(known),
    allowed: evidence.allowed,
    checks: checks.map(sealedCheck),
    suppressionMatched: checks.some(({ type, outcome }) => type === 'dnc' && outcome === 'block'),
    sender: {
      purpose: request.purpose,
      peId: facts.sender.peId,
      header: facts.sender.approved?.dltHeaderId ?? null,
      declarationRef: declarationInForce(facts.declarations, decidedAt)?.reference ?? null,
    },
    number: evidence.number,
    agentId: evidence.agentId,
    agentVersionId: evidence.agentVersionId,
    campaignId,
    policyVersion: facts.policyVersion,
    decidedAt: timestamp(decidedAt),
    outcome: null,
  }
  const owner = { organizationId, environment: request.environment }
  const person = commitTo(
    to,
    await personCopies(trx, owner, namesOf(evidence.rootKey, organizationId, to), facts),
  )
  return appendRecord(trx, keys, owner, { id, kind: 'gate', callId, gateRunId, person, part }, decidedAt)
}

/** Gives facts, which are plain values of JSON, the type of one. */
function plainJson(facts: Omit<GateFacts, 'policy'>): Json {
  return JSON.parse(JSON.stringify(facts)) as Json
}

/** Returns a check without the number of the person. */
function sealedCheck(check: CheckRow): Json {
  return {
    id: check.id,
    type: check.type,
    outcome: check.outcome,
    code: check.code,
    reason: check.reason,
    message: check.message,
    purpose: check.purpose,
    trigger: check.trigger,
    source: check.source,
    details: JSON.parse(check.details) as Json,
    nextAllowedAt: timestampOrNull(check.nextAllowedAt),
    checkedAt: timestamp(check.checkedAt),
  }
}
