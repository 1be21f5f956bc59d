import { createHash } from 'node:crypto'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import { ulid } from '../../media/base/ids.js'
import { type Refusal, refuse } from '../api/problem.js'
import { canonicalJson, type Json } from '../base/canonical-json.js'
import { seal, unsealWithAnyKey } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import { sweep } from '../db/sweep.js'
import type { IdempotencyRow } from '../db/tables/identity.js'

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

/** Characters of canonical JSON that are made before other work of the thread runs. */
const TURN_CHARACTERS = 64 * 1_024

/** As `fingerprint`. Other requests run while that of a long body is made. */
export async function fingerprintInTurns(value: Json): Promise<string> {
  const hash = createHash('sha256')
  let pending = ''
  for (const part of canonicalParts(value, 0)) {
    pending += part
    if (pending.length < TURN_CHARACTERS) continue
    hash.update(pending)
    pending = ''
    await endOfTurn()
  }
  return hash.update(pending).digest('hex')
}

/** Depth at which a value is one part: the rows of a list in a body. */
const PART_DEPTH = 2

/** Cuts canonical JSON into parts (RFC 8785: members are sorted by the UTF-16 code units of their names). */
function* canonicalParts(value: Json, depth: number): Generator<string> {
  if (depth === PART_DEPTH || typeof value !== 'object' || value === null) yield canonicalJson(value)
  else if (Array.isArray(value)) {
    for (const [index, element] of (value as readonly Json[]).entries()) {
      yield index === 0 ? '[' : ','
      yield* canonicalParts(element, depth + 1)
    }
    yield value.length === 0 ? '[]' : ']'
  } else {
    const members = Object.entries(value as Readonly<Record<string, Json>>)
    members.sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [index, [name, member]] of members.entries()) {
      yield `${index === 0 ? '{' : ','}${canonicalJson(name)}:`
      yield* canonicalParts(member, depth + 1)
    }
    yield members.length === 0 ? '{}' : '}'
  }
}

export interface IdempotentRequest {
  readonly organizationId: string
  readonly environment: 'test' | 'live'
  readonly method: string
  /** Request path, including ids. */
  readonly path: string
  readonly key: string
  /** Fingerprint of the parsed body. Null for an upload, whose body is still to come. */
  readonly fingerprint: string | null
}

export interface StoredResponse {
  readonly status: number
  /** Body as JSON text. */
  readonly body: string
}

/** A run of the operation that holds the lock of its key. */
export interface Attempt {
  /** The same for every attempt of the same request. */
  readonly id: string
  readonly lock: string
  /** Fingerprint of the body. Null for an upload of which no attempt has received the whole body. */
  readonly fingerprint: string | null
}

export type Claim =
  /** Run the operation, then call `finish` or `release`. */
  | ({ readonly kind: 'run' } & Attempt)
  | { readonly kind: 'replay'; readonly response: StoredResponse; readonly fingerprint: string | null }
  | Refusal<'idempotency_key_in_use' | 'idempotency_key_reused_with_different_params'>

/**
 * Returns true for final statuses, whose responses are stored. Any other status releases the key for a
 * retry.
 */
export function isFinalStatus(status: number): boolean {
  return (status >= 200 && status < 300) || [402, 403, 404, 409, 422].includes(status)
}

export interface IdempotencyStore {
  /** For an upload the caller compares the fingerprints when the body has arrived. */
  claim(request: IdempotentRequest): Promise<Claim>
  /** Extends the lease of the lock. Returns false if a later attempt took it over. */
  renew(attempt: Attempt): Promise<boolean>
  /**
   * Stores a final response, in the transaction of the change if one is given. Returns false, without an effect, if a
   * later attempt took over the lock, or if a response is stored already.
   */
  finish(attempt: Attempt, response: StoredResponse, trx?: Trx): Promise<boolean>
  /**
   * Releases the key without a stored response. The same request continues under the same id; another body
   * stays refused.
   */
  release(attempt: Attempt): Promise<void>
}

