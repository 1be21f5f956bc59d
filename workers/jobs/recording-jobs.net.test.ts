import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { tone, toneLevel } from '../../fixtures/audio/tones.js'
import { readWav, writeWav } from '../../fixtures/audio/wav.js'
import { WAIT_LIMIT_MS } from '../../fixtures/host/deadlines.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { type Log, silentLog } from '../../media/base/log.js'
import { RecordingJobs } from './recording-jobs.js'

assertNothingLeft(t)

function logged(): { log: Log; lines: string[] } {
  const lines: string[] = []
  const keep = (_: object, message: string) => {
    lines.push(message)
  }
  return { log: { ...silentLog, warn: keep, error: keep }, lines }
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_LIMIT_MS
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

t.test('recordings are finished in another thread, copies follow', async (t) => {
  const folder = t.testdir()
  const paths = ['one', 'two', 'three'].map((name) => join(folder, `${name}.wav`))
  const left = tone(500, 4000)
  for (const path of paths) await writeFile(path, writeWav({ rate: 8000, channels: [left, left] }))
  const person = join(folder, 'two.person-8000.wav')
  await writeFile(person, writeWav({ rate: 8000, channels: [tone(900, 1000)] }))
  const { log, lines } = logged()
  const jobs = new RecordingJobs({ compress: true, log })
  const files = await Promise.all(
    paths.map((path, i) => jobs.finish({ path, persons: i === 1 ? [{ path: person, start: 8000 }] : [] })),
  )
  t.strictSame(
    files.map((file) => [file?.path, file?.durationMs, file?.bytes]),
    paths.map((path) => [path, 4000, 44 + 4 * 32_000]),
  )
  t.equal(files[0]?.sha256, files[2]?.sha256)
  t.not(files[0]?.sha256, files[1]?.sha256)
  const [, right = new Int16Array()] = readWav(await readFile(paths[1] ?? '')).channels
  t.ok(toneLevel(right.subarray(8000, 16_000), 900) > 0.25)
  await until('all copies', async () => {
    const names = await readdir(folder)
    return names.filter((name) => name.endsWith('.opus')).length === 3
  })
  await jobs.close()
  t.strictSame((await readdir(folder)).sort(), [
    'one.opus',
    'one.wav',
    'three.opus',
    'three.wav',
    'two.opus',
    'two.wav',
  ])
  t.equal((await readFile(join(folder, 'one.opus'))).toString('latin1', 0, 4), 'OggS')
  t.strictSame(lines, [])
})

t.test('a disk failure is reported, and the next recording is finished', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'call.wav')
  await writeFile(path, writeWav({ rate: 8000, channels: [tone(500, 1000), tone(500, 1000)] }))
  const other = join(folder, 'other.wav')
  await copyFile(path, other)
  const jobs = new RecordingJobs({ compress: false, log: silentLog })
  await t.rejects(jobs.finish({ path: join(folder, 'gone.wav'), persons: [] }), { code: 'storage_failed' })
  t.equal((await jobs.finish({ path, persons: [] }))?.durationMs, 1000)
  const closing = jobs.close()
  t.equal(jobs.close(), closing)
  await closing
  t.equal((await stat(other)).size, 44 + 32_000)
})

t.test('a recording after closing is finished on this thread, with a log line', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  await writeFile(path, writeWav({ rate: 8000, channels: [tone(500, 1000), tone(500, 1000)] }))
  const { log, lines } = logged()
  const jobs = new RecordingJobs({ compress: true, log })
  await jobs.close()
  t.equal((await jobs.finish({ path, persons: [] }))?.durationMs, 1000)
  t.strictSame(lines, ['recording.thread_fallback', 'recording.copy_skipped'])
})
