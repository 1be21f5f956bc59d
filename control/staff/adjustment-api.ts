import { z } from 'zod'
import { EngineError } from '../../media/base/errors.js'
import { listOperation, operation } from '../api/operation.js'
import { isRefusal, type Refusal, refuse } from '../api/problem.js'
import { idParam, oneLine, openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { Trx } from '../db/database.js'
import type { WalletAdjustmentRow } from '../db/tables/wallet.js'
import { queueMailToStaff } from '../mail/outbox.js'
import { adjustBalance, MAX_ADJUSTMENT_PAISE, refuseUsedReference } from '../wallet/adjust.js'
import {
  decideAdjustmentRow,
  findAdjustment,
  insertAdjustment,
  type ListedAdjustment,
  listAdjustments,
  MAX_PENDING,
  movedAlonePaise,
  pendingAdjustments,
} from '../wallet/adjustment-store.js'
import { performStaffAction, Reason, type StaffAction } from './staff-action.js'
import { StaffOrganization } from './view.js'

const OrganizationPath = z.object({ id: idParam('org') })

const Adjustment = z.object({
  id: z.string(),
  organizationId: z.string(),
  organizationName: z.string(),
  amountPaise: z.int(),
  reference: z.string(),
  reason: z.string(),
  status: openEnum('applied', 'pending', 'approved', 'rejected').meta({
    description: 'applied and approved have moved the money; pending waits for a second member of staff.',
  }),
  requestedBy: z.string(),
  requestedByEmail: z.string(),
  createdAt: Timestamp,
  decidedBy: z.string().nullable(),
  decidedAt: Timestamp.nullable(),
  decisionReason: z.string().nullable(),
})

export const adjustWallet = operation({
  id: 'adjustWallet',
  method: 'post',
  path: '/v1/staff/organizations/:id/wallet/adjustments',
  tag: 'Staff',
  summary: 'Change the balance of an organization',
  description:
    'Adds to the balance or takes from it. A reference is used once in an organization, so that a repeated request moves no money. The balance never falls below what is held. Above the limit of PARLEY_ADJUSTMENT_LIMIT_RUPEES, also in several adjustments of an organization within 24 hours, no money moves yet: adjustment.status is pending, and a second member of staff decides.',
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
  result: StaffOrganization.extend({ adjustment: Adjustment }),
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, ...input }) => {
    const { deps, actor } = input
    const { amountPaise, reference, reason } = body
    const wanted = { organizationId: params.id, amountPaise, reference, reason, requestedBy: actor.userId }
    const limitPaise = deps.settings.adjustmentLimitRupees * 100
    let made = ''
    const organization = await performStaffAction(input, params.id, async (trx, stored, now) => {
      const waiting = await pendingAdjustments(trx, params.id)
      if (waiting.some((row) => row.reference === reference)) {
        return refuse('conflict', 'An adjustment with this reference waits for a decision.')
      }
      const alone = await movedAlonePaise(trx, params.id, now)
      if (Math.abs(amountPaise) + alone > limitPaise) {
        if (waiting.length >= MAX_PENDING) {
          return refuse(
            'conflict',
            `${MAX_PENDING} adjustments of the organization wait. Decide on them first.`,
          )
        }
        const used = await refuseUsedReference(trx, params.id, reference)
        if (used !== null) return used
        const row = await insertAdjustment(trx, { ...wanted, status: 'pending' }, now)
        made = row.id
        await queueMailToStaff(trx, now, {
          kind: 'notice',
          subject: 'An adjustment of a wallet waits for a second person',
          text: `An adjustment of ${amountPaise} paise for ${stored.organization.name} (reference ${reference}) waits for a decision in the staff area. Whoever asked for it cannot approve it.`,
        })
        return {
          action: 'staff.wallet_adjustment_requested',
          subject: { type: 'wallet', id: params.id },
          reason,
          before: {},
          after: { adjustmentId: row.id, amountPaise, reference },
        }
      }
      const applied = await apply(trx, wanted, reason, now)
      if (isRefusal(applied)) return applied
      made = (await insertAdjustment(trx, { ...wanted, status: 'applied' }, now)).id
      return applied
    })
    if (isRefusal(organization)) return organization
    return { ...organization, adjustment: await readAdjustment(deps, made) }
  },
})

