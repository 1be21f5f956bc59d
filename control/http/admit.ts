import { authenticate, type KeyVerifier } from '../access/keys/api-keys.js'
import { readCookie, SESSION_COOKIE } from '../access/sessions/cookies.js'
import { sessionActor } from '../access/sessions/session-actor.js'
import { type AcceptedSignature, acceptSignature } from '../access/signature.js'
import { addressGroup, throttle } from '../access/throttle.js'
import type { AnyActor, Audience, KeyActor, SessionActor } from '../api/actor.js'
import type { Deps } from '../api/deps.js'
import type { ErasedInput, Operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { constantTimeEqual } from '../base/crypto.js'
import { readAddressToken } from '../base/signed-address.js'
import { budgetHeaders, rateLimited, requestCost } from '../limits/rate-limiter.js'
import { type Exchange, isSafe } from './exchange.js'
import { readBytes } from './json-body.js'
import { sessionOrigins } from './origins.js'

/** An authenticated request that may continue. */
export interface Admitted {
  readonly actor: ErasedInput['actor']
  /** Body of a signed request, read to verify the signature. Null for other requests. */
  readonly body: Buffer | null
  /** Accepted signature of a signed request. Null for other requests. */
  readonly signature: AcceptedSignature | null
}

/**
 * `WWW-Authenticate` challenge of a 401 by audience. Sessions and signatures have no registered scheme.
 * Browsers ignore unknown schemes, whereas `Basic` would open a password dialog.
 */
export const CHALLENGES: Readonly<Record<Audience, string>> = {
  key: 'Bearer realm="api"',
  operator: 'Bearer realm="operator"',
  session: 'Session realm="dashboard"',
  account: 'Session realm="dashboard"',
  staff: 'Session realm="staff"',
  // Sign-in: the password was wrong.
  public: 'Session realm="dashboard"',
  signed: 'Signature realm="service"',
  address: 'Signature realm="address"',
}

export interface AdmissionDeps {
  readonly deps: Deps
  readonly keys: KeyVerifier
}

/**
 * Authenticates the request, then checks the rate limit, the scope or role, and the environment, in this
 * order.
 */
export async function admit(
  admission: AdmissionDeps,
  operation: Operation,
  exchange: Exchange,
): Promise<Admitted | Refusal> {
  const { audience } = operation
  if (audience === 'signed') return admitSigned(admission.deps, operation, exchange)
  if (audience === 'operator') return admitOperator(admission.deps, exchange)
  if (audience === 'address') return admitAddress(admission.deps, operation, exchange)
  const actor =
    audience === 'public'
      ? await admitAnyone(admission.deps, operation, exchange)
      : await admitActor(admission, audience, operation, exchange)
  return isRefusal(actor) ? actor : { actor, body: null, signature: null }
}

function admitOperator({ settings }: Deps, { request }: Exchange): Admitted | Refusal {
  const token = /^Bearer +(\S+) *$/i.exec(request.header('authorization') ?? '')?.[1]
  // Without a configured token no request is accepted as the operator.
  if (settings.opsToken === null || token === undefined || !constantTimeEqual(token, settings.opsToken)) {
    return refuse('unauthenticated', 'Send the operator token in the header Authorization: Bearer <token>.')
  }
  return { actor: null, body: null, signature: null }
}

function admitAddress(
  { rootKey, clock }: Deps,
  { address }: Operation,
  { request }: Exchange,
): Admitted | Refusal {
  const token = String(request.params.token)
  const grant = address === null ? null : readAddressToken(rootKey, address, token, clock.wall())
  if (grant === null) return refuse('not_found', 'The address is wrong or has expired. Request a new one.')
  return { actor: { kind: 'address', ...grant }, body: null, signature: null }
}

/** Counts a request to a public operation. Returns a refusal above its limit for one address. */
export async function admitAnyone(
  deps: Deps,
  operation: Operation,
  exchange: Exchange,
): Promise<null | Refusal> {
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
  const { signature: signing } = operation
  const params = request.params as Readonly<Record<string, string>>
  const scheme = typeof signing === 'function' ? signing(params) : signing
  if (scheme === null) return refuse('not_found', 'There is no such sender.')
  const body = await readBytes(request, response, operation.bodyBytes, deps.clock)
  if (isRefusal(body)) return body
  const signature = await acceptSignature(deps, scheme, request.path, {
    method: request.method,
    url: `${deps.publicUrl()}${request.originalUrl}`,
    header: (name) => request.header(name),
    body,
  })
  if (isRefusal(signature)) return signature
  return { actor: { kind: 'signed', repeated: signature.repeated }, body, signature }
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
    return refuse(
      'unauthenticated',
      'This operation needs a dashboard session. Remove the Authorization header and sign in.',
    )
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
  const budget = await deps.requests.take(actor, requestCost(operation))
  exchange.response.set(budgetHeaders(budget))
  if (!budget.allowed) return rateLimited(budget)
  if (operation.scope !== null && !actor.scopes.includes(operation.scope)) {
    return refuse(
      'insufficient_scope',
      `This operation needs an API key with the scope "${operation.scope}". Use or create such a key.`,
      {
        required: operation.scope,
        granted: actor.scopes,
      },
    )
  }
  if (operation.environment !== null && operation.environment !== actor.environment) {
    return refuse('forbidden', `This operation needs a ${operation.environment} API key.`)
  }
  return actor
}

/** Checks the scope, role and environment of a session. Sessions do not use the request budget. */
function admitMember(actor: SessionActor, operation: Operation): SessionActor | Refusal {
  const allowed =
    (operation.scope === null || actor.scopes.includes(operation.scope)) &&
    (operation.roles === null || operation.roles.includes(actor.role))
  if (!allowed)
    return refuse(
      'forbidden',
      `The role "${actor.role}" is not allowed to use this operation. Ask an owner or admin.`,
    )
  // A session may use operations that need a live key in both environments.
  if (operation.environment === 'test' && actor.environment !== 'test') {
    return refuse(
      'forbidden',
      'This operation is available in the test environment only. Send the header x-svc-environment: test.',
    )
  }
  return actor
}
