import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import { ulid } from '../../media/base/ids.js'
import { type Refusal, refuse } from '../api/problem.js'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import { seal, unsealWithAnyKey } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import { sweep } from '../db/sweep.js'

/** A key stays locked for this time (ms) after a crash. */
export const LOCK_MS = 90_000
export const RETENTION_MS = 24 * 3_600_000

const KEY = /^[\x20-\x7e]{1,255}$/

/** Returns true for a valid `Idempotency-Key` header value. */
export function isIdempotencyKey(value: string): boolean {
  return KEY.test(value)
}

/**
 * Returns the SHA-256 (hex) of the canonical JSON (RFC 8785). Bodies with the same meaning have the same
 * fingerprint.
 */
export function fingerprint(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

export interface IdempotentRequest {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly method: string
  /** Request path, including ids. */
  readonly path: string
  readonly key: string
  /** Fingerprint of the parsed body. */
  readonly fingerprint: string
}

export interface StoredResponse {
  readonly status: number
  /** Body as JSON text. */
  readonly body: string
}

export type Claim =
  /**
   * Run the operation, then call `finish` or `release`. `id` is the same for every attempt of the same
   * request.
   */
  | { readonly kind: 'run'; readonly id: string; readonly lock: string }
  | { readonly kind: 'replay'; readonly response: StoredResponse }
  | Refusal<'idempotency_key_in_use' | 'idempotency_key_reused_with_different_params'>

/**
 * Returns true for final statuses, whose responses are stored. Any other status releases the key for a
 * retry.
 */
export function isFinalStatus(status: number): boolean {
  return (status >= 200 && status < 300) || [402, 403, 404, 409, 422].includes(status)
}

export interface IdempotencyStore {
  claim(request: IdempotentRequest): Promise<Claim>
  /** Stores a final response. Has no effect if a later attempt took over the lock. */
  finish(claim: { id: string; lock: string }, response: StoredResponse): Promise<void>
  /**
   * Releases the key without a stored response. The same request continues under the same id; another body
   * stays refused.
   */
  release(claim: { id: string; lock: string }): Promise<void>
}

/**
 * Opens the store. Each step is one conditional statement, so that exactly one of several concurrent
 * requests gets `run`, with any number of processes.
 */
export function openIdempotency(db: Db, rootKey: RootKey, clock: Clock): IdempotencyStore {
  const encryptionKey = rootKey.subkey('idempotency-encryption')

  async function insert(request: IdempotentRequest): Promise<Claim | null> {
    const now = clock.wall()
    const id = ulid(now)
    const lock = ulid(now)
    const { organizationId, environment, method, path, key } = request
    const inserted = await db
      .insertInto('idempotencyKeys')
      .values({
        id,
        organizationId,
        environment,
        method,
        path,
        key,
        fingerprint: request.fingerprint,
        state: 'running',
        lock,
        lockedUntil: now + LOCK_MS,
        status: null,
        response: null,
        createdAt: now,
        expiresAt: now + RETENTION_MS,
      })
      .onConflict((conflict) =>
        conflict.columns(['organizationId', 'environment', 'method', 'path', 'key']).doNothing(),
      )
      .returning('id')
      .executeTakeFirst()
    return inserted === undefined ? null : { kind: 'run', id, lock }
  }

  function find(request: IdempotentRequest) {
    return db
      .selectFrom('idempotencyKeys')
      .selectAll()
      .where('organizationId', '=', request.organizationId)
      .where('environment', '=', request.environment)
      .where('method', '=', request.method)
      .where('path', '=', request.path)
      .where('key', '=', request.key)
      .executeTakeFirst()
  }

  /** Takes over a free or abandoned row unless it changed since it was read. */
  async function takeOver(row: { id: string; lock: string; state: string }): Promise<Claim | null> {
    const now = clock.wall()
    const lock = ulid(now)
    const taken = await db
      .updateTable('idempotencyKeys')
      .set({ state: 'running', lock, lockedUntil: now + LOCK_MS })
      .where('id', '=', row.id)
      .where('lock', '=', row.lock)
      .where('state', '=', row.state as 'free' | 'running')
      .returning('id')
      .executeTakeFirst()
    return taken === undefined ? null : { kind: 'run', id: row.id, lock }
  }

  async function attempt(request: IdempotentRequest): Promise<Claim | null> {
    const inserted = await insert(request)
    if (inserted !== null) return inserted
    const row = await find(request)
    if (row === undefined) return null
    const now = clock.wall()
    const freeNow = row.state === 'free' || (row.state === 'running' && row.lockedUntil <= now)
    const expired = row.expiresAt <= now && (row.state === 'done' || freeNow)
    const sameBody = row.fingerprint === request.fingerprint
    if (expired) {
      // This request starts with a new id.
      await db.deleteFrom('idempotencyKeys').where('id', '=', row.id).where('lock', '=', row.lock).execute()
      return null
    }
    if (!sameBody) {
      // This also holds for a key that is free: the earlier request may have had an effect before it failed.
      return refuse(
        'idempotency_key_reused_with_different_params',
        'This Idempotency-Key was already used with a different body. Use a new key for a new request.',
      )
    }
    if (row.state === 'done' && row.status !== null && row.response !== null) {
      const body = unsealWithAnyKey(rootKey, 'idempotency-encryption', row.response, row.id)
      return { kind: 'replay', response: { status: row.status, body } }
    }
    if (freeNow) return takeOver(row)
    return refuse(
      'idempotency_key_in_use',
      'The first request with this Idempotency-Key is still running. Retry after a short delay.',
      null,
      {
        'retry-after': '1',
      },
    )
  }

  return {
    async claim(request) {
      // Null means that another request won the race and made progress.
      for (;;) {
        const claim = await attempt(request)
        if (claim !== null) return claim
      }
    },
    async finish(claim, response) {
      await db
        .updateTable('idempotencyKeys')
        .set({
          state: 'done',
          status: response.status,
          response: seal(encryptionKey, response.body, claim.id),
        })
        .where('id', '=', claim.id)
        .where('lock', '=', claim.lock)
        .where('state', '=', 'running')
        .execute()
    },
    async release(claim) {
      await db
        .updateTable('idempotencyKeys')
        .set({ state: 'free' })
        .where('id', '=', claim.id)
        .where('lock', '=', claim.lock)
        .where('state', '=', 'running')
        .execute()
    },
  }
}

/** Rows removed by one statement. */
const SWEEP_BATCH = 500

/** Removes requests that are older than a day, except running ones. Returns true if there may be more. */
export function sweepIdempotencyKeys(db: Db, now: number): Promise<boolean> {
  return sweep(db, {
    table: 'idempotencyKeys',
    key: 'id',
    where: sql<boolean>`"expiresAt" <= ${now} and "lockedUntil" <= ${now}`,
    batch: SWEEP_BATCH,
  })
}
