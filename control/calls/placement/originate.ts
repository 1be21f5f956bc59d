import { newId } from '../../../media/base/ids.js'
import { callNeverBegan } from '../../../signalling/call/call-events.js'
import type { Cause } from '../../../signalling/call/ending.js'
import type { AdmissionDecision, InboundInvite } from '../../../signalling/call/ports.js'
import { classification } from '../../agents/store.js'
import type { Deps } from '../../api/deps.js'
import { isRefusal } from '../../api/problem.js'
import { clearDial, type GateRecord } from '../../compliance/clearance.js'
import { dialledToE164 } from '../../compliance/numbering.js'
import type { Db, Trx } from '../../db/database.js'
import type { NumberRow } from '../../db/tables/calling.js'
import type { SipTrunkRow } from '../../db/tables/trunks.js'
import { findNumber, findOwnNumber } from '../../numbers/store.js'
import { originationRefusal } from '../../trunks/origination.js'
import { recordTrunkUse } from '../../trunks/store.js'
import { codecsOf } from '../../trunks/trunk-route.js'
import { recordingPath, storeCallEvent } from '../lifecycle/settle.js'
import { insertCall, rateOf } from '../store.js'
import { releaseSlot, takeSlot, takeTrunkChannel } from './call-slots.js'
import {
  BudgetSpent,
  isBudgetSpent,
  takeFromBudget,
  tellBudgetSpent,
  watchBudget,
} from './origination-budget.js'
import { outboundRoute } from './outbound-route.js'
import { MAX_CALL_SECONDS } from './party-spec.js'
import { storeRefusedCall } from './refused-call.js'

export type OriginationDeps = Pick<
  Deps,
  'db' | 'clock' | 'rootKey' | 'permits' | 'dndService' | 'egress' | 'sandboxGateway' | 'nodeId' | 'policy'
> & {
  /** Folder of recordings. */
  readonly folder: string
}

/**
 * Decides on a call that the telephone system of a customer asks the service to place. The caller id must be a number
 * of the same organization; the call is dialled over the trunk of that number, after the compliance gate. The legs
 * are bridged without an agent. A call that the gate refuses is kept with its checks and its sealed record; one that is
 * refused before, with its reason. Without a caller id of the organization there is no call.
 */
