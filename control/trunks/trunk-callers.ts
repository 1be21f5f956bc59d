import type { Clock } from '../../media/base/clock.js'
import type { TrunkDirectory } from '../../signalling/call/ports.js'
import { addressKey, coveringPrefix } from '../../signalling/trunk/cidr.js'
import type { RootKey } from '../base/root-key.js'
import { dialledToE164 } from '../compliance/numbering.js'
import type { Db } from '../db/database.js'
import { cachedRead } from './cached-read.js'
import {
  findInboundTrunk,
  findTrunkByUsername,
  listCallerRanges,
  listRealms,
  trunkOfNumber,
} from './store.js'
import { inboundTrunkOf } from './trunk-route.js'

/** Cache time of address lists and realms (ms). Passwords are not cached. */
export const LIST_CACHE_MS = 1_000

/** Opens the directory of inbound trunks from the database. Unknown addresses cause no query. */
export function openTrunkCallers(db: Db, rootKey: RootKey, clock: Pick<Clock, 'now'>): TrunkDirectory {
  const ranges = cachedRead(clock, LIST_CACHE_MS, () => listCallerRanges(db))
  const realms = cachedRead(clock, LIST_CACHE_MS, () => listRealms(db))
  return {
    async byAddress(address, dialled) {
      const key = addressKey(address)
      if (key === null) return null
      const covering = (await ranges()).filter(({ first, last }) => first <= key && key <= last)
      const [firstMatch] = covering
      if (firstMatch === undefined) return null
      let { trunkId } = firstMatch
      if (covering.some((range) => range.trunkId !== trunkId)) {
        // A PBX may have several trunks. The dialled number determines which one is used.
        const e164 = dialledToE164(dialled)
        const ids = covering.map((range) => range.trunkId)
        trunkId = (e164 === null ? null : await trunkOfNumber(db, ids, e164)) ?? trunkId
      }
      const trunk = await findInboundTrunk(db, trunkId)
      if (trunk === null || trunk.inboundAuth === 'digest') return null
      const found = inboundTrunkOf(trunk, rootKey)
      // The cached list may be outdated, so the range is checked again.
      return coveringPrefix(found.ranges, address) === null ? null : found
    },
    async byUsername(username) {
      const trunk = await findTrunkByUsername(db, username)
      return trunk === null ? null : inboundTrunkOf(trunk, rootKey)
    },
    async realm(realm) {
      return (await realms()).get(realm) ?? null
    },
  }
}
