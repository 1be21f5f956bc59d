import { z } from 'zod'
import { operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import { findCheck } from './check-store.js'
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
