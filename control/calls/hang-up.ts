import type { Deps } from '../api/deps.js'
import type { Owner } from '../numbers/store.js'
import { type CallWithParts, findCall, requestHangup } from './store.js'

/**
 * Ends a call of the owner on any node. A call that has ended is not changed. Returns the call as it is then,
 * or null when there is none.
 */
export async function hangUp(deps: Deps, owner: Owner, id: string): Promise<CallWithParts | null> {
  const call = await findCall(deps.db, owner, id)
  if (call === null || call.endedAt !== null) return call
  const done = call.nodeId === deps.nodeId && deps.calls.hangUp(call.id, 'operator')
  if (!done) await requestHangup(deps.db, owner, call.id, deps.clock.wall())
  return findCall(deps.db, owner, id)
}
