import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startPostgres } from '../../../fixtures/database/postgres.js'
import { WAIT_LIMIT_MS } from '../../../fixtures/host/deadlines.js'
import { openS3Server } from '../../../fixtures/objects/s3-server.js'
import { call } from '../../../fixtures/service/caller.js'
import { type StartedService, startService, temporaryFolder } from '../../../fixtures/service/cli.js'
import { systemClock } from '../../../media/base/clock.js'
import { silentLog } from '../../../media/base/log.js'
import { openDatabase } from '../../db/database.js'

/*
 * Two service processes on one PostgreSQL and one S3 bucket. The first carries a call, cannot reach the bucket
 * and is killed before the recording is stored.
 */

async function repeatedly<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const deadline = systemClock.now() + WAIT_LIMIT_MS
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (systemClock.now() > deadline) throw new Error(`${what} did not happen`)
    await new Promise<void>((resolve) => systemClock.after(100, resolve))
  }
}

/** Ends the leases of a killed process and the waits after failures, which last half a minute. */
async function letLeasesPass(url: string): Promise<void> {
  const { db, close } = openDatabase(url, silentLog)
  await db.updateTable('jobs').set({ dueAt: 0 }).execute()
  await close()
}

t.test('a recording of one process is read from the other', { timeout: 250_000 }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const s3 = await openS3Server()
  t.teardown(() => s3.close())
  const env = {
    ...s3.env,
    PARLEY_DATABASE_URL: await postgres.createDatabase({ migrated: true }),
    PARLEY_ROOT_KEY: 'cd'.repeat(32),
  }
  const folder = await temporaryFolder(t)
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  await mkdir(one)
  await mkdir(two)
  const first = await startService(t, one, { env })
  const second = await startService(t, two, { key: first.key, env })
  const download = async (service: StartedService, callId: string) => {
    const { url, sha256 } = await service.api('GET', `/v1/calls/${callId}/recording`)
    const response = await fetch(String(url), { headers: { connection: 'close' } })
    const bytes = new Uint8Array(await response.arrayBuffer())
    const whole = createHash('sha256').update(bytes).digest('hex') === sha256
    return { status: response.status, retryAfter: response.headers.get('retry-after'), whole, url }
  }

  s3.fault = () => 'unavailable'
  const caller = await call(t, first)
  await caller.answered()
  await caller.until('a second of media', () => caller.rtp.received.length > 50)
  const callId = await caller.callId()
  await caller.hangUp()
  await repeatedly('the end of the call', async () => {
    const { status, hasRecording } = await second.api('GET', `/v1/calls/${callId}`)
    return status === 'ended' && hasRecording === true ? true : null
  })
  t.match(await download(first, callId), { status: 200, whole: true }, 'the first still has the file')
  t.match(await download(second, callId), { status: 503, retryAfter: '1' }, 'the second says when to retry')
  const local = join(one, 'data', 'recordings', `${callId}.wav`)
  await first.cli.logged('job.failed')
  t.ok(existsSync(local), 'a failed upload keeps the file')

  first.cli.process.kill('SIGKILL')
  t.equal(await first.cli.exit(), 'SIGKILL')
  await letLeasesPass(env.PARLEY_DATABASE_URL)
  s3.fault = () => null
  const again = await startService(t, one, { key: first.key, env })
  const stored = await repeatedly('the upload', async () => {
    const found = await download(second, callId)
    return found.status === 503 ? null : found
  })
  t.match(stored, { status: 200, whole: true }, 'nothing was lost')
  const part = await fetch(String(stored.url), { headers: { range: 'bytes=0-3', connection: 'close' } })
  t.equal(part.status, 206)
  t.equal(await part.text(), 'RIFF')
  t.match(await download(again, callId), { status: 200, whole: true })
  await repeatedly('the removal of the local file', async () => (existsSync(local) ? null : true))
  for (const service of [again, second]) {
    service.cli.process.kill('SIGTERM')
    t.equal(await service.cli.exit(), 0)
  }
})
