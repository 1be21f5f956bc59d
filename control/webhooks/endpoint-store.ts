import { randomBytes } from 'node:crypto'
import { newId } from '../../media/base/ids.js'
import { newestFirst, type Page, type PageRequest } from '../api/pagination.js'
import { seal, unsealWithAnyKey } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import { retryTransaction } from '../db/retry-transaction.js'
import type { WebhookEndpointRow } from '../db/tables/webhooks.js'
import { DELIVERY_JOB } from '../events/delivery-outbox.js'
import { makeLaneDue } from '../jobs/store.js'

export const MAX_ENDPOINTS = 20
/** Time for which a replaced secret stays valid (ms). */
export const OVERLAP_MS = 24 * 3_600_000
/** Time for which deliveries of a disabled endpoint are kept (ms). */
export const PARK_MS = 24 * 3_600_000

/** Records a change in the audit log, in the transaction of the change. */
export type AuditHook = (trx: Trx, endpointId: string) => Promise<void>
const noAudit: AuditHook = async () => {}

export interface EndpointFields {
  readonly url: string
  readonly description: string | null
  readonly events: readonly string[]
}

/** Returns a new secret: `whsec_` and 32 random bytes. The whole text is the HMAC key. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`
}

function sealSecret(rootKey: RootKey, endpointId: string, secret: string): string {
  return seal(rootKey.subkey('webhook-secrets'), secret, endpointId)
}

/**
 * Decrypts the current secret of an endpoint. Throws EngineError `storage_failed` with an unknown root key.
 */
export function currentSecret(rootKey: RootKey, row: Pick<WebhookEndpointRow, 'id' | 'secret'>): string {
  return unsealWithAnyKey(rootKey, 'webhook-secrets', row.secret, row.id)
}

/** Returns all valid secrets, the current one first. */
export function activeSecrets(
  rootKey: RootKey,
  row: Pick<WebhookEndpointRow, 'id' | 'secret' | 'previousSecret' | 'previousValidUntil'>,
  now: number,
): readonly string[] {
  const current = currentSecret(rootKey, row)
  if (row.previousSecret === null || (row.previousValidUntil ?? 0) <= now) return [current]
  return [current, unsealWithAnyKey(rootKey, 'webhook-secrets', row.previousSecret, row.id)]
}

/** Creates an endpoint with a secret. Returns null if the organization already has `MAX_ENDPOINTS`. */
export async function createEndpoint(
  db: Db,
  rootKey: RootKey,
  organizationId: string,
  fields: EndpointFields,
  now: number,
  audit: AuditHook = noAudit,
): Promise<{ readonly row: WebhookEndpointRow; readonly secret: string } | null> {
  return db.transaction().execute(async (trx) => {
    // Locks the organization, so that the count below stays valid until the insert.
    await trx
      .updateTable('organizations')
      .set((column) => ({ id: column.ref('id') }))
      .where('id', '=', organizationId)
      .execute()
    const { n } = await trx
      .selectFrom('webhookEndpoints')
      .select((column) => column.fn.countAll<number>().as('n'))
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null)
      .executeTakeFirstOrThrow()
    if (n >= MAX_ENDPOINTS) return null
    const id = newId('whe', now)
    const secret = newSecret()
    const row = await trx
      .insertInto('webhookEndpoints')
      .values({
        id,
        organizationId,
        url: fields.url,
        description: fields.description,
        events: JSON.stringify(fields.events),
        enabled: 1,
        consecutiveFailures: 0,
        failingSince: null,
        disabledReason: null,
        disabledAt: null,
        secret: sealSecret(rootKey, id, secret),
        previousSecret: null,
        previousValidUntil: null,
        createdAt: now,
        deletedAt: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await audit(trx, id)
    return { row, secret }
  })
}

export async function listEndpoints(
  db: Db,
  organizationId: string,
  page: PageRequest,
): Promise<Page<WebhookEndpointRow>> {
  return newestFirst(
    db
      .selectFrom('webhookEndpoints')
      .selectAll()
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null),
    page,
  )
}

