import type { Clock } from '../../media/base/clock.js'
import type { InboundTrunk, TrunkDirectory } from '../../signalling/call/ports.js'
import { addressKey, coveringPrefix } from '../../signalling/trunk/cidr.js'
import type { RootKey } from '../base/root-key.js'
import { dialledToE164 } from '../compliance/numbering.js'
import type { Db } from '../db/database.js'
import { cachedRead } from './cached-read.js'
import { type Claim, listClaims, type Proof, storeProof } from './claims.js'
import { findInboundTrunk, findTrunkByUsername, listRealms, trunkOfNumber } from './store.js'
import { claimedOf, inboundTrunkOf } from './trunk-route.js'

/** Cache time of address lists and realms (ms). Passwords are not cached. */
export const LIST_CACHE_MS = 1_000

/** Time (ms) after which a proof of the same address is stored again. It is then the newest of its trunk. */
const STORED_MS = 3_600_000
/** Maximum number of stored proofs that the process remembers. */
const MAX_STORED = 10_000

/**
 * Tells whether an address does not show who calls, because another trunk calls from there too. This is a trunk of
 * another organization, or a trunk that asks each call for a password. The dialled number tells the other trunks of an
 * organization apart.
 */
function isShared({ trunkId, organizationId }: Proof, proofs: readonly Proof[]): boolean {
  return proofs.some(
    (other) => other.organizationId !== organizationId || (other.trunkId !== trunkId && !other.identifies),
  )
}

/** Opens the directory of inbound trunks from the database. Unknown addresses cause no query. */
export function openTrunkCallers(
  db: Db,
  rootKey: RootKey,
  clock: Pick<Clock, 'now' | 'wall'>,
): TrunkDirectory {
  const claims = cachedRead(clock, LIST_CACHE_MS, () => listClaims(db))
  const realms = cachedRead(clock, LIST_CACHE_MS, () => listRealms(db))
  /** Monotonic times (ms) at which proofs were stored, by trunk and address. */
  const stored = new Map<string, number>()

  return {
    async byAddress(address, dialled) {
      const key = addressKey(address)
      if (key === null) return null
      const covering = ({ first, last }: Claim) => first <= key && key <= last
      const { ranges, proofs } = await claims()
      const approved = ranges.filter(covering)
      // An approved range goes before an address that another organization proved.
      const owner = approved[0]?.organizationId
      const here = proofs.filter(covering)
      const proven = here.filter(
        (proof) =>
          proof.identifies &&
          (owner === undefined || proof.organizationId === owner) &&
          !isShared(proof, here),
      )
      const candidates = [...approved, ...proven]
      const [firstMatch] = candidates
      if (firstMatch === undefined) return null
      let { trunkId } = firstMatch
      if (candidates.some((claim) => claim.trunkId !== trunkId)) {
        // A PBX may have several trunks. The dialled number determines which one is used.
        const e164 = dialledToE164(dialled)
        const ids = candidates.map((claim) => claim.trunkId)
        trunkId = (e164 === null ? null : await trunkOfNumber(db, ids, e164)) ?? trunkId
      }
      const trunk = await findInboundTrunk(db, trunkId)
      if (trunk === null || trunk.inboundAuth === 'digest' || trunk.status !== 'active') return null
      const found = inboundTrunkOf(trunk, rootKey)
      // The cached list may be outdated, so the range is checked again.
      const isProof = !approved.some((claim) => claim.trunkId === trunkId)
      return coveringPrefix(isProof ? found.ranges : claimedOf(trunk), address) === null ? null : found
    },
    async byUsername(username) {
      const trunk = await findTrunkByUsername(db, username)
      return trunk === null ? null : inboundTrunkOf(trunk, rootKey)
    },
    async realm(realm) {
      return (await realms()).get(realm) ?? null
    },
    async proved(trunk, address) {
      const key = addressKey(address)
      if (key === null) return
      const name = `${trunk.id} ${key}`
      const storedAt = stored.get(name)
      const isRecent = storedAt !== undefined && clock.now() - storedAt < STORED_MS
      if (!(await needsProof(trunk, key, isRecent))) return
      await storeProof(db, trunk.id, key, clock.wall())
      stored.delete(name)
      for (const oldest of stored.keys()) {
        if (stored.size < MAX_STORED) break
        stored.delete(oldest)
      }
      stored.set(name, clock.now())
    },
  }

  /**
   * Returns whether a call with the password stores a proof of its address. An approved address needs none. Another
   * address needs one if this process did not store one recently, or if its trunk needs no password there and the
   * stored proof is gone.
   */
  async function needsProof(
    { id, inboundAuth }: InboundTrunk,
    key: string,
    isRecent: boolean,
  ): Promise<boolean> {
    const { ranges, proofs } = await claims()
    const covers = ({ trunkId, first, last }: Claim) => trunkId === id && first <= key && key <= last
    if (ranges.some(covers)) return false
    return !isRecent || (inboundAuth === 'ip_acl' && !proofs.some(covers))
  }
}
