import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { ulid } from '../../media/base/ids.js'
import type { Log } from '../../media/base/log.js'
import { jittered } from '../base/jitter.js'
import type { MailRow } from '../db/tables/access.js'
import { type ComposeDeps, composeMail, type MailText } from './compose.js'
import type { MailTransport, SendResult } from './transport.js'

export interface MailSenderOptions extends ComposeDeps {
  readonly clock: Clock
  readonly log: Log
  readonly transport: MailTransport
  /** From address of all mails. */
  readonly from: string
}

/** Sends queued mails one at a time, each at least once. */
export interface MailSender {
  /** Reads the outbox now. The first call starts the polling. */
  wake(): void
  /** Resolves when no mail is being sent. */
  idle(): Promise<void>
  close(): Promise<void>
}

const POLL_MS = 5_000
/**
 * Longer than an attempt can take (transport.ts). After this time another process takes over the mail of a
 * crashed one.
 */
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
        log.warn({ error: errorText(error) }, 'mail.outbox_read_failed')
      })
      .finally(() => {
        running = null
        if (closed) return
        if (again) start()
        else timer = clock.after(jittered(POLL_MS), start)
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

  /** Claims a mail. Resolves with undefined if another process claimed it first. */
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
      const event = transport.kind === 'file' ? 'mail.written_to_file' : 'mail.sent'
      log.info(fields, event)
      return finish(row, 'sent', null)
    }
    const now = clock.wall()
    // Servers quote the address in their responses, so the reason is not logged.
    if (sent.permanent || now - row.createdAt >= GIVE_UP_MS) {
      log.error({ ...fields, permanent: sent.permanent }, 'mail.failed')
      return finish(row, 'failed', sent.reason)
    }
    log.warn(fields, 'mail.retry_scheduled')
    await db
      .updateTable('mails')
      .set({ dueAt: now + mailRetryMs(row.attempts), lease: null, lastError: sent.reason })
      .where('id', '=', row.id)
      .where('lease', '=', row.lease)
      .execute()
  }

  /** Sends a mail. Returns null if the recipient must not get it. */
  async function attempt(row: MailRow): Promise<SendResult | null> {
    let text: MailText | null
    try {
      text = await composeMail(options, row, clock.wall())
    } catch (error) {
      // An error in one mail must not block the others.
      return { ok: false, permanent: false, reason: errorText(error) }
    }
    if (text === null) return null
    return transport.send({ id: row.id, from: options.from, to: row.recipient, ...text })
  }

  /** Nothing was sent, so the address is removed. */
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

/** Returns the delay after an attempt (ms): 1, 2, 4, ... minutes, at most one hour. */
export function mailRetryMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS)
}
