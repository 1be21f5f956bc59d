import type { Clock } from '../../media/base/clock.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../db/tables/webhooks.js'
import { DELIVERY_JOB } from '../events/delivery-outbox.js'
import { findEventOfDelivery } from '../events/store.js'
import type { ClaimedJob, JobHandler, JobOutcome } from '../jobs/runner.js'
import type { Egress } from '../net/egress.js'
import type { AttemptOutcome } from '../observe/telemetry.js'
import { type LoggedAttempt, lostAttempt, readAttemptLog } from './attempt-log.js'
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
  /** Called after every attempt with its duration (s). */
  readonly onAttempt?: (outcome: AttemptOutcome, seconds: number) => void
  /** Random number in [0, 1) for the jitter. */
  readonly random?: () => number
}

/** Maximum concurrent requests in a process. */
const CONCURRENCY = 256
/** Maximum concurrent requests to one endpoint, and to one whose last attempt failed or was slow. */
const PER_ENDPOINT = 16
const PER_FAILING_ENDPOINT = 2
/** Endpoints with a longer response time (ms) are treated like failing ones. */
const SLOW_MS = 2_000

/**
 * Returns the handler of delivery jobs. One run is one attempt. The attempt is counted, and its body is
 * stored, before it is sent. After a crash the next attempt has the next number and the same body.
 */
export function deliveryHandler(options: DeliveryOptions): JobHandler {
  const { db, clock, rootKey, egress } = options
  const random = options.random ?? Math.random
  /** Endpoints whose last attempt from this process failed or was slow. They must not occupy all slots. */
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
    const lost = lostAttempt(delivery)
    const log = [...readAttemptLog(delivery), ...(lost === null ? [] : [lost])]
    const begun = await job.write((trx) =>
      begin(trx, delivery.id, { body: rendered, ...(lost === null ? {} : { log }) }, clock.wall()),
    )
    if (begun.kind === 'end') return begun.outcome
    const at = Math.floor(clock.wall() / 1000)
    const headerFields = { type: delivery.type, eventId: delivery.eventId, attempt: begun.attempt, at }
    const attempt = await postWebhook({
      egress,
      organizationId: endpoint.organizationId,
      clock,
      url: endpoint.url,
      headers: webhookHeaders(begun.body, activeSecrets(rootKey, endpoint, clock.wall()), headerFields),
      body: begun.body,
      signal: job.signal,
    })
    const slow = attempt.durationMs > SLOW_MS || attempt.error !== null
    if (slow) failing.add(endpoint.id)
    else failing.delete(endpoint.id)
    const now = clock.wall()
    const next: Next =
      attempt.error === 'interrupted'
        ? { kind: 'repeat', at: now }
        : planNextAttempt(begun.attempt, attempt.result, now, random())
    options.onAttempt?.(OUTCOMES[next.kind], attempt.durationMs / 1000)
    const { result: _, ...ended } = attempt
    const entry = { attempt: begun.attempt, at: begun.at, ...ended }
    return (trx) => settle(trx, delivery, { attempt, log: [...log, entry], next, now })
  }

  async function render(delivery: WebhookDeliveryRow): Promise<string | null> {
    const event = await findEventOfDelivery(db, delivery)
    return event === null ? null : renderEnvelope(options, event)
  }

  async function settle(
    trx: Trx,
    delivery: WebhookDeliveryRow,
    { attempt, log, next, now }: AttemptEnd,
  ): Promise<number | null> {
    const last = {
      lastStatus: attempt.status,
      lastError: attempt.error,
      lastDurationMs: attempt.durationMs,
      attemptLog: JSON.stringify(log),
    }
    if (next.kind === 'repeat') {
      await update(trx, delivery.id, { ...last, nextAttemptAt: next.at })
      return next.at
    }
    if (next.kind === 'delivered') {
      await recordSuccess(trx, delivery.endpointId)
      const delivered = { status: 'delivered', nextAttemptAt: null, deliveredAt: now, body: null } as const
      await update(trx, delivery.id, { ...last, ...delivered })
      return null
    }
    const endpoint = await recordFailure(trx, delivery.endpointId, now, options.onDisabled)
    if (next.kind === 'give-up') {
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

/**
 * Next step after an attempt. `repeat` means that the attempt was interrupted and says nothing about the
 * receiver.
 */
type Next = AttemptPlan | { readonly kind: 'repeat'; readonly at: number }

interface AttemptEnd {
  readonly attempt: Attempt
  /** The attempts of the delivery with this one. */
  readonly log: readonly LoggedAttempt[]
  readonly next: Next
  readonly now: number
}

const OUTCOMES: Readonly<Record<Next['kind'], AttemptOutcome>> = {
  delivered: 'delivered',
  retry: 'retry',
  'give-up': 'failed',
  repeat: 'interrupted',
}

interface Work {
  readonly delivery: WebhookDeliveryRow
  readonly endpoint: WebhookEndpointRow
}

/** Returns the delivery of a job and its endpoint, or null if it was removed or is finished. */
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
  | { readonly kind: 'send'; readonly attempt: number; readonly at: number; readonly body: string }
  | { readonly kind: 'end'; readonly outcome: JobOutcome }

/**
 * Counts an attempt that is about to start, unless the endpoint is disabled or no attempts are left. `log` is the log with an
 * attempt that was lost.
 */
async function begin(
  trx: Trx,
  deliveryId: string,
  { body, log }: { readonly body: string; readonly log?: readonly LoggedAttempt[] },
  now: number,
): Promise<Begun> {
  const logged = log === undefined ? {} : { attemptLog: JSON.stringify(log) }
  const row = await trx
    .selectFrom('webhookDeliveries as delivery')
    .innerJoin('webhookEndpoints as endpoint', 'endpoint.id', 'delivery.endpointId')
    .select(['endpoint.id as endpointId', 'endpoint.enabled', 'delivery.attempts', 'delivery.status'])
    .where('delivery.id', '=', deliveryId)
    .executeTakeFirst()
  if (row === undefined || row.status !== 'pending') return { kind: 'end', outcome: async () => null }
  if (row.enabled === 0) {
    return { kind: 'end', outcome: (later) => park(later, deliveryId, row.endpointId, now) }
  }
  if (row.attempts >= MAX_ATTEMPTS) {
    // The last attempt was sent by a process that crashed before the response.
    return { kind: 'end', outcome: (later) => fail(later, deliveryId, 'interrupted', logged) }
  }
  const begun = await trx
    .updateTable('webhookDeliveries')
    .set((column) => ({
      attempts: column('attempts', '+', 1),
      body: column.fn.coalesce('body', column.val(body)),
      lastAttemptAt: now,
      ...logged,
    }))
    .where('id', '=', deliveryId)
    .where('status', '=', 'pending')
    .returning(['attempts', 'body'])
    .executeTakeFirst()
  if (begun === undefined) return { kind: 'end', outcome: async () => null }
  return { kind: 'send', attempt: begun.attempts, at: now, body: begun.body ?? body }
}

/** Parks a delivery while its endpoint is disabled, or ends it if the endpoint was disabled for too long. */
async function park(trx: Trx, deliveryId: string, endpointId: string, now: number): Promise<number | null> {
  // The row lock orders this with a concurrent change that enables the endpoint.
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

async function fail(
  trx: Trx,
  deliveryId: string,
  lastError: string,
  more: Partial<WebhookDeliveryRow> = {},
): Promise<null> {
  await update(trx, deliveryId, { status: 'failed', lastError, nextAttemptAt: null, body: null, ...more })
  return null
}

/** Updates a pending delivery. Returns false if it is not pending. */
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
