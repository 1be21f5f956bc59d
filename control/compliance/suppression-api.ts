import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { existing } from '../api/reply.js'
import { idParam, oneLine, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { SuppressionRow } from '../db/tables/compliance.js'
import { authorOf, Bulk, bulkRows, INDIAN_NUMBER, IndianNumber, ReceivedRow } from './bulk.js'
import { knownOf, namesOf } from './person-names.js'
import { findSuppression, listSuppressions, removeSuppression, suppress } from './suppression-store.js'

const COMMON = { tag: 'Compliance', audience: 'key' } as const
const SOURCES = ['opt_out', 'manual', 'import', 'complaint', 'regulator'] as const

export const Suppression = z.object({
  id: z.string(),
  e164: z
    .string()
    .meta({ description: 'After the erasure of the person a digest that begins with `erased-`.' }),
  source: openEnum(...SOURCES),
  reason: z.string().nullable(),
  environment: z.enum(['test', 'live']),
  callId: z.string().nullable(),
  active: z.boolean(),
  lockedUntil: Timestamp.nullable(),
  expiresAt: Timestamp.nullable(),
  createdAt: Timestamp,
  createdBy: z.object({ type: openEnum('user', 'key', 'call'), id: z.string() }),
  removedAt: Timestamp.nullable(),
  removedBy: z.object({ type: openEnum('user', 'key'), id: z.string() }).nullable(),
})

const SuppressionPath = z.object({ id: idParam('dnc') })
const noEntry = () => refuse('not_found', 'The do-not-call entry does not exist.')

const NewEntry = z.strictObject({
  e164: IndianNumber,
  reason: oneLine(500).optional(),
  source: z.enum(SOURCES).optional(),
})

const listDncEntries = listOperation({
  ...COMMON,
  id: 'listDncEntries',
  path: '/v1/dnc',
  summary: 'List do-not-call entries',
  description:
    'Entries of the environment of the key, newest first. Entries of both environments block calls in both.',
  scope: 'read',
  query: z.strictObject({
    e164: z.string().regex(INDIAN_NUMBER).optional(),
    source: z.string().max(40).optional(),
    active: z.enum(['true', 'false']).optional(),
  }),
  result: Suppression,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const now = deps.clock.wall()
    const active = query.active === undefined ? undefined : query.active === 'true'
    const names =
      query.e164 === undefined ? undefined : namesOf(deps.rootKey, actor.organizationId, query.e164)
    const filter = { names, source: query.source, active }
    const { items, next } = await listSuppressions(deps.db, actor, filter, page, now)
    return { items: items.map((row) => suppressionView(row, now)), next }
  },
})

const createDncEntry = operation({
  ...COMMON,
  id: 'createDncEntry',
  method: 'post',
  path: '/v1/dnc',
  summary: 'Add a number to the do-not-call list',
  description:
    'No call reaches the number from now on, in either environment. Source `opt_out` lasts 90 days, locks consent for that time and revokes the consents of the number. An entry of the same source that is there already is answered with 200.',
  scope: 'write',
  idempotent: 'accepted',
  body: NewEntry,
  status: 201,
  mayExist: true,
  result: Suppression,
  fails: [],
  run: ({ body, ...input }) =>
    audited(input, async (trx, record, now) => {
      const { e164, reason = null, source = 'manual' } = body
      const entry = { e164, reason, source, callId: null }
      const { row, created } = await suppress(
        trx,
        knownOf(input.deps),
        owner(input.actor),
        entry,
        authorOf(input.actor),
        now,
      )
      if (created) await record('suppression.created', row.id, { after: { source } })
      else if (source === 'opt_out') await record('suppression.renewed', row.id)
      const view = suppressionView(row, now)
      return input.keep(trx, created ? view : existing(view))
    }),
})

const importDncEntries = operation({
  ...COMMON,
  id: 'importDncEntries',
  method: 'post',
  path: '/v1/dnc/bulk',
  summary: 'Add up to 1,000 numbers to the do-not-call list',
  description:
    'Each row counts on its own: a row that is refused is listed in `rejected`. The default source is `import`.',
  scope: 'write',
  idempotent: 'accepted',
  body: z.strictObject({
    entries: z
      .array(
        ReceivedRow({ reason: z.string().max(10_000).optional(), source: z.string().max(200).optional() }),
      )
      .min(1)
      .max(1_000),
  }),
  limits: { bodyBytes: 5 * 1_024 * 1_024, bodyValues: 10_000 },
  status: 200,
  result: Bulk,
  fails: [],
  run: ({ body, ...input }) =>
    audited(input, async (trx, record, now) => {
      const { valid, rejected } = bulkRows(NewEntry, body.entries)
      for (const { row } of valid) {
        const { e164, reason = null, source = 'import' } = row
        await suppress(
          trx,
          knownOf(input.deps),
          owner(input.actor),
          { e164, reason, source, callId: null },
          authorOf(input.actor),
          now,
        )
      }
      await record('suppression.imported', input.actor.organizationId, { after: { imported: valid.length } })
      return input.keep(trx, { imported: valid.length, rejected })
    }),
})

const readDncEntry = operation({
  ...COMMON,
  id: 'readDncEntry',
  method: 'get',
  path: '/v1/dnc/:id',
  summary: 'Get a do-not-call entry',
  description: 'A removed entry can still be read.',
  scope: 'read',
  params: SuppressionPath,
  status: 200,
  result: Suppression,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findSuppression(deps.db, actor, params.id)
    return row === null ? noEntry() : suppressionView(row, deps.clock.wall())
  },
})

const deleteDncEntry = operation({
  ...COMMON,
  id: 'deleteDncEntry',
  method: 'delete',
  path: '/v1/dnc/:id',
  summary: 'Remove a do-not-call entry',
  description:
    'An opt-out cannot be removed before `lockedUntil`. In the test environment it can, so that a test can be repeated.',
  scope: 'admin',
  params: SuppressionPath,
  status: 204,
  fails: ['not_found', 'conflict'],
  run: ({ params, ...input }) =>
    audited(input, async (trx, record, now) => {
      const own = owner(input.actor)
      if (await removeSuppression(trx, own, params.id, authorOf(input.actor), now)) {
        await record('suppression.removed', params.id)
        return
      }
      const row = await findSuppression(trx, own, params.id)
      if (row === null || row.removedAt !== null) return noEntry()
      return refuse('conflict', 'The person opted out. The entry cannot be removed before lockedUntil.', {
        lockedUntil: timestampOrNull(row.lockedUntil),
      })
    }),
})

export const suppressionOperations = [
  listDncEntries,
  createDncEntry,
  importDncEntries,
  readDncEntry,
  deleteDncEntry,
]

const owner = ({
  organizationId,
  environment,
}: {
  organizationId: string
  environment: 'test' | 'live'
}) => ({
  organizationId,
  environment,
})

export function suppressionView(row: SuppressionRow, now: number): z.input<typeof Suppression> {
  const { removedByType, removedById } = row
  return {
    id: row.id,
    e164: row.e164,
    source: row.source,
    reason: row.reason,
    environment: row.environment,
    callId: row.callId,
    active: row.removedAt === null && (row.expiresAt === null || row.expiresAt > now),
    lockedUntil: timestampOrNull(row.lockedUntil),
    expiresAt: timestampOrNull(row.expiresAt),
    createdAt: timestamp(row.createdAt),
    createdBy: { type: row.createdByType, id: row.createdById },
    removedAt: timestampOrNull(row.removedAt),
    removedBy:
      removedByType === null || removedById === null ? null : { type: removedByType, id: removedById },
  }
}
