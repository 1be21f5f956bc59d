import { z } from 'zod'
import { newId } from '../../media/base/ids.js'
import { type AuditedInput, audited, type ChangeFields, recorder } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { listOperation, type Operation, operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import { idParam, openEnum, patchBody, Timestamp, timestamp } from '../base/schemas.js'
import type { WebhookEndpointRow } from '../db/tables/webhooks.js'
import { EVENT_TYPES } from '../events/event-types.js'
import { parsedUrl } from '../net/url-form.js'
import { postWebhook } from './delivery-attempt.js'
import {
  type AuditHook,
  activeSecrets,
  createEndpoint,
  currentSecret,
  deleteEndpoint,
  findEndpoint,
  listEndpoints,
  MAX_ENDPOINTS,
  rollSecret,
  updateEndpoint,
} from './endpoint-store.js'
import { webhookHeaders } from './signature.js'

const TAG = 'Webhooks'
/** Endpoints receive live events, so only live admin keys may manage them. */
const MANAGE = { tag: TAG, audience: 'key', scope: 'admin', environment: 'live' } as const
const EndpointPath = z.object({ id: idParam('whe') })

const endpointShape = {
  id: z.string(),
  url: z.string(),
  description: z.string().nullable(),
  events: z.array(openEnum(...EVENT_TYPES)),
  enabled: z.boolean(),
  consecutiveFailures: z
    .int()
    .meta({ description: 'Number of failed attempts since the last successful one.' }),
  disabledReason: openEnum('consecutive_failures')
    .nullable()
    .meta({ description: 'Set if the service disabled the endpoint.' }),
  createdAt: Timestamp,
}
const WebhookEndpoint = z.object(endpointShape)
const NewWebhookEndpoint = z.object({
  ...endpointShape,
  secret: z.string().meta({ description: 'Signing secret of the deliveries.' }),
})

const Url = z.string().min(1).max(2048)
const Description = z.string().max(200).nullable()
const Events = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .max(50)
  .transform((types) => [...new Set(types)])

function view(row: WebhookEndpointRow): z.input<typeof WebhookEndpoint> {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    events: JSON.parse(row.events),
    enabled: row.enabled === 1,
    consecutiveFailures: row.consecutiveFailures,
    disabledReason: row.disabledReason,
    createdAt: timestamp(row.createdAt),
  }
}

/** Returns the function that records a change of an endpoint in the audit log, without secrets. */
function logged(
  { actor, deps, requestId }: AuditedInput,
  what: 'created' | 'updated' | 'deleted' | 'secret_rolled',
  change: ChangeFields = {},
): AuditHook {
  const { organizationId } = actor
  return (trx, endpointId) =>
    recorder(trx, { organizationId, actor, requestId }, deps.clock.wall())(
      `webhook.${what}`,
      endpointId,
      change,
    )
}

function noEndpoint(): Refusal<'not_found'> {
  return refuse('not_found', 'The webhook endpoint does not exist.')
}

async function urlProblem(
  deps: Deps,
  organizationId: string,
  url: string,
): Promise<Refusal<'validation_error'> | null> {
  const problem = await deps.egress.check(url, 'http', organizationId)
  if (problem === null) return null
  return refuse('validation_error', 'The URL is not allowed. details.issues contains the reason.', {
    issues: [{ path: 'url', reason: problem.reason }],
  })
}

