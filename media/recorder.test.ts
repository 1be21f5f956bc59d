import { createHash } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readWav } from '../fixtures/wav.js'
import { Recorder } from './recorder.js'

const noFailure = (message: string) => {
  throw new Error(message)
}

const filled = (value: number, length = 160): Int16Array => new Int16Array(length).fill(value)

t.test('a file of known bytes', async (t) => {
  const path = join(t.testdir(), 'deep', 'er', 'call.wav')
  const recorder = new Recorder(path, 8000, noFailure)
  recorder.left(0, Int16Array.of(1, -2))
  recorder.right(1, Int16Array.of(0x0102, -32768))
  const file = await recorder.close(4)
  const bytes = await readFile(path)
  t.equal(
    bytes.toString('hex'),
    '52494646' +
      '34000000' +
      '57415645' + // RIFF, 36 + 16, WAVE
      '666d7420' +
      '10000000' +
      '0100' +
      '0200' +
      '401f0000' +
      '007d0000' +
      '0400' +
      '1000' +
      '64617461' +
      '10000000' +
      '01000000' +
      'feff0201' +
      '00000080' +
      '00000000',
  )
  t.strictSame(file, {
    path,
    bytes: 60,
    durationMs: 0.5,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  })
  t.equal((await stat(path)).mode & 0o777, 0o600)
})

t.test('both channels keep their place over many batches, late and overlapping frames too', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder(path, 8000, noFailure)
  const frames = 500 // 10 s
  for (let i = 0; i < frames; i++) {
    // The caller's sound comes 40 frames late, in bursts of four, the last of them twice.
    if (i % 4 === 3) {
      for (let k = i - 3; k <= i; k++) if (k >= 40) recorder.left((k - 40) * 160, filled(k - 40 + 1))
      if (i >= 40) recorder.left((i - 40) * 160, filled(i - 40 + 1))
    }
    if (i % 3 !== 0) recorder.right(i * 160, filled(-i))
    recorder.advance((i + 1) * 160)
  }
  const file = await recorder.close(frames * 160)
  t.equal(file?.durationMs, 10_000)
  const wav = readWav(await readFile(path))
  t.equal(wav.rate, 8000)
  const [left = new Int16Array(), right = new Int16Array()] = wav.channels
  t.equal(left.length, frames * 160)
  let wrong = 0
  for (let i = 0; i < frames * 160; i++) {
    const frame = Math.floor(i / 160)
    if (left[i] !== (frame < frames - 40 ? frame + 1 : 0)) wrong++
    if (right[i] !== (frame % 3 === 0 ? 0 : -frame)) wrong++
  }
  t.equal(wrong, 0)
})

t.test('what is older than the look-back, or absurdly ahead, is dropped', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder(path, 16000, noFailure)
  recorder.left(-160, filled(5, 320))
  recorder.advance(16000 * 5)
  recorder.left(1000, filled(9, 320))
  recorder.left(16000 * 60, filled(9, 320))
  const file = await recorder.close(16000 * 5)
  t.equal(file?.durationMs, 5000)
  const [left = new Int16Array()] = readWav(await readFile(path)).channels
  t.equal(left.filter((sample) => sample === 5).length, 160, 'the half after sample 0 was kept')
  t.notOk(left.includes(9))
})

t.test('the file is playable while it grows', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder(path, 8000, noFailure)
  for (let second = 1; second <= 6; second++) {
    recorder.right((second - 1) * 8000, filled(second, 8000))
    recorder.advance(second * 8000)
  }
  // The writes are on their way: wait for the header to tell of them.
  const deadline = performance.now() + 5000
  let frames = 0
  while (frames < 5 * 8000 && performance.now() < deadline) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const bytes = await readFile(path).catch(() => Buffer.alloc(0))
    if (bytes.length < 44) continue
    const wav = readWav(bytes)
    frames = wav.channels[1]?.length ?? 0
    t.ok(bytes.readUInt32LE(40) <= bytes.length - 44, 'the header never promises more than there is')
  }
  t.equal(frames, 5 * 8000, 'all but the look-back')
  await recorder.close(6 * 8000)
})

t.test('a place that cannot be written is told once, and closing gives nothing', async (t) => {
  const folder = t.testdir({ file: 'not a folder' })
  const failures: string[] = []
  const recorder = new Recorder(join(folder, 'file', 'call.wav'), 8000, (message) => failures.push(message))
  for (let second = 1; second <= 10; second++) {
    recorder.right((second - 1) * 8000, filled(1, 8000))
    recorder.advance(second * 8000)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  t.equal(await recorder.close(80_000), null)
  t.equal(failures.length, 1)
  t.match(failures[0], /ENOTDIR|EEXIST/)
})

t.test('an existing file is never overwritten', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  await writeFile(path, 'precious')
  const failures: string[] = []
  const recorder = new Recorder(path, 8000, (message) => failures.push(message))
  t.equal(await recorder.close(8000), null)
  t.equal(failures.length, 1)
  t.equal(await readFile(path, 'utf8'), 'precious')
})

t.test('closing twice is one file, closing at once is none', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder(path, 8000, noFailure)
  const first = recorder.close(0)
  t.equal(recorder.close(0), first)
  t.equal(await first, null)
  await t.rejects(stat(path))
})
