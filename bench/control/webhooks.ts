import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bootstrap } from '../../control/access/accounts/bootstrap.js'
import { rootKeyOf } from '../../control/base/root-key.js'
import { type OpenDatabase, openDatabase } from '../../control/db/database.js'
import { migrate } from '../../control/db/migrate.js'
import { openJobRunner } from '../../control/jobs/runner.js'
import { openEgress } from '../../control/net/egress.js'
import { deliveryHandler } from '../../control/webhooks/delivery-job.js'
import { createEndpoint } from '../../control/webhooks/endpoint-store.js'
import { cheapPasswords } from '../../fixtures/api/cheap-passwords.js'
import { recordEvent } from '../../fixtures/api/recorded-events.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { figure, type Measured } from '../lib/figures.js'

const EVENTS = 3_000
const ENDPOINTS = 4
const KEY = Buffer.alloc(32, 7)

/**
 * Measures deliveries per second of one process: events wait in an SQLite file with full durability, and a
 * receiver in another process answers at once. The time runs from the first claim to the commit of the last
 * delivery.
 */
export async function measureWebhooks(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const receiver = fork(fileURLToPath(new URL('./webhook-receiver-process.js', import.meta.url)))
  const database = openDatabase(`sqlite:${join(folder, 'parley.db')}`, silentLog)
  const egress = openEgress({ allowPrivate: true })
  try {
    const [port] = (await once(receiver, 'message')) as [number]
    await migrate(database)
    await fill(database, `http://127.0.0.1:${port}/`)
    const clock = systemClock
    const cpu = process.cpuUsage()
    const startedAt = clock.now()
    const runner = openJobRunner({
      db: database.db,
      clock,
      log: silentLog,
      handlers: [
        deliveryHandler({
          db: database.db,
          clock,
          rootKey: rootKeyOf(KEY),
          egress,
          publicUrl: () => 'http://parley.test',
          onDisabled: async () => {},
        }),
      ],
    })
    await runner.idle()
    const seconds = (clock.now() - startedAt) / 1000
    const { user, system } = process.cpuUsage(cpu)
    await runner.close()
    const { n } = await database.db
      .selectFrom('webhookDeliveries')
      .select((column) => column.fn.countAll<number>().as('n'))
      .where('status', '=', 'delivered')
      .executeTakeFirstOrThrow()
    if (n !== EVENTS) throw new Error(`${n} of ${EVENTS} deliveries arrived`)
    const context = { endpoints: ENDPOINTS, seconds, cpuMsEach: (user + system) / 1000 / EVENTS }
    return [figure('A_webhooks', { value: Math.round(EVENTS / seconds), n: EVENTS }, context)]
  } finally {
    egress.close()
    await database.close()
    receiver.disconnect()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One organization per endpoint, so that each event is delivered once. */
async function fill(database: OpenDatabase, url: string): Promise<void> {
  const rootKey = rootKeyOf(KEY)
  const made = await bootstrap({ db: database.db, rootKey, clock: systemClock, passwords: cheapPasswords })
  if (made === null) throw new Error('the database is not empty')
  const now = systemClock.wall()
  const organizations = [made.organizationId]
  for (let i = 1; i < ENDPOINTS; i++) {
    const id = `org_bench_${i}`
    await database.db
      .insertInto('organizations')
      .values({ id, name: 'Bench', senderClassification: null, createdAt: now })
      .execute()
    organizations.push(id)
  }
  const events = ['compliance.check.blocked']
  for (const [i, id] of organizations.entries()) {
    await createEndpoint(database.db, rootKey, id, { url: `${url}${i}`, description: null, events }, now)
  }
  for (let i = 0; i < EVENTS; i++) await recordEvent(database, organizations[i % ENDPOINTS] ?? '', now)
}
