import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { ADMIN_ROLES } from '../api/scopes.js'
import { E164, idParam, nameText, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import { istDate } from '../compliance/calling-hours.js'
import type { RobocallDeclarationRow, SenderIdRow } from '../db/tables/organization.js'
import {
  findDeclaration,
  insertDeclaration,
  insertSenderId,
  listDeclarations,
  listSenderIds as pageOfSenderIds,
  withdrawDeclaration,
} from './registration-store.js'

const Declaration = z.object({
  id: z.string(),
  provider: z.string(),
  reference: z.string(),
  objective: z.string(),
  callerIds: z.array(z.string()),
  declaredOn: z.string().meta({ format: 'date' }),
  effectiveFrom: z.string().meta({ format: 'date' }),
  status: openEnum('declared', 'withdrawn'),
  withdrawnAt: Timestamp.nullable(),
  createdAt: Timestamp,
})

export const listRobocallDeclarations = listOperation({
  id: 'listRobocallDeclarations',
  path: '/v1/organization/robocall-declarations',
  tag: 'Organization',
  summary: 'List robocall declarations',
  description: 'Declarations made to access providers, newest first.',
  audience: 'session',
  result: Declaration,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await listDeclarations(deps.db, actor.organizationId, page)
    return { items: items.map(declarationView), next }
  },
})

const NewDeclaration = z
  .strictObject({
    provider: nameText(80),
    reference: nameText(120),
    objective: nameText(1_000),
    callerIds: z
      .array(E164)
      .min(1)
      .max(100)
      .refine((numbers) => new Set(numbers).size === numbers.length, 'names a number twice'),
    declaredOn: z.iso.date(),
    effectiveFrom: z.iso.date(),
  })
  .refine(({ declaredOn, effectiveFrom }) => effectiveFrom >= declaredOn, {
    path: ['effectiveFrom'],
    message: 'must not be before declaredOn',
  })

export const declareRobocalls = operation({
  id: 'declareRobocalls',
  method: 'post',
  path: '/v1/organization/robocall-declarations',
  tag: 'Organization',
  summary: 'Record a robocall declaration',
  description: 'Records a declaration made to an access provider. It can be withdrawn but not changed.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: NewDeclaration,
  status: 201,
  result: Declaration,
  fails: ['validation_error'],
  run: async ({ body, actor, deps, requestId }) => {
    const now = deps.clock.wall()
    if (body.declaredOn > istDate(now)) {
      return refuse('validation_error', 'declaredOn must not be in the future.', {
        issues: [{ path: 'declaredOn', reason: 'must not be in the future' }],
      })
    }
    const { organizationId, userId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const row = await insertDeclaration(trx, { ...body, organizationId, createdBy: userId }, now)
      const view = declarationView(row)
      await record('robocall_declaration.declared', row.id, { after: { ...body } })
      return view
    })
  },
})

export const withdrawRobocallDeclaration = operation({
  id: 'withdrawRobocallDeclaration',
  method: 'post',
  path: '/v1/organization/robocall-declarations/:id/withdraw',
  tag: 'Organization',
  summary: 'Withdraw a robocall declaration',
  description: 'Cannot be undone.',
  audience: 'session',
  roles: ADMIN_ROLES,
  params: z.object({ id: idParam('rbd') }),
  status: 200,
  result: Declaration,
  fails: ['not_found', 'conflict'],
  run: ({ params, actor, deps, requestId }) => {
    const { organizationId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const row = await withdrawDeclaration(trx, organizationId, params.id, now)
      if (row === null) {
        const known = await findDeclaration(trx, organizationId, params.id)
        if (known === null) return refuse('not_found', 'The declaration does not exist.')
        return refuse('conflict', 'The declaration is already withdrawn.', {
          withdrawnAt: timestampOrNull(known.withdrawnAt),
        })
      }
      await record('robocall_declaration.withdrawn', row.id, {
        before: { status: 'declared' },
        after: { status: 'withdrawn' },
      })
      return declarationView(row)
    })
  },
})

