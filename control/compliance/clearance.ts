import { EngineError } from '../../media/base/errors.js'
import { newId } from '../../media/base/ids.js'
import type { Permit } from '../../signalling/sip/dial-gate.js'
import type { Deps } from '../api/deps.js'
import type { Trx } from '../db/database.js'
import { insertEvent } from '../events/store.js'
import { holdForCall } from '../wallet/call-billing.js'
import { type GateRequest, REGISTER_UNKNOWN } from './check.js'
import { insertChecks } from './check-store.js'
import { askRegister } from './dnd/ask-register.js'
import { appendGateRecord } from './evidence/gate-record.js'
import { openEvidenceKeys } from './evidence/seal.js'
import { type FactsQuestion, gateFacts } from './facts.js'
import { decide, type GateVerdict } from './gate.js'

export interface DialRequest {
  readonly organizationId: string
  readonly callId: string
  /** The caller ID shown to the called party. */
  readonly from: string
  readonly gate: GateRequest
  readonly agentId: string | null
  readonly agentVersionId: string | null
  /** True if money is held for the call. The legs of a call that is paid already need none. */
  readonly paid?: boolean
  /**
   * Tells whether the hours of the campaign or callback allow the dial at a time (Unix ms). The law is checked
   * besides. Default: always.
   */
  isOpen?(now: number): boolean
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
      readonly verdict: Refusal
    }

type Refusal = GateVerdict & { readonly allow: false }

/**
 * Maximum number of decisions about one call. The gate decides again when another call took the money since, or when
 * the time ended at which the call was allowed.
 */
const MAX_DECISIONS = 4

/** Money that the gate has seen in the wallet was taken before it was held. The transaction is undone. */
class FundsTakenError extends EngineError {
  constructor() {
    super('internal', 'the wallet was changed after the gate read it')
  }
}

/** The time at which the call is allowed ended while the decision was stored. The transaction is undone. */
class DecisionLapsedError extends EngineError {
  constructor() {
    super('internal', 'the time at which the call was allowed ended while its decision was stored')
  }
}

/**
 * Asks the DND register now if only its answer is missing for a call at `at` (Unix ms) of the same day. Returns false
 * when the wallet does not cover the fee of the register.
 */
export async function answerRegister(
  deps: Pick<Deps, 'db' | 'dndService' | 'policy' | 'rootKey'>,
  question: FactsQuestion,
  runId: string,
  now: number,
  at: number = now,
): Promise<boolean> {
  const { gate, organizationId } = question
  const asked = deps.policy.rules.register.some(({ purposes }) => purposes.includes(gate.purpose))
  if (!asked) return true
  const facts = await gateFacts(deps.db, deps, question, now)
  const verdict = decide(gate, facts, at)
  const reason = verdict.checks.find(({ type }) => type === 'dnd_register')?.reason
  // A question about a number is no call: less than the price of a call pays the fee.
  const missing = reason === REGISTER_UNKNOWN || (reason === 'wallet_short' && gate.trigger === 'manual')
  if (!missing) return true
  const { to: e164, environment, purpose } = gate
  const { peId } = facts.sender
  return askRegister(deps, [e164], { organizationId, environment, runId, purpose, peId, at: now })
}

/**
 * Clears a call for dialling; no other function issues permits. One transaction reads the facts, decides, stores
 * every check, runs `whenCleared` (the call's row and its event) or records the refusal with its event, seals the
 * decision, and holds the money of a call that is `paid`. The permit is issued after the commit, so that no call is
 * dialled without its sealed record or after `whenCleared` has thrown. `whenRefused` makes the row of a refused call;
 * without it a refused call has none.
 *
 * The register, the database and its locks may take seconds each. The time of the decision is therefore read after
 * the facts. The gate decides again on the same facts before the commit, and the permit does so immediately before
 * the INVITE.
 *
 * All dials of an organization change the head of its chain and its wallet, in this order, and hold their locks until
 * the commit. Both therefore come last. The statement that holds the money decides whether it is there: if another
 * call took it since the facts were read, the transaction is undone and the gate decides again.
 */
export async function clearDial(
  deps: Pick<Deps, 'db' | 'clock' | 'rootKey' | 'permits' | 'dndService' | 'policy'>,
  request: DialRequest,
  whenCleared: (trx: Trx, record: GateRecord, now: number) => Promise<void>,
  whenRefused?: (trx: Trx, record: GateRecord, verdict: Refusal, now: number) => Promise<void>,
): Promise<Clearance> {
  const keys = openEvidenceKeys(deps.rootKey)
  const { clock } = deps
  const asked = clock.wall()
  const runId = newId('run', asked)
  const { organizationId, callId, gate } = request
  await answerRegister(deps, request, runId, asked)

  const decideOnce = async (trx: Trx) => {
    const facts = await gateFacts(trx, deps, request, clock.wall())
    const now = clock.wall()
    const decided = decide(gate, facts, now)
    const mayDial = (at: number) => decide(gate, facts, at).allow && request.isOpen?.(at) !== false
    // The records of a call without a row reference none.
    const recordedCall = decided.allow || whenRefused !== undefined ? callId : null
    const checks = await insertChecks(trx, {
      runId,
      organizationId,
      callId: recordedCall,
      request: gate,
      checks: decided.checks,
      at: now,
    })
    const record = { runId, evidenceId: newId('evd', now) }
    if (decided.allow) await whenCleared(trx, record, now)
    else await whenRefused?.(trx, record, decided, now)
    await appendGateRecord(trx, keys, {
      id: record.evidenceId,
      rootKey: deps.rootKey,
      organizationId,
      callId: recordedCall,
      gateRunId: runId,
      request: gate,
      facts,
      allowed: decided.allow,
      checks,
      number: request.from,
      agentId: request.agentId,
      agentVersionId: request.agentVersionId,
      decidedAt: now,
    })
    if (decided.allow) {
      const call = { id: callId, organizationId, environment: gate.environment }
      if (request.paid === true && !(await holdForCall(trx, call, now))) throw new FundsTakenError()
      // Only the commit may still wait.
      if (!mayDial(clock.wall())) throw new DecisionLapsedError()
      return { decided, record, mayDial }
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
    return { decided, record, mayDial }
  }
  let outcome: Awaited<ReturnType<typeof decideOnce>> | null = null
  for (let left = MAX_DECISIONS; outcome === null; left--) {
    outcome = await deps.db
      .transaction()
      .execute(decideOnce)
      .catch((error: unknown) => {
        const again = error instanceof FundsTakenError || error instanceof DecisionLapsedError
        if (left === 1 || !again) throw error
        return null
      })
  }
  const { decided: verdict, record, mayDial } = outcome

  if (!verdict.allow) return { cleared: false, runId, verdict }
  const dial = { recordId: record.evidenceId, callId, to: gate.to, from: request.from }
  return { cleared: true, permit: deps.permits.issue(dial, mayDial) }
}
