import { newId } from '../../media/base/ids.js'
import type { Permit } from '../../signalling/call/ports.js'
import type { Deps } from '../api/deps.js'
import type { Trx } from '../db/database.js'
import { insertEvent } from '../events/store.js'
import { lockWallet } from '../wallet/ledger.js'
import { insertChecks } from './check-store.js'
import { openEvidenceKeys } from './evidence.js'
import { appendGateEvidence } from './evidence-store.js'
import { gateFacts } from './facts.js'
import { decide, type GateRequest, type GateVerdict } from './gate.js'

export interface DialRequest {
  readonly organizationId: string
  readonly callId: string
  /** The caller ID shown to the called party. */
  readonly from: string
  readonly gate: GateRequest
  readonly agentId: string | null
  readonly agentVersionId: string | null
}

export interface GateRecord {
  readonly runId: string
  readonly evidenceId: string
}

export type Clearance =
  | { readonly cleared: true; readonly permit: Permit }
  | {
      readonly cleared: false
      readonly runId: string
      readonly verdict: GateVerdict & { readonly allow: false }
    }

/**
 * Clears a call for dialling; no other function issues permits. One transaction reads the facts, decides,
 * stores every check and seals the decision. It then runs `whenCleared` (the call's row and its event), or
 * records the refusal with its event. The permit is issued after the commit, so that no call is dialled
 * without its sealed record or after `whenCleared` has thrown.
 */
export async function clearDial(
  deps: Pick<Deps, 'db' | 'clock' | 'rootKey' | 'permits'>,
  request: DialRequest,
  whenCleared: (trx: Trx, record: GateRecord, now: number) => Promise<void>,
): Promise<Clearance> {
  const keys = openEvidenceKeys(deps.rootKey)
  const now = deps.clock.wall()
  const runId = newId('run', now)
  const { organizationId, callId, gate } = request

  const verdict = await deps.db.transaction().execute(async (trx) => {
    // Locked before anything is decided, so that two calls are not paid from the same balance.
    if (gate.environment === 'live') await lockWallet(trx, organizationId, now)
    const facts = await gateFacts(trx, organizationId, gate.environment, now)
    const decided = decide(gate, facts, now)
    // A refused call has no row, so its records reference none.
    const recordedCall = decided.allow ? callId : null
    const checks = await insertChecks(trx, {
      runId,
      organizationId,
      callId: recordedCall,
      request: gate,
      verdict: decided,
      at: now,
    })
    const evidence = await appendGateEvidence(
      trx,
      keys,
      {
        organizationId,
        environment: gate.environment,
        callId: recordedCall,
        e164: gate.to,
        gateRunId: runId,
        checks,
        purpose: gate.purpose,
        number: request.from,
        agentId: request.agentId,
        agentVersionId: request.agentVersionId,
        policyVersion: facts.policyVersion,
        decidedAt: now,
      },
      now,
    )
    if (decided.allow) {
      await whenCleared(trx, { runId, evidenceId: evidence.id }, now)
      return decided
    }
    const deciding = checks.find((check) => check.type === decided.deciding.type)
    if (deciding !== undefined) {
      await insertEvent(
        trx,
        {
          organizationId,
          environment: gate.environment,
          type: 'compliance.check.blocked',
          subjects: { check: deciding.id },
        },
        now,
      )
    }
    return decided
  })

  if (!verdict.allow) return { cleared: false, runId, verdict }
  return { cleared: true, permit: deps.permits.issue({ callId, to: gate.to, from: request.from }) }
}
