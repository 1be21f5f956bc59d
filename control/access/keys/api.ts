import { z } from 'zod'
import type { Actor } from '../../api/actor.js'
import { audited } from '../../api/audited.js'
import type { Deps } from '../../api/deps.js'
import { listOperation, operation } from '../../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../../api/problem.js'
import { expandScopes, parseScopes } from '../../api/scopes.js'
import { Instant, parseInstant } from '../../base/instant.js'
import {
  idParam,
  nameText,
  openEnum,
  patchBody,
  Timestamp,
  timestamp,
  timestampOrNull,
} from '../../base/schemas.js'
import type { ApiKeyRow } from '../../db/tables/identity.js'
import { createKey, keyExpiry } from './api-keys.js'
import { expireKeyAt, findKey, isEnabled, listKeys, narrowKey, revokeKey } from './store.js'

const KeyScope = z.enum(['read', 'write', 'admin'])
const Scopes = z.array(KeyScope).min(1).max(3)
const KeyPath = z.object({ id: idParam('key') })

const keyFields = {
  id: z.string(),
  name: z.string(),
  environment: openEnum('test', 'live'),
  /** Including the implied scopes. */
  scopes: z.array(openEnum('read', 'write', 'admin')),
  /** The first characters of the key. */
  start: z.string(),
  enabled: z.boolean(),
  lastUsedAt: Timestamp.nullable(),
  expiresAt: Timestamp.nullable(),
  createdAt: Timestamp,
}

const ApiKey = z.object(keyFields)
/** `key` is the secret. It is shown only once. */
const NewApiKey = z.object({ ...keyFields, key: z.string() })
const RolledApiKey = z.object({ ...keyFields, key: z.string(), oldExpiresAt: Timestamp })

export const createApiKey = operation({
  id: 'createApiKey',
  method: 'post',
  path: '/v1/api-keys',
  tag: 'API keys',
  summary: 'Create an API key',
  description:
    'The key gets at most the scopes that your role allows. The key itself appears only in this response.',
  audience: 'session',
  body: z.strictObject({
    name: nameText(80),
    environment: z.enum(['test', 'live']),
    scopes: Scopes.default(['read']),
    expiresAt: Instant.optional(),
  }),
  status: 201,
  result: NewApiKey,
  fails: [],
  run: async ({ actor, body, deps, requestId }) => {
    const expiresAt = body.expiresAt === undefined ? null : parseInstant(body.expiresAt)
    if (expiresAt !== null && expiresAt <= deps.clock.wall())
      return invalid('expiresAt', 'must be in the future')
    const { organizationId, userId } = actor
    const { environment, name } = body
    const scopes = expandScopes(body.scopes).filter((scope) => actor.scopes.includes(scope))
    const wanted = { organizationId, createdBy: userId, environment, name, scopes, expiresAt }
    return audited({ actor, deps, requestId }, async (trx, record) => {
      const made = await createKey(trx, deps.rootKey, deps.clock, wanted)
      await record('api_key.created', made.id, {
        after: { name, environment, scopes: made.scopes, expiresAt: timestampOrNull(expiresAt) },
      })
      const row = await findKey(trx, { organizationId, environment }, made.id)
      return row === null ? gone() : { ...keyView(row, deps), key: made.key }
    })
  },
})

export const listApiKeys = listOperation({
  id: 'listApiKeys',
  path: '/v1/api-keys',
  tag: 'API keys',
  summary: 'List API keys',
  description: 'Keys of the current environment, newest first.',
  audience: 'key',
  scope: 'read',
  result: ApiKey,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listKeys(deps.db, actor, page)
    return { items: items.map((row) => keyView(row, deps)), next }
  },
})

export const readApiKey = operation({
  id: 'readApiKey',
  method: 'get',
  path: '/v1/api-keys/:id',
  tag: 'API keys',
  summary: 'Get an API key',
  description: 'Returns the first characters of the key, never the key itself.',
  audience: 'key',
  scope: 'read',
  params: KeyPath,
  status: 200,
  result: ApiKey,
  fails: ['not_found'],
  run: async ({ actor, params, deps }) => {
    const row = await findKey(deps.db, actor, params.id)
    return row === null ? gone() : keyView(row, deps)
  },
})

export const narrowApiKey = operation({
  id: 'narrowApiKey',
  method: 'patch',
  path: '/v1/api-keys/:id',
  tag: 'API keys',
  summary: 'Remove scopes from an API key',
  description: 'Scopes cannot be added: create a new key instead.',
  audience: 'key',
  scope: 'admin',
  params: KeyPath,
  body: patchBody({ scopes: Scopes }),
  status: 200,
  result: ApiKey,
  fails: ['not_found', 'insufficient_scope', 'forbidden', 'validation_error'],
  run: async ({ actor, params, body, deps, requestId }) => {
    const wanted = expandScopes(body.scopes ?? [])
    for (;;) {
      const seen = await coveredKey(deps, actor, params.id)
      if (isRefusal(seen)) return seen
      const held = parseScopes(seen.scopes)
      if (!wanted.every((scope) => held.includes(scope))) {
        return invalid('scopes', 'may only be narrowed: make a new key for more')
      }
      const row = await audited({ actor, deps, requestId }, async (trx, record) => {
        const narrowed = await narrowKey(trx, actor, seen, wanted)
        if (narrowed === null) return null
        const change = { before: { scopes: held }, after: { scopes: wanted } }
        await record('api_key.narrowed', narrowed.id, change)
        return narrowed
      })
      // Null means that another request narrowed or deleted the key meanwhile. Try again.
      if (row !== null) return keyView(row, deps)
    }
  },
})

