import type { Clock } from '../../media/base/clock.js'
import type { PaymentGateway } from '../api/payment-gateway.js'
import type { PaymentSetting } from '../config/payments.js'
import type { Db } from '../db/database.js'
import { razorpayGateway } from './razorpay/gateway.js'
import { sandboxGateway } from './sandbox-gateway.js'

/** Returns the configured gateway of top-ups, or null. */
export function openPaymentGateway(
  setting: PaymentSetting | null,
  db: Db,
  clock: Clock,
): PaymentGateway | null {
  if (setting === null) return null
  return setting.kind === 'razorpay'
    ? razorpayGateway(setting, clock)
    : sandboxGateway(db, () => clock.wall())
}