const createWebhook = operation({
  ...MANAGE,
  id: 'createWebhook',
  method: 'post',
  path: '/v1/integrations/webhooks',
  summary: 'Create a webhook endpoint',
  description: 'The endpoint receives test and live events. The response includes the signing secret.',
  body: z.strictObject({ url: Url, events: Events, description: Description.optional() }),
  status: 201,
  result: NewWebhookEndpoint,
  fails: ['conflict'],
  run: async ({ body, actor, deps, requestId }) => {
    const problem = await urlProblem(deps, actor.organizationId, body.url)
    if (problem !== null) return problem
    const fields = { url: parsedUrl(body.url), events: body.events, description: body.description ?? null }
    const made = await createEndpoint(
      deps.db,
      deps.rootKey,
      actor.organizationId,
      fields,
      deps.clock.wall(),
      logged({ actor, deps, requestId }, 'created', { after: fields }),
    )
    if (made === null) {
      return refuse(
        'conflict',
        `The limit of ${MAX_ENDPOINTS} endpoints per organization is reached. Delete one first.`,
        {
          limit: MAX_ENDPOINTS,
        },
      )
    }
    return { ...view(made.row), secret: made.secret }
  },
})

const listWebhooks = listOperation({
  id: 'listWebhooks',
  path: '/v1/integrations/webhooks',
  tag: TAG,
  summary: 'List webhook endpoints',
  description: 'Newest first.',
  audience: 'key',
  scope: 'read',
  result: WebhookEndpoint,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listEndpoints(deps.db, actor.organizationId, page)
    return { items: items.map(view), next }
  },
})

const readWebhook = operation({
  id: 'readWebhook',
  method: 'get',
  path: '/v1/integrations/webhooks/:id',
  tag: TAG,
  summary: 'Get a webhook endpoint',
  description: 'Includes the reason if the service disabled the endpoint.',
  audience: 'key',
  scope: 'read',
  params: EndpointPath,
  status: 200,
  result: WebhookEndpoint,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findEndpoint(deps.db, actor.organizationId, params.id)
    return row === null ? noEndpoint() : view(row)
  },
})

const updateWebhook = operation({
  ...MANAGE,
  id: 'updateWebhook',
  method: 'patch',
  path: '/v1/integrations/webhooks/:id',
  summary: 'Update a webhook endpoint',
  description: 'Pending deliveries of a disabled endpoint are kept for 24 hours.',
  params: EndpointPath,
  body: patchBody({ url: Url, events: Events, description: Description, enabled: z.boolean() }),
  status: 200,
  result: WebhookEndpoint,
  fails: ['not_found'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const before = await findEndpoint(deps.db, actor.organizationId, params.id)
    if (before === null) return noEndpoint()
    const problem = body.url === undefined ? null : await urlProblem(deps, actor.organizationId, body.url)
    if (problem !== null) return problem
    const change = {
      ...(body.url === undefined ? {} : { url: parsedUrl(body.url) }),
      ...(body.events === undefined ? {} : { events: body.events }),
      ...(body.description === undefined ? {} : { description: body.description }),
      ...(body.enabled === undefined ? {} : { enabled: body.enabled }),
    }
    const { url, description, events, enabled } = view(before)
    const row = await updateEndpoint(
      deps.db,
      actor.organizationId,
      params.id,
      change,
      deps.clock.wall(),
      logged({ actor, deps, requestId }, 'updated', {
        before: { url, description, events, enabled },
        after: { url, description, events, enabled, ...change },
      }),
    )
    return row === null ? noEndpoint() : view(row)
  },
})

const deleteWebhook = operation({
  ...MANAGE,
  id: 'deleteWebhook',
  method: 'delete',
  path: '/v1/integrations/webhooks/:id',
  summary: 'Delete a webhook endpoint',
  description: 'Pending deliveries to the endpoint fail.',
  params: EndpointPath,
  status: 204,
  fails: ['not_found'],
  run: async ({ params, actor, deps, requestId }) => {
    const done = await deleteEndpoint(
      deps.db,
      deps.rootKey,
      actor.organizationId,
      params.id,
      deps.clock.wall(),
      logged({ actor, deps, requestId }, 'deleted'),
    )
    return done ? undefined : noEndpoint()
  },
})

