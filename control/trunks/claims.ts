import type { Cidr } from '../../signalling/trunk/cidr.js'
import { type Refusal, refuse } from '../api/problem.js'
import type { Db, Trx } from '../db/database.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import type { Owner } from '../numbers/store.js'
import { pendingOf, rangesOf } from './trunk-route.js'

/*
 * Decides which addresses identify which trunk. An entry of a customer in `ipAcl` claims nothing at first. Staff make
 * a claim of it with the approval of the trunk, or a call with the password of the trunk proves its single source
 * address. Only active trunks claim. The trunk file of the operator needs no proof, and takes addresses away from
 * customers.
 */

/** Addresses of one trunk, as keys of `Cidr`. */
export interface Claim {
  readonly trunkId: string
  readonly organizationId: string
  readonly first: string
  readonly last: string
}

/** A single address from which a trunk called with its password. */
export interface Proof extends Claim {
  /** False if the trunk asks each call for its password. Its addresses then do not identify it. */
  readonly identifies: boolean
}

/** Maximum number of proven addresses of a trunk. Beyond it the oldest proof is removed. */
const MAX_PROOFS = 64

/**
 * Returns the ranges that identify callers, narrowest first, and the single addresses that a password proved. Trunks
 * that use a password alone have no ranges. The proofs of trunks that ask each call for a password are listed only for
 * addresses that another trunk proved.
 */
export async function listClaims(
  db: Db | Trx,
): Promise<{ readonly ranges: readonly Claim[]; readonly proofs: readonly Proof[] }> {
  const ranges = await db
    .selectFrom('sipTrunkRanges')
    .innerJoin('sipTrunks', 'sipTrunks.id', 'sipTrunkRanges.trunkId')
    .select(['sipTrunkRanges.trunkId', 'sipTrunkRanges.first', 'sipTrunkRanges.last'])
    .select('sipTrunks.organizationId')
    .where('sipTrunks.deletedAt', 'is', null)
    .where('sipTrunks.environment', '=', 'live')
    .where('sipTrunks.status', '=', 'active')
    .where('sipTrunks.inboundAuth', '!=', 'digest')
    .orderBy('sipTrunkRanges.first', 'desc')
    .orderBy('sipTrunkRanges.last')
    .orderBy('sipTrunks.id')
    .execute()
  const proofs = await db
    .selectFrom('sipTrunkProofs')
    .innerJoin('sipTrunks', 'sipTrunks.id', 'sipTrunkProofs.trunkId')
    .select(['sipTrunkProofs.trunkId', 'sipTrunkProofs.address'])
    .select(['sipTrunks.organizationId', 'sipTrunks.inboundAuth'])
    .where('sipTrunks.deletedAt', 'is', null)
    .where('sipTrunks.environment', '=', 'live')
    .where('sipTrunks.status', '=', 'active')
    .where((eb) =>
      eb.or([
        eb('sipTrunks.inboundAuth', '=', 'ip_acl'),
        eb(
          'sipTrunkProofs.address',
          'in',
          eb
            .selectFrom('sipTrunkProofs as proven')
            .innerJoin('sipTrunks as identified', 'identified.id', 'proven.trunkId')
            .select('proven.address')
            .where('identified.inboundAuth', '=', 'ip_acl'),
        ),
      ]),
    )
    .orderBy('sipTrunkProofs.provenAt')
    .orderBy('sipTrunks.id')
    .execute()
  return {
    ranges,
    proofs: proofs.map(({ address, inboundAuth, ...claim }) => ({
      ...claim,
      ...{ first: address, last: address },
      identifies: inboundAuth === 'ip_acl',
    })),
  }
}

/**
 * Returns an overlap of the ranges with a claim of an active trunk of another organization, or null. Locks the ranges
 * until the end of the transaction.
 */
export async function findOverlap(
  trx: Trx,
  owner: Owner,
  ranges: readonly Cidr[],
): Promise<{ readonly trunk: SipTrunkRow; readonly range: string } | null> {
  if (ranges.length === 0) return null
  await trx
    .updateTable('sipTrunkRangeLock')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .execute()
  for (const { first, last, text } of ranges) {
    const trunk = await trx
      .selectFrom('sipTrunkRanges')
      .innerJoin('sipTrunks', 'sipTrunks.id', 'sipTrunkRanges.trunkId')
      .selectAll('sipTrunks')
      .where('sipTrunkRanges.first', '<=', last)
      .where('sipTrunkRanges.last', '>=', first)
      .where('sipTrunks.deletedAt', 'is', null)
      .where('sipTrunks.environment', '=', owner.environment)
      .where('sipTrunks.organizationId', '!=', owner.organizationId)
      .where('sipTrunks.status', '=', 'active')
      .orderBy('sipTrunks.id')
      .limit(1)
      .executeTakeFirst()
    if (trunk !== undefined) return { trunk, range: text }
  }
  return null
}

