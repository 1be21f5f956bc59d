import type { ForwardPlan, LegClearance } from '../../../signalling/call/ports.js'
import { classification } from '../../agents/store.js'
import { clearDial } from '../../compliance/clearance.js'
import type { NumberRow } from '../../db/tables/calling.js'
import { hostProblem } from '../../trunks/outbound-host.js'
import { findNumberTrunk, recordTrunkUse } from '../../trunks/store.js'
import { gatewayOf } from '../../trunks/trunk-route.js'
import type { OriginationDeps } from './originate.js'
import { MAX_CALL_SECONDS, type PartySpec } from './party-spec.js'

/** A call that a telephone system of the customer takes. */
export interface Forwarding {
  readonly party: PartySpec
  readonly plan: ForwardPlan
}

/**
 * Returns how an inbound call reaches the telephone system of a number in `byo_sip`, or null if the number has none that
 * takes calls. `from` is the caller, which the telephone system sees. In the test environment the simulated carrier
 * stands for the telephone system.
 */
export async function forwarding(
  deps: OriginationDeps,
  number: NumberRow,
  from: string,
): Promise<Forwarding | null> {
  const { db, sandboxGateway } = deps
  const { id: numberId, organizationId, environment } = number
  const trunk = await findNumberTrunk(db, numberId)
  if (trunk?.status !== 'active') return null
  const purpose = await classification(db, organizationId)
  /** Allows the dial to the address that the number has now, or to where its telephone system is registered. */
  const clear = async (callId: string): Promise<LegClearance | null> => {
    const now = await findNumberTrunk(db, numberId)
    if (now?.status !== 'active') return null
    const { outboundHost: host } = now
    if (
      environment === 'live' &&
      host !== null &&
      (await hostProblem(deps.egress, organizationId, host)) !== null
    )
      return null
    const gateway = environment === 'test' ? sandboxGateway : gatewayOf(now, deps.rootKey, deps.clock.wall())
    if (gateway === null) return null
    const gate = { to: number.e164, environment, purpose: 'service', trigger: 'forward' } as const
    const clearance = await clearDial(
      deps,
      { organizationId, callId, from, gate, agentId: null, agentVersionId: null },
      (trx, _record, at) => recordTrunkUse(trx, now, now.id, 'outbound', at),
    )
    return clearance.cleared ? { permit: clearance.permit, gateway } : null
  }
  return {
    party: {
      row: { agentId: null, agentVersion: null, agentVersionId: null, routingMode: 'byo_sip' },
      purpose,
      pool: 'byoCalls',
      trigger: 'byo',
      forCall: () => ({ kind: 'none', maxCallSeconds: MAX_CALL_SECONDS }),
    },
    plan: { ringTimeoutMs: trunk.ringTimeoutMs, clear },
  }
}
