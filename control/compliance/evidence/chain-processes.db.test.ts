import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { silentLog } from '../../../media/base/log.js'
import { rootKeyOf } from '../../base/root-key.js'
import { openDatabase } from '../../db/database.js'
import { migrate } from '../../db/migrate.js'
import { openEvidenceKeys } from './seal.js'
import { recordsOf } from './store.js'
import { verifyStoredChain } from './stored-chain.js'

const OWNER = { organizationId: 'org_1', environment: 'live' } as const
const PROGRAM = join(import.meta.dirname, ...['..', '..', '..', 'fixtures', 'evidence', 'sealing-process.js'])

/** Seals in a process of its own, which is killed after `killAfter` commits. Returns the numbers that were committed. */
async function seal(url: string, records: number, killAfter = Number.POSITIVE_INFINITY): Promise<number[]> {
  const child = spawn(process.execPath, [PROGRAM, url, String(records)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const committed: number[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    committed.push(Number(line))
    if (committed.length === killAfter) child.kill('SIGKILL')
  })
  const [code, signal] = await once(child, 'close')
  if (killAfter === Number.POSITIVE_INFINITY && code !== 0) throw new Error(`ended with ${code ?? signal}`)
  return committed
}

t.test('processes on one chain never fork it, and a killed one leaves no gap', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  for (const url of [
    `sqlite:${join(t.testdir({}), 'made.db')}`,
    await postgres.createDatabase({ migrated: true }),
  ]) {
    const database = openDatabase(url, silentLog)
    const { db } = database
    await migrate(database)
    const organization = { id: OWNER.organizationId, name: 'x', senderClassification: null, createdAt: 0 }
    await db.insertInto('organizations').values(organization).execute()

    const killed = async () => [...(await seal(url, 1_000, 10)), ...(await seal(url, 1_000, 5))]
    const committed = (await Promise.all([seal(url, 60), seal(url, 60), killed()])).flat()

    const rows = await recordsOf(db, OWNER).orderBy('seq').execute()
    t.ok(committed.length >= 135, database.dialect)
    t.equal(new Set(committed).size, committed.length, 'no number was given twice')
    const stored = new Set(rows.map(({ seq }) => seq))
    t.ok(
      committed.every((seq) => stored.has(seq)),
      'no committed record is lost',
    )
    t.same(
      rows.map(({ seq }) => seq),
      rows.map((_, i) => i + 1),
      'no gap',
    )
    const keys = openEvidenceKeys(rootKeyOf(Buffer.alloc(32, 7)))
    t.match(await verifyStoredChain(db, OWNER, keys), { valid: true, seq: rows.length })
    await database.close()
  }
})
