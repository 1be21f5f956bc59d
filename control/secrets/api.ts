import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { DEVELOPER_ROLES } from '../api/scopes.js'
import { idParam, nameText, openEnum, patchBody, Timestamp, timestamp } from '../base/schemas.js'
import { isForeignKeyViolation } from '../db/constraint-error.js'
import type { SecretRow } from '../db/tables/organization.js'
import { hostsOf, inheritedHosts } from './host-store.js'
import { parseHost } from './hosts.js'
import {
  deleteSecret as deleteSecretRow,
  findSecret,
  findSecretUsers,
  insertSecret,
  listSecrets as pageOfSecrets,
  type SecretUser,
  updateSecret,
} from './store.js'
import { openVault } from './vault.js'

const Secret = z.object({
  id: z.string(),
  name: z.string(),
  last4: z.string().nullable().meta({
    description: 'Last four characters of the value. Null if the value is too short to show any.',
  }),
  hosts: z.array(z.string()).meta({
    description:
      'Hosts that the secret may be sent to. Empty for a secret of an earlier release, which is sent only where it was sent before the update.',
  }),
  usedBy: z.array(z.object({ type: openEnum('connection', 'agent', 'number'), id: z.string() })),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

// A secret is sent in a header: visible characters and inner spaces only (RFC 9110, 5.5).
const Value = z
  .string()
  .max(8_192)
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII without spaces around it')
  .meta({ writeOnly: true })

const Host = z
  .string()
  .min(1)
  .max(253)
  .meta({ examples: ['api.example.com', '*.example.com'] })
  .transform((text, context) => {
    const host = parseHost(text)
    if (host !== null) return host
    context.addIssue('must be a host name such as api.example.com or *.example.com')
    return z.NEVER
  })
const Hosts = z
  .array(Host)
  .min(1)
  .max(20)
  .transform((hosts) => [...new Set(hosts)])
  .meta({
    description: 'Hosts that the secret may be sent to: exact names, or *.example.com for all names below.',
  })

const SecretPath = z.object({ id: idParam('sec') })
const noSecret = () => refuse('not_found', 'The secret does not exist.')

export const listSecrets = listOperation({
  id: 'listSecrets',
  path: '/v1/secrets',
  tag: 'Secrets and connections',
  summary: 'List secrets',
  description: 'Newest first. Values are never returned.',
  audience: 'session',
  result: Secret,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await pageOfSecrets(deps.db, actor.organizationId, page)
    const users = await findSecretUsers(
      deps.db,
      items.map((row) => row.id),
    )
    return { items: items.map((row) => secretView(row, users.get(row.id) ?? [])), next }
  },
})

export const createSecret = operation({
  id: 'createSecret',
  method: 'post',
  path: '/v1/secrets',
  tag: 'Secrets and connections',
  summary: 'Create a secret',
  description:
    'Tools, connections and media endpoints can send the secret to its hosts. At least one host is needed.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  body: z.strictObject({ name: nameText(80), value: Value, hosts: Hosts.optional() }),
  status: 201,
  result: Secret,
  fails: ['validation_error', 'conflict'],
  run: ({ body, actor, deps, requestId }) => {
    const { organizationId, userId } = actor
    const { hosts } = body
    // The description cannot require it: the first release had no hosts.
    if (hosts === undefined) {
      return refuse('validation_error', 'A field failed validation.', {
        issues: [{ path: 'hosts', reason: 'is required' }],
      })
    }
    const vault = openVault(deps.rootKey, 'secret-encryption')
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const secret = { ...body, hosts, organizationId, createdBy: userId }
      const row = await insertSecret(trx, vault, secret, now)
      if (row === null)
        return refuse('conflict', 'A secret with this name already exists. Choose another name.', {
          path: 'name',
        })
      await record('secret.created', row.id, { after: { name: row.name, hosts: [...hostsOf(row)] } })
      return secretView(row, [])
    })
  },
})

export const replaceSecret = operation({
  id: 'replaceSecret',
  method: 'put',
  path: '/v1/secrets/:id',
  tag: 'Secrets and connections',
  summary: 'Replace the value or the hosts of a secret',
  description:
    'Tools, connections and media endpoints follow the change from their next request. A secret of an earlier release gets the hosts that it was sent to before the update unless the body names hosts.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  params: SecretPath,
  body: patchBody({ value: Value, hosts: Hosts }),
  status: 200,
  result: Secret,
  fails: ['not_found', 'unprocessable_entity'],
  run: ({ params, body, actor, deps, requestId }) => {
    const { organizationId } = actor
    const vault = openVault(deps.rootKey, 'secret-encryption')
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const before = await findSecret(trx, organizationId, params.id)
      if (before === null) return noSecret()
      const known = hostsOf(before)
      const hosts = body.hosts ?? (known.length > 0 ? known : await inheritedHosts(trx, before.id))
      if (hosts.length === 0) {
        return refuse('unprocessable_entity', 'The secret has no hosts. Set hosts.', { path: 'hosts' })
      }
      const row = await updateSecret(trx, vault, organizationId, before.id, { ...body, hosts }, now)
      if (row === null) return noSecret()
      if (body.value !== undefined) await record('secret.replaced', row.id, { after: { name: row.name } })
      if (row.hosts !== before.hosts) {
        await record('secret.hosts_set', row.id, {
          before: { hosts: [...known] },
          after: { hosts: [...hosts] },
        })
      }
      const users = await findSecretUsers(trx, [row.id])
      return secretView(row, users.get(row.id) ?? [])
    })
  },
})

export const deleteSecret = operation({
  id: 'deleteSecret',
  method: 'delete',
  path: '/v1/secrets/:id',
  tag: 'Secrets and connections',
  summary: 'Delete a secret',
  description: 'Fails while the secret is in use.',
  audience: 'session',
  roles: DEVELOPER_ROLES,
  params: SecretPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }): Promise<undefined | Refusal> => {
    const { organizationId } = actor
    try {
      return await audited({ actor, deps, requestId }, async (trx, record) => {
        const row = await deleteSecretRow(trx, organizationId, params.id)
        if (row === null) return noSecret()
        await record('secret.deleted', row.id, { before: { name: row.name } })
        return undefined
      })
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error
      const users = await findSecretUsers(deps.db, [params.id])
      return refuse('conflict', 'The secret is in use. Remove it from the objects in details.usedBy first.', {
        usedBy: users.get(params.id) ?? [],
      })
    }
  },
})

export const secretOperations = [listSecrets, createSecret, replaceSecret, deleteSecret]

function secretView(row: SecretRow, usedBy: readonly SecretUser[]): z.input<typeof Secret> {
  return {
    id: row.id,
    name: row.name,
    last4: row.last4,
    hosts: [...hostsOf(row)],
    usedBy: usedBy.map(({ type, id }) => ({ type, id })),
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}
