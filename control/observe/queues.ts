import type { Db } from '../db/open.js'

/** How many rows wait in each queue of the database. */
export async function queuedRows(db: Db): Promise<Readonly<Record<string, number>>> {
  const count = async (rows: Promise<{ n: number } | undefined>): Promise<number> => (await rows)?.n ?? 0
  return {
    webhook_deliveries: await count(
      db
        .selectFrom('webhookDeliveries')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('status', '=', 'pending')
        .executeTakeFirst(),
    ),
    jobs: await count(
      db
        .selectFrom('jobs')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .executeTakeFirst(),
    ),
    mail: await count(
      db
        .selectFrom('mails')
        .select((eb) => eb.fn.countAll<number>().as('n'))
        .where('state', '=', 'waiting')
        .executeTakeFirst(),
    ),
  }
}
