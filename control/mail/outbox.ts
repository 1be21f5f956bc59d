import { ulid } from '../../media/base/ids.js'
import type { Db, Trx } from '../db/database.js'
import type { MailRow } from '../db/tables/access.js'

/**
 * What can be mailed. The text, and any link in it, is made when the mail is sent, so that the queue
 * holds no secret and queueing takes the same time whoever the recipient is.
 */
export type Mail =
  /** Nothing is sent to an address without an account, or with a verified one. */
  | { readonly kind: 'verify_email' }
  /** Nothing is sent to an address without an account. */
  | { readonly kind: 'reset_password' }
  | { readonly kind: 'password_changed' }
  | { readonly kind: 'invitation'; readonly invitationId: string }
  | {
      readonly kind: 'leaked_key'
      readonly keyName: string
      readonly keyStart: string
      readonly environment: string
      /** Where it was found; null when the report does not say. */
      readonly url: string | null
    }
  /** Anything else worth telling owners and admins. */
  | { readonly kind: 'notice'; readonly subject: string; readonly text: string }

/** Queues one mail; call `deps.mail.wake()` once the transaction is committed. */
export async function queueMail(db: Db | Trx, now: number, recipient: string, mail: Mail): Promise<void> {
  const { kind, ...fields } = mail
  await db
    .insertInto('mails')
    .values({
      id: ulid(now),
      recipient,
      kind,
      fields: JSON.stringify(fields),
      state: 'waiting',
      attempts: 0,
      dueAt: now,
      lease: null,
      lastError: null,
      createdAt: now,
      finishedAt: null,
    })
    .execute()
}

/** Queues a mail to every owner and admin of an organization. */
export async function queueMailToAdmins(
  db: Db | Trx,
  now: number,
  organizationId: string,
  mail: Mail,
): Promise<void> {
  const admins = await db
    .selectFrom('members as m')
    .innerJoin('users as u', 'u.id', 'm.userId')
    .where('m.organizationId', '=', organizationId)
    .where('m.role', 'in', ['owner', 'admin'])
    .select('u.email')
    .orderBy('u.email')
    .execute()
  for (const { email } of admins) await queueMail(db, now, email, mail)
}

/** The mail of a row, as it was queued. */
export function parseMail(row: Pick<MailRow, 'kind' | 'fields'>): Mail {
  // Only `queueMail` writes them.
  return { kind: row.kind, ...JSON.parse(row.fields) } as Mail
}

/** What is kept of mail that is over: nothing but the numbers of the last days. */
const KEPT_MS = 30 * 24 * 3_600_000

export async function sweepMails(db: Db, now: number): Promise<number> {
  const swept = await db
    .deleteFrom('mails')
    .where('state', '<>', 'waiting')
    .where('finishedAt', '<=', now - KEPT_MS)
    .executeTakeFirst()
  return Number(swept.numDeletedRows)
}
