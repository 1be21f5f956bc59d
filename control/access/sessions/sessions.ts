import { createHmac } from 'node:crypto'
import type { Clock } from '../../../media/base/clock.js'
import { ulid } from '../../../media/base/ids.js'
import { constantTimeEqual, randomBase62 } from '../../base/crypto.js'
import type { RootKey } from '../../base/root-key.js'
import type { Db, Trx } from '../../db/database.js'
import type { Role } from '../../db/tables/identity.js'

export const SESSION_IDLE_MS = 12 * 3_600_000
export const SESSION_LIFE_MS = 7 * 24 * 3_600_000
/** Resolution of the last activity (ms). */
const SEEN_MS = 60_000
/** 43 characters of base62 hold 256 bits. */
const TOKEN_LENGTH = 43
const TOKEN = /^[0-9A-Za-z]{43}$/

export interface SessionDeps {
  readonly db: Db
  readonly rootKey: RootKey
  readonly clock: Clock
}

/** A signed-in user. */
export interface Session {
  readonly id: string
  readonly userId: string
  readonly staff: boolean
  readonly createdAt: number
  readonly expiresAt: number
  /** Unix time (ms) of the last proof of a second factor in the session, its sign-in included. Null without one. */
  readonly factorAt: number | null
  /** Unix time (ms) of the last proof that a change in the session asked for. Null without one. */
  readonly steppedUpAt: number | null
}

export interface NewSession {
  readonly id: string
  /** The cookie's value. It is not stored. */
  readonly token: string
  readonly expiresAt: number
}

/** Starts a session. `proven` tells whether the user has proven a second factor. */
export async function createSession(
  db: Db | Trx,
  { rootKey, clock }: Pick<SessionDeps, 'rootKey' | 'clock'>,
  userId: string,
  proven = false,
): Promise<NewSession> {
  const now = clock.wall()
  const id = ulid(now)
  const token = randomBase62(TOKEN_LENGTH)
  const expiresAt = now + SESSION_LIFE_MS
  await db
    .insertInto('sessions')
    .values({
      ...{ id, userId, hash: hashOf(rootKey, token), createdAt: now, lastSeenAt: now, expiresAt },
      factorAt: proven ? now : null,
      steppedUpAt: null,
    })
    .execute()
  return { id, token, expiresAt }
}

/**
 * Returns the session of a cookie and records the activity. Returns null when the cookie is unknown, expired
 * or malformed.
 */
export async function findSession(
  { db, rootKey, clock }: SessionDeps,
  token: string,
): Promise<Session | null> {
  if (!TOKEN.test(token)) return null
  const hash = hashOf(rootKey, token)
  const now = clock.wall()
  const row = await db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.userId')
    .where('s.hash', '=', hash)
    .where('s.expiresAt', '>', now)
    .where('s.lastSeenAt', '>', now - SESSION_IDLE_MS)
    .select(['s.id', 's.userId', 's.hash', 's.createdAt', 's.expiresAt', 's.lastSeenAt', 'u.staff'])
    .select(['s.factorAt', 's.steppedUpAt'])
    .executeTakeFirst()
  if (row === undefined || !constantTimeEqual(row.hash, hash)) return null
  if (row.lastSeenAt <= now - SEEN_MS) {
    await db
      .updateTable('sessions')
      .set({ lastSeenAt: now })
      .where('id', '=', row.id)
      .where('lastSeenAt', '<', now)
      .execute()
  }
  const { id, userId, createdAt, expiresAt, factorAt, steppedUpAt } = row
  return { id, userId, staff: row.staff === 1, createdAt, expiresAt, factorAt, steppedUpAt }
}

/**
 * Returns the role that the user of a session has in an organization. Null when the session is over, when the user
 * left the organization, or when the organization requires a second factor and the session has none.
 */
export async function roleInSession(
  db: Db | Trx,
  { sessionId, organizationId }: { readonly sessionId: string; readonly organizationId: string },
  now: number,
): Promise<Role | null> {
  const row = await db
    .selectFrom('sessions as s')
    .innerJoin('members as m', 'm.userId', 's.userId')
    .leftJoin('organizationProfiles as p', 'p.organizationId', 'm.organizationId')
    .where('s.id', '=', sessionId)
    .where('s.expiresAt', '>', now)
    .where('s.lastSeenAt', '>', now - SESSION_IDLE_MS)
    .where('m.organizationId', '=', organizationId)
    .where((eb) =>
      eb.or([
        eb('s.factorAt', 'is not', null),
        eb('p.requireSecondFactor', 'is', null),
        eb('p.requireSecondFactor', '=', 0),
      ]),
    )
    .select('m.role')
    .executeTakeFirst()
  return row?.role ?? null
}

/** Returns the CSRF token that every change in this session must carry. It is bound to the session. */
export function csrfToken(rootKey: RootKey, sessionId: string): string {
  return createHmac('sha256', rootKey.subkey('session-csrf')).update(sessionId).digest('base64url')
}

export async function endSession(db: Db | Trx, sessionId: string): Promise<void> {
  await db.deleteFrom('sessions').where('id', '=', sessionId).execute()
}

/** Records that a second factor was proven in a session. `asked` tells whether a change asked for it. */
export async function proveSession(
  db: Db | Trx,
  sessionId: string,
  asked: boolean,
  now: number,
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ factorAt: now, ...(asked ? { steppedUpAt: now } : {}) })
    .where('id', '=', sessionId)
    .execute()
}

/** Removes the proof of a second factor from all sessions of a user who has no factor left. */
export async function unproveSessions(db: Db | Trx, userId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ factorAt: null, steppedUpAt: null })
    .where('userId', '=', userId)
    .execute()
}

/**
 * Ends all sessions of a user, except the session `except`. Also ends sign-ins that wait for a second factor: the
 * password may have changed since.
 */
export async function endUserSessions(db: Db | Trx, userId: string, except: string | null): Promise<void> {
  await db.deleteFrom('factorChallenges').where('userId', '=', userId).execute()
  let query = db.deleteFrom('sessions').where('userId', '=', userId)
  if (except !== null) query = query.where('id', '<>', except)
  await query.execute()
}

/** Deletes expired sessions. Returns their number. */
export async function sweepSessions(db: Db, now: number): Promise<number> {
  const swept = await db
    .deleteFrom('sessions')
    .where((eb) => eb.or([eb('expiresAt', '<=', now), eb('lastSeenAt', '<=', now - SESSION_IDLE_MS)]))
    .executeTakeFirst()
  return Number(swept.numDeletedRows)
}

function hashOf(rootKey: RootKey, token: string): string {
  return createHmac('sha256', rootKey.subkey('session-hash')).update(token).digest('hex')
}
