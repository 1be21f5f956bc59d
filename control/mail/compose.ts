import { escapeHtml } from '../base/html.js'
import type { RootKey } from '../base/root-key.js'
import type { Db } from '../db/database.js'
import type { MailRow } from '../db/tables/access.js'
import { createMailToken, MAIL_TOKEN_LIFE_MS, wasMailedSince } from './mail-tokens.js'
import { type Mail, parseMail } from './outbox.js'

export interface ComposeDeps {
  readonly db: Db
  readonly rootKey: RootKey
  /** Returns the address of a page for the recipient, with the token of the mail if there is one. */
  readonly pageUrl: (page: string, token: string | null) => string
}

export interface MailText {
  readonly subject: string
  readonly text: string
  /** The same with the look of the pages. */
  readonly html: string
}

/** Minimum time between two links of a kind to an account (ms). */
const QUIET_MS = 60_000

/**
 * Writes the text of a queued mail and creates the link in it. Returns null if the recipient must not get
 * the mail.
 */
export async function composeMail(deps: ComposeDeps, row: MailRow, now: number): Promise<MailText | null> {
  const mail = parseMail(row)
  switch (mail.kind) {
    case 'verify_email': {
      const token = await accountToken(deps, row, now, 'verify_email')
      return token === null ? null : verifyEmail(deps.pageUrl('verify-email', token))
    }
    case 'reset_password': {
      const token = await accountToken(deps, row, now, 'reset_password')
      return token === null ? null : resetPassword(deps.pageUrl('reset-password', token))
    }
    case 'invitation':
      return invitation(deps, mail.invitationId, now)
    case 'password_changed':
      return letter('Your Parley password was changed', [
        'Your password was changed, and you were signed out everywhere else.',
        {
          text: 'If this was not you, ask for a new password at once:',
          url: deps.pageUrl('forgot-password', null),
        },
      ])
    case 'second_factor':
      return letter(SECOND_FACTOR_MAILS[mail.change].subject, [
        SECOND_FACTOR_MAILS[mail.change].text,
        {
          text: 'If this was not you, choose a new password at once, then look through your second factors:',
          url: deps.pageUrl('forgot-password', null),
        },
      ])
    case 'leaked_key':
      return letter('A Parley API key was found in public and revoked', [
        `Your ${mail.environment} key "${nameText(mail.keyName)}", which starts with ${mail.keyStart}, was found in public${
          mail.url === null ? '' : `: ${nameText(mail.url)}`
        }.`,
        'It was revoked at once: requests with it are answered 401. Make a new key, put it where the old one was used, and look through the calls made since the key was published.',
      ])
    case 'notice':
      return letter(mail.subject, [mail.text])
    default:
      return mail satisfies never
  }
}

async function accountToken(
  { db, rootKey }: ComposeDeps,
  row: MailRow,
  now: number,
  kind: 'verify_email' | 'reset_password',
): Promise<string | null> {
  let query = db.selectFrom('users').where('email', '=', row.recipient).select('id')
  if (kind === 'verify_email') query = query.where('emailVerifiedAt', 'is', null)
  const user = await query.executeTakeFirst()
  if (user === undefined) return null
  if (row.attempts <= 1 && (await wasMailedSince(db, kind, user.id, now - QUIET_MS))) return null
  return createMailToken(db, rootKey, { kind, subjectId: user.id, expiresAt: now + MAIL_TOKEN_LIFE_MS[kind] })
}

async function invitation(deps: ComposeDeps, invitationId: string, now: number): Promise<MailText | null> {
  const { db, rootKey } = deps
  const found = await db
    .selectFrom('invitations as i')
    .innerJoin('organizations as o', 'o.id', 'i.organizationId')
    .innerJoin('users as u', 'u.id', 'i.invitedBy')
    .where('i.id', '=', invitationId)
    .where('i.acceptedAt', 'is', null)
    .where('i.expiresAt', '>', now)
    .select(['i.role', 'i.expiresAt', 'o.name as organization', 'u.name as inviter'])
    .executeTakeFirst()
  if (found === undefined) return null
  const { expiresAt } = found
  const token = await createMailToken(db, rootKey, { kind: 'invitation', subjectId: invitationId, expiresAt })
  const organization = nameText(found.organization)
  return letter(`You are invited to ${organization} on Parley`, [
    `${nameText(found.inviter)} invites you to ${organization} with the role ${found.role}.`,
    { text: 'To accept, within 7 days:', url: deps.pageUrl('accept-invitation', token) },
    'If you do not know what this is about, do nothing.',
  ])
}

