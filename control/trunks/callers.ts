import type { TrunkDirectory } from '../../signalling/ports.js'
import { addressKey } from '../../signalling/trunk/cidr.js'
import { e164OfDialled } from '../compliance/numbering.js'
import type { Db } from '../db/open.js'
import { findHeldNumber } from '../numbers/store.js'
import type { RootKey } from '../root-key.js'
import { inboundTrunkOf } from './route.js'
import { findTrunkByRealm, findTrunkByUsername, findTrunksByAddress } from './store.js'

/** Who may call in over a trunk, from the tables, as they are at that moment. */
export function openTrunkCallers(db: Db, rootKey: RootKey): TrunkDirectory {
  return {
    async byAddress(address, dialled) {
      const key = addressKey(address)
      const trunks = key === null ? [] : await findTrunksByAddress(db, key)
      const [narrowest] = trunks
      if (narrowest === undefined) return null
      if (trunks.length === 1) return inboundTrunkOf(narrowest, rootKey)
      // One telephone system may have several trunks: the number tells which one is meant.
      const e164 = e164OfDialled(dialled)
      const number = e164 === null ? null : await findHeldNumber(db, e164)
      const host = trunks.find(({ id }) => id === number?.sipTrunkId)
      return inboundTrunkOf(host ?? narrowest, rootKey)
    },
    async byUsername(username) {
      const trunk = await findTrunkByUsername(db, username)
      return trunk === null ? null : inboundTrunkOf(trunk, rootKey)
    },
    async realm(realm) {
      return (await findTrunkByRealm(db, realm))?.digestAlgorithm ?? null
    },
  }
}
