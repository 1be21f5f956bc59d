import { createHmac } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { sql } from 'kysely'
import type { Clock } from '../../media/base/clock.js'
import { type Refusal, tooEarly } from '../api/problem.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'

const WINDOW_MS = 60_000

export interface ThrottleDeps {
  readonly db: Db
  readonly rootKey: RootKey
  readonly clock: Clock
}

/**
 * Counts one attempt of `what`. Refuses with `rate_limited` above `perMinute` in the minute that began with
 * the first attempt. All processes of the database share the count, because it limits guessing. Refused
 * attempts are counted but do not extend the minute.
 */
export async function throttle(
  { db, rootKey, clock }: ThrottleDeps,
  what: string,
  perMinute: number,
): Promise<Refusal<'rate_limited'> | null> {
  const now = clock.wall()
  const name = createHmac('sha256', rootKey.subkey('throttle')).update(what).digest('base64url')
  const over = sql<boolean>`throttles.${sql.ref('startedAt')} <= ${now - WINDOW_MS}`
  const row = await db
    .insertInto('throttles')
    .values({ name, startedAt: now, attempts: 1 })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({
        startedAt: sql<number>`case when ${over} then ${now} else throttles.${sql.ref('startedAt')} end`,
        attempts: sql<number>`case when ${over} then 1 else throttles.attempts + 1 end`,
      }),
    )
    .returning(['startedAt', 'attempts'])
    .executeTakeFirstOrThrow()
  if (row.attempts <= perMinute) return null
  const seconds = Math.max(1, Math.ceil((row.startedAt + WINDOW_MS - now) / 1000))
  return tooEarly(`Too many attempts. Try again in ${seconds} s.`, seconds)
}

/**
 * Returns the part of a client's address that is counted: a whole IPv4 address, or the /64 prefix of an IPv6
 * address, which one subscriber has.
 */
export function addressGroup(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.{0,64}$/, '')
  if (!isIPv6(plain)) return plain
  const [head = '', tail = ''] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  // An embedded IPv4 tail stands for two groups. It lies beyond the first 64 bits in any case.
  const missing = plain.includes('::') ? 8 - left.length - right.length : 0
  const groups = [...left, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...right]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** Deletes counters whose minute is over. Returns their number. */
export async function sweepThrottles(db: Db, now: number): Promise<number> {
  const swept = await db
    .deleteFrom('throttles')
    .where('startedAt', '<=', now - WINDOW_MS)
    .executeTakeFirst()
  return Number(swept.numDeletedRows)
}
