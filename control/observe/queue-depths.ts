import type { Db } from '../db/database.js'

/** Depth of a queue: number of rows, and the age (s) of the oldest row that is due. */
export interface QueueDepth {
  readonly rows: number
  readonly oldestSeconds: number
}

/** Returns the depth of every queue of the database by name. */
export async function readQueueDepths(db: Db, now: number): Promise<Readonly<Record<string, QueueDepth>>> {
  const queue = (row: { n: number; due: number | null } | undefined): QueueDepth => ({
    rows: Number(row?.n ?? 0),
    // Rows that are due in the future are not late.
    oldestSeconds: Math.max(0, now - Number(row?.due ?? now)) / 1000,
  })
  return {
    webhook_deliveries: queue(
      await db
        .selectFrom('webhookDeliveries')
        .select((eb) => [eb.fn.countAll<number>().as('n'), eb.fn.min('nextAttemptAt').as('due')])
        .where('status', '=', 'pending')
        .executeTakeFirst(),
    ),
    jobs: queue(
      await db
        .selectFrom('jobs')
        .select((eb) => [eb.fn.countAll<number>().as('n'), eb.fn.min('dueAt').as('due')])
        .executeTakeFirst(),
    ),
    mail: queue(
      await db
        .selectFrom('mails')
        .select((eb) => [eb.fn.countAll<number>().as('n'), eb.fn.min('dueAt').as('due')])
        .where('state', '=', 'waiting')
        .executeTakeFirst(),
    ),
  }
}
