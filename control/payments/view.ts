import { z } from 'zod'
import type { Deps } from '../api/deps.js'
import { openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import { taxTotal } from '../billing/gst.js'
import type { TopupRow } from '../db/tables/payments.js'
import { checkoutUrl } from './start-topup.js'

export const Topup = z.object({
  id: z.string(),
  amountPaise: z.int().meta({ description: 'What the wallet gets, without tax.' }),
  taxPaise: z.int(),
  payablePaise: z.int(),
  status: openEnum('created', 'paid', 'failed', 'expired', 'partially_refunded', 'refunded', 'disputed'),
  checkoutUrl: z
    .string()
    .nullable()
    .meta({ description: 'Page that leads to the payment. Null when nothing can be paid any more.' }),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  paidAt: Timestamp.nullable(),
})

export function topupView(
  deps: Pick<Deps, 'rootKey' | 'publicUrl' | 'clock'>,
  topup: TopupRow,
): z.input<typeof Topup> {
  const { id, amountPaise, payablePaise, status } = topup
  const payable = topup.gatewayRef !== null && topup.paymentId === null && deps.clock.wall() < topup.expiresAt
  return {
    ...{ id, amountPaise, taxPaise: taxTotal(topup), payablePaise, status },
    checkoutUrl: payable ? checkoutUrl(deps, topup) : null,
    createdAt: timestamp(topup.createdAt),
    expiresAt: timestamp(topup.expiresAt),
    paidAt: timestampOrNull(topup.paidAt),
  }
}
