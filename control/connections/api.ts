import { z } from 'zod'
import { isId } from '../../media/base/ids.js'
import type { AuditFields } from '../api/audit.js'
import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { DEVELOPER_ROLES } from '../api/scopes.js'
import {
  idParam,
  nameText,
  openEnum,
  patchBody,
  Timestamp,
  timestamp,
  timestampOrNull,
} from '../base/schemas.js'
import { isForeignKeyViolation, isUniqueViolation } from '../db/constraint-error.js'
import type { ConnectionRow } from '../db/tables/organization.js'
import { parsedUrl } from '../net/url-form.js'
import { readSecretFor, recordTargets, refusedTarget, type SecretTarget } from '../secrets/host-store.js'
import { hostOf } from '../secrets/hosts.js'
import { unknownSecrets } from '../secrets/store.js'
import { openVault } from '../secrets/vault.js'
import { probe } from './probe.js'
import {
  agentsUsing,
  deleteConnection as deleteConnectionRow,
  findConnection,
  insertConnection,
  listConnections as pageOfConnections,
  recordTest,
  updateConnection as updateConnectionRow,
} from './store.js'

const Connection = z.object({
  id: z.string(),
  kind: openEnum('http'),
  name: z.string(),
  baseUrl: z.string(),
  secretId: z.string().nullable(),
  status: openEnum('untested', 'ok', 'failing'),
  testedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const Name = nameText(80)
const BaseUrl = z.string().min(1).max(2_048)
const SecretId = z.string().max(64).nullable()

const ConnectionPath = z.object({ id: idParam('cxn') })
const noConnection = () => refuse('not_found', 'The connection does not exist.')
const nameTaken = () =>
  refuse('conflict', 'A connection with this name already exists. Choose another name.', { path: 'name' })
const noSecret = () =>
  refuse('not_found', 'The secret does not exist. Set secretId to an existing secret.', {
    resource: 'secret',
    path: 'secretId',
  })

export const listConnections = listOperation({
  id: 'listConnections',
  path: '/v1/integrations/connections',
  tag: 'Secrets and connections',
  summary: 'List connections',
  description: 'Connections to the systems that tools call, newest first.',
  audience: 'session',
  result: Connection,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await pageOfConnections(deps.db, actor.organizationId, page)
    return { items: items.map(connectionView), next }
  },
})

export const createConnection = operation({
  id: 'createConnection',
  method: 'post',
  path: '/v1/integrations/connections',
  tag: 'Secrets and connections',
  summary: 'Create a connection',
  description:
    'The secret is sent as a bearer token to the base URL and to tools below it. Its host must be one of the hosts of the secret.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  body: z.strictObject({
    kind: z.enum(['http']).default('http'),
    name: Name,
    baseUrl: BaseUrl,
    secretId: SecretId.default(null),
  }),
  status: 201,
  result: Connection,
  fails: ['validation_error', 'not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ body, actor, deps, requestId }) => {
    const { organizationId } = actor
    const problem =
      (await urlProblem(deps, organizationId, body.baseUrl)) ??
      (await secretProblem(deps, organizationId, body))
    if (problem !== null) return problem
    const connection = { ...body, baseUrl: parsedUrl(body.baseUrl), organizationId }
    return guarded(() =>
      audited({ actor, deps, requestId }, async (trx, record, now) => {
        const row = await insertConnection(trx, connection, now)
        if (row === null) return nameTaken()
        await record('connection.created', row.id, { after: facts(row) })
        await recordTargets(trx, targetsOf(row), { organizationId, actor, requestId, now })
        return connectionView(row)
      }),
    )
  },
})

export const updateConnection = operation({
  id: 'updateConnection',
  method: 'patch',
  path: '/v1/integrations/connections/:id',
  tag: 'Secrets and connections',
  summary: 'Update a connection',
  description: 'Sets the name, the base URL and the secret.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  params: ConnectionPath,
  body: patchBody({ name: Name, baseUrl: BaseUrl, secretId: SecretId }),
  status: 200,
  result: Connection,
  fails: ['validation_error', 'not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const { organizationId } = actor
    const before = await findConnection(deps.db, organizationId, params.id)
    if (before === null) return noConnection()
    const retargeted = body.baseUrl !== undefined || body.secretId !== undefined
    const target = {
      baseUrl: body.baseUrl ?? before.baseUrl,
      secretId: body.secretId === undefined ? before.secretId : body.secretId,
    }
    const problem =
      (body.baseUrl === undefined ? null : await urlProblem(deps, organizationId, body.baseUrl)) ??
      (retargeted ? await secretProblem(deps, organizationId, target) : null)
    if (problem !== null) return problem
    const change = {
      ...(body.name === undefined ? {} : { name: body.name }),
      ...(body.baseUrl === undefined ? {} : { baseUrl: parsedUrl(body.baseUrl) }),
      ...(body.secretId === undefined ? {} : { secretId: body.secretId }),
    }
    return guarded(() =>
      audited({ actor, deps, requestId }, async (trx, record, now) => {
        const row = await updateConnectionRow(trx, organizationId, params.id, change, now)
        if (row === null) return noConnection()
        await record('connection.updated', row.id, { before: facts(before), after: facts(row) })
        await recordTargets(trx, targetsOf(row), { organizationId, actor, requestId, now })
        return connectionView(row)
      }),
    )
  },
})

