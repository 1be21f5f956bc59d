import { FIRST, LAST, SANDBOX, sandboxNumber } from '../carriers/sandbox-stock.js'
import type { Db, Trx } from '../db/database.js'
import type { NumberRow } from '../db/tables/calling.js'
import { insertNumber } from './store.js'

/** A number that never had an agent or a call is kept for its organization for this time (ms). */
const UNUSED_KEPT_MS = 3_600_000
/** A number without an agent counts as unused after this time without a call (ms). */
const QUIET_MS = 30 * 24 * 3_600_000

/**
 * Assigns a sandbox number to each organization that the user owns and that has no test number. An
 * organization stays without one while none is free: the next sign-in of an owner tries again.
 */
export async function assignMissingSandboxNumbers(db: Db | Trx, userId: string, now: number): Promise<void> {
  const without = await db
    .selectFrom('members')
    .where('userId', '=', userId)
    .where('role', '=', 'owner')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('numbers')
            .select('numbers.id')
            .whereRef('numbers.organizationId', '=', 'members.organizationId')
            .where('numbers.environment', '=', 'test')
            .where('numbers.releasedAt', 'is', null),
        ),
      ),
    )
    .select('organizationId')
    .execute()
  for (const { organizationId } of without) await assignSandboxNumber(db, organizationId, now)
}

/**
 * Assigns the lowest free sandbox number to an organization, so that its test keys can place calls. A new
 * installation gets +919000000100. When all are assigned, takes the number that is unused for the longest
 * time. Returns null if there is none.
 */
export async function assignSandboxNumber(
  db: Db | Trx,
  organizationId: string,
  now: number,
): Promise<NumberRow | null> {
  const taken = await db
    .selectFrom('numbers')
    .select('e164')
    .where('e164', '>=', sandboxNumber(FIRST))
    .where('e164', '<=', sandboxNumber(LAST))
    .where('releasedAt', 'is', null)
    .execute()
  const used = new Set(taken.map((row) => row.e164))
  for (let index = FIRST; index <= LAST; index++) {
    const e164 = sandboxNumber(index)
    if (used.has(e164)) continue
    // Another organization took the number in the meantime: try the next one.
    const number = await insertSandboxNumber(db, organizationId, e164, now)
    if (number !== null) return number
  }
  for (;;) {
    const e164 = await releaseUnused(db, now)
    if (e164 === null) return null
    const number = await insertSandboxNumber(db, organizationId, e164, now)
    if (number !== null) return number
  }
}

/** Returns null if the number is assigned. */
function insertSandboxNumber(
  db: Db | Trx,
  organizationId: string,
  e164: string,
  now: number,
): Promise<NumberRow | null> {
  const number = {
    organizationId,
    environment: 'test',
    e164,
    label: 'Sandbox number',
    provider: SANDBOX,
    region: 'DL',
    numberType: 'mobile',
  } as const
  return insertNumber(db, number, now)
}

/** Releases the sandbox number that is unused for the longest time. Returns null if none is unused. */
async function releaseUnused(db: Db | Trx, now: number): Promise<string | null> {
  for (;;) {
    const unused = await db
      .selectFrom('numbers')
      .where('e164', '>=', sandboxNumber(FIRST))
      .where('e164', '<=', sandboxNumber(LAST))
      .where('provider', '=', SANDBOX)
      .where('releasedAt', 'is', null)
      .where('agentId', 'is', null)
      .where('mediaEndpoint', 'is', null)
      .where('createdAt', '<=', now - UNUSED_KEPT_MS)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            // The index of the list of calls serves this condition. Other numbers of the organization count too.
            selectFrom('calls')
              .select('calls.id')
              .whereRef('calls.organizationId', '=', 'numbers.organizationId')
              .where('calls.environment', '=', 'test')
              .where('calls.createdAt', '>', now - QUIET_MS),
          ),
        ),
      )
      .select('id')
      .orderBy('createdAt')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (unused === undefined) return null
    const released = await db
      .updateTable('numbers')
      .set({ releasedAt: now, status: 'released' })
      .where('id', '=', unused.id)
      .where('releasedAt', 'is', null)
      .returning('e164')
      .executeTakeFirst()
    // Another process may have released it first: look for the next one.
    if (released !== undefined) return released.e164
  }
}