export async function findEndpoint(
  db: Db | Trx,
  organizationId: string,
  id: string,
): Promise<WebhookEndpointRow | null> {
  const row = await db
    .selectFrom('webhookEndpoints')
    .selectAll()
    .where('id', '=', id)
    .where('organizationId', '=', organizationId)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Updates an endpoint. Returns null if it does not exist. Disabling parks its pending deliveries. Enabling
 * sends them immediately and resets the failure count.
 */
export async function updateEndpoint(
  db: Db,
  organizationId: string,
  id: string,
  change: Partial<EndpointFields> & { readonly enabled?: boolean },
  now: number,
  audit: AuditHook = noAudit,
): Promise<WebhookEndpointRow | null> {
  const { enabled, events, ...rest } = change
  return retryTransaction(db, async (trx) => {
    // Also locks the endpoint, so that deliveries are parked and resumed consistently.
    let row = await trx
      .updateTable('webhookEndpoints')
      .set((column) => ({
        id: column.ref('id'),
        ...rest,
        ...(events === undefined ? {} : { events: JSON.stringify(events) }),
      }))
      .where('id', '=', id)
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) return null
    if (enabled === true && row.enabled === 0) row = await enableEndpoint(trx, id, now)
    if (enabled === false && row.enabled === 1) row = (await disableEndpoint(trx, id, null, now)) ?? row
    await audit(trx, id)
    return row
  })
}

async function enableEndpoint(trx: Trx, id: string, now: number): Promise<WebhookEndpointRow> {
  const row = await trx
    .updateTable('webhookEndpoints')
    .set({
      enabled: 1,
      disabledAt: null,
      disabledReason: null,
      consecutiveFailures: 0,
      failingSince: null,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('webhookDeliveries')
    .set({ nextAttemptAt: now })
    .where('endpointId', '=', id)
    .where('status', '=', 'pending')
    .execute()
  await makeLaneDue(trx, DELIVERY_JOB, id, now)
  return row
}

/**
 * Disables an endpoint and parks its deliveries. Returns null if it was already disabled. `reason` is null
 * if a user did it. The jobs stay: each finds the endpoint disabled when it is due, and waits.
 */
export async function disableEndpoint(
  trx: Trx,
  id: string,
  reason: string | null,
  now: number,
): Promise<WebhookEndpointRow | null> {
  const row = await trx
    .updateTable('webhookEndpoints')
    .set({ enabled: 0, disabledReason: reason, disabledAt: now })
    .where('id', '=', id)
    .where('enabled', '=', 1)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  await trx
    .updateTable('webhookDeliveries')
    .set({ nextAttemptAt: null })
    .where('endpointId', '=', id)
    .where('status', '=', 'pending')
    .execute()
  return row
}

/** Deletes an endpoint and its secrets. Pending deliveries fail. Returns false if it does not exist. */
export async function deleteEndpoint(
  db: Db,
  rootKey: RootKey,
  organizationId: string,
  id: string,
  now: number,
  audit: AuditHook = noAudit,
): Promise<boolean> {
  return retryTransaction(db, async (trx) => {
    const row = await trx
      .updateTable('webhookEndpoints')
      .set({
        deletedAt: now,
        enabled: 0,
        secret: sealSecret(rootKey, id, ''),
        previousSecret: null,
        previousValidUntil: null,
      })
      .where('id', '=', id)
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null)
      .returning('id')
      .executeTakeFirst()
    if (row === undefined) return false
    await trx
      .updateTable('webhookDeliveries')
      .set({ status: 'failed', lastError: 'endpoint_deleted', nextAttemptAt: null, body: null })
      .where('endpointId', '=', id)
      .where('status', '=', 'pending')
      .execute()
    await audit(trx, id)
    return true
  })
}

export type SecretRoll =
  | { readonly kind: 'rolled'; readonly secret: string; readonly previousValidUntil: number }
  | { readonly kind: 'overlap'; readonly previousValidUntil: number }

/**
 * Replaces the secret. The previous one stays valid for `OVERLAP_MS`. Returns null if the endpoint does not
 * exist.
 */
export async function rollSecret(
  db: Db,
  rootKey: RootKey,
  organizationId: string,
  id: string,
  now: number,
  audit: AuditHook = noAudit,
): Promise<SecretRoll | null> {
  const secret = newSecret()
  const previousValidUntil = now + OVERLAP_MS
  const rolled = await db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('webhookEndpoints')
      .set((column) => ({
        secret: sealSecret(rootKey, id, secret),
        previousSecret: column.ref('secret'),
        previousValidUntil,
      }))
      .where('id', '=', id)
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null)
      .where((column) =>
        column.or([column('previousValidUntil', 'is', null), column('previousValidUntil', '<=', now)]),
      )
      .returning('id')
      .executeTakeFirst()
    if (row !== undefined) await audit(trx, id)
    return row
  })
  if (rolled !== undefined) return { kind: 'rolled', secret, previousValidUntil }
  const row = await findEndpoint(db, organizationId, id)
  if (row === null) return null
  return { kind: 'overlap', previousValidUntil: row.previousValidUntil ?? previousValidUntil }
}

/** Removes expired secrets. */
export async function clearExpiredSecrets(db: Db, now: number): Promise<void> {
  await db
    .updateTable('webhookEndpoints')
    .set({ previousSecret: null, previousValidUntil: null })
    .where('previousValidUntil', '<=', now)
    .execute()
}
