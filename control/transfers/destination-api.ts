import { z } from 'zod'
import { Language } from '../agents/config.js'
import type { AuditFields } from '../api/audit.js'
import { audited } from '../api/audited.js'
import type { Deps } from '../api/deps.js'
import { listOperation, operation } from '../api/operation.js'
import { type Refusal, refuse } from '../api/problem.js'
import {
  E164,
  idParam,
  oneLine,
  openEnum,
  patchBody,
  Timestamp,
  timestamp,
  timestampOrNull,
} from '../base/schemas.js'
import { refuseUndialable } from '../compliance/dialable.js'
import { BLOCK_CODES } from '../compliance/gate.js'
import { isForeignKeyViolation } from '../db/constraint-error.js'
import type { TransferDestinationRow } from '../db/tables/transfers.js'
import { hashCode } from '../destinations/code.js'
import { Hours } from '../destinations/hours.js'
import {
  agentsUsing,
  type Destination,
  deleteDestination,
  findDestination,
  hoursOf,
  insertDestination,
  MAX_DESTINATIONS,
  type Owner,
  listDestinations as pageOfDestinations,
  statusOf,
  updateDestination,
} from '../destinations/store.js'
import { confirmCode, verificationCallBudget } from '../destinations/verification-store.js'
import { placeVerificationCall } from './verification-call.js'

const TAG = 'Transfers'

const TransferDestination = z.object({
  id: z.string(),
  key: z.string(),
  label: z.string(),
  e164: z.string(),
  hours: z
    .array(z.object({ days: z.string(), from: z.string(), to: z.string() }))
    .nullable()
    .meta({ description: 'Windows in Indian time. Null means any time.' }),
  language: z.string(),
  status: openEnum('pending', 'verified', 'disabled').meta({
    description: 'In the environment of the key. Only verified destinations receive transfers.',
  }),
  verification: z.object({
    attemptsLeft: z.int().meta({ description: 'Wrong codes that are still allowed. 0 if no code waits.' }),
    callsLeftToday: z.int(),
    codeExpiresAt: Timestamp.nullable(),
    lastCallAt: Timestamp.nullable(),
  }),
  verifiedAt: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const DestinationPath = z.object({ id: idParam('tdst') })
const noDestination = () => refuse('not_found', 'The transfer destination does not exist.')

const Label = oneLine(80)

const listTransferDestinations = listOperation({
  id: 'listTransferDestinations',
  path: '/v1/transfer-destinations',
  tag: TAG,
  summary: 'List transfer destinations',
  description: 'Telephones of persons to whom calls can be transferred, newest first.',
  audience: 'key',
  scope: 'read',
  result: TransferDestination,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await pageOfDestinations(deps.db, actor, page)
    return { items: await Promise.all(items.map((found) => view(deps, actor, found))), next }
  },
})

const readTransferDestination = operation({
  id: 'readTransferDestination',
  method: 'get',
  path: '/v1/transfer-destinations/:id',
  tag: TAG,
  summary: 'Get a transfer destination',
  description: 'Status and verification are those of the environment of the key.',
  audience: 'key',
  scope: 'read',
  params: DestinationPath,
  status: 200,
  result: TransferDestination,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => readBack(deps, actor, params.id),
})

const createTransferDestination = operation({
  id: 'createTransferDestination',
  method: 'post',
  path: '/v1/transfer-destinations',
  tag: TAG,
  summary: 'Create a transfer destination',
  description:
    'Both environments share the destination. It receives transfers in an environment after it was verified there.',
  audience: 'key',
  scope: 'admin',
  body: z.strictObject({
    e164: E164,
    key: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, 'must begin with a letter and hold a-z, 0-9 and _ only'),
    label: Label,
    hours: Hours.optional(),
    language: Language.default('en-IN'),
  }),
  status: 201,
  result: TransferDestination,
  fails: ['conflict'],
  run: ({ body, actor, deps, requestId }) =>
    audited({ actor, deps, requestId }, async (trx, record, now) => {
      const undialable = refuseUndialable(deps, body.e164, 'e164')
      if (undialable !== null) return undialable
      const fields = { ...body, hours: body.hours ?? [], language: tagOf(body.language) }
      const row = await insertDestination(trx, actor.organizationId, fields, now)
      if (row === 'key_taken') {
        return refuse('conflict', 'A destination with this key already exists. Choose another key.', {
          path: 'key',
        })
      }
      if (row === 'full') {
        const message = `The limit of ${MAX_DESTINATIONS} destinations is reached. Delete one first.`
        return refuse('conflict', message, { limit: MAX_DESTINATIONS })
      }
      await record('transfer_destination.created', row.id, { after: facts(row) })
      return view({ ...deps, db: trx }, actor, { row, verification: null })
    }),
})

const updateTransferDestination = operation({
  id: 'updateTransferDestination',
  method: 'patch',
  path: '/v1/transfer-destinations/:id',
  tag: TAG,
  summary: 'Update a transfer destination',
  description: 'A new number has to be verified again, in both environments. The key never changes.',
  audience: 'key',
  scope: 'admin',
  params: DestinationPath,
  body: patchBody({ e164: E164, label: Label, hours: Hours, language: Language, enabled: z.boolean() }),
  status: 200,
  result: TransferDestination,
  fails: ['not_found'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const undialable = body.e164 === undefined ? null : refuseUndialable(deps, body.e164, 'e164')
    if (undialable !== null) return undialable
    const { hours, language, ...plain } = body
    const change = {
      ...plain,
      ...(hours === undefined ? {} : { hours: hours ?? [] }),
      ...(language === undefined ? {} : { language: tagOf(language) }),
    }
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const before = await findDestination(trx, actor, params.id)
      const row = await updateDestination(trx, actor.organizationId, params.id, change, now)
      if (before === null || row === null) return noDestination()
      await record('transfer_destination.updated', row.id, { before: facts(before.row), after: facts(row) })
      return readBack({ ...deps, db: trx }, actor, row.id)
    })
  },
})

