import { newId } from '../../media/base/ids.js'
import type { Json } from '../base/canonical-json.js'
import { timestamp, timestampOrNull } from '../base/schemas.js'
import type { Db, Trx } from '../db/database.js'
import type { CheckRow } from '../db/tables/calling.js'
import { type ChainVerdict, type EvidenceKeys, GENESIS_HASH, sealRecord, verifyChain } from './evidence.js'

type Environment = 'test' | 'live'

/** A gate decision before it becomes a link of the chain. */
export interface GateEvidence {
  readonly organizationId: string
  readonly environment: Environment
  readonly callId: string | null
  readonly e164: string
  readonly gateRunId: string
  readonly checks: readonly CheckRow[]
  readonly purpose: string
  readonly number: string
  readonly agentId: string | null
  readonly agentVersionId: string | null
  readonly policyVersion: string
  readonly decidedAt: number
}

/**
 * Appends a sealed gate decision to its chain. Runs in the transaction that stores the check rows. The row of
 * the chain's head stays locked until the commit, so that numbers have no gap and the chain no fork.
 */
export async function appendGateEvidence(
  trx: Trx,
  keys: EvidenceKeys,
  evidence: GateEvidence,
  now: number,
): Promise<{ readonly id: string; readonly seq: number }> {
  const { organizationId, environment } = evidence
  await trx
    .insertInto('evidenceHeads')
    .values({ organizationId, environment, seq: 0, hash: GENESIS_HASH })
    .onConflict((conflict) => conflict.columns(['organizationId', 'environment']).doNothing())
    .execute()
  const head = await trx
    .updateTable('evidenceHeads')
    .set((column) => ({ seq: column('seq', '+', 1) }))
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .returning(['seq', 'hash'])
    .executeTakeFirstOrThrow()

  const id = newId('evd', now)
  const link = { seq: head.seq, prevHash: head.hash }
  const sealed = sealRecord(sealedPart(id, evidence, keys, now), link, keys)
  await trx
    .insertInto('evidence')
    .values({
      id,
      organizationId,
      environment,
      kind: 'gate',
      callId: evidence.callId,
      gateRunId: evidence.gateRunId,
      e164: evidence.e164,
      ...link,
      ...sealed,
      keyId: keys.keyId,
      sealedAt: now,
    })
    .execute()
  await trx
    .updateTable('evidenceHeads')
    .set({ hash: sealed.hash })
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .execute()
  return { id, seq: head.seq }
}

const PAGE = 500

/**
 * Verifies a whole stored chain, page by page, up to its head. The chain of the test environment begins with
 * the first record that is still kept.
 */
export async function verifyStoredChain(
  db: Db,
  organizationId: string,
  environment: Environment,
  keys: EvidenceKeys,
): Promise<ChainVerdict> {
  // Reads the head first. Links appended meanwhile lie beyond it and are not expected.
  const head = await db
    .selectFrom('evidenceHeads')
    .select(['seq', 'hash'])
    .where('organizationId', '=', organizationId)
    .where('environment', '=', environment)
    .executeTakeFirst()
  let at = { seq: 0, hash: GENESIS_HASH }
  const end = head ?? at
  if (environment === 'test') at = await beforeFirstKept(db, organizationId, end)
  while (at.seq < end.seq) {
    const links = await db
      .selectFrom('evidence')
      .select(['seq', 'prevHash', 'record', 'hash', 'signature'])
      .where('organizationId', '=', organizationId)
      .where('environment', '=', environment)
      .where('seq', '>', at.seq)
      .where('seq', '<=', end.seq)
      .orderBy('seq')
      .limit(PAGE)
      .execute()
    if (links.length === 0) return { valid: false, brokenAt: at.seq + 1, why: 'a link is missing' }
    const verdict = verifyChain(links, keys.verifyingKeys, at)
    if (!verdict.valid) return verdict
    at = { seq: verdict.seq, hash: verdict.hash }
  }
  if (at.hash !== end.hash) return { valid: false, brokenAt: end.seq, why: 'the head is not the last link' }
  return { valid: true, ...at }
}

/** Returns the position before the first record of a test chain; the head when all have expired. */
async function beforeFirstKept(
  db: Db,
  organizationId: string,
  head: { readonly seq: number; readonly hash: string },
): Promise<{ readonly seq: number; readonly hash: string }> {
  const first = await db
    .selectFrom('evidence')
    .select(['seq', 'prevHash'])
    .where('organizationId', '=', organizationId)
    .where('environment', '=', 'test')
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
  return first === undefined ? head : { seq: first.seq - 1, hash: first.prevHash }
}

function sealedPart(
  id: string,
  evidence: GateEvidence,
  keys: EvidenceKeys,
  now: number,
): { readonly [key: string]: Json } {
  const e164Hmac = keys.pseudonym(evidence.organizationId, evidence.e164)
  return {
    id,
    environment: evidence.environment,
    kind: 'gate',
    callId: evidence.callId,
    e164Hmac,
    gateRunId: evidence.gateRunId,
    checks: evidence.checks.map((check) => ({
      id: check.id,
      type: check.type,
      outcome: check.outcome,
      code: check.code,
      reason: check.reason,
      message: check.message,
      e164Hmac,
      purpose: check.purpose,
      trigger: check.trigger,
      source: check.source,
      details: JSON.parse(check.details) as Json,
      nextAllowedAt: timestampOrNull(check.nextAllowedAt),
      checkedAt: timestamp(check.checkedAt),
    })),
    consents: [],
    suppressionMatched: false,
    sender: { purpose: evidence.purpose, peId: null, header: null, declarationRef: null },
    number: evidence.number,
    agentId: evidence.agentId,
    agentVersionId: evidence.agentVersionId,
    campaignId: null,
    policyVersion: evidence.policyVersion,
    decidedAt: timestamp(evidence.decidedAt),
    outcome: null,
    sealedAt: timestamp(now),
  }
}
