import { z } from 'zod'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, refuse } from '../api/problem.js'
import { idParam, nameText, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import { isForeignKeyViolation } from '../db/constraint-error.js'
import type { NumberRow } from '../db/tables/calling.js'
import { refuseAgent } from './agent-binding.js'
import {
  checkEndpoint,
  MediaEndpoint,
  MediaEndpointInput,
  mergeEndpoint,
  readEndpoint,
} from './media-endpoint.js'
import { SipTrunkDetail, sipTrunkDetail } from './sip-binding.js'
import {
  findNumber,
  findNumberEver,
  listNumbers as pageOfNumbers,
  updateNumber as storeNumber,
} from './store.js'

export const PhoneNumber = z.object({
  id: z.string(),
  e164: z.string(),
  label: z.string(),
  environment: z.enum(['test', 'live']),
  provider: z.string(),
  region: z.string(),
  numberType: openEnum('landline', 'mobile', 'tollfree'),
  series: openEnum('regular', 'promotional_140', 'service_160'),
  capabilities: z.object({ sms: z.boolean(), voice: z.boolean() }),
  currency: z.literal('INR'),
  rentalPaise: z.int(),
  setupPaise: z.int(),
  renewalCycle: openEnum('anniversary', 'calendar_month'),
  nextRentalAt: Timestamp.nullable(),
  purchasedAt: Timestamp.nullable(),
  releaseAt: Timestamp.nullable(),
  releasedAt: Timestamp.nullable(),
  status: openEnum('pending', 'active', 'failed', 'suspended', 'released'),
  inbound: openEnum('pending', 'ready', 'disabled', 'error'),
  inboundReason: z.string().nullable().meta({ description: 'Why `inbound` is `error`.' }),
  routed: z.boolean(),
  routingMode: openEnum('svc_agent', 'byo_ws', 'byo_sip'),
  agentId: z.string().nullable(),
  recordCalls: z.boolean(),
  mediaEndpoint: MediaEndpoint.nullable(),
  byoFallback: openEnum('hangup', 'agent').meta({
    description:
      'What happens to a call whose bot cannot be reached or is lost. `agent`: `agentId` takes it over.',
  }),
  sipTrunk: SipTrunkDetail.nullable(),
  sipTrunkId: z.string().nullable(),
  createdAt: Timestamp,
})

const NumberPath = z.object({ id: idParam('num') })
export const noNumber = () => refuse('not_found', 'The number does not exist.')

export const listNumbers = listOperation({
  id: 'listNumbers',
  path: '/v1/numbers',
  tag: 'Numbers',
  summary: 'List numbers',
  description: 'Numbers of the environment of the key, newest first. Those that were released are left out.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({ status: z.string().max(40).optional() }),
  result: PhoneNumber,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { items, next } = await pageOfNumbers(deps.db, actor, query, page)
    return { items: items.map(numberView), next }
  },
})

export const readNumber = operation({
  id: 'readNumber',
  method: 'get',
  path: '/v1/numbers/:id',
  tag: 'Numbers',
  summary: 'Get a number',
  description: 'Includes the agent or media endpoint that answers the number.',
  audience: 'key',
  scope: 'read',
  params: NumberPath,
  status: 200,
  result: PhoneNumber,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findNumberEver(deps.db, actor, params.id)
    return row === null ? noNumber() : numberView(row)
  },
})

