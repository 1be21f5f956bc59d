import type { Clock } from '../../media/base/clock.js'
import type { InboundTrunk, TrunkDirectory } from '../../signalling/call/ports.js'
import { addressKey, coveringPrefix } from '../../signalling/trunk/cidr.js'
import type { RootKey } from '../base/root-key.js'
import { dialledToE164 } from '../compliance/numbering.js'
import type { Db } from '../db/database.js'
import { cachedRead } from './cached-read.js'
import { type Claim, listClaims, storeProof } from './claims.js'
import { findInboundTrunk, findTrunkByUsername, listRealms, trunkOfNumber } from './store.js'
import { claimedOf, inboundTrunkOf } from './trunk-route.js'

/** Cache time of address lists and realms (ms). Passwords are not cached. */
export const LIST_CACHE_MS = 1_000

/** Time (ms) for which the use of an address with a password counts. */
const USED_MS = 3_600_000
const MAX_USED = 10_000

/** The trunk that last called from an address with its password. */
interface Use {
  readonly trunkId: string
  /** Monotonic time (ms) at which a trunk called from there after another one; null when only one did. */
  readonly sharedAt: number | null
  readonly at: number
}

/** Opens the directory of inbound trunks from the database. Unknown addresses cause no query. */
export function openTrunkCallers(
  db: Db,
  rootKey: RootKey,
  clock: Pick<Clock, 'now' | 'wall'>,
): TrunkDirectory {
  const claims = cachedRead(clock, LIST_CACHE_MS, () => listClaims(db))
  const realms = cachedRead(clock, LIST_CACHE_MS, () => listRealms(db))
  const used = new Map<string, Use>()

  /** Returns whether several trunks call from an address, so that it does not tell who calls. */
  const isShared = (key: string, trunkId: string): boolean => {
    const use = used.get(key)
    if (use === undefined || clock.now() - use.at > USED_MS) return false
    return use.trunkId !== trunkId || (use.sharedAt !== null && clock.now() - use.sharedAt <= USED_MS)
  }

  return {
    async byAddress(address, dialled) {
      const key = addressKey(address)
      if (key === null) return null
      const covering = ({ first, last }: Claim) => first <= key && key <= last
      const { ranges, proofs } = await claims()
      const approved = ranges.filter(covering)
      // An approved range goes before an address that another organization proved.
      const owner = approved[0]?.organizationId
      const proven = proofs.filter(
        (claim) =>
          covering(claim) &&
          (owner === undefined || claim.organizationId === owner) &&
          !isShared(key, claim.trunkId),
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
      const now = clock.now()
      const before = used.get(key)
      const changes = before !== undefined && before.trunkId !== trunk.id && now - before.at <= USED_MS
      used.delete(key)
      for (const oldest of used.keys()) {
        if (used.size < MAX_USED) break
        used.delete(oldest)
      }
      used.set(key, { trunkId: trunk.id, sharedAt: changes ? now : (before?.sharedAt ?? null), at: now })
      if (!(await needsProof(trunk, key))) return
      await storeProof(db, trunk.id, key, clock.wall())
    },
  }

  /**
   * Returns whether a call with the password has to prove the address: the trunk needs no password from addresses
   * that identify it, and this one does not yet.
   */
  async function needsProof({ id, inboundAuth }: InboundTrunk, key: string): Promise<boolean> {
    if (inboundAuth !== 'ip_acl') return false
    const { ranges, proofs } = await claims()
    return ![...ranges, ...proofs].some(
      ({ trunkId, first, last }) => trunkId === id && first <= key && key <= last,
    )
  }
}
