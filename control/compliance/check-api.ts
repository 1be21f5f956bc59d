import { z } from 'zod'
import { listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { Instant, parseInstant } from '../base/instant.js'
import { idParam } from '../base/schemas.js'
import { INDIAN_NUMBER } from './bulk.js'
import { findCheck, listChecks } from './check-store.js'
import { ComplianceCheck, checkView } from './check-view.js'

export const readComplianceCheck = operation({
  id: 'readComplianceCheck',
  method: 'get',
  path: '/v1/compliance/checks/:id',
  tag: 'Compliance',
  summary: 'Get a compliance check',
  description:
    'A check that ran before a call was dialled, with its outcome. The event `compliance.check.blocked` links to the check that refused the call.',
  audience: 'key',
  scope: 'read',
  params: z.object({ id: idParam('chk') }),
  status: 200,
  result: ComplianceCheck,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    const row = await findCheck(deps.db, actor, params.id)
    return row === null ? refuse('not_found', 'The check does not exist.') : checkView(row)
  },
})

export const listComplianceChecks = listOperation({
  id: 'listComplianceChecks',
  path: '/v1/compliance/checks',
  tag: 'Compliance',
  summary: 'List compliance checks',
  description: 'Checks that ran before calls and on request, newest first.',
  audience: 'key',
  scope: 'read',
  query: z.strictObject({
    e164: z.string().regex(INDIAN_NUMBER).optional(),
    type: z.string().max(40).optional(),
    outcome: z.string().max(40).optional(),
    callId: z.string().max(40).optional(),
    campaignId: z.string().max(40).optional(),
    from: Instant.optional(),
    to: Instant.optional(),
  }),
  result: ComplianceCheck,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    const { from, to, ...equal } = query
    const times = { from: parseInstant(from ?? ''), to: parseInstant(to ?? '') }
    const { items, next, total } = await listChecks(deps.reads, actor, { ...equal, ...times }, page)
    return { items: items.map(checkView), next, ...(total === undefined ? {} : { total }) }
  },
})