/** Refuses ranges that another organization claims. */
export async function refuseOverlap(
  trx: Trx,
  owner: Owner,
  ranges: readonly Cidr[],
): Promise<Refusal<'conflict'> | null> {
  const overlap = await findOverlap(trx, owner, ranges)
  if (overlap === null) return null
  return refuse('conflict', `${overlap.range} overlaps with the addresses of another organization.`, {
    path: 'ipAcl',
    range: overlap.range,
  })
}

/** Stores the addresses of a new trunk of the trunk file as claims. Those of a customer wait. */
export async function addRanges(
  trx: Trx,
  { id, source }: Pick<SipTrunkRow, 'id' | 'source'>,
  ranges: readonly Cidr[],
): Promise<void> {
  if (source === 'file') await insertRanges(trx, id, ranges)
}

/** Replaces the addresses of a trunk. Ranges within an earlier claim stay claimed. Returns the pending ones as JSON. */
export async function replaceRanges(
  trx: Trx,
  { id, source }: Pick<SipTrunkRow, 'id' | 'source'>,
  ranges: readonly Cidr[],
): Promise<string> {
  const before = await trx.deleteFrom('sipTrunkRanges').where('trunkId', '=', id).returningAll().execute()
  const proven = (range: Cidr) =>
    source === 'file' || before.some(({ first, last }) => first <= range.first && range.last <= last)
  await insertRanges(trx, id, ranges.filter(proven))
  return listOf(ranges.filter((range) => !proven(range)))
}

/**
 * Turns all addresses of a trunk into claims, because staff approved them. Refuses if another organization claims
 * one.
 */
export async function approveRanges(trx: Trx, trunk: SipTrunkRow): Promise<Refusal<'conflict'> | null> {
  const refusal = await refuseOverlap(trx, trunk, rangesOf(trunk))
  if (refusal !== null) return refusal
  const pending = pendingOf(trunk)
  if (pending.length === 0) return null
  await insertRanges(trx, trunk.id, pending)
  await setPending(trx, trunk.id, [])
  return null
}

/**
 * Takes claims that overlap with the ranges away from customers of other organizations. Their addresses wait for
 * staff again. Returns the ids of their trunks.
 */
export async function takeRanges(
  trx: Trx,
  owner: Owner,
  ranges: readonly Cidr[],
): Promise<readonly string[]> {
  const taken: string[] = []
  for (;;) {
    const overlap = await findOverlap(trx, owner, ranges)
    if (overlap === null || overlap.trunk.source === 'file') return taken
    const { trunk } = overlap
    const lost = rangesOf(trunk).filter((own) =>
      ranges.some(({ first, last }) => own.first <= last && first <= own.last),
    )
    for (const { first, last } of ranges) {
      await trx
        .deleteFrom('sipTrunkRanges')
        .where('trunkId', '=', trunk.id)
        .where('first', '<=', last)
        .where('last', '>=', first)
        .execute()
    }
    const known = new Map([...pendingOf(trunk), ...lost].map((range) => [range.text, range]))
    await setPending(trx, trunk.id, [...known.values()])
    taken.push(trunk.id)
  }
}

/** Stores that a call with the password of a trunk came from an address (key of `Cidr`). `now` is Unix time (ms). */
export async function storeProof(db: Db | Trx, trunkId: string, address: string, now: number): Promise<void> {
  await db
    .insertInto('sipTrunkProofs')
    .values({ trunkId, address, provenAt: now })
    .onConflict((conflict) => conflict.columns(['trunkId', 'address']).doUpdateSet({ provenAt: now }))
    .execute()
  const kept = db
    .selectFrom('sipTrunkProofs')
    .select('address')
    .where('trunkId', '=', trunkId)
    .orderBy('provenAt', 'desc')
    .orderBy('address')
    .limit(MAX_PROOFS)
  await db
    .deleteFrom('sipTrunkProofs')
    .where('trunkId', '=', trunkId)
    .where('address', 'not in', kept)
    .execute()
}

async function setPending(trx: Trx, trunkId: string, ranges: readonly Cidr[]): Promise<void> {
  await trx
    .updateTable('sipTrunks')
    .set({ ipAclPending: listOf(ranges) })
    .where('id', '=', trunkId)
    .execute()
}

async function insertRanges(trx: Trx, trunkId: string, ranges: readonly Cidr[]): Promise<void> {
  if (ranges.length === 0) return
  await trx
    .insertInto('sipTrunkRanges')
    .values(ranges.map(({ first, last, prefix }) => ({ trunkId, first, last, prefix })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

const listOf = (ranges: readonly Cidr[]) => JSON.stringify(ranges.map(({ text }) => text))
