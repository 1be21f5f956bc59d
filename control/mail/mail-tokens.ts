import { createHmac } from 'node:crypto'
import { type Refusal, refuse } from '../api/problem.js'
import { randomBase62 } from '../base/crypto.js'
import type { RootKey } from '../base/root-key.js'
import type { Db, Trx } from '../db/database.js'
import type { MailTokenKind } from '../db/tables/access.js'

const HOUR_MS = 3_600_000

/** How long a mailed link is good (decisions 3). */
export const MAIL_TOKEN_LIFE_MS: Readonly<Record<MailTokenKind, number>> = {
  verify_email: 24 * HOUR_MS,
  reset_password: HOUR_MS,
  invitation: 7 * 24 * HOUR_MS,
}

/** 43 characters of base62 hold 256 bits. */
const LENGTH = 43

/** Makes a token that proves who reads the mail; several for one subject may wait. */
export async function createMailToken(
  db: Db | Trx,
  rootKey: RootKey,
  wanted: { kind: MailTokenKind; subjectId: string; expiresAt: number },
): Promise<string> {
  const token = randomBase62(LENGTH)
  await db
    .insertInto('mailTokens')
    .values({ hash: hashOf(rootKey, token), ...wanted, usedAt: null })
    .execute()
  return token
}

/** Whether such a mail was made since `since`, so that nobody's mailbox is flooded. */
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

/** What a token is for, without using it. */
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
  if (row.expiresAt <= now) return refuse('token_expired', 'The link has expired. Ask for a new one.')
  return { subjectId: row.subjectId }
}

/**
 * Uses a token up, and with it every other one of the same kind and subject. Of two requests with the
 * same token one gets `invalid_token`.
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

/** Makes all waiting tokens of a kind and subject useless. */
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

/** Forgets tokens a month after they expired; until then they are told from unknown ones. */
export async function sweepMailTokens(db: Db, now: number): Promise<number> {
  const swept = await db
    .deleteFrom('mailTokens')
    .where('expiresAt', '<=', now - 30 * 24 * HOUR_MS)
    .executeTakeFirst()
  return Number(swept.numDeletedRows)
}

function unusable(): Refusal<'invalid_token'> {
  return refuse('invalid_token', 'The link is not valid, or was used already.')
}

function hashOf(rootKey: RootKey, token: string): string {
  return createHmac('sha256', rootKey.subkey('mail-token-hash')).update(token).digest('hex')
}
