import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { EngineError } from '../../../media/base/errors.js'
import { silentLog } from '../../../media/base/log.js'
import { openJobRunner } from '../../jobs/runner.js'
import type { ObjectStore } from '../../objects/object-store.js'
import { scheduleStoring, storingHandler } from './store-recording.js'

const HOUR = 3_600_000

/** Places and ends a call whose recording is a file with `text`. Returns its id. */
async function recordedCall(calling: TestCalling, text: string): Promise<string> {
  const placed = await calling.send('POST', '/v1/calls', {
    json: { to: '+919876543210', numberId: calling.numberId },
  })
  const id = String(dataOf(placed).id)
  const path = join(calling.folder, `${id}.wav`)
  writeFileSync(path, text)
  const sha256 = createHash('sha256').update(text).digest('hex')
  await calling.emitCallEvent(
    id,
    { type: 'answered' },
    {
      type: 'ended',
      ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
      rtp: null,
      recording: { path, bytes: text.length, durationMs: 1_000, sha256 },
    },
  )
  return id
}

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const { db } = database
  const calling = await openTestCalling(database)
  const { clock, folder, deps } = calling
  mkdirSync(folder, { recursive: true })
  await calling.publishAgent()
  let failures = 0
  const objects: ObjectStore = {
    put: (...args) => deps.objects.put(...args),
    get: (...args) => deps.objects.get(...args),
    head: (key) => deps.objects.head(key),
    delete: (key) => deps.objects.delete(key),
    list: (prefix) => deps.objects.list(prefix),
    sweepUnfinished: (before) => deps.objects.sweepUnfinished(before),
    close: () => deps.objects.close(),
    async moveIn(...args) {
      if (failures-- > 0) throw new EngineError('storage_failed', 'away', { retryable: true })
      return await deps.objects.moveIn(...args)
    },
  }
  const options = { db, objects, log: silentLog, nodeId: 'node-1', folder }
  const openRunner = (nodeId = 'node-1') =>
    openJobRunner({
      db,
      clock,
      log: silentLog,
      handlers: [storingHandler({ ...options, nodeId })],
      pollMs: 1_000 * HOUR,
    })
  const runner = openRunner()
  const jobs = async () => {
    const rows = await db.selectFrom('jobs').select('id').where('id', 'like', 'recording:%').execute()
    return rows.map(({ id }) => id)
  }
  const file = (id: string) => join(folder, `${id}.wav`)
  const key = (id: string) => `recordings/${id}.wav`

  await t.test('a store that is away keeps the file, which is served meanwhile', async (t) => {
    failures = 3
    const id = await recordedCall(calling, 'RIFF one')
    const served = async () => {
      const { url } = dataOf(await calling.send('GET', `/v1/calls/${id}/recording`))
      return await (await fetch(String(url))).text()
    }
    for (let attempt = 0; attempt < 3; attempt++) {
      await runner.idle()
      t.ok(existsSync(file(id)))
      t.equal(await served(), 'RIFF one')
      t.equal(await objects.head(key(id)), null)
      clock.advance(HOUR)
    }
    await runner.idle()
    t.notOk(existsSync(file(id)))
    t.equal(await served(), 'RIFF one')
    t.same(await jobs(), [])
  })

  await t.test('only the node with the file stores it; others ask to retry', async (t) => {
    const other = openRunner('node-2')
    const id = await recordedCall(calling, 'RIFF two')
    await other.idle()
    t.ok(existsSync(file(id)))
    const { url } = dataOf(await calling.send('GET', `/v1/calls/${id}/recording`))
    // Another node sees neither the file nor the object.
    await deps.objects.moveIn('elsewhere/two', file(id), {
      bytes: 8,
      sha256: createHash('sha256').update('RIFF two').digest('hex'),
    })
    const answer = await fetch(String(url))
    t.equal(answer.status, 503)
    t.equal(answer.headers.get('retry-after'), '1')
    await runner.idle()
    t.equal((await fetch(String(url))).status, 404, 'nothing waits any more')
    await other.close()
  })

  await t.test('a job that was killed after the move ends; a deleted recording is not stored', async (t) => {
    const moved = await recordedCall(calling, 'RIFF 3')
    const sha256 = createHash('sha256').update('RIFF 3').digest('hex')
    await objects.moveIn(key(moved), file(moved), { bytes: 6, sha256 })
    const deleted = await recordedCall(calling, 'RIFF 4')
    await db.deleteFrom('recordings').where('callId', '=', deleted).execute()
    await runner.idle()
    t.same(await jobs(), [])
    t.match(await objects.head(key(moved)), { bytes: 6 })
    t.equal(await objects.head(key(deleted)), null)
  })

  await t.test('a file that changed is not stored, and stays', async (t) => {
    const id = await recordedCall(calling, 'RIFF 5')
    writeFileSync(file(id), 'RIFF 5 and more')
    await runner.idle()
    t.ok(existsSync(file(id)))
    t.equal(await objects.head(key(id)), null)
    t.same(await jobs(), [])
  })

  await t.test('recordings of earlier releases are stored at start', async (t) => {
    const id = await recordedCall(calling, 'RIFF 6')
    await db.deleteFrom('jobs').execute()
    writeFileSync(join(folder, 'call_unknown.wav'), 'no row')
    writeFileSync(join(folder, `${id}.opus`), 'OggS')
    await scheduleStoring(options, clock.wall())
    await scheduleStoring(options, clock.wall())
    t.ok((await jobs()).includes(`recording:${id}`))
    await runner.idle()
    t.match(await objects.head(key(id)), { bytes: 6 })
    t.ok(existsSync(join(folder, 'call_unknown.wav')), 'a file without a row stays')
    t.ok(existsSync(join(folder, `${id}.opus`)))
  })

  await runner.close()
  await calling.close()
})
