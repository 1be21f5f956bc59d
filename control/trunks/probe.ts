import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { Gateway } from '../../signalling/call/ports.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import { type ProbeMethod, probeTrunk, type TrunkProbe } from '../../signalling/trunk/trunk-probe.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import type { Egress } from '../net/egress.js'
import { hostProblem } from './outbound-host.js'
import { storeProbe } from './store.js'
import { isCustomers, probeTargetOf } from './trunk-route.js'

export interface ProbeOptions {
  readonly db: Db
  readonly rootKey: RootKey
  readonly sip: Pick<SipServer, 'request'>
  readonly egress: Pick<Egress, 'check'>
  /** Answers for the trunks of the test environment. */
  readonly sandboxGateway: Gateway
  readonly clock: Clock
  readonly log: Log
}

/**
 * Tests the gateway of a trunk and stores the result as `lastProbe`. Returns null if the trunk was deleted
 * in the meantime. A trunk without an outbound host gets a failed result.
 */
export async function testTrunk(
  options: ProbeOptions,
  trunk: SipTrunkRow,
  method: ProbeMethod,
): Promise<SipTrunkRow | null> {
  return storeProbe(options.db, trunk, trunk.id, await probe(options, trunk, method))
}

/**
 * Tests the gateways of the trunk file once in the background and logs the results at start. Stores nothing
 * after `close`.
 */
export function testFileTrunks(options: ProbeOptions): { close(): void } {
  const { db, log } = options
  let closed = false
  const run = async (): Promise<void> => {
    const trunks = await db
      .selectFrom('sipTrunks')
      .selectAll()
      .where('source', '=', 'file')
      .where('status', '=', 'active')
      .where('outboundHost', 'is not', null)
      .where('deletedAt', 'is', null)
      .execute()
    await Promise.all(
      trunks.map(async (trunk) => {
        const result = await probe(options, trunk, 'options')
        if (closed) return
        const { ok, sipStatus, latencyMs, error } = result
        const fields = { trunkId: trunk.id, name: trunk.name, sipStatus, latencyMs, error }
        if (ok) log.info(fields, 'trunk.probe_succeeded')
        else log.warn(fields, 'trunk.probe_failed')
        await storeProbe(db, trunk, trunk.id, result)
      }),
    )
  }
  run().catch((error: unknown) => {
    if (!closed) log.error({ error: errorText(error) }, 'trunk.probe_aborted')
  })
  return {
    close() {
      closed = true
    },
  }
}

async function probe(
  { rootKey, sip, clock, egress, sandboxGateway }: ProbeOptions,
  trunk: SipTrunkRow,
  method: ProbeMethod,
): Promise<TrunkProbe> {
  const unasked = (error: string): TrunkProbe => {
    return { at: clock.wall(), ok: false, method, sipStatus: null, latencyMs: null, error }
  }
  if (trunk.outboundHost === null && method === 'register')
    return unasked('outboundHost is not set: there is nowhere to register')
  const target = probeTargetOf(trunk, rootKey, clock.wall())
  if (target === null)
    return unasked(
      'outboundHost is not set, and no telephone system is registered with the user name of the trunk',
    )
  // Nothing of the test environment leaves this machine.
  if (trunk.environment === 'test')
    return probeTrunk({ sip, clock }, { ...target, publicOnly: false, ...sandboxGateway }, method)
  const named = target.contact === undefined && isCustomers(trunk)
  const problem = named ? await hostProblem(egress, trunk.organizationId, target.host) : null
  if (problem !== null) return unasked(`outboundHost ${problem}`)
  return probeTrunk({ sip, clock }, target, method)
}
