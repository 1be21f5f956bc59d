import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, openTestCalling, type TestCalling } from '../../../fixtures/api/calling.js'
import { onEachDialect } from '../../../fixtures/database/databases.js'
import { silentLog } from '../../../media/base/log.js'
import { wavHeader } from '../../../media/recording/wav-header.js'
import { openJobRunner } from '../../jobs/runner.js'
import { adoptionHandler, adoptRecordings, scheduleAdoption } from './adopt-recordings.js'
import { callOfFile, removeLocalFiles } from './local-files.js'
import { storingHandler } from './store-recording.js'

const FORMAT = { rate: 8000, channels: 2 } as const
const RESTING_S = 61

/** Places a call; with `ends` as another node settles it: without a recording. Returns its id. */
async function call(calling: TestCalling, ends = true): Promise<string> {
  const placed = await calling.send('POST', '/v1/calls', {
    json: { to: '+919876543210', numberId: calling.numberId },
  })
  const id = String(dataOf(placed).id)
  const ending = { by: 'engine', cause: 'internal', fault: 'ours' } as const
  await calling.emitCallEvent(
    id,
    { type: 'answered' },
    ...(ends ? [{ type: 'ended', ending, rtp: null, recording: null } as const] : []),
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
  const options = { db, nodeId: 'node-1', folder, clock, log: silentLog }
  /** Writes a file as a killed process leaves it: its header says nothing of the audio. */
  const leave = (name: string, ms: number, seconds = RESTING_S) => {
    const path = join(folder, name)
    writeFileSync(path, Buffer.concat([wavHeader(FORMAT, 0), Buffer.alloc(ms * 32)]))
    const at = clock.wall() / 1000 - seconds
    utimesSync(path, at, at)
    return path
  }
  const rows = () => db.selectFrom('recordings').select(['callId', 'durationMs', 'bytes']).execute()

  await t.test('the file of a call that another node settled is stored, once', async (t) => {
    const id = await call(calling)
    const live = await call(calling, false)
    const path = leave(`${id}.wav`, 1000)
    leave(`${live}.wav`, 1000)
    leave('call_00000000000000000000000000.wav', 1000)
    leave('notes.wav', 1000)
    t.equal(await adoptRecordings(options), 1)
    t.strictSame(await rows(), [{ callId: id, durationMs: 1000, bytes: 32_044 }])
    t.equal(await adoptRecordings(options), 0)
    const runner = openJobRunner({
      ...{ db, clock, log: silentLog, pollMs: 3_600_000 },
      handlers: [storingHandler({ ...options, objects: deps.objects })],
    })
    await runner.idle()
    await runner.close()
    t.notOk(existsSync(path))
    t.not(await deps.objects.head(`recordings/${id}.wav`), null)
    const view = dataOf(await calling.send('GET', `/v1/calls/${id}/recording`))
    t.equal((await (await fetch(String(view.url))).arrayBuffer()).byteLength, 32_044)
    await db.deleteFrom('recordings').execute()
  })

  await t.test('a file that is still written to waits for the next look', async (t) => {
    const id = await call(calling)
    leave(`${id}.wav`, 500, 30)
    await scheduleAdoption(db, 'node-1', clock.wall())
    const runner = openJobRunner({
      ...{ db, clock, log: silentLog, pollMs: 3_600_000 },
      handlers: [adoptionHandler(options)],
    })
    await runner.idle()
    t.strictSame(await rows(), [])
    clock.advance(10 * 60_000)
    await runner.idle()
    t.match(await rows(), [{ callId: id, durationMs: 500 }])
    // A start does not wait for the time of the last run.
    leave(`${id}.wav`, 500)
    await db.deleteFrom('recordings').execute()
    await scheduleAdoption(db, 'node-1', clock.wall())
    await runner.idle()
    t.match(await rows(), [{ callId: id }])
    await runner.close()
    await db.deleteFrom('recordings').execute()
  })

  await t.test('the files of a person that was erased meanwhile are removed', async (t) => {
    const id = await call(calling)
    await db.updateTable('calls').set({ toNumber: 'erased-era_1' }).where('id', '=', id).execute()
    const paths = [`${id}.wav`, `${id}.person-800.wav`, `${id}-xfr_1-human.wav`].map((name) =>
      leave(name, 100),
    )
    t.equal(await adoptRecordings(options), 0)
    t.strictSame(paths.map(existsSync), [false, false, false])
    t.strictSame(await rows(), [])
  })

  await calling.close()
})

t.test('the files of a call', async (t) => {
  t.equal(callOfFile('call_1A.wav'), 'call_1A')
  t.equal(callOfFile('call_1A-xfr_2-return.wav'), 'call_1A')
  t.equal(callOfFile('call_1A.person-7.wav'), 'call_1A')
  t.equal(callOfFile('other.wav'), null)
  const folder = t.testdir({
    'call_1A.wav': '',
    'call_1A.opus': '',
    'call_1A.wav.mixing': '',
    'call_1A.person-160.wav': '',
    'call_1A-xfr_2-human.wav': '',
    'call_1A-xfr_2-human.person-3.wav': '',
    'call_1AB.wav': '',
  })
  await removeLocalFiles(folder, 'call_1A')
  t.notOk(existsSync(join(folder, 'call_1A-xfr_2-human.person-3.wav')))
  t.notOk(existsSync(join(folder, 'call_1A.wav.mixing')))
  t.ok(existsSync(join(folder, 'call_1AB.wav')))
  await removeLocalFiles(join(folder, 'absent'), 'call_1A')
})
