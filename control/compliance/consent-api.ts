import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { idParam, oneLine, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { ConsentRow } from '../db/tables/compliance.js'
import {
  authorOf,
  Bulk,
  bulkRows,
  INDIAN_NUMBER,
  IndianNumber,
  ReceivedRow,
  type RejectedRow,
} from './bulk.js'
import { lockConsents } from './consent-lock.js'
import type { ConsentWrite } from './consent-rules.js'
import { isActive } from './consent-state.js'
import {
  findConsent,
  isConsentRefusal,
  listConsents,
  recordConsents,
  revokeConsent,
} from './consent-store.js'
import { knownOf } from './person-names.js'
import { suppress } from './suppression-store.js'

const COMMON = { tag: 'Compliance', audience: 'key' } as const
const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const

export const Consent = z.object({
  id: z.string(),
  e164: z.string(),
  purpose: openEnum(...PURPOSES),
  kind: openEnum('explicit', 'inferred'),
  scope: z.string(),
  source: z.string(),
  evidenceRef: z.string().nullable(),
  capturedAt: Timestamp,
  expiresAt: Timestamp.nullable(),
  createdAt: Timestamp,
  revokedAt: Timestamp.nullable(),
  revokedReason: z.string().nullable(),
  active: z.boolean(),
})

const ConsentPath = z.object({ id: idParam('con') })
const noConsent = () => refuse('not_found', 'The consent does not exist.')

const NewConsent = z.strictObject({
  e164: IndianNumber,
  purpose: z.enum(PURPOSES),
  kind: z.enum(['explicit', 'inferred']),
  scope: oneLine(500),
  source: oneLine(80),
  evidenceRef: oneLine(500).nullable().optional(),
  capturedAt: Instant.optional(),
  expiresAt: Instant.nullable().optional(),
})

const listConsentRecords = listOperation({
  ...COMMON,
  id: 'listConsents',
  path: '/v1/consent',
  summary: 'List consents',
  description: 'The newest consent of each number and purpose, newest first.',
  scope: 'read',
  query: z.strictObject({
    e164: z.string().regex(INDIAN_NUMBER).optional(),
    purpose: z.string().max(40).optional(),
    active: z.enum(['true', 'false']).optional(),
  }),
  result: Consent,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const now = deps.clock.wall()
    const active = query.active === undefined ? undefined : query.active === 'true'
    const filter = { e164: query.e164, purpose: query.purpose, active }
    const { items, next } = await listConsents(deps.db, actor, filter, page, now)
    return { items: items.map((row) => consentView(row, now)), next }
  },
})

const createConsent = operation({
  ...COMMON,
  id: 'createConsent',
  method: 'post',
  path: '/v1/consent',
  summary: 'Record a consent',
  description:
    'Replaces the consent of the number for that purpose. An inferred consent needs `expiresAt`. An explicit transactional one, and one of source `enquiry`, last at most 7 days. Consent is refused for 90 days after an opt-out.',
  scope: 'write',
  idempotent: 'accepted',
  body: NewConsent,
  status: 201,
  result: Consent,
  fails: ['validation_error', 'conflict'],
  run: async ({ body, actor, deps, keep }) => {
    const now = deps.clock.wall()
    const recorded = await deps.db.transaction().execute(async (trx) => {
      const writes = [writeOf(body)]
      const [row] = await recordConsents(trx, knownOf(deps), owner(actor), writes, authorOf(actor), now)
      return row === undefined || isConsentRefusal(row) ? row : keep(trx, consentView(row, now))
    })
    if (recorded === undefined) return refuse('internal_error', 'The consent was not recorded.')
    if (!('message' in recorded)) return recorded
    const { code, message, path, lockedUntil } = recorded
    if (code === 'validation_error') {
      return refuse(code, message, { issues: [{ path: path ?? '', reason: message }] })
    }
    return refuse(code, message, { lockedUntil: timestampOrNull(lockedUntil) })
  },
})