export const listWalletAdjustments = listOperation({
  id: 'listWalletAdjustments',
  path: '/v1/staff/wallet-adjustments',
  tag: 'Staff',
  summary: 'List adjustments of wallets',
  description: 'Adjustments by staff of all organizations, newest first.',
  audience: 'staff',
  query: z.object({ status: z.enum(['applied', 'pending', 'approved', 'rejected']).optional() }),
  result: Adjustment,
  fails: [],
  run: async ({ query, deps, page }) => {
    const { items, next } = await listAdjustments(deps.db, query.status ?? null, page)
    return { items: items.map(adjustmentView), next }
  },
})

export const decideWalletAdjustment = operation({
  id: 'decideWalletAdjustment',
  method: 'post',
  path: '/v1/staff/wallet-adjustments/:id/decision',
  tag: 'Staff',
  summary: 'Approve or reject an adjustment of a wallet',
  description:
    'Whoever asked for the adjustment may reject it but not approve it. With the approval the money moves, if the balance still covers it.',
  audience: 'staff',
  params: z.object({ id: idParam('adj') }),
  body: z.strictObject({ decision: z.enum(['approved', 'rejected']), reason: Reason }),
  status: 200,
  result: Adjustment,
  fails: ['not_found', 'conflict', 'forbidden'],
  run: async ({ params, body, ...input }) => {
    const { deps, actor } = input
    const { decision, reason } = body
    const asked = await findAdjustment(deps.db, params.id)
    if (asked === null) return refuse('not_found', 'The adjustment does not exist.')
    if (decision === 'approved' && asked.requestedBy === actor.userId) {
      return refuse('forbidden', 'A second member of staff has to approve an adjustment that you asked for.')
    }
    const done = await performStaffAction(input, asked.organizationId, async (trx, _stored, now) => {
      // The row is read again under the lock of the organization.
      const row = await findAdjustment(trx, params.id)
      if (row?.status !== 'pending') return refuse('conflict', 'The adjustment was decided before.')
      const action: StaffAction | Refusal<'conflict'> =
        decision === 'approved'
          ? await apply(trx, row, reason, now)
          : {
              action: 'staff.wallet_adjustment_rejected',
              subject: { type: 'wallet', id: row.organizationId },
              reason,
              before: { adjustmentId: row.id, amountPaise: row.amountPaise, reference: row.reference },
              after: {},
            }
      if (isRefusal(action)) return action
      const decided = { status: decision, decidedBy: actor.userId, decisionReason: reason }
      if (!(await decideAdjustmentRow(trx, row.id, decided, now))) {
        throw new EngineError('internal', 'an adjustment was decided under the lock of its organization')
      }
      return action
    })
    return isRefusal(done) ? done : readAdjustment(deps, params.id)
  },
})

export const adjustmentOperations = [adjustWallet, listWalletAdjustments, decideWalletAdjustment]

/** Moves the money of an adjustment. */
async function apply(
  trx: Trx,
  adjustment: Pick<WalletAdjustmentRow, 'organizationId' | 'amountPaise' | 'reference'>,
  reason: string,
  now: number,
): Promise<StaffAction | Refusal<'conflict'>> {
  const { organizationId, amountPaise, reference } = adjustment
  const entry = await adjustBalance(trx, organizationId, { amountPaise, reference }, now)
  if (isRefusal(entry)) return entry
  return {
    action: 'staff.wallet_adjusted',
    subject: { type: 'wallet', id: organizationId },
    reason,
    before: { balancePaise: entry.balanceAfterPaise - amountPaise },
    after: { balancePaise: entry.balanceAfterPaise },
    notice: {
      subject: 'Your balance was adjusted',
      text: `The operator of the service changed the balance by ${amountPaise} paise (reference ${reference}). The ledger shows the entry.`,
    },
  }
}

async function readAdjustment(
  { db }: Parameters<typeof performStaffAction>[0]['deps'],
  id: string,
): Promise<z.input<typeof Adjustment>> {
  const row = await findAdjustment(db, id)
  if (row === null) throw new EngineError('internal', 'an adjustment that was stored is missing')
  return adjustmentView(row)
}

function adjustmentView(row: ListedAdjustment): z.input<typeof Adjustment> {
  return { ...row, createdAt: timestamp(row.createdAt), decidedAt: timestampOrNull(row.decidedAt) }
}