function verifyEmail(url: string): MailText {
  return letter('Confirm your address for Parley', [
    { text: 'To confirm your address, within 24 hours:', url },
    'If you did not sign up, do nothing: without your confirmation nobody can sign in with your address.',
  ])
}

function resetPassword(url: string): MailText {
  return letter('Choose a new Parley password', [
    { text: 'To choose a new password, within an hour:', url },
    'If you did not ask for this, do nothing: your password stays as it is.',
  ])
}

/** Returns a name chosen by a customer as a single line. Names of earlier releases may contain line breaks. */
function nameText(name: string): string {
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

type FactorChange = Extract<Mail, { kind: 'second_factor' }>['change']

const SECOND_FACTOR_MAILS: Readonly<
  Record<FactorChange, { readonly subject: string; readonly text: string }>
> = {
  added: {
    subject: 'A second factor was added to your Parley account',
    text: 'From now on signing in needs a second factor. You were signed out everywhere else if it is the first one.',
  },
  removed: {
    subject: 'A second factor was removed from your Parley account',
    text: 'It no longer works for signing in.',
  },
  reset: {
    subject: 'The second factors of your Parley account were reset',
    text: 'The operator of the service removed all second factors and recovery codes, and you were signed out everywhere.',
  },
  codes_made: {
    subject: 'New recovery codes for your Parley account',
    text: 'New recovery codes were made. The earlier ones no longer work.',
  },
  recovery_code_used: {
    subject: 'A recovery code of your Parley account was used',
    text: 'Somebody proved a second factor with one of your recovery codes. It does not work again.',
  },
  refused: {
    subject: 'Wrong second factors for your Parley account',
    text: 'Somebody gave a wrong second factor five times, and was refused. They know your password, or use a device on which you are signed in.',
  },
}

/** A text, or a text that leads to a page of the service. */
type Paragraph = string | { readonly text: string; readonly url: string }

function letter(subject: string, paragraphs: readonly Paragraph[]): MailText {
  const line = subject.replace(/\s+/g, ' ')
  const plain = paragraphs.map((part) => (typeof part === 'string' ? part : `${part.text} ${part.url}`))
  return { subject: line, text: `${plain.join('\n\n')}\n`, html: letterHtml(line, paragraphs) }
}

const BODY =
  'margin:0;padding:24px;background:#f6f8f9;color:#1f2428;font:16px/1.55 Helvetica,Arial,sans-serif'
const CARD =
  'max-width:480px;margin:0 auto;padding:24px;background:#fff;border:1px solid #dee2e6;border-top:4px solid #0b7285'

/**
 * Returns a letter with the colours of the pages (`PAGE_STYLE`). Programs for mail leave out style sheets, so the styles
 * are attributes. Only addresses of the service become links: a name that a customer chose never does.
 */
function letterHtml(subject: string, paragraphs: readonly Paragraph[]): string {
  const parts = paragraphs.map((part) => {
    if (typeof part === 'string') return `<p>${escapeHtml(part).replaceAll('\n', '<br>')}</p>`
    const url = escapeHtml(part.url)
    return `<p>${escapeHtml(part.text)}<br><a href="${url}" style="color:#0b7285;overflow-wrap:anywhere">${url}</a></p>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escapeHtml(subject)}</title>
<body style="${BODY}">
<div style="${CARD}">
<h1 style="margin:0 0 12px;font-size:20px;line-height:1.3">${escapeHtml(subject)}</h1>
${parts.join('\n')}
</div>
</body>
</html>
`
}
