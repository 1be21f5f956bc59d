import { callNeverBegan } from '../../../signalling/call/call-events.js'
import type { Deps } from '../../api/deps.js'
import type { Db } from '../../db/database.js'
import type { NumberRow } from '../../db/tables/calling.js'
import type { SipTrunkRow } from '../../db/tables/trunks.js'
import { recordTrunkUse } from '../../trunks/store.js'
import { holdForCall } from '../../wallet/call-billing.js'
import { storeCallEvent } from '../lifecycle/settle.js'
import { insertCall } from '../store.js'
import { releaseSlot, type SlotPool, takeSlot, takeTrunkChannel } from './call-slots.js'
import type { PartySpec } from './party-spec.js'

/** An inbound call that begins now. */
export interface InboundCall {
  readonly callId: string
  readonly number: NumberRow
  /** Null for callers on this machine and in the dashboard. */
  readonly trunk: SipTrunkRow | null
  /** Calling and called party. */
  readonly from: string
  readonly to: string
  readonly party: PartySpec
  readonly variables: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
}

/** Why a stored call is refused as busy. */
export interface Busy {
  readonly cause: 'pool_full' | 'insufficient_funds'
  readonly note: string
}

const NO_FUNDS: Busy = { cause: 'insufficient_funds', note: 'the balance does not cover a call' }

/**
 * Stores a call, holds its money, and reserves a slot of its pool and a channel of its trunk. Returns null, or why the call
 * is refused; its row then says so. Throws a unique violation, and changes nothing, when the id was used before.
 */
export async function storeInboundCall(
  { db, clock, nodeId, policy }: Pick<Deps, 'db' | 'clock' | 'nodeId' | 'policy'>,
  call: InboundCall,
): Promise<Busy | null> {
  const { callId: id, number, trunk, from, to, party, variables, metadata } = call
  const { organizationId, environment } = number
  const now = clock.wall()
  const neverBegan = (busy: Busy) =>
    callNeverBegan(id, { by: 'engine', fault: 'customer', ...busy }, clock.wall())
  const unfunded = await db.transaction().execute(async (trx): Promise<Busy | null> => {
    await insertCall(
      trx,
      {
        ...{ id, organizationId, environment, direction: 'inbound', numberId: number.id, nodeId },
        fromNumber: from,
        toNumber: to,
        ...party.row,
        purpose: party.purpose,
        ...{ variables, metadata },
        complianceRunId: null,
        evidenceId: null,
        idempotencyId: null,
      },
      now,
    )
    if (trunk !== null) await recordTrunkUse(trx, trunk, trunk.id, 'inbound', now)
    if (await holdForCall(trx, { id, organizationId, environment }, now)) return null
    await storeCallEvent(trx, policy, neverBegan(NO_FUNDS))
    return NO_FUNDS
  })
  if (unfunded !== null) return unfunded
  const full = await reserveSlots(db, number, party.pool, trunk, { callId: id, nodeId }, now)
  if (full !== null) await db.transaction().execute((trx) => storeCallEvent(trx, policy, neverBegan(full)))
  return full
}

/** Reserves a slot of the pool and, over a trunk, one of its channels. Returns null, or what has none left. */
async function reserveSlots(
  db: Db,
  number: NumberRow,
  pool: SlotPool,
  trunk: SipTrunkRow | null,
  holder: { readonly callId: string; readonly nodeId: string },
  now: number,
): Promise<Busy | null> {
  const poolFull = (note: string): Busy => ({ cause: 'pool_full', note })
  if ((await takeSlot(db, number, pool, holder, now)) !== null) {
    return poolFull(pool === 'agentCalls' ? 'no free agent slot' : 'no free slot for a bot')
  }
  if (trunk === null) return null
  if ((await takeTrunkChannel(db, trunk, holder, now)) === null) return null
  await releaseSlot(db, holder.callId)
  return poolFull('no free channel of the trunk')
}
