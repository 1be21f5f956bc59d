import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { errorText } from '../../media/base/errors.js'

/** A mail to send. */
export interface MailMessage {
  /** Same id for all attempts, so that receivers can detect duplicates. */
  readonly id: string
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same as HTML. Both parts are sent: the program of the reader chooses. */
  readonly html: string
}

export type SendResult =
  | { readonly ok: true }
  /** `permanent`: a retry is useless (RFC 5321, 4.2.1: 5yz). */
  | { readonly ok: false; readonly permanent: boolean; readonly reason: string }

export interface MailTransport {
  /** Kind of transport, for the log. */
  readonly kind: 'smtp' | 'file'
  send(message: MailMessage): Promise<SendResult>
  close(): void
}

const CONNECT_MS = 10_000
const SILENCE_MS = 20_000

/**
 * Returns true if the connection must be encrypted, which is the case if the URL contains credentials and
 * the host is not local.
 */
export function requiresTls(url: string): boolean {
  const { username, password, hostname } = new URL(url)
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return !local && (username !== '' || password !== '')
}

/**
 * Returns a transport that sends to an SMTP server, with one connection per mail. Uses STARTTLS if the
 * server offers it.
 */
export function smtpTransport(url: string): MailTransport {
  const server = createTransport({
    url,
    requireTLS: requiresTls(url),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    // The text contains names chosen by customers.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    kind: 'smtp',
    async send({ id, from, to, subject, text, html }) {
      try {
        await server.sendMail({
          from,
          // Passed as an object, so that it is not parsed as an address list.
          to: { name: '', address: to },
          subject,
          text,
          html,
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

/** Returns a transport that writes each mail to a file that only the operator can read. */
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
  return /@([^\s@>]+)>?$/.exec(from)?.[1] ?? 'localhost'
}
