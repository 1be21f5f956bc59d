import { newId } from '../../../media/base/ids.js'
import { callNeverBegan } from '../../../signalling/call/call-events.js'
import type { Ending } from '../../../signalling/call/ending.js'
import { classification } from '../../agents/store.js'
import type { Deps } from '../../api/deps.js'
import type { CallRow, NumberRow } from '../../db/tables/calling.js'
import { storeCallEvent } from '../lifecycle/settle.js'
import { insertCall } from '../store.js'

/** A call that was refused before it had a party. It has no price. */
export interface RefusedCall {
  readonly number: NumberRow
  readonly direction: CallRow['direction']
  /** Calling and called party. */
  readonly from: string
  readonly to: string
  readonly routingMode: CallRow['routingMode']
  readonly ending: Pick<Ending, 'cause' | 'note'>
  /** Run of the gate that asked the DND register for the call. Default: null. */
  readonly complianceRunId?: string | null
}

/** Stores a refused call with its end, so that the customer sees why it did not happen. Returns its id. */
export async function storeRefusedCall(
  { db, clock, nodeId, policy }: Pick<Deps, 'db' | 'clock' | 'nodeId' | 'policy'>,
  { number, direction, from, to, routingMode, ending, complianceRunId = null }: RefusedCall,
): Promise<string> {
  const { id: numberId, organizationId, environment } = number
  const purpose = await classification(db, organizationId)
  const now = clock.wall()
  const callId = newId('call', now)
  await db.transaction().execute(async (trx) => {
    await insertCall(
      trx,
      {
        ...{ id: callId, organizationId, environment, direction, numberId, routingMode, purpose, nodeId },
        fromNumber: from,
        toNumber: to,
        ...{ agentId: null, agentVersion: null, agentVersionId: null },
        variables: {},
        metadata: {},
        complianceRunId,
        evidenceId: null,
        idempotencyId: null,
        ratePaisePerMinute: 0,
      },
      now,
    )
    await storeCallEvent(
      trx,
      policy,
      callNeverBegan(callId, { by: 'engine', fault: 'customer', ...ending }, now),
    )
  })
  return callId
}
