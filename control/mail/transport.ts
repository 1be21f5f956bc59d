import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { errorText } from '../../media/base/errors.js'

/** One mail, written. */
export interface MailMessage {
  /** Stays the same over all attempts, so that receivers can tell a repetition. */
  readonly id: string
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

export type SendResult =
  | { readonly ok: true }
  /** `permanent`: the receiving server said that trying again is of no use (RFC 5321 4.2.1, 5yz). */
  | { readonly ok: false; readonly permanent: boolean; readonly reason: string }

export interface MailTransport {
  /** Where mails go, for the log. */
  readonly kind: 'smtp' | 'file'
  send(message: MailMessage): Promise<SendResult>
  close(): void
}

const CONNECT_MS = 10_000
const SILENCE_MS = 20_000

/** Whether a server must encrypt before anything is sent: always, when there is a password to lose. */
export function requiresTls(url: string): boolean {
  const { username, password, hostname } = new URL(url)
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return !local && (username !== '' || password !== '')
}

/** Hands mails to an SMTP server, one connection each. STARTTLS is used whenever it is offered. */
export function smtpTransport(url: string): MailTransport {
  const server = createTransport({
    url,
    requireTLS: requiresTls(url),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    // The text is ours, but it quotes names that customers chose.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    kind: 'smtp',
    async send({ id, from, to, subject, text }) {
      try {
        await server.sendMail({
          from,
          // As an object: an address is never read as a list of them.
          to: { name: '', address: to },
          subject,
          text,
          messageId: `<${id}@${domainOf(from)}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        return { ok: true }
      } catch (error) {
        return { ok: false, permanent: isPermanent(error), reason: errorText(error) }
      }
    },
    close: () => server.close(),
  }
}

/** Writes each mail to a file that only the operator can read. */
export function fileTransport(folder: string): MailTransport {
  return {
    kind: 'file',
    async send({ id, from, to, subject, text }) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const content = `From: ${from}\nTo: ${to}\nSubject: ${subject}\n\n${text}`
        await writeFile(join(folder, `${id}.txt`), content, { mode: 0o600 })
        return { ok: true }
      } catch (error) {
        return { ok: false, permanent: false, reason: errorText(error) }
      }
    },
    close() {},
  }
}

function isPermanent(error: unknown): boolean {
  if (!(error instanceof Error) || !('responseCode' in error)) return false
  const { responseCode } = error
  return typeof responseCode === 'number' && responseCode >= 500 && responseCode <= 599
}

function domainOf(from: string): string {
  return /@([^\s>]+)>?$/.exec(from)?.[1] ?? 'localhost'
}
