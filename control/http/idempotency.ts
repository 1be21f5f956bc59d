import { createHash } from 'node:crypto'
import type { Clock } from '../../media/base/clock.js'
import { ulid } from '../../media/base/ids.js'
import { type Refusal, refuse } from '../api/problem.js'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import { seal, unsealWithAnyKey } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'

/** A crashed attempt blocks its key no longer than this. */
export const LOCK_MS = 90_000
export const RETENTION_MS = 24 * 3_600_000

const KEY = /^[\x20-\x7e]{1,255}$/

/** Whether a header value can be an `Idempotency-Key`. */
export function isIdempotencyKey(value: string): boolean {
  return KEY.test(value)
}

/** SHA-256 of the canonical JSON (RFC 8785), hex: equal for bodies that mean the same. */
export function fingerprint(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

export interface IdempotentRequest {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly method: string
  /** The path as requested, ids included. */
  readonly path: string
  readonly key: string
  /** Of the parsed body's canonical JSON. */
  readonly fingerprint: string
}

export interface StoredResponse {
  readonly status: number
  /** JSON text. */
  readonly body: string
}

export type Claim =
  /** Run it, then `finish` or `free`. `id` is the same for every attempt of the same request. */
  | { readonly kind: 'run'; readonly id: string; readonly lock: string }
  | { readonly kind: 'replay'; readonly response: StoredResponse }
  | Refusal<'idempotency_key_in_use' | 'idempotency_key_reused_with_different_params'>

/** Which outcomes are final; anything else frees the key for a retry (decisions 1, row 1). */
export function isFinalStatus(status: number): boolean {
  return (status >= 200 && status < 300) || [402, 403, 404, 409, 422].includes(status)
}

export interface IdempotencyStore {
  claim(request: IdempotentRequest): Promise<Claim>
  /** Keeps a final response. A lock that was lost to a later attempt changes nothing. */
  finish(claim: { id: string; lock: string }, response: StoredResponse): Promise<void>
  /** Frees the key without a stored response; the same request continues under the same id. */
  release(claim: { id: string; lock: string }): Promise<void>
}

/**
 * Each step is one conditional statement, so that two requests racing on any number of processes
 * get exactly one `run` between them.
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

  /** Takes over a free or abandoned row, if it still is as we saw it. */
  async function takeOver(seen: { id: string; lock: string; state: string }): Promise<Claim | null> {
    const now = clock.wall()
    const lock = ulid(now)
    const taken = await db
      .updateTable('idempotencyKeys')
      .set({ state: 'running', lock, lockedUntil: now + LOCK_MS })
      .where('id', '=', seen.id)
      .where('lock', '=', seen.lock)
      .where('state', '=', seen.state as 'free' | 'running')
      .returning('id')
      .executeTakeFirst()
    return taken === undefined ? null : { kind: 'run', id: seen.id, lock }
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
    if (expired || (row.state === 'free' && !sameBody)) {
      // Nothing came of the earlier request, or it is forgotten: this one starts anew with its own id.
      await db.deleteFrom('idempotencyKeys').where('id', '=', row.id).where('lock', '=', row.lock).execute()
      return null
    }
    if (!sameBody) {
      return refuse(
        'idempotency_key_reused_with_different_params',
        'This Idempotency-Key was used with a different body.',
      )
    }
    if (row.state === 'done' && row.status !== null && row.response !== null) {
      const body = unsealWithAnyKey(rootKey, 'idempotency-encryption', row.response, row.id)
      return { kind: 'replay', response: { status: row.status, body } }
    }
    if (freeNow) return takeOver(row)
    return refuse('idempotency_key_in_use', 'The first request with this Idempotency-Key still runs.', null, {
      'retry-after': '1',
    })
  }

  return {
    async claim(request) {
      // Each round that gives null lost a race against another request, which made progress.
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

/** Removed by one statement. */
const CHUNK = 500

/** Forgets requests of more than a day ago, but none that still runs. */
export async function sweepIdempotencyKeys(db: Db, now: number): Promise<boolean> {
  const gone = await db
    .deleteFrom('idempotencyKeys')
    .where('id', 'in', (query) =>
      query
        .selectFrom('idempotencyKeys')
        .select('id')
        .where('expiresAt', '<=', now)
        .where('lockedUntil', '<=', now)
        .limit(CHUNK),
    )
    .returning('id')
    .execute()
  return gone.length === CHUNK
}
