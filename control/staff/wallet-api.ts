import { z } from 'zod'
import { operation } from '../api/operation.js'
import { isRefusal } from '../api/problem.js'
import { idParam, oneLine } from '../base/schemas.js'
import { endHold } from '../payments/apply-dispute.js'
import { adjustBalance, MAX_ADJUSTMENT_PAISE } from '../wallet/adjust.js'
import { freeze } from '../wallet/ledger.js'
import { performStaffAction, Reason } from './staff-action.js'
import { StaffOrganization } from './view.js'

const OrganizationPath = z.object({ id: idParam('org') })

export const adjustWallet = operation({
  id: 'adjustWallet',
  method: 'post',
  path: '/v1/staff/organizations/:id/wallet/adjustments',
  tag: 'Staff',
  summary: 'Change the balance of an organization',
  description:
    'Adds to the balance or takes from it. A reference is used once in an organization, so that a repeated request moves no money. The balance never falls below what is held.',
  audience: 'staff',
  params: OrganizationPath,
  body: z.strictObject({
    amountPaise: z
      .int()
      .min(-MAX_ADJUSTMENT_PAISE)
      .max(MAX_ADJUSTMENT_PAISE)
      .refine((amount) => amount !== 0, 'must not be zero'),
    reference: oneLine(80).meta({ description: 'Number of the ticket or document of the adjustment.' }),
    reason: Reason,
  }),
  status: 200,
  result: StaffOrganization,
  fails: ['not_found', 'conflict'],
  run: ({ params, body, ...input }) =>
    performStaffAction(input, params.id, async (trx, _stored, now) => {
      const { amountPaise, reference, reason } = body
      const entry = await adjustBalance(trx, params.id, { amountPaise, reference }, now)
      if (isRefusal(entry)) return entry
      return {
        action: 'staff.wallet_adjusted',
        subject: { type: 'wallet', id: params.id },
        reason,
        before: { balancePaise: entry.balanceAfterPaise - amountPaise },
        after: { balancePaise: entry.balanceAfterPaise },
        notice: {
          subject: 'Your balance was adjusted',
          text: `The operator of the service changed the balance by ${amountPaise} paise (reference ${reference}). The ledger shows the entry.`,
        },
      }
    }),
})

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

export const staffWalletOperations = [adjustWallet, setWalletHold]