const HOUR_MS = 3_600_000
const OVERLAPS = { now: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS } as const

export const rollApiKey = operation({
  id: 'rollApiKey',
  method: 'post',
  path: '/v1/api-keys/:id/roll',
  tag: 'API keys',
  summary: 'Replace an API key',
  description:
    'Returns a new key. The old key stays valid for the requested overlap. The overlap of a later request takes the place of an earlier one.',
  audience: 'key',
  scope: 'admin',
  params: KeyPath,
  body: z.strictObject({ expireOldIn: z.enum(['now', '1h', '24h', '7d']).default('24h') }).optional(),
  status: 200,
  result: RolledApiKey,
  fails: ['not_found', 'insufficient_scope', 'forbidden', 'conflict'],
  run: async ({ actor, params, body, deps, requestId }) => {
    const seen = await coveredKey(deps, actor, params.id)
    if (isRefusal(seen)) return seen
    const now = deps.clock.wall()
    const until = now + OVERLAPS[body?.expireOldIn ?? '24h']
    const rolled = await audited({ actor, deps, requestId }, async (trx, record) => {
      const old = await expireKeyAt(trx, actor, params.id, until, now)
      if (old === null) return null
      const made = await createKey(trx, deps.rootKey, deps.clock, {
        organizationId: old.organizationId,
        // The new key keeps the creator of the old one, whose role stays its ceiling.
        createdBy: old.createdBy,
        environment: old.environment,
        name: old.name,
        scopes: parseScopes(old.scopes),
        expiresAt: old.expiresAt,
      })
      const oldExpiresAt = keyExpiry(old) ?? until
      await record('api_key.rolled', old.id, {
        after: { replacedBy: made.id, expiresAt: timestamp(oldExpiresAt) },
      })
      const row = await findKey(trx, actor, made.id)
      return row === null ? null : { row, key: made.key, oldExpiresAt }
    })
    if (rolled === null) return refuse('conflict', 'The key has expired: create a new one.')
    return {
      ...keyView(rolled.row, deps),
      key: rolled.key,
      oldExpiresAt: timestamp(rolled.oldExpiresAt),
    }
  },
})

export const deleteApiKey = operation({
  id: 'deleteApiKey',
  method: 'delete',
  path: '/v1/api-keys/:id',
  tag: 'API keys',
  summary: 'Revoke an API key',
  description: 'Takes effect immediately.',
  audience: 'key',
  scope: 'admin',
  params: KeyPath,
  status: 204,
  fails: ['not_found', 'insufficient_scope', 'forbidden'],
  run: async ({ actor, params, deps, requestId }): Promise<undefined | Refusal> => {
    const seen = await coveredKey(deps, actor, params.id)
    if (isRefusal(seen)) return seen
    return audited({ actor, deps, requestId }, async (trx, record) => {
      if (!(await revokeKey(trx, actor, params.id, deps.clock.wall()))) return gone()
      await record('api_key.deleted', params.id, { before: { name: seen.name } })
      return undefined
    })
  },
})

export const keyOperations = [createApiKey, listApiKeys, readApiKey, narrowApiKey, rollApiKey, deleteApiKey]

/** Returns the key if the caller has at least the key's own scopes. */
async function coveredKey(deps: Deps, actor: Actor, id: string): Promise<ApiKeyRow | Refusal> {
  const row = await findKey(deps.db, actor, id)
  if (row === null) return gone()
  const required = parseScopes(row.scopes).filter((scope) => !actor.scopes.includes(scope))
  if (required.length === 0) return row
  if (actor.kind === 'session')
    return refuse(
      'forbidden',
      `The role "${actor.role}" has fewer scopes than this key. Ask a member with a higher role.`,
    )
  return refuse(
    'insufficient_scope',
    'The API key of the request has fewer scopes than this key. Use a key with the same scopes.',
    {
      required: required.at(-1),
      granted: actor.scopes,
    },
  )
}

function keyView(row: ApiKeyRow, deps: Deps): z.input<typeof ApiKey> {
  return {
    id: row.id,
    name: row.name,
    environment: row.environment,
    scopes: [...parseScopes(row.scopes)],
    start: row.start,
    enabled: isEnabled(row, deps.clock.wall()),
    lastUsedAt: timestampOrNull(row.lastUsedAt),
    expiresAt: timestampOrNull(keyExpiry(row)),
    createdAt: timestamp(row.createdAt),
  }
}

function gone(): Refusal<'not_found'> {
  return refuse('not_found', 'The API key does not exist.')
}

function invalid(path: string, reason: string): Refusal<'validation_error'> {
  return refuse('validation_error', 'The request is not valid; details.issues lists what to change.', {
    issues: [{ path, reason }],
  })
}
