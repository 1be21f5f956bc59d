import type { AccountActor, Audience, SessionActor, StaffActor } from '../../api/actor.js'
import { type Refusal, refuse } from '../../api/problem.js'
import { roleScopes } from '../../api/scopes.js'
import { constantTimeEqual } from '../../base/crypto.js'
import type { Db } from '../../db/database.js'
import { CSRF_COOKIE, readCookie, SESSION_COOKIE } from './cookies.js'
import { csrfToken, findSession, type Session, type SessionDeps } from './sessions.js'

/** The parts of a request that identify a session. */
export interface SessionRequest {
  /** True if the request changes data. */
  readonly mutates: boolean
  header(name: string): string | undefined
}

export interface SessionRules extends SessionDeps {
  /** Origins from which browsers may send changes: the service's own and the dashboard's. */
  origins(): readonly string[]
}

/**
 * Returns the signed-in user as the actor that the audience needs: for one organization and environment, or
 * for none. Refuses with `unauthenticated` without a live session, and with `forbidden` for a change that
 * another site may have caused or for a user without access.
 */
export async function sessionActor(
  rules: SessionRules,
  audience: Exclude<Audience, 'public' | 'signed' | 'operator'>,
  request: SessionRequest,
): Promise<SessionActor | AccountActor | StaffActor | Refusal> {
  const token = readCookie(request.header('cookie'), SESSION_COOKIE)
  const session = token === null ? null : await findSession(rules, token)
  if (session === null)
    return refuse('unauthenticated', 'Sign in first: there is no session, or it has expired.')
  if (request.mutates && !isFromOwnPage(rules, session, request)) {
    return refuse(
      'forbidden',
      `Changes in a session need the header x-svc-csrf with the value of the cookie ${CSRF_COOKIE}, and an Origin of the dashboard.`,
    )
  }
  const { id: sessionId, userId, staff, expiresAt: sessionEndsAt, factorAt, steppedUpAt } = session
  if (audience === 'account') {
    return { kind: 'account', sessionId, sessionEndsAt, userId, staff, factorAt, steppedUpAt }
  }
  if (audience === 'staff') {
    if (!staff) return refuse('forbidden', 'This operation is for staff only.')
    return factorAt === null ? refuseUnproven('Staff') : { kind: 'staff', sessionId, userId }
  }
  if (staff) return refuse('forbidden', 'Staff can use the staff operations only.')
  return memberActor(rules.db, session, request)
}

/** Refuses a session in which no second factor was proven. Such a session can still add one. */
function refuseUnproven(who: string): Refusal<'forbidden'> {
  return refuse(
    'forbidden',
    `${who} need a second factor. Add one with POST /v1/auth/factors; other operations work after its confirmation.`,
    { reason: 'second_factor_required' },
  )
}

/**
 * Returns whether the change comes from our own pages: it carries the session's CSRF token and one of our
 * origins.
 */
function isFromOwnPage(rules: SessionRules, session: Session, request: SessionRequest): boolean {
  const expected = csrfToken(rules.rootKey, session.id)
  const sent = request.header('x-svc-csrf') ?? ''
  const cookie = readCookie(request.header('cookie'), CSRF_COOKIE) ?? ''
  const origin = request.header('origin')
  return (
    constantTimeEqual(sent, expected) &&
    constantTimeEqual(cookie, expected) &&
    origin !== undefined &&
    rules.origins().includes(origin)
  )
}

async function memberActor(
  db: Db,
  session: Session,
  request: SessionRequest,
): Promise<SessionActor | Refusal> {
  const environment = request.header('x-svc-environment') ?? 'test'
  if (environment !== 'test' && environment !== 'live') {
    return refuse('validation_error', 'The request is invalid. details.issues lists every invalid field.', {
      issues: [{ path: 'header.x-svc-environment', reason: 'must be test or live' }],
    })
  }
  const wanted = request.header('x-svc-organization')
  const memberships = await db
    .selectFrom('members as m')
    .leftJoin('organizationProfiles as p', 'p.organizationId', 'm.organizationId')
    .where('m.userId', '=', session.userId)
    .select(['m.organizationId', 'm.role', 'p.requireSecondFactor'])
    .orderBy('m.createdAt')
    .orderBy('m.organizationId')
    .execute()
  if (wanted === undefined && memberships.length > 1) {
    return refuse(
      'bad_request',
      'You belong to several organizations. Select one with the header x-svc-organization.',
    )
  }
  const member =
    wanted === undefined
      ? memberships[0]
      : memberships.find(({ organizationId }) => organizationId === wanted)
  if (member === undefined) {
    return refuse(
      'forbidden',
      wanted === undefined
        ? 'You do not belong to any organization.'
        : 'You do not belong to the organization in the header x-svc-organization.',
    )
  }
  if (member.requireSecondFactor === 1 && session.factorAt === null) {
    return refuseUnproven('Members of this organization')
  }
  return {
    kind: 'session',
    sessionId: session.id,
    userId: session.userId,
    organizationId: member.organizationId,
    environment,
    role: member.role,
    scopes: roleScopes(member.role),
  }
}
