import { z } from 'zod'
import { audited } from '../api/audited.js'
import { operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { nameText, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import { type Entitlement, insertAccessRequest, readEntitlement } from './access-store.js'

const TAG = 'SIP trunks'

const EntitlementView = z.object({
  enabled: z.boolean().meta({ description: 'Staff allowed the organization to create trunks.' }),
  organizationVerified: z.boolean(),
  request: z
    .object({
      id: z.string(),
      status: openEnum('pending', 'approved', 'rejected'),
      requestedAt: Timestamp,
      reviewedAt: Timestamp.nullable(),
      rejectionReason: z.string().nullable(),
    })
    .nullable()
    .meta({ description: 'The latest request for access.' }),
})

function entitlementView({ request, ...rest }: Entitlement): z.input<typeof EntitlementView> {
  if (request === null) return { ...rest, request }
  const { id, status, createdAt, reviewedAt, rejectionReason } = request
  return {
    ...rest,
    request: {
      id,
      status,
      requestedAt: timestamp(createdAt),
      reviewedAt: timestampOrNull(reviewedAt),
      rejectionReason,
    },
  }
}

const readTrunkEntitlement = operation({
  id: 'readSipTrunkEntitlement',
  method: 'get',
  path: '/v1/sip-trunks/entitlement',
  tag: TAG,
  summary: 'Get the right to create SIP trunks',
  description: 'A trunk can be created when both `enabled` and `organizationVerified` are true.',
  audience: 'key',
  scope: 'read',
  status: 200,
  result: EntitlementView,
  fails: [],
  run: async ({ actor, deps }) => entitlementView(await readEntitlement(deps.db, actor.organizationId)),
})

const requestTrunkAccess = operation({
  id: 'requestSipTrunkAccess',
  method: 'post',
  path: '/v1/sip-trunks/access-request',
  tag: TAG,
  summary: 'Request the right to create SIP trunks',
  description: 'Staff of the service decide. At most one request waits at a time.',
  audience: 'key',
  scope: 'admin',
  body: z.strictObject({
    message: nameText(2000).meta({ description: 'What you want to connect, for the reviewer.' }),
  }),
  status: 200,
  result: EntitlementView,
  fails: ['sip_trunking_request_pending', 'sip_trunking_already_enabled'],
  run: async ({ body, actor, deps, requestId }) => {
    const { organizationId } = actor
    const { enabled } = await readEntitlement(deps.db, organizationId)
    if (enabled) {
      return refuse('sip_trunking_already_enabled', 'The organization can already create SIP trunks.')
    }
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const row = await insertAccessRequest(trx, organizationId, body.message, now)
      if (row === null) {
        return refuse('sip_trunking_request_pending', 'A request for access already waits for a decision.')
      }
      await record('sip_access.requested', row.id)
      return entitlementView(await readEntitlement(trx, organizationId))
    })
  },
})

export const trunkAccessOperations = [readTrunkEntitlement, requestTrunkAccess]
