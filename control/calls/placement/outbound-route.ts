import type { Gateway } from '../../../signalling/call/ports.js'
import type { Deps } from '../../api/deps.js'
import { type Refusal, refuse } from '../../api/problem.js'
import type { NumberRow } from '../../db/tables/calling.js'
import type { SipTrunkRow } from '../../db/tables/trunks.js'
import { examineHost } from '../../trunks/outbound-host.js'
import { findOutboundTrunk } from '../../trunks/store.js'
import { gatewayOf, isCustomers } from '../../trunks/trunk-route.js'

/** Default ringing time after which a call counts as not answered (ms). */
export const RING_TIMEOUT_MS = 45_000

/** The route of calls from a number. */
export interface OutboundRoute {
  readonly gateway: Gateway
  /** The trunk whose channels the call uses. Null for the simulated carrier. */
  readonly trunk: SipTrunkRow | null
  readonly ringTimeoutMs: number
}

/**
 * Returns the route of calls from a number. Numbers of the test environment call the simulated carrier, also
 * when they are on a trunk. A live number calls over its trunk, which must be active and have a host or a registered
 * telephone system.
 * Throws EngineError `storage_failed` when the trunk's password cannot be decrypted.
 */
export async function outboundRoute(
  deps: Pick<Deps, 'db' | 'clock' | 'rootKey' | 'egress' | 'sandboxGateway'>,
  number: NumberRow,
): Promise<OutboundRoute | Refusal> {
  if (number.environment === 'test') {
    return { gateway: deps.sandboxGateway, trunk: null, ringTimeoutMs: RING_TIMEOUT_MS }
  }
  const { provider } = number
  const trunk = await findOutboundTrunk(deps.db, number)
  if (trunk === null) {
    return refuse('provider_unavailable', 'The number has no SIP trunk. Assign one before placing calls.', {
      provider,
    })
  }
  if (trunk.status !== 'active') {
    return refuse('sip_trunk_not_active', 'The SIP trunk of the number is not active. Enable it first.', {
      status: trunk.status,
    })
  }
  const gateway = gatewayOf(trunk, deps.rootKey, deps.clock.wall())
  if (gateway === null) {
    return refuse(
      'provider_unavailable',
      'No telephone system is registered on the SIP trunk of the number, and the trunk has no outboundHost. Register with the credentials of the trunk, or set outboundHost.',
      { path: 'numberId' },
    )
  }
  const named = gateway.contact === undefined && isCustomers(trunk)
  const problem = named ? await examineHost(deps.egress, number.organizationId, gateway.host) : null
  if (problem !== null) {
    return refuse(
      problem.unresolved ? 'provider_unavailable' : 'unprocessable_entity',
      `outboundHost of the SIP trunk of the number ${problem.reason}.`,
      { path: 'numberId' },
    )
  }
  return { gateway, trunk, ringTimeoutMs: trunk.ringTimeoutMs }
}
