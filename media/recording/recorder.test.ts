import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { readWav } from '../../fixtures/audio/wav.js'
import { settle } from '../../fixtures/host/settle.js'
import { finishRecording } from './finish.js'
import { Recorder, type VoiceTrack } from './recorder.js'
import { type Disk, systemDisk } from './wav-file.js'

const noFailure = (message: string) => {
  throw new Error(message)
}

const filled = (value: number, length = 160): Int16Array => new Int16Array(length).fill(value)

t.test('a file of known bytes', async (t) => {
  const path = join(t.testdir(), 'deep', 'er', 'call.wav')
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure })
  recorder.caller.write(0, Int16Array.of(1, -2))
  recorder.writeAgent(1, Int16Array.of(0x0102, -32768))
  const raw = await recorder.close(4)
  t.strictSame(raw, { path, persons: [] })
  const file = await finishRecording({ path, persons: [] })
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

t.test('both channels keep their position over many batches, with late and overlapping frames', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure })
  const frames = 500 // 10 s
  for (let i = 0; i < frames; i++) {
    // The caller's audio arrives 40 frames late, in bursts of four, the last of them twice.
    if (i % 4 === 3) {
      for (let k = i - 3; k <= i; k++) if (k >= 40) recorder.caller.write((k - 40) * 160, filled(k - 40 + 1))
      if (i >= 40) recorder.caller.write((i - 40) * 160, filled(i - 40 + 1))
    }
    if (i % 3 !== 0) recorder.writeAgent(i * 160, filled(-i))
    recorder.advance((i + 1) * 160)
  }
  await recorder.close(frames * 160)
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

t.test('audio older than the look-back, or far ahead, is dropped', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder({ path, rate: 16000, onFailed: noFailure })
  recorder.caller.write(-160, filled(5, 320))
  recorder.advance(16000 * 5)
  recorder.caller.write(1000, filled(9, 320))
  recorder.caller.write(16000 * 60, filled(9, 320))
  await recorder.close(16000 * 5)
  const [left = new Int16Array()] = readWav(await readFile(path)).channels
  t.equal(left.length, 16000 * 5)
  t.equal(left.filter((sample) => sample === 5).length, 160, 'the half after sample 0 was kept')
  t.notOk(left.includes(9))
})

/** Waits for conditions that hold after a write. */
function writeWaits(): { wrote: () => void; until: (holds: () => boolean) => Promise<void> } {
  const looks = new Set<() => void>()
  return {
    wrote() {
      for (const look of looks) look()
    },
    until: (holds) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!holds()) return
          looks.delete(look)
          resolve()
        }
        looks.add(look)
        look()
      }),
  }
}

/** A disk that calls `wrote` after each write, also after a failed one. */
function watchedDisk(disk: Disk, wrote: () => void): Disk {
  return {
    ...disk,
    async create(path) {
      const file = await disk.create(path)
      return {
        write: (...piece) => file.write(...piece).finally(wrote),
        truncate: (length) => file.truncate(length),
        close: () => file.close(),
      }
    },
  }
}

t.test('the file is playable while it grows', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const { wrote, until } = writeWaits()
  const disk = watchedDisk(systemDisk, wrote)
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure, disk })
  for (let second = 1; second <= 6; second++) {
    recorder.writeAgent((second - 1) * 8000, filled(second, 8000))
    recorder.advance(second * 8000)
  }
  const lengths: number[] = []
  await until(() => {
    if (!existsSync(path)) return false
    const bytes = readFileSync(path)
    if (bytes.length < 44) return false
    t.ok(bytes.readUInt32LE(40) <= bytes.length - 44, 'the header never promises more than there is')
    lengths.push(readWav(bytes).channels[1]?.length ?? 0)
    return lengths.at(-1) === 5 * 8000
  })
  t.strictSame(
    [...new Set(lengths)],
    [0, 1, 2, 3, 4, 5].map((second) => second * 8000),
    'second by second, all but the look-back',
  )
  await recorder.close(6 * 8000)
})

t.test('a path that cannot be written is reported once, and close returns null', async (t) => {
  const folder = t.testdir({ file: 'not a folder' })
  const failures: string[] = []
  const recorder = new Recorder({
    path: join(folder, 'file', 'call.wav'),
    rate: 8000,
    onFailed: (message) => failures.push(message),
  })
  for (let second = 1; second <= 10; second++) {
    recorder.writeAgent((second - 1) * 8000, filled(1, 8000))
    recorder.advance(second * 8000)
    await settle()
  }
  t.equal(await recorder.close(80_000), null)
  t.equal(failures.length, 1)
  t.match(failures[0], /ENOTDIR|EEXIST/)
})

t.test('an existing file is never overwritten', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  await writeFile(path, 'precious')
  const failures: string[] = []
  const recorder = new Recorder({ path, rate: 8000, onFailed: (message) => failures.push(message) })
  t.equal(await recorder.close(8000), null)
  t.equal(failures.length, 1)
  t.equal(await readFile(path, 'utf8'), 'precious')
})

