import { z } from 'zod'
import { operation } from '../api/operation.js'
import { idParam } from '../base/schemas.js'
import { endHold } from '../payments/apply-dispute.js'
import { freeze } from '../wallet/ledger.js'
import { performStaffAction, Reason } from './staff-action.js'
import { StaffOrganization } from './view.js'

const OrganizationPath = z.object({ id: idParam('org') })

export const setWalletHold = operation({
  id: 'setWalletHold',
  method: 'put',
  path: '/v1/staff/organizations/:id/wallet/hold',
  tag: 'Staff',
  summary: 'Set the hold on the wallet of an organization',
  description:
    'While it is on hold no live call is placed and nothing is bought. Calls in progress continue while the balance covers them. The hold of a payment dispute is another one: ending the hold of staff leaves it, and a further request ends it.',
  audience: 'staff',
  params: OrganizationPath,
  body: z.strictObject({ onHold: z.boolean(), reason: Reason }),
  status: 200,
  result: StaffOrganization,
  fails: ['not_found'],
  run: ({ params, body, ...input }) =>
    performStaffAction(input, params.id, async (trx, _stored, now) => {
      const { onHold, reason } = body
      const { before, after } = onHold
        ? await freeze(trx, params.id, reason, now)
        : await endHold(trx, params.id, now)
      return {
        action: 'staff.wallet_hold_set',
        subject: { type: 'wallet', id: params.id },
        reason,
        before: { onHold: before.onHold === 1 },
        after: { onHold: after.onHold === 1 },
        ...(after.onHold === before.onHold ? {} : { notice: holdNotice(onHold) }),
      }
    }),
})

function holdNotice(onHold: boolean) {
  return onHold
    ? {
        subject: 'Your wallet is on hold',
        text: 'The operator of the service put your wallet on hold. No live call is placed until the hold ends. The audit log holds the reason.',
      }
    : {
        subject: 'Your wallet is free again',
        text: 'The operator of the service ended the hold on your wallet.',
      }
}

export const staffWalletOperations = [setWalletHold]
