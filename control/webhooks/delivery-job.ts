import type { Clock } from '../../media/base/clock.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../db/tables/webhooks.js'
import { DELIVERY_JOB } from '../events/delivery-outbox.js'
import { findEventOfDelivery } from '../events/store.js'
import type { ClaimedJob, JobHandler, JobOutcome } from '../jobs/runner.js'
import type { Egress } from '../net/egress.js'
import type { AttemptOutcome } from '../observe/telemetry.js'
import { type Attempt, postWebhook } from './delivery-attempt.js'
import { type DisabledNotice, recordFailure, recordSuccess } from './endpoint-health.js'
import { activeSecrets, PARK_MS } from './endpoint-store.js'
import { renderEnvelope } from './envelope.js'
import { type AttemptPlan, MAX_ATTEMPTS, planNextAttempt } from './retry-schedule.js'
import { webhookHeaders } from './signature.js'

export interface DeliveryOptions {
  readonly db: Db
  readonly clock: Clock
  readonly rootKey: RootKey
  readonly egress: Egress
  readonly publicUrl: () => string
  readonly onDisabled: DisabledNotice
  /** Hears of every attempt; takes `seconds`. */
  readonly onAttempt?: (outcome: AttemptOutcome, seconds: number) => void
  /** In [0, 1); for the jitter. */
  readonly random?: () => number
}

/** Sends under way at once in a process. */
const CONCURRENCY = 256
/** Of them to one endpoint that answers well, and to one whose last attempt did not. */
const PER_ENDPOINT = 16
const PER_FAILING_ENDPOINT = 2
/** An answer that took longer makes its endpoint give way to the others like a failing one. */
const SLOW_MS = 2_000

/**
 * The handler of delivery jobs: one run is one attempt. An attempt is counted, and its bytes are
 * stored, before it is sent: a process that dies while sending leaves a delivery whose next attempt
 * has the next number and the same body.
 */
export function deliveryHandler(options: DeliveryOptions): JobHandler {
  const { db, clock, rootKey, egress } = options
  const random = options.random ?? Math.random
  /** Endpoints whose last attempt from here failed or was slow: they must not hold all places. */
  const failing = new Set<string>()

  async function run(job: ClaimedJob): Promise<JobOutcome> {
    const found = await findWork(db, job.payload)
    if (found === null) return async () => null
    const { endpoint, delivery } = found
    let body = delivery.body
    if (body === null) {
      body = await render(delivery)
      if (body === null) return (trx) => fail(trx, delivery.id, 'subject_gone')
    }
    const rendered = body
    const begun = await job.write((trx) => begin(trx, delivery.id, rendered, clock.wall()))
    if (begun.do === 'end') return begun.outcome
    const at = Math.floor(clock.wall() / 1000)
    const stamp = { type: delivery.type, eventId: delivery.eventId, attempt: begun.attempt, at }
    const attempt = await postWebhook({
      egress,
      clock,
      url: endpoint.url,
      headers: webhookHeaders(begun.body, activeSecrets(rootKey, endpoint, clock.wall()), stamp),
      body: begun.body,
      signal: job.signal,
    })
    const slow = attempt.durationMs > SLOW_MS || attempt.error !== null
    if (slow) failing.add(endpoint.id)
    else failing.delete(endpoint.id)
    const now = clock.wall()
    const next: Next =
      attempt.error === 'interrupted'
        ? { do: 'again', at: now }
        : planNextAttempt(begun.attempt, attempt.result, now, random())
    options.onAttempt?.(OUTCOMES[next.do], attempt.durationMs / 1000)
    return (trx) => settle(trx, delivery, attempt, next, now)
  }

  async function render(delivery: WebhookDeliveryRow): Promise<string | null> {
    const event = await findEventOfDelivery(db, delivery)
    return event === null ? null : renderEnvelope(options, event)
  }

  async function settle(
    trx: Trx,
    delivery: WebhookDeliveryRow,
    attempt: Attempt,
    next: Next,
    now: number,
  ): Promise<number | null> {
    const last = {
      lastStatus: attempt.status,
      lastError: attempt.error,
      lastDurationMs: attempt.durationMs,
    }
    if (next.do === 'again') {
      await update(trx, delivery.id, { ...last, nextAttemptAt: next.at })
      return next.at
    }
    if (next.do === 'delivered') {
      await recordSuccess(trx, delivery.endpointId)
      const delivered = { status: 'delivered', nextAttemptAt: null, deliveredAt: now, body: null } as const
      await update(trx, delivery.id, { ...last, ...delivered })
      return null
    }
    const endpoint = await recordFailure(trx, delivery.endpointId, now, options.onDisabled)
    if (next.do === 'give-up') {
      await update(trx, delivery.id, { ...last, status: 'failed', nextAttemptAt: null, body: null })
      return null
    }
    const parked = endpoint.enabled === 0
    const kept = await update(trx, delivery.id, { ...last, nextAttemptAt: parked ? null : next.at })
    if (!kept) return null
    return parked ? (endpoint.disabledAt ?? now) + PARK_MS : next.at
  }

  return {
    kind: DELIVERY_JOB,
    concurrency: CONCURRENCY,
    laneLimit: (lane) => (failing.has(lane) ? PER_FAILING_ENDPOINT : PER_ENDPOINT),
    run,
  }
}