const NumberPatch = z
  .strictObject({
    agentId: z.string().nullable().optional(),
    label: nameText(80).optional(),
    recordCalls: z.boolean().optional(),
    routingMode: z.enum(['svc_agent', 'byo_ws', 'byo_sip']).optional(),
    mediaEndpoint: MediaEndpointInput.nullable().optional(),
    byoFallback: z.enum(['hangup', 'agent']).optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field')
  .meta({ minProperties: 1 })

export const updateNumber = operation({
  id: 'updateNumber',
  method: 'patch',
  path: '/v1/numbers/:id',
  tag: 'Numbers',
  summary: 'Update a number',
  description:
    'Sets the label, the agent, the media endpoint, the fallback of a lost bot, the routing mode and call recording.',
  audience: 'key',
  scope: 'write',
  params: NumberPath,
  body: NumberPatch,
  status: 200,
  result: PhoneNumber,
  fails: ['not_found', 'unprocessable_entity', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const before = await findNumber(deps.db, actor, params.id)
    if (before === null) return noNumber()
    const badAgent =
      typeof body.agentId === 'string' ? await refuseAgent(deps.db, before, body.agentId) : null
    if (badAgent !== null) return badAgent
    const routingMode = body.routingMode ?? before.routingMode
    if (routingMode !== before.routingMode && [routingMode, before.routingMode].includes('byo_sip')) {
      return refuse(
        'conflict',
        'routingMode cannot be changed to or from byo_sip here. Use the SIP operations of the number.',
      )
    }
    const endpointAfter = body.mediaEndpoint === undefined ? before.mediaEndpoint : body.mediaEndpoint
    if (routingMode === 'byo_ws' && endpointAfter === null) {
      return refuse(
        'unprocessable_entity',
        'The routing mode byo_ws needs a mediaEndpoint. Set it in the same request or before.',
        {
          path: 'mediaEndpoint',
        },
      )
    }
    const agentAfter = body.agentId === undefined ? before.agentId : body.agentId
    if ((body.byoFallback ?? before.byoFallback) === 'agent' && agentAfter === null) {
      return refuse(
        'unprocessable_entity',
        'The fallback agent needs an agentId. Set it in the same request, or set byoFallback to hangup.',
        { path: body.byoFallback === undefined ? 'agentId' : 'byoFallback' },
      )
    }
    const merged = body.mediaEndpoint
      ? mergeEndpoint(readEndpoint(before.mediaEndpoint), body.mediaEndpoint)
      : null
    if (typeof merged === 'string') {
      return refuse(
        'validation_error',
        'The media endpoint is incomplete. details.issues lists the missing fields.',
        {
          issues: [{ path: `mediaEndpoint.${merged}`, reason: 'is required' }],
        },
      )
    }
    const endpoint = merged === null ? null : await checkEndpoint(deps, actor.organizationId, merged)
    if (endpoint !== null && isRefusal(endpoint)) return endpoint
    const change = {
      ...(body.agentId === undefined ? {} : { agentId: body.agentId }),
      ...(body.label === undefined ? {} : { label: body.label }),
      ...(body.recordCalls === undefined ? {} : { recordCalls: body.recordCalls ? 1 : 0 }),
      ...(body.routingMode === undefined ? {} : { routingMode: body.routingMode }),
      ...(body.mediaEndpoint === undefined ? {} : { mediaEndpoint: endpoint }),
      ...(body.byoFallback === undefined ? {} : { byoFallback: body.byoFallback }),
    }
    const by = { actor, requestId, now: deps.clock.wall() }
    const row = await storeChange(deps.db, actor, params.id, change, by)
    if (row === 'secret_gone') {
      return refuse('not_found', 'The secret does not exist. Set authSecretId to an existing secret.', {
        resource: 'secret',
        path: 'mediaEndpoint.authSecretId',
      })
    }
    return row === null ? noNumber() : numberView(row)
  },
})

/** The secret may be deleted after it was checked. */
async function storeChange(
  ...change: Parameters<typeof storeNumber>
): Promise<NumberRow | null | 'secret_gone'> {
  try {
    return await storeNumber(...change)
  } catch (error) {
    if (isForeignKeyViolation(error)) return 'secret_gone'
    throw error
  }
}

/** Returns the API view of a number. */
export function numberView(row: NumberRow): z.input<typeof PhoneNumber> {
  return {
    id: row.id,
    e164: row.e164,
    label: row.label,
    environment: row.environment,
    provider: row.provider,
    region: row.region,
    numberType: row.numberType,
    series: row.series,
    capabilities: { sms: false, voice: true },
    currency: 'INR',
    rentalPaise: row.rentalPaise,
    setupPaise: row.setupPaise,
    renewalCycle: row.renewalCycle,
    nextRentalAt: timestampOrNull(row.nextRentalAt),
    purchasedAt: timestampOrNull(row.purchasedAt),
    releaseAt: timestampOrNull(row.releaseAt),
    releasedAt: timestampOrNull(row.releasedAt),
    status: row.status,
    // A released number takes no calls, whatever its settings.
    inbound: row.releasedAt === null ? row.inbound : 'disabled',
    inboundReason: row.inboundReason,
    routed: row.status === 'active' && row.inbound === 'ready',
    routingMode: row.routingMode,
    agentId: row.agentId,
    recordCalls: row.recordCalls === 1,
    mediaEndpoint: readEndpoint(row.mediaEndpoint),
    byoFallback: row.byoFallback,
    sipTrunk: sipTrunkDetail(row),
    sipTrunkId: row.sipTrunkId,
    createdAt: timestamp(row.createdAt),
  }
}
