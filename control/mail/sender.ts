import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { ulid } from '../../media/base/ids.js'
import type { Log } from '../../media/base/log.js'
import type { MailRow } from '../db/tables/access.js'
import { type ComposeDeps, composeMail, type MailText } from './compose.js'
import type { MailTransport, SendResult } from './transport.js'

export interface MailSenderOptions extends ComposeDeps {
  readonly clock: Clock
  readonly log: Log
  readonly transport: MailTransport
  /** The `From` of every mail. */
  readonly from: string
}

/** Sends what the outbox holds, at least once each, one at a time. */
export interface MailSender {
  /** Looks into the outbox now instead of a few seconds later; the first call starts it. */
  wake(): void
  /** Resolves once nothing is being sent. */
  idle(): Promise<void>
  close(): Promise<void>
}

const POLL_MS = 5_000
/** Longer than an attempt can take (transport.ts): another process takes over what a dead one held. */
const LEASE_MS = 120_000
const BATCH = 20
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000
const GIVE_UP_MS = 24 * 3_600_000

export function openMailSender(options: MailSenderOptions): MailSender {
  const { db, clock, log, transport } = options
  let timer: Timer | null = null
  let running: Promise<void> | null = null
  let again = false
  let closed = false

  function start(): void {
    timer?.cancel()
    timer = null
    if (closed) return
    if (running !== null) {
      again = true
      return
    }
    again = false
    running = drain()
      .catch((error: unknown) => {
        log.warn({ error: errorText(error) }, 'mail outbox not read')
      })
      .finally(() => {
        running = null
        if (closed) return
        if (again) start()
        else timer = clock.after(POLL_MS, start)
      })
  }

  async function drain(): Promise<void> {
    for (let rows = await due(); rows.length > 0 && !closed; rows = await due()) {
      for (const { id } of rows) {
        const row = closed ? undefined : await claim(id)
        if (row !== undefined) await deliver(row)
      }
    }
  }

  function due(): Promise<{ id: string }[]> {
    return db
      .selectFrom('mails')
      .where('state', '=', 'waiting')
      .where('dueAt', '<=', clock.wall())
      .select('id')
      .orderBy('dueAt')
      .orderBy('id')
      .limit(BATCH)
      .execute()
  }

  /** Undefined when another process was faster. */
  function claim(id: string): Promise<MailRow | undefined> {
    const now = clock.wall()
    return db
      .updateTable('mails')
      .set((eb) => ({ attempts: eb('attempts', '+', 1), dueAt: now + LEASE_MS, lease: ulid(now) }))
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where('dueAt', '<=', now)
      .returningAll()
      .executeTakeFirst()
  }

  async function deliver(row: MailRow): Promise<void> {
    const sent = await attempt(row)
    if (sent === null) return drop(row)
    const fields = { mail: row.id, kind: row.kind, attempt: row.attempts }
    if (sent.ok) {
      const how = transport.kind === 'file' ? 'mail written to a file: no SMTP server is set' : 'mail sent'
      log.info(fields, how)
      return finish(row, 'sent', null)
    }
    const now = clock.wall()
    // Servers quote the address in their answers, so the reason is kept out of the log.
    if (sent.permanent || now - row.createdAt >= GIVE_UP_MS) {
      log.error({ ...fields, permanent: sent.permanent }, 'mail given up')
      return finish(row, 'failed', sent.reason)
    }
    log.warn(fields, 'mail not sent, trying again')
    await db
      .updateTable('mails')
      .set({ dueAt: now + mailRetryMs(row.attempts), lease: null, lastError: sent.reason })
      .where('id', '=', row.id)
      .where('lease', '=', row.lease)
      .execute()
  }

  /** Null when there is nothing to say to this recipient. */
  async function attempt(row: MailRow): Promise<SendResult | null> {
    let letter: MailText | null
    try {
      letter = await composeMail(options, row, clock.wall())
    } catch (error) {
      // One mail that cannot be written must not keep the others waiting.
      return { ok: false, permanent: false, reason: errorText(error) }
    }
    if (letter === null) return null
    return transport.send({ id: row.id, from: options.from, to: row.recipient, ...letter })
  }

  /** Nothing was sent, so nothing about the address is kept. */
  async function drop(row: MailRow): Promise<void> {
    await db.deleteFrom('mails').where('id', '=', row.id).where('lease', '=', row.lease).execute()
  }

  async function finish(row: MailRow, state: MailRow['state'], lastError: string | null): Promise<void> {
    await db
      .updateTable('mails')
      .set({ state, lease: null, lastError, finishedAt: clock.wall() })
      .where('id', '=', row.id)
      .where('lease', '=', row.lease)
      .execute()
  }

  return {
    wake: start,
    async idle() {
      while (running !== null) await running
    },
    async close() {
      closed = true
      timer?.cancel()
      await running
      transport.close()
    },
  }
}

/** After the attempt of that number: 1, 2, 4, ... minutes, at most an hour. */
export function mailRetryMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS)
}