t.test('a second close has no effect; closing before any audio leaves no file', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure })
  const first = recorder.close(0)
  t.equal(recorder.close(0), first)
  t.equal(await first, null)
  await t.rejects(stat(path))
})

t.test('a person has a separate track between beginPerson and endPerson', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure })
  let person: VoiceTrack | null = null
  for (let second = 0; second < 12; second++) {
    const at = second * 8000
    if (second === 4) person = recorder.beginPerson(at + 800)
    if (second === 8) person?.end(at)
    recorder.caller.write(at, filled(1, 8000))
    recorder.writeAgent(at, filled(100, 8000))
    person?.write(at, filled(1000, 8000))
    recorder.advance(at + 8000)
  }
  const raw = await recorder.close(12 * 8000)
  const track = path.replace('.wav', '.person-32800.wav')
  t.strictSame(raw, { path, persons: [{ path: track, start: 32_800 }] })
  const [mono = new Int16Array()] = readWav(await readFile(track)).channels
  t.equal(mono.length, 8 * 8000 - 32_800)
  t.ok(mono.every((sample) => sample === 1000))
})

t.test('a pause silences all tracks and keeps their length', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure })
  const voice = recorder.beginPerson(0)
  const secret = tone(700, 1000, 8000, 0.5)
  for (let second = 0; second < 20; second++) {
    const at = second * 8000
    if (second === 5) recorder.pause(at + 4000)
    if (second === 6) recorder.pause(at) // a second close changes nothing
    if (second === 13) recorder.resume(at)
    if (second === 14) recorder.resume(at)
    // The caller's audio arrives half a second late, as after a network stall.
    if (second > 0) recorder.caller.write(at - 8000, secret)
    recorder.writeAgent(at, secret)
    voice?.write(at, secret)
    recorder.advance(at + 4000)
  }
  const raw = await recorder.close(20 * 8000)
  const [left = new Int16Array(), right = new Int16Array()] = readWav(await readFile(path)).channels
  const [person = new Int16Array()] = readWav(await readFile(raw?.persons[0]?.path ?? '')).channels
  const paused = { from: 5.5 * 8000, to: 13 * 8000 }
  for (const channel of [left, right, person]) {
    t.equal(channel.length, 20 * 8000)
    t.ok(toneLevel(channel.subarray(8000, paused.from), 700) > 0.45)
    t.ok(toneLevel(channel.subarray(paused.to, 18 * 8000), 700) > 0.45)
    t.ok(toneLevel(channel.subarray(paused.from, paused.to), 700) < 0.0005, 'nothing of it')
  }
  for (const channel of [left, right]) {
    const beeps = Array.from({ length: 75 }, (_, tenth) => {
      const at = paused.from + tenth * 800
      return levelDbfs(channel, at, at + 800) > -50
    })
    t.strictSame(
      beeps.flatMap((beep, tenth) => (beep ? [tenth] : [])),
      [0, 1, 30, 31, 60, 61],
      'a soft beep every three seconds',
    )
    t.ok(levelDbfs(channel, paused.from, paused.from + 1200) < -35)
  }
  t.equal(levelDbfs(person, paused.from, paused.to), -120)
})

/** A disk that is full after this many bytes. */
function smallDisk(bytes: number): { disk: Disk; writes: () => number } {
  let left = bytes
  let writes = 0
  return {
    writes: () => writes,
    disk: {
      ...systemDisk,
      async create(path) {
        const file = await systemDisk.create(path)
        return {
          async write(data, offset, length, position) {
            writes++
            // Rewriting the header needs no new space.
            if (position >= 44 && length > left) {
              if (left > 0) await file.write(data, offset, left, position)
              left = 0
              throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
            }
            if (position >= 44) left -= length
            return await file.write(data, offset, length, position)
          },
          truncate: (length) => file.truncate(length),
          close: () => file.close(),
        }
      },
    },
  }
}

t.test('a full disk is reported once, the file stays playable, and the loss is counted', async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const failures: string[] = []
  const { wrote, until } = writeWaits()
  const { disk: small, writes } = smallDisk(5 * 32_000 + 1001)
  const disk = watchedDisk(small, wrote)
  const onFailed = (message: string): void => {
    failures.push(message)
    wrote()
  }
  const recorder = new Recorder({ path, rate: 8000, onFailed, disk })
  for (let second = 1; second <= 30; second++) {
    recorder.caller.write((second - 1) * 8000, filled(second, 8000))
    recorder.advance(second * 8000)
    // The disk keeps up: first the header, then samples and header of each batch.
    await until(() => second === 1 || writes() >= 2 * second - 1 || failures.length > 0)
    if (second < 6) t.strictSame(failures, [])
  }
  const before = writes()
  await recorder.close(30 * 8000)
  t.match(failures, [/ENOSPC/])
  t.equal(failures.length, 1)
  t.ok(writes() - before <= 1, 'nothing is tried again and again')
  const [left = new Int16Array()] = readWav(await readFile(path)).channels
  t.equal(left.length, 5 * 8000)
  t.equal(left.at(-1), 5)
  t.equal(recorder.lostSeconds, 25)
  t.equal((await stat(path)).size, 44 + 5 * 32_000, 'the torn piece is cut off')
})