export async function originate(
  deps: OriginationDeps,
  invite: InboundInvite,
  trunk: SipTrunkRow,
  to: string,
): Promise<AdmissionDecision> {
  const { db, clock, nodeId } = deps
  const number = await callerIdOf(db, trunk, invite)
  if (number === null) return originationRefusal({ code: 'caller_id_not_allowed' })
  const route = await outboundRoute(deps, number)
  const refused = async (
    cause: Cause,
    refusal: ReturnType<typeof originationRefusal>,
    complianceRunId: string | null = null,
  ): Promise<AdmissionDecision> => {
    const ending = { cause, note: refusal.reason }
    const call = {
      number,
      direction: 'outbound',
      from: number.e164,
      to,
      routingMode: 'byo_sip',
      ending,
      complianceRunId,
    } as const
    return { ...refusal, callId: await storeRefusedCall(deps, call) }
  }
  if (isRefusal(route)) return refused('rejected', originationRefusal(route))
  if (route.trunk?.id === trunk.id) {
    return refused('rejected', { admit: false, sip: 482, reason: 'the call would go back to its own trunk' })
  }

  const budgetSpent = async (runId: string | null): Promise<AdmissionDecision> => {
    await tellBudgetSpent(db, number, clock.wall())
    return refused('rejected', originationRefusal({ code: 'origination_budget_spent' }), runId)
  }
  const { organizationId, environment } = number
  const terms = { organizationId, numberId: number.id, routingMode: 'byo_sip' } as const
  if (await isBudgetSpent(db, trunk, number, await rateOf(db, terms), clock.wall())) return budgetSpent(null)

  const callId = newId('call', clock.wall())
  const trunks = route.trunk === null ? [trunk] : [trunk, route.trunk]
  if (!(await reserveSlots(db, number, trunks, { callId, nodeId }, clock.wall()))) {
    return refused('pool_full', originationRefusal({ code: 'concurrent_call_limit_reached' }))
  }
  const purpose = await classification(db, organizationId)
  const insert = async (trx: Trx, record: GateRecord, now: number): Promise<void> => {
    const numbers = { fromNumber: number.e164, toNumber: to, numberId: number.id }
    const noAgent = { agentId: null, agentVersion: null, agentVersionId: null }
    await insertCall(
      trx,
      {
        id: callId,
        ...{ organizationId, environment, nodeId, purpose, ...numbers, ...noAgent },
        direction: 'outbound',
        routingMode: 'byo_sip',
        variables: {},
        metadata: {},
        complianceRunId: record.runId,
        evidenceId: record.evidenceId,
        idempotencyId: null,
      },
      now,
    )
    await recordTrunkUse(trx, trunk, trunk.id, 'inbound', now)
  }
  const clearance = await clearDial(
    deps,
    {
      ...{ organizationId, callId, from: number.e164, agentId: null, agentVersionId: null },
      gate: { to, environment, purpose, trigger: 'origination' },
      paid: true,
    },
    async (trx, record, now) => {
      await insert(trx, record, now)
      await takeFromBudget(trx, trunk, number, record.runId, now)
      if (route.trunk !== null) await recordTrunkUse(trx, route.trunk, route.trunk.id, 'outbound', now)
    },
    async (trx, record, { code, deciding }, now) => {
      await insert(trx, record, now)
      const cause = code === 'insufficient_funds' ? code : 'gate_blocked'
      const ending = { by: 'engine', cause, fault: 'customer', note: deciding.message } as const
      // This also releases the slots.
      await storeCallEvent(trx, deps.policy, callNeverBegan(callId, ending, now))
      await watchBudget(trx, trunk, number, now)
    },
  ).catch(async (error: unknown) => {
    await releaseSlot(db, callId)
    if (error instanceof BudgetSpent) return error
    throw error
  })
  if (clearance instanceof BudgetSpent) return budgetSpent(clearance.runId)
  if (!clearance.cleared) return { ...originationRefusal(clearance.verdict), callId }
  const { permit } = clearance
  return {
    admit: true,
    callId,
    party: { kind: 'none', maxCallSeconds: MAX_CALL_SECONDS },
    codecs: codecsOf(trunk),
    srtp: trunk.srtp,
    recordTo: number.recordCalls === 1 ? recordingPath(deps.folder, callId) : null,
    forward: {
      ringTimeoutMs: route.ringTimeoutMs,
      clear: async () => ({ permit, gateway: route.gateway }),
    },
  }
}

/**
 * Returns the active number of the organization that the caller shows, or null. A telephone system may send an
 * extension in From and the number as the asserted identity (RFC 3325).
 */
async function callerIdOf(
  db: Db,
  trunk: SipTrunkRow,
  { from, assertedIdentity }: InboundInvite,
): Promise<NumberRow | null> {
  const e164 = dialledToE164(from) ?? dialledToE164(assertedIdentity ?? '')
  if (e164 === null) return null
  // The telephone system of one number shows that number only.
  const number =
    trunk.numberId === null
      ? await findOwnNumber(db, trunk, e164)
      : await findNumber(db, trunk, trunk.numberId)
  return number?.e164 === e164 && number.status === 'active' ? number : null
}

/** Reserves a slot of the pool and a channel of each trunk. Returns false, and holds nothing, if one is full. */
async function reserveSlots(
  db: Db,
  number: NumberRow,
  trunks: readonly SipTrunkRow[],
  holder: { readonly callId: string; readonly nodeId: string },
  now: number,
): Promise<boolean> {
  let free = (await takeSlot(db, number, 'byoCalls', holder, now)) === null
  for (const trunk of trunks) free = free && (await takeTrunkChannel(db, trunk, holder, now)) === null
  if (!free) await releaseSlot(db, holder.callId)
  return free
}