const importConsents = operation({
  ...COMMON,
  id: 'importConsents',
  method: 'post',
  path: '/v1/consent/bulk',
  summary: 'Record up to 1,000 consents',
  description:
    'Each row counts on its own: a row that is refused is listed in `rejected`. Set `capturedAt` of each row; its default is the time of the import.',
  scope: 'write',
  idempotent: 'accepted',
  body: z.strictObject({
    records: z
      .array(
        ReceivedRow({
          purpose: z.string().max(200),
          kind: z.string().max(200),
          scope: z.string().max(200),
          source: z.string().max(200),
          evidenceRef: z.string().max(10_000).nullable().optional(),
          capturedAt: z.string().max(200).optional(),
          expiresAt: z.string().max(200).nullable().optional(),
        }),
      )
      .min(1)
      .max(1_000),
  }),
  limits: { bodyBytes: 5 * 1_024 * 1_024, bodyValues: 20_000 },
  status: 200,
  result: Bulk,
  fails: [],
  run: ({ body, actor, deps, keep }) => {
    const now = deps.clock.wall()
    const { valid, rejected } = bulkRows(NewConsent, body.records)
    const writes = valid.map(({ row }) => writeOf(row))
    return deps.db.transaction().execute(async (trx) => {
      const recorded = await recordConsents(trx, knownOf(deps), owner(actor), writes, authorOf(actor), now)
      const refused = recorded.flatMap((result, position): RejectedRow[] => {
        const { index, row } = valid[position] ?? {}
        if (!isConsentRefusal(result) || index === undefined || row === undefined) return []
        return [{ index, e164: row.e164, code: result.code, message: result.message }]
      })
      const all = [...rejected, ...refused].sort((a, b) => a.index - b.index)
      return keep(trx, { imported: body.records.length - all.length, rejected: all })
    })
  },
})

const readConsent = operation({
  ...COMMON,
  id: 'readConsent',
  method: 'get',
  path: '/v1/consent/:id',
  summary: 'Get a consent',
  description: 'A consent that a newer one has replaced is part of the evidence of its number only.',
  scope: 'read',
  params: ConsentPath,
  status: 200,
  result: Consent,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findConsent(deps.db, actor, params.id)
    return row === null ? noConsent() : consentView(row, deps.clock.wall())
  },
})

const revoke = operation({
  ...COMMON,
  id: 'revokeConsent',
  method: 'post',
  path: '/v1/consent/:id/revoke',
  summary: 'Revoke a consent',
  description:
    'With `optOut` the number is also put on the do-not-call list for 90 days, and its other consents are revoked. Revoking twice changes nothing.',
  scope: 'write',
  params: ConsentPath,
  body: z.strictObject({ reason: oneLine(500), optOut: z.boolean().optional() }),
  status: 200,
  result: Consent,
  fails: ['not_found'],
  run: ({ params, body, ...input }) =>
    audited(input, async (trx, record, now) => {
      const own = owner(input.actor)
      if (body.optOut === true) await lockConsents(trx, own.organizationId, 'opt_out')
      const revoked = await revokeConsent(trx, own, params.id, body.reason, now)
      const row = revoked ?? (await findConsent(trx, own, params.id))
      if (row === null) return noConsent()
      if (revoked !== null) await record('consent.revoked', row.id, { after: { reason: body.reason } })
      if (body.optOut === true) {
        const entry = { e164: row.e164, source: 'opt_out', reason: body.reason, callId: null }
        const suppressed = await suppress(trx, knownOf(input.deps), own, entry, authorOf(input.actor), now)
        const action = suppressed.created ? 'suppression.created' : 'suppression.renewed'
        await record(action, suppressed.row.id, { after: { source: 'opt_out' } })
      }
      return consentView(row, now)
    }),
})

export const consentOperations = [listConsentRecords, createConsent, importConsents, readConsent, revoke]

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

function writeOf(body: z.output<typeof NewConsent>): ConsentWrite {
  const { capturedAt, expiresAt, evidenceRef = null, ...rest } = body
  const instant = (text: string | null | undefined) => (text == null ? null : parseInstant(text))
  return { ...rest, evidenceRef, capturedAt: instant(capturedAt), expiresAt: instant(expiresAt) }
}

export function consentView(row: ConsentRow, now: number): z.input<typeof Consent> {
  return {
    id: row.id,
    e164: row.e164,
    purpose: row.purpose,
    kind: row.kind,
    scope: row.scope,
    source: row.source,
    evidenceRef: row.evidenceRef,
    capturedAt: timestamp(row.capturedAt),
    expiresAt: timestampOrNull(row.expiresAt),
    createdAt: timestamp(row.createdAt),
    revokedAt: timestampOrNull(row.revokedAt),
    revokedReason: row.revokedReason,
    active: row.revokedAt === null && isActive(row, now),
  }
}