const deleteTransferDestination = operation({
  id: 'deleteTransferDestination',
  method: 'delete',
  path: '/v1/transfer-destinations/:id',
  tag: TAG,
  summary: 'Delete a transfer destination',
  description: 'Fails while an agent uses the destination.',
  audience: 'key',
  scope: 'admin',
  params: DestinationPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps, requestId }): Promise<undefined | Refusal> => {
    try {
      return await audited({ actor, deps, requestId }, async (trx, record) => {
        const row = await deleteDestination(trx, actor.organizationId, params.id)
        if (row === null) return noDestination()
        await record('transfer_destination.deleted', row.id, { before: facts(row) })
        return undefined
      })
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error
      const message =
        'The destination is in use. Remove it from the agents in details.agentIds and publish them.'
      return refuse('conflict', message, { agentIds: await agentsUsing(deps.db, params.id) })
    }
  },
})

const verifyTransferDestination = operation({
  id: 'verifyTransferDestination',
  method: 'post',
  path: '/v1/transfer-destinations/:id/verify',
  tag: TAG,
  summary: 'Verify a transfer destination by a call with a code',
  description:
    'A call says a code of six digits twice, in the language of the destination. The code is valid for 10 minutes; a new call replaces it. The code of the test environment is 000000. Verification calls cost nothing. In 24 hours, an organization has 5 of them for a destination and for a number, and 50 in all; all organizations together have 20 for a number. In the live environment they keep the calling hours of promotional calls.',
  audience: 'key',
  scope: 'admin',
  params: DestinationPath,
  body: z.strictObject({}).optional(),
  status: 200,
  result: TransferDestination,
  fails: [
    'not_found',
    'conflict',
    'rate_limited',
    'unprocessable_entity',
    'concurrent_call_limit_reached',
    'sip_trunk_not_active',
    'provider_unavailable',
    'internal_error',
    ...BLOCK_CODES,
  ],
  run: async ({ params, actor, deps }) => {
    const destination = await findDestination(deps.db, actor, params.id)
    if (destination === null) return noDestination()
    const refusal = await placeVerificationCall(deps, actor, destination)
    return refusal ?? readBack(deps, actor, params.id)
  },
})

const confirmTransferDestination = operation({
  id: 'confirmTransferDestination',
  method: 'post',
  path: '/v1/transfer-destinations/:id/confirm',
  tag: TAG,
  summary: 'Check the code of a transfer destination',
  description:
    'Verifies the destination in the environment of the key. After five wrong codes a new verification call is needed.',
  audience: 'key',
  scope: 'admin',
  params: DestinationPath,
  body: z.strictObject({ code: z.string().regex(/^\d{6}$/, 'must be six digits') }),
  status: 200,
  result: TransferDestination,
  fails: ['not_found', 'conflict', 'unprocessable_entity'],
  run: ({ params, body, actor, deps, requestId }) =>
    audited({ actor, deps, requestId }, async (trx, record, now) => {
      const destination = await findDestination(trx, actor, params.id)
      if (destination === null) return noDestination()
      const hash = hashCode(deps.rootKey, params.id, body.code)
      const result = await confirmCode(trx, actor, destination.row, hash, now)
      if (result.kind === 'none') {
        return refuse('conflict', 'No code waits for a confirmation. Place a verification call first.')
      }
      if (result.kind === 'wrong') {
        const { attemptsLeft } = result
        return refuse('unprocessable_entity', 'The code is wrong or has expired.', { attemptsLeft })
      }
      const { environment } = actor
      await record('transfer_destination.verified', params.id, { after: { environment } })
      return readBack({ ...deps, db: trx }, actor, params.id)
    }),
})

export const destinationOperations = [
  createTransferDestination,
  listTransferDestinations,
  readTransferDestination,
  updateTransferDestination,
  deleteTransferDestination,
  verifyTransferDestination,
  confirmTransferDestination,
]

type ViewDeps = Pick<Deps, 'db' | 'clock'>

async function readBack(deps: ViewDeps, owner: Owner, id: string) {
  const destination = await findDestination(deps.db, owner, id)
  return destination === null ? noDestination() : view(deps, owner, destination)
}

async function view(
  { db, clock }: ViewDeps,
  owner: Owner,
  destination: Destination,
): Promise<z.input<typeof TransferDestination>> {
  const { row, verification } = destination
  const now = clock.wall()
  const hours = hoursOf(row)
  const waits = (verification?.codeHash ?? null) !== null && (verification?.codeExpiresAt ?? 0) > now
  const { left } = await verificationCallBudget(db, owner, row, now)
  return {
    id: row.id,
    key: row.key,
    label: row.label,
    e164: row.e164,
    hours: hours.length === 0 ? null : [...hours],
    language: row.language,
    status: statusOf(destination),
    verification: {
      attemptsLeft: waits ? (verification?.attemptsLeft ?? 0) : 0,
      callsLeftToday: left,
      codeExpiresAt: waits ? timestampOrNull(verification?.codeExpiresAt ?? null) : null,
      lastCallAt: timestampOrNull(verification?.lastCallAt ?? null),
    },
    verifiedAt: timestampOrNull(verification?.verifiedAt ?? null),
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}

function facts({ key, label, e164, language, enabled, hours }: TransferDestinationRow): AuditFields {
  return { key, label, e164, language, enabled: enabled === 1, hours: JSON.parse(hours) }
}

/** Returns the tag under which a language is stored. */
function tagOf(language: z.output<typeof Language>): string {
  return language === 'or-IN' ? 'od-IN' : language
}
