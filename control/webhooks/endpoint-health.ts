import { EngineError } from '../../media/base/errors.js'
import type { Trx } from '../db/database.js'
import type { WebhookEndpointRow } from '../db/tables/webhooks.js'
import { disableEndpoint } from './endpoint-store.js'

/** Notifies the owners and admins of an organization, in the transaction that disabled the endpoint. */
export type DisabledNotice = (trx: Trx, endpoint: WebhookEndpointRow, now: number) => Promise<void>

/** Consecutive failed attempts after which an endpoint is disabled, ... */
const LIMIT = 20
/**
 * ... if they belong to at least this many deliveries and span this time (ms), so that a short burst does
 * not count.
 */
const LIMIT_DELIVERIES = 3
const LIMIT_SPAN_MS = 60_000

/** Value of `disabledReason`. */
export const TOO_MANY_FAILURES = 'consecutive_failures'

export async function recordSuccess(trx: Trx, endpointId: string): Promise<void> {
  await trx
    .updateTable('webhookEndpoints')
    .set({ consecutiveFailures: 0, failingSince: null })
    .where('id', '=', endpointId)
    .where('consecutiveFailures', '>', 0)
    .execute()
}

/** Counts a failed attempt and disables the endpoint if the limit is reached. Returns the endpoint. */
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

/** Maximum duration of an attempt (ms). `failingSince` is the end of an attempt. */
const ATTEMPT_MS = 15_000
