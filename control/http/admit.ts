import { authenticate, type KeyVerifier } from '../access/keys/api-keys.js'
import { readCookie, SESSION_COOKIE } from '../access/sessions/cookies.js'
import { sessionActor } from '../access/sessions/session-actor.js'
import { type AcceptedSignature, acceptSignedRequest } from '../access/signature.js'
import { addressGroup, throttle } from '../access/throttle.js'
import type { Deps } from '../api/deps.js'
import type { AnyActor, Audience, KeyActor, Operation, SessionActor, Signer } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { constantTimeEqual } from '../base/crypto.js'
import type { Settings } from '../config/settings.js'
import { budgetHeaders, rateLimited, requestCost } from '../limits/rate-limiter.js'
import { type Exchange, isSafe } from './exchange.js'
import { readBytes } from './json-body.js'
import { sessionOrigins } from './origins.js'

/** A request that may go on. */
export interface Admitted {
  readonly actor: AnyActor | null
  /** The body of a signed request, which had to be read for its signature; null for all others. */
  readonly body: Buffer | null
  /** The signature that was spent; null without one. */
  readonly signature: AcceptedSignature | null
}

/**
 * The challenge of a 401, by who an operation is for. There is no registered scheme for sessions and
 * signed requests; browsers, which would ask for a password at `Basic`, leave unknown ones alone.
 */
export const CHALLENGES: Readonly<Record<Audience, string>> = {
  key: 'Bearer realm="api"',
  operator: 'Bearer realm="operator"',
  session: 'Session realm="dashboard"',
  account: 'Session realm="dashboard"',
  staff: 'Session realm="staff"',
  // Signing in: the password was wrong.
  public: 'Session realm="dashboard"',
  signed: 'Signature realm="service"',
}

export interface AdmissionDeps {
  readonly deps: Deps
  readonly keys: KeyVerifier
}

/** Authentication, limits, scope or role, and the environment rule, in the order of decisions 2.1. */
export async function admit(
  admission: AdmissionDeps,
  operation: Operation,
  exchange: Exchange,
): Promise<Admitted | Refusal> {
  const { audience } = operation
  if (audience === 'signed') return admitSigned(admission.deps, operation, exchange)
  if (audience === 'operator') return admitOperator(admission.deps, exchange)
  const actor =
    audience === 'public'
      ? await admitAnyone(admission.deps, operation, exchange)
      : await admitActor(admission, audience, operation, exchange)
  return isRefusal(actor) ? actor : { actor, body: null, signature: null }
}

function admitOperator({ settings }: Deps, { request }: Exchange): Admitted | Refusal {
  const sent = /^Bearer +(\S+) *$/i.exec(request.header('authorization') ?? '')?.[1]
  // Without a token set, nobody is the operator.
  if (settings.opsToken === null || sent === undefined || !constantTimeEqual(sent, settings.opsToken)) {
    return refuse('unauthenticated', 'This needs the token of the operator as Bearer token.')
  }
  return { actor: null, body: null, signature: null }
}

async function admitAnyone(deps: Deps, operation: Operation, exchange: Exchange): Promise<null | Refusal> {
  if (operation.perMinute === null) return null
  const address = addressGroup(exchange.request.ip ?? '')
  return throttle(deps, `${operation.id} ${address}`, operation.perMinute)
}

async function admitSigned(
  deps: Deps,
  operation: Operation,
  exchange: Exchange,
): Promise<Admitted | Refusal> {
  const { request, response } = exchange
  const body = await readBytes(request, response, operation.bodyBytes)
  if (isRefusal(body)) return body
  const secret = operation.signer === null ? null : SECRETS[operation.signer](deps.settings)
  const signature = await acceptSignedRequest(deps, secret, {
    timestamp: request.header('x-svc-timestamp'),
    signature: request.header('x-svc-signature'),
    body,
  })
  return isRefusal(signature) ? signature : { actor: null, body, signature }
}

const SECRETS: Readonly<Record<Signer, (settings: Settings) => string | null>> = {
  'secret-scanning': (settings) => settings.secretScanningSecret,
}

async function admitActor(
  admission: AdmissionDeps,
  audience: 'key' | 'session' | 'account' | 'staff',
  operation: Operation,
  exchange: Exchange,
): Promise<AnyActor | Refusal> {
  const { deps } = admission
  const { request } = exchange
  const credential = request.header('authorization')
  if (audience === 'key' && (credential !== undefined || !hasSession(exchange))) {
    const actor = await authenticate(admission.keys, credential)
    return isRefusal(actor) ? actor : admitKey(deps, actor, operation, exchange)
  }
  if (credential !== undefined) {
    return refuse('unauthenticated', 'This operation takes a session of the dashboard, not an API key.')
  }
  const rules = { ...deps, origins: () => sessionOrigins(deps) }
  const actor = await sessionActor(rules, audience, {
    mutates: !isSafe(request.method),
    header: (name) => request.header(name),
  })
  return isRefusal(actor) || actor.kind !== 'session' ? actor : admitMember(actor, operation)
}

function hasSession(exchange: Exchange): boolean {
  return readCookie(exchange.request.header('cookie'), SESSION_COOKIE) !== null
}

async function admitKey(
  deps: Deps,
  actor: KeyActor,
  operation: Operation,
  exchange: Exchange,
): Promise<KeyActor | Refusal> {
  const spent = await deps.requests.take(actor, requestCost(operation))
  exchange.response.set(budgetHeaders(spent))
  if (!spent.allowed) return rateLimited(spent)
  if (operation.scope !== null && !actor.scopes.includes(operation.scope)) {
    return refuse('insufficient_scope', `This operation needs a key with the scope ${operation.scope}.`, {
      required: operation.scope,
      granted: actor.scopes,
    })
  }
  if (operation.environment !== null && operation.environment !== actor.environment) {
    return refuse('forbidden', `This operation needs a ${operation.environment} key.`)
  }
  return actor
}

/** Sessions spend no request budget (contract 8). */
function admitMember(actor: SessionActor, operation: Operation): SessionActor | Refusal {
  const allowed =
    (operation.scope === null || actor.scopes.includes(operation.scope)) &&
    (operation.roles === null || operation.roles.includes(actor.role))
  if (!allowed) return refuse('forbidden', `Your role ${actor.role} may not do this.`)
  // A live key stands for trust that a session has in either environment (decisions 2.4).
  if (operation.environment === 'test' && actor.environment !== 'test') {
    return refuse('forbidden', 'This operation needs the header x-svc-environment: test.')
  }
  return actor
}
