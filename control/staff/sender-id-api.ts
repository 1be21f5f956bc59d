import { z } from 'zod'
import { recorder } from '../api/audited.js'
import { operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import { isUniqueViolation } from '../db/constraint-error.js'
import { decideSenderId as decideSenderIdRow, findSenderId } from '../organization/registration-store.js'
import { SenderId, senderIdView } from '../organization/registrations-api.js'
import { Reason } from './staff-action.js'

export const decideSenderId = operation({
  id: 'decideSenderId',
  method: 'post',
  path: '/v1/staff/sender-ids/:id/decision',
  tag: 'Staff',
  summary: 'Approve, reject or revoke a sender ID',
  description: 'The decision and its reason are kept in the audit log.',
  audience: 'staff',
  params: z.object({ id: idParam('sid') }),
  body: z.strictObject({ decision: z.enum(['approved', 'rejected', 'revoked']), reason: Reason }),
  status: 200,
  result: SenderId,
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, actor, deps, requestId }) => {
    const now = deps.clock.wall()
    const { decision: status, reason } = body
    try {
      return await deps.db.transaction().execute(async (trx) => {
        const before = await findSenderId(trx, params.id)
        if (before === null) return refuse('not_found', 'There is no such sender id.')
        const row = await decideSenderIdRow(trx, params.id, { status, staffId: actor.userId, reason }, now)
        if (row === null) {
          return refuse('conflict', `A sender id that is ${before.status} cannot be ${status}.`, {
            status: before.status,
          })
        }
        const { organizationId } = row
        const record = recorder(trx, { organizationId, actor, requestId }, now)
        const change = { before: { status: before.status }, after: { status } }
        await record('staff.sender_id_decided', row.id, { subject: 'sender_id', reason, ...change })
        return senderIdView(row)
      })
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      return refuse('conflict', 'Another organization holds this sender ID.', { status: 'submitted' })
    }
  },
})