export const deleteConnection = operation({
  id: 'deleteConnection',
  method: 'delete',
  path: '/v1/integrations/connections/:id',
  tag: 'Secrets and connections',
  summary: 'Delete a connection',
  description: 'Fails while an agent uses the connection.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  params: ConnectionPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }): Promise<undefined | Refusal> => {
    const { organizationId } = actor
    try {
      return await audited({ actor, deps, requestId }, async (trx, record) => {
        const row = await deleteConnectionRow(trx, organizationId, params.id)
        if (row === null) return noConnection()
        await record('connection.deleted', row.id, { before: facts(row) })
        return undefined
      })
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error
      return refuse(
        'conflict',
        'The connection is in use. Remove it from the agents in details.agentIds first.',
        {
          agentIds: await agentsUsing(deps.db, params.id),
        },
      )
    }
  },
})

const TestResult = z.object({
  ok: z.boolean(),
  status: z.int().nullable().meta({ description: 'HTTP status of the response. Null without a response.' }),
  durationMs: z.int(),
  error: openEnum(
    'timeout',
    'connection_failed',
    'tls_failed',
    'name_not_resolved',
    'address_refused',
    'redirect',
    'credential_refused',
    'secret_host_not_allowed',
    'server_error',
  ).nullable(),
})

export const testConnection = operation({
  id: 'testConnection',
  method: 'post',
  path: '/v1/integrations/connections/:id/test',
  tag: 'Secrets and connections',
  summary: 'Test a connection',
  description: 'Sends a request with the secret to the base URL and reports the response.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  params: ConnectionPath,
  status: 200,
  result: TestResult,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const { organizationId } = actor
    const row = await findConnection(deps.db, organizationId, params.id)
    if (row === null) return noConnection()
    const headers = await credentials(deps, row)
    const found =
      headers === null
        ? ({ ok: false, status: null, durationMs: 0, error: 'secret_host_not_allowed' } as const)
        : await probe({ egress: deps.egress, organizationId, clock: deps.clock, url: row.baseUrl, headers })
    await recordTest(deps.db, row, found.ok ? 'ok' : 'failing', deps.clock.wall())
    return found
  },
})

export const connectionOperations = [
  listConnections,
  createConnection,
  updateConnection,
  deleteConnection,
  testConnection,
]

/** Returns null if the secret may not be sent to the base URL. */
async function credentials(deps: Deps, row: ConnectionRow): Promise<Record<string, string> | null> {
  const [target] = targetsOf(row)
  if (target === undefined) return {}
  const vault = openVault(deps.rootKey, 'secret-encryption')
  const secret = await readSecretFor(deps.db, vault, row.organizationId, target)
  if (secret.kind === 'value') return { authorization: `Bearer ${secret.value}` }
  // The secret was deleted with the connection between the two reads. The test then fails, as it should.
  return secret.kind === 'missing' ? {} : null
}

function targetsOf({ secretId, baseUrl }: ConnectionRow): readonly SecretTarget[] {
  return secretId === null ? [] : [{ secretId, url: baseUrl }]
}

/** Returns why the URL cannot be saved. Resolves the host name but contacts no server. */
async function urlProblem(
  deps: Deps,
  organizationId: string,
  baseUrl: string,
): Promise<Refusal<'validation_error'> | null> {
  const problem = await deps.egress.check(baseUrl, 'http', organizationId)
  if (problem === null) return null
  return refuse('validation_error', 'A field failed validation.', {
    issues: [{ path: 'baseUrl', reason: problem.reason }],
  })
}

/** Returns why the secret cannot be sent to the base URL. */
async function secretProblem(
  deps: Deps,
  organizationId: string,
  { baseUrl, secretId }: { readonly baseUrl: string; readonly secretId: string | null },
): Promise<Refusal<'not_found' | 'unprocessable_entity'> | null> {
  if (secretId === null) return null
  const known =
    isId('sec', secretId) && (await unknownSecrets(deps.db, organizationId, [secretId])).length === 0
  if (!known) return noSecret()
  if ((await refusedTarget(deps.db, organizationId, [{ secretId, url: baseUrl }])) === null) return null
  return refuse(
    'unprocessable_entity',
    `${hostOf(baseUrl)} is not one of the hosts of the secret. Add it to the secret first.`,
    { path: 'baseUrl' },
  )
}

/** Turns constraint violations into refusals: the secret was deleted or the name taken meanwhile. */
async function guarded<T>(run: () => Promise<T>): Promise<T | Refusal<'not_found' | 'conflict'>> {
  try {
    return await run()
  } catch (error) {
    if (isForeignKeyViolation(error)) return noSecret()
    if (isUniqueViolation(error)) return nameTaken()
    throw error
  }
}

function facts(row: ConnectionRow): AuditFields {
  return { kind: row.kind, name: row.name, baseUrl: row.baseUrl, secretId: row.secretId }
}

function connectionView(row: ConnectionRow): z.input<typeof Connection> {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    baseUrl: row.baseUrl,
    secretId: row.secretId,
    status: row.status,
    testedAt: timestampOrNull(row.testedAt),
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}