export const SenderId = z.object({
  id: z.string(),
  series: openEnum('140', '1600', '1601'),
  e164: z.string(),
  category: openEnum('promotional', 'service', 'transactional', 'government'),
  dltHeaderId: z.string(),
  status: openEnum('submitted', 'approved', 'rejected', 'revoked'),
  decidedAt: Timestamp.nullable(),
  rejectionReason: z.string().nullable(),
  createdAt: Timestamp,
})

/** Number formats and categories of each series. The 160 series is data because it was redefined before. */
const SERIES = {
  '140': { form: /^\+91140\d{7}$/, categories: ['promotional'] },
  '1600': { form: /^\+911600\d{6}$/, categories: ['service', 'transactional', 'government'] },
  '1601': { form: /^\+911601\d{6}$/, categories: ['service', 'transactional'] },
} as const

export const listSenderIds = listOperation({
  id: 'listSenderIds',
  path: '/v1/organization/sender-ids',
  tag: 'Organization',
  summary: 'List sender IDs',
  description: 'Sender IDs of the 140 and 160 series, newest first.',
  audience: 'session',
  result: SenderId,
  fails: [],
  run: async ({ actor, deps, page }) => {
    const { items, next } = await pageOfSenderIds(deps.db, actor.organizationId, page)
    return { items: items.map(senderIdView), next }
  },
})

const NewSenderId = z
  .strictObject({
    series: z.enum(['140', '1600', '1601']),
    e164: E164,
    category: z.enum(['promotional', 'service', 'transactional', 'government']),
    dltHeaderId: z.string().min(1).max(64),
  })
  .superRefine(({ series, e164, category }, context) => {
    const { form, categories } = SERIES[series]
    if (!form.test(e164)) {
      context.addIssue({
        code: 'custom',
        path: ['e164'],
        message: `must be a number of the ${series} series`,
      })
    }
    if (!categories.some((known) => known === category)) {
      const message = `the ${series} series is for ${categories.join(', ')} calls`
      context.addIssue({ code: 'custom', path: ['category'], message })
    }
  })

export const submitSenderId = operation({
  id: 'submitSenderId',
  method: 'post',
  path: '/v1/organization/sender-ids',
  tag: 'Organization',
  summary: 'Submit a sender ID for approval',
  description: 'The sender ID must be registered with the access provider.',
  audience: 'session',
  roles: ADMIN_ROLES,
  body: NewSenderId,
  status: 201,
  result: SenderId,
  fails: ['conflict'],
  run: ({ body, actor, deps, requestId }) => {
    const { organizationId, userId } = actor
    return audited({ actor, deps, requestId }, async (trx, record, now) => {
      const row = await insertSenderId(trx, { ...body, organizationId, submittedBy: userId }, now)
      if (row === null)
        return refuse('conflict', 'The number is already submitted or approved.', { e164: body.e164 })
      await record('sender_id.submitted', row.id, { after: { ...body } })
      return senderIdView(row)
    })
  },
})

export const registrationOperations = [
  listRobocallDeclarations,
  declareRobocalls,
  withdrawRobocallDeclaration,
  listSenderIds,
  submitSenderId,
]

function declarationView(row: RobocallDeclarationRow): z.input<typeof Declaration> {
  return {
    id: row.id,
    provider: row.provider,
    reference: row.reference,
    objective: row.objective,
    callerIds: JSON.parse(row.callerIds),
    declaredOn: row.declaredOn,
    effectiveFrom: row.effectiveFrom,
    status: row.withdrawnAt === null ? 'declared' : 'withdrawn',
    withdrawnAt: timestampOrNull(row.withdrawnAt),
    createdAt: timestamp(row.createdAt),
  }
}

/** Returns the API view of a sender id, for its organization and staff. */
export function senderIdView(row: SenderIdRow): z.input<typeof SenderId> {
  return {
    id: row.id,
    series: row.series,
    e164: row.e164,
    category: row.category,
    dltHeaderId: row.dltHeaderId,
    status: row.status,
    decidedAt: timestampOrNull(row.decidedAt),
    rejectionReason: row.rejectionReason,
    createdAt: timestamp(row.createdAt),
  }
}