/** What follows an attempt; `again` at once says nothing about the receiver. */
type Next = AttemptPlan | { readonly do: 'again'; readonly at: number }

const OUTCOMES: Readonly<Record<Next['do'], AttemptOutcome>> = {
  delivered: 'delivered',
  retry: 'retry',
  'give-up': 'failed',
  again: 'interrupted',
}

interface Work {
  readonly delivery: WebhookDeliveryRow
  readonly endpoint: WebhookEndpointRow
}

/** What a job is to send; null when it was removed or settled. */
async function findWork(db: Db, deliveryId: string): Promise<Work | null> {
  const delivery = await db
    .selectFrom('webhookDeliveries')
    .selectAll()
    .where('id', '=', deliveryId)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  if (delivery === undefined) return null
  const endpoint = await db
    .selectFrom('webhookEndpoints')
    .selectAll()
    .where('id', '=', delivery.endpointId)
    .where('organizationId', '=', delivery.organizationId)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
  return endpoint === undefined ? null : { delivery, endpoint }
}

type Begun =
  | { readonly do: 'send'; readonly attempt: number; readonly body: string }
  | { readonly do: 'end'; readonly outcome: JobOutcome }

/** Counts an attempt that is about to be made, unless the endpoint is off or it were one too many. */
async function begin(trx: Trx, deliveryId: string, body: string, now: number): Promise<Begun> {
  const row = await trx
    .selectFrom('webhookDeliveries as delivery')
    .innerJoin('webhookEndpoints as endpoint', 'endpoint.id', 'delivery.endpointId')
    .select(['endpoint.id as endpointId', 'endpoint.enabled', 'delivery.attempts', 'delivery.status'])
    .where('delivery.id', '=', deliveryId)
    .executeTakeFirst()
  if (row === undefined || row.status !== 'pending') return { do: 'end', outcome: async () => null }
  if (row.enabled === 0) {
    return { do: 'end', outcome: (later) => park(later, deliveryId, row.endpointId, now) }
  }
  if (row.attempts >= MAX_ATTEMPTS) {
    // The last attempt was sent by a process that did not live to hear the answer.
    return { do: 'end', outcome: (later) => fail(later, deliveryId, 'interrupted') }
  }
  const begun = await trx
    .updateTable('webhookDeliveries')
    .set((column) => ({
      attempts: column('attempts', '+', 1),
      body: column.fn.coalesce('body', column.val(body)),
      lastAttemptAt: now,
    }))
    .where('id', '=', deliveryId)
    .where('status', '=', 'pending')
    .returning(['attempts', 'body'])
    .executeTakeFirst()
  if (begun === undefined) return { do: 'end', outcome: async () => null }
  return { do: 'send', attempt: begun.attempts, body: begun.body ?? body }
}

/** Puts a delivery aside while its endpoint is off, or ends it when it was off for too long. */
async function park(trx: Trx, deliveryId: string, endpointId: string, now: number): Promise<number | null> {
  // The row's lock decides between this and somebody who switches the endpoint on right now.
  const off = await trx
    .updateTable('webhookEndpoints')
    .set((column) => ({ id: column.ref('id') }))
    .where('id', '=', endpointId)
    .where('enabled', '=', 0)
    .returning(['disabledAt', 'deletedAt'])
    .executeTakeFirst()
  if (off === undefined) return now
  if (off.deletedAt !== null) return fail(trx, deliveryId, 'endpoint_deleted')
  const until = (off.disabledAt ?? now) + PARK_MS
  if (until <= now) return fail(trx, deliveryId, 'endpoint_disabled')
  await update(trx, deliveryId, { nextAttemptAt: null })
  return until
}

async function fail(trx: Trx, deliveryId: string, lastError: string): Promise<null> {
  await update(trx, deliveryId, { status: 'failed', lastError, nextAttemptAt: null, body: null })
  return null
}

/** Changes a delivery that is still pending; false when it is not. */
async function update(trx: Trx, id: string, change: Partial<WebhookDeliveryRow>): Promise<boolean> {
  const row = await trx
    .updateTable('webhookDeliveries')
    .set(change)
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
