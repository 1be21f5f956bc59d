import { createHmac } from 'node:crypto'
import { type Refusal, refuse } from '../api/problem.js'
import { randomBase62 } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import type { MailTokenKind } from '../db/tables/access.js'

const HOUR_MS = 3_600_000

/** Validity of mailed links (ms). */
export const MAIL_TOKEN_LIFE_MS: Readonly<Record<MailTokenKind, number>> = {
  verify_email: 24 * HOUR_MS,
  reset_password: HOUR_MS,
  invitation: 7 * 24 * HOUR_MS,
}

/** 43 base62 characters contain 256 bits. */
const LENGTH = 43

/** Creates a token that proves access to a mailbox. A subject may have several unused tokens. */
export async function createMailToken(
  db: Db | Trx,
  rootKey: RootKey,
  fields: { kind: MailTokenKind; subjectId: string; expiresAt: number },
): Promise<string> {
  const token = randomBase62(LENGTH)
  await db
    .insertInto('mailTokens')
    .values({ hash: hashOf(rootKey, token), ...fields, usedAt: null })
    .execute()
  return token
}

/** Returns true if such a mail was sent since `since`. Used to avoid flooding a mailbox. */
export async function wasMailedSince(
  db: Db,
  kind: MailTokenKind,
  subjectId: string,
  since: number,
): Promise<boolean> {
  const found = await db
    .selectFrom('mailTokens')
    .where('kind', '=', kind)
    .where('subjectId', '=', subjectId)
    .where('expiresAt', '>', since + MAIL_TOKEN_LIFE_MS[kind])
    .select('hash')
    .executeTakeFirst()
  return found !== undefined
}

type Unusable = Refusal<'invalid_token' | 'token_expired'>

/** Returns the subject of a token without using it. */
export async function readMailToken(
  db: Db | Trx,
  rootKey: RootKey,
  now: number,
  kind: MailTokenKind,
  token: string,
): Promise<{ readonly subjectId: string } | Unusable> {
  const row = await db
    .selectFrom('mailTokens')
    .where('hash', '=', hashOf(rootKey, token))
    .where('kind', '=', kind)
    .select(['subjectId', 'expiresAt', 'usedAt'])
    .executeTakeFirst()
  if (row === undefined || row.usedAt !== null) return unusable()
  if (row.expiresAt <= now) return refuse('token_expired', 'The link has expired. Request a new one.')
  return { subjectId: row.subjectId }
}

/**
 * Uses up a token and all other tokens of the same kind and subject. Of two requests with the same token
 * one gets `invalid_token`.
 */
export async function useMailToken(
  trx: Trx,
  rootKey: RootKey,
  now: number,
  kind: MailTokenKind,
  token: string,
): Promise<{ readonly subjectId: string } | Unusable> {
  const read = await readMailToken(trx, rootKey, now, kind, token)
  if (!('subjectId' in read)) return read
  const spent = await trx
    .updateTable('mailTokens')
    .set({ usedAt: now })
    .where('hash', '=', hashOf(rootKey, token))
    .where('usedAt', 'is', null)
    .returning('subjectId')
    .executeTakeFirst()
  if (spent === undefined) return unusable()
  await invalidateMailTokens(trx, now, kind, spent.subjectId)
  return spent
}

/** Invalidates all unused tokens of a kind and subject. */
export async function invalidateMailTokens(
  db: Db | Trx,
  now: number,
  kind: MailTokenKind,
  subjectId: string,
): Promise<void> {
  await db
    .updateTable('mailTokens')
    .set({ usedAt: now })
    .where('kind', '=', kind)
    .where('subjectId', '=', subjectId)
    .where('usedAt', 'is', null)
    .execute()
}

/**
 * Removes tokens a month after they expired. Until then an expired token can be distinguished from an
 * unknown one.
 */
export async function sweepMailTokens(db: Db, now: number): Promise<number> {
  const swept = await db
    .deleteFrom('mailTokens')
    .where('expiresAt', '<=', now - 30 * 24 * HOUR_MS)
    .executeTakeFirst()
  return Number(swept.numDeletedRows)
}

function unusable(): Refusal<'invalid_token'> {
  return refuse('invalid_token', 'The link is invalid or was already used. Request a new one.')
}

function hashOf(rootKey: RootKey, token: string): string {
  return createHmac('sha256', rootKey.subkey('mail-token-hash')).update(token).digest('hex')
}
