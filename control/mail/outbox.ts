import { ulid } from '../../media/base/ids.js'
import type { Db, Trx } from '../db/database.js'
import type { MailRow } from '../db/tables/access.js'

/**
 * Mails that can be queued. Text and links are created when the mail is sent, so that the queue contains no
 * secrets and queueing takes the same time for every recipient.
 */
export type Mail =
  /** Not sent to addresses without an account or with a verified address. */
  | { readonly kind: 'verify_email' }
  /** Not sent to addresses without an account. */
  | { readonly kind: 'reset_password' }
  | { readonly kind: 'password_changed' }
  /** `refused`: all tries to prove a second factor, at a sign-in or for a change, were wrong. */
  | {
      readonly kind: 'second_factor'
      readonly change: 'added' | 'removed' | 'reset' | 'codes_made' | 'recovery_code_used' | 'refused'
    }
  | { readonly kind: 'invitation'; readonly invitationId: string }
  | {
      readonly kind: 'leaked_key'
      readonly keyName: string
      readonly keyStart: string
      readonly environment: string
      /** URL where the key was found. Null if the report has none. */
      readonly url: string | null
    }
  /** Any other message to owners and admins. */
  | { readonly kind: 'notice'; readonly subject: string; readonly text: string }

/** Queues a mail. Call `deps.mail.wake()` after the transaction is committed. */
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

/** Queues a mail to all owners and admins of an organization. */
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

/** Queues a mail to the staff of the service. */
export async function queueMailToStaff(db: Db | Trx, now: number, mail: Mail): Promise<void> {
  const staff = await db.selectFrom('users').select('email').where('staff', '=', 1).orderBy('email').execute()
  for (const { email } of staff) await queueMail(db, now, email, mail)
}

/** Returns the mail of a row. */
export function parseMail(row: Pick<MailRow, 'kind' | 'fields'>): Mail {
  // Only `queueMail` writes these fields.
  return { kind: row.kind, ...JSON.parse(row.fields) } as Mail
}

/** Sent and failed mails are removed after this time (ms). */
const KEPT_MS = 30 * 24 * 3_600_000

export async function sweepMails(db: Db, now: number): Promise<number> {
  const swept = await db
    .deleteFrom('mails')
    .where('state', '<>', 'waiting')
    .where('finishedAt', '<=', now - KEPT_MS)
    .executeTakeFirst()
  return Number(swept.numDeletedRows)
}