/** Refusal of a key that was used with another body. */
export const OTHER_BODY = refuse(
  'idempotency_key_reused_with_different_params',
  'This Idempotency-Key was already used with a different body. Use a new key for a new request.',
)

/** Refusal of a key whose first request is still running. */
export const KEY_IN_USE = refuse(
  'idempotency_key_in_use',
  'The first request with this Idempotency-Key is still running. Retry after a short delay.',
  null,
  { 'retry-after': '1' },
)

/** Fingerprint in the table as long as the body of an upload has not arrived. */
const UNKNOWN = ''

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
        fingerprint: request.fingerprint ?? UNKNOWN,
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
    return inserted === undefined ? null : { kind: 'run', id, lock, fingerprint: request.fingerprint }
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
  async function takeOver(row: IdempotencyRow): Promise<Claim | null> {
    const now = clock.wall()
    const lock = ulid(now)
    const taken = await db
      .updateTable('idempotencyKeys')
      .set({ state: 'running', lock, lockedUntil: now + LOCK_MS })
      .where('id', '=', row.id)
      .where('lock', '=', row.lock)
      .where('state', '=', row.state)
      .returning('id')
      .executeTakeFirst()
    return taken === undefined ? null : { kind: 'run', id: row.id, lock, fingerprint: known(row) }
  }

  /** Updates the row of an attempt as long as no later one took over its lock. */
  function held({ id, lock }: Attempt, within: Db | Trx = db) {
    return within
      .updateTable('idempotencyKeys')
      .where('id', '=', id)
      .where('lock', '=', lock)
      .where('state', '=', 'running')
  }

  async function attempt(request: IdempotentRequest): Promise<Claim | null> {
    const inserted = await insert(request)
    if (inserted !== null) return inserted
    const row = await find(request)
    if (row === undefined) return null
    const now = clock.wall()
    const freeNow = row.state === 'free' || (row.state === 'running' && row.lockedUntil <= now)
    const expired = row.expiresAt <= now && (row.state === 'done' || freeNow)
    const sameBody = request.fingerprint === null || row.fingerprint === request.fingerprint
    if (expired) {
      // This request starts with a new id.
      await db.deleteFrom('idempotencyKeys').where('id', '=', row.id).where('lock', '=', row.lock).execute()
      return null
    }
    if (!sameBody) {
      // This also holds for a key that is free: the earlier request may have had an effect before it failed.
      return OTHER_BODY
    }
    if (row.state === 'done' && row.status !== null && row.response !== null) {
      const body = unsealWithAnyKey(rootKey, 'idempotency-encryption', row.response, row.id)
      return { kind: 'replay', response: { status: row.status, body }, fingerprint: known(row) }
    }
    if (freeNow) return takeOver(row)
    return KEY_IN_USE
  }

  return {
    async claim(request) {
      // Null means that another request won the race and made progress.
      for (;;) {
        const claim = await attempt(request)
        if (claim !== null) return claim
      }
    },
    async renew(attempt) {
      const renewed = await held(attempt)
        .set({ lockedUntil: clock.wall() + LOCK_MS })
        .returning('id')
        .executeTakeFirst()
      return renewed !== undefined
    },
    async finish(attempt, response, trx) {
      const fingerprint = attempt.fingerprint ?? UNKNOWN
      const sealed = seal(encryptionKey, response.body, attempt.id)
      const stored = await held(attempt, trx)
        .set({ state: 'done', status: response.status, response: sealed, fingerprint })
        .returning('id')
        .executeTakeFirst()
      return stored !== undefined
    },
    async release(attempt) {
      await held(attempt)
        .set({ state: 'free', fingerprint: attempt.fingerprint ?? UNKNOWN })
        .execute()
    },
  }
}

function known({ fingerprint }: IdempotencyRow): string | null {
  return fingerprint === UNKNOWN ? null : fingerprint
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