const readWebhookSecret = operation({
  ...MANAGE,
  id: 'readWebhookSecret',
  method: 'get',
  path: '/v1/integrations/webhooks/:id/secret',
  summary: 'Get the signing secret of a webhook endpoint',
  description: 'Verify the signature header of each delivery with this secret.',
  params: EndpointPath,
  status: 200,
  result: z.object({ secret: z.string() }),
  fails: ['not_found'],
  run: async ({ params, actor, deps, requestId }) =>
    audited({ actor, deps, requestId }, async (trx, record) => {
      const row = await findEndpoint(trx, actor.organizationId, params.id)
      if (row === null) return noEndpoint()
      await record('webhook.secret_read', row.id)
      return { secret: currentSecret(deps.rootKey, row) }
    }),
})

const rollWebhookSecret = operation({
  ...MANAGE,
  id: 'rollWebhookSecret',
  method: 'post',
  path: '/v1/integrations/webhooks/:id/roll-secret',
  summary: 'Replace the signing secret of a webhook endpoint',
  description:
    'For 24 hours deliveries carry two signatures: one with the new and one with the previous secret.',
  params: EndpointPath,
  status: 200,
  result: z.object({ secret: z.string(), previousValidUntil: Timestamp }),
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }) => {
    const now = deps.clock.wall()
    const roll = await rollSecret(
      deps.db,
      deps.rootKey,
      actor.organizationId,
      params.id,
      now,
      logged({ actor, deps, requestId }, 'secret_rolled'),
    )
    if (roll === null) return noEndpoint()
    const previousValidUntil = timestamp(roll.previousValidUntil)
    if (roll.kind === 'rolled') return { secret: roll.secret, previousValidUntil }
    return refuse(
      'conflict',
      `The secret was replaced recently. Retry after ${previousValidUntil}, when the previous secret expires.`,
      {
        previousValidUntil,
      },
    )
  },
})

const testWebhook = operation({
  ...MANAGE,
  id: 'testWebhook',
  method: 'post',
  path: '/v1/integrations/webhooks/:id/test',
  summary: 'Send a test event to a webhook endpoint',
  description:
    'Sends a signed webhook.test event immediately and returns the result. The result does not count as a success or failure of the endpoint.',
  params: EndpointPath,
  status: 200,
  result: z.object({
    ok: z.boolean(),
    status: z.int().nullable(),
    durationMs: z.int(),
    error: z.string().nullable(),
  }),
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findEndpoint(deps.db, actor.organizationId, params.id)
    if (row === null) return noEndpoint()
    const now = deps.clock.wall()
    const event = {
      id: newId('evt', now),
      type: 'webhook.test',
      environment: actor.environment,
      created_at: timestamp(now),
      data: { webhook: view(row) },
      links: { self: `${deps.publicUrl()}/v1/integrations/webhooks/${row.id}` },
    }
    const body = JSON.stringify(event)
    const stamp = { type: event.type, eventId: event.id, attempt: 1, at: Math.floor(now / 1000) }
    const attempt = await postWebhook({
      egress: deps.egress,
      organizationId: row.organizationId,
      clock: deps.clock,
      url: row.url,
      headers: webhookHeaders(body, activeSecrets(deps.rootKey, row, now), stamp),
      body,
    })
    return {
      ok: attempt.error === null,
      status: attempt.status,
      durationMs: attempt.durationMs,
      error: attempt.error,
    }
  },
})

const readOrganizationSecret = operation({
  ...MANAGE,
  id: 'readWebhookSigningSecret',
  method: 'get',
  path: '/v1/integrations/webhooks/signing-secret',
  summary: 'Get the shared signing secret',
  description:
    'Only for endpoints created before endpoints had their own secrets. This service has none, so the response is always 404.',
  status: 200,
  result: z.object({ secret: z.string() }),
  fails: ['not_found'],
  run: () =>
    refuse('not_found', 'There is no shared signing secret. Use the signing secret of the endpoint.'),
})

export const endpointOperations: readonly Operation[] = [
  createWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
  deleteWebhook,
  readWebhookSecret,
  rollWebhookSecret,
  testWebhook,
  readOrganizationSecret,
]
