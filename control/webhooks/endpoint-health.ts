import { EngineError } from '../../media/base/errors.js'
import type { Trx } from '../db/database.js'
import type { WebhookEndpointRow } from '../db/tables/webhooks.js'
import { disableEndpoint } from './endpoint-store.js'

/** Tells an organization's owners and admins, in the transaction that switched the endpoint off. */
export type DisabledNotice = (trx: Trx, endpoint: WebhookEndpointRow, now: number) => Promise<void>

/** Failed attempts in a row that switch an endpoint off (contract 6.3) ... */
const LIMIT = 20
/** ... when they are of that many deliveries and over that time, so that one burst does not. */
const LIMIT_DELIVERIES = 3
const LIMIT_SPAN_MS = 60_000

/** The slug of `disabledReason`. */
export const TOO_MANY_FAILURES = 'consecutive_failures'

export async function recordSuccess(trx: Trx, endpointId: string): Promise<void> {
  await trx
    .updateTable('webhookEndpoints')
    .set({ consecutiveFailures: 0, failingSince: null })
    .where('id', '=', endpointId)
    .where('consecutiveFailures', '>', 0)
    .execute()
}

/** Counts a failed attempt and switches the endpoint off when it was one too many; returns it. */
export async function recordFailure(
  trx: Trx,
  endpointId: string,
  now: number,
  notify: DisabledNotice,
): Promise<WebhookEndpointRow> {
  const row = await trx
    .updateTable('webhookEndpoints')
    .set((column) => ({
      consecutiveFailures: column('consecutiveFailures', '+', 1),
      failingSince: column.fn.coalesce('failingSince', column.val(now)),
    }))
    .where('id', '=', endpointId)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) throw new EngineError('internal', 'a delivery has no endpoint')
  if (row.enabled === 0 || row.consecutiveFailures < LIMIT) return row
  const since = row.failingSince ?? now
  if (now - since < LIMIT_SPAN_MS) return row
  const { deliveries } = await trx
    .selectFrom('webhookDeliveries')
    .select((column) => column.fn.countAll<number>().as('deliveries'))
    .where('endpointId', '=', endpointId)
    .where('status', '!=', 'delivered')
    .where('lastAttemptAt', '>=', since - ATTEMPT_MS)
    .executeTakeFirstOrThrow()
  if (deliveries < LIMIT_DELIVERIES) return row
  const disabled = await disableEndpoint(trx, endpointId, TOO_MANY_FAILURES, now)
  if (disabled === null) return row
  await notify(trx, disabled, now)
  return disabled
}

/** `failingSince` is when an attempt ended; it began this long before at most. */
const ATTEMPT_MS = 15_000
