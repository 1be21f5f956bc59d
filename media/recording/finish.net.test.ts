import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, copyFile, readdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { readWav, writeWav } from '../../fixtures/audio/wav.js'
import { compressRecording, holdRecording, opusPath } from './compress.js'
import { finishRecording, recoverRecording } from './finish.js'
import { Recorder, type VoiceTrack } from './recorder.js'

const FFMPEG = spawnSync('ffprobe', ['-version']).status === 0 ? false : 'ffmpeg is not installed'
const RECORDING_CHILD = fileURLToPath(new URL('../../fixtures/rtp/recording-process.js', import.meta.url))

const noFailure = (message: string) => {
  throw new Error(message)
}

/**
 * A call of ten seconds. A person speaks from 4 s to 8 s; together with the agent the sum exceeds 16 bits.
 */
async function recorded(t: Test) {
  const path = join(t.testdir(), 'call_1.wav')
  const recorder = new Recorder({ path, rate: 8000, onFailed: noFailure })
  let person: VoiceTrack | null = null
  for (let second = 0; second < 10; second++) {
    const at = second * 8000
    if (second === 4) person = recorder.beginPerson(at)
    if (second === 8) person?.end(at)
    recorder.caller.write(at, tone(500, 1000, 8000, 0.3))
    recorder.writeAgent(at, tone(900, 1000, 8000, 0.7))
    person?.write(at, tone(1300, 1000, 8000, 0.7))
    recorder.advance(at + 8000)
  }
  const raw = await recorder.close(80_000)
  if (raw === null) throw new Error('nothing was recorded')
  return { path, raw }
}

/** Checks the stereo file made of `recorded`. */
async function isWhole(t: Test, path: string): Promise<void> {
  const wav = readWav(await readFile(path))
  const [left = new Int16Array(), right = new Int16Array()] = wav.channels
  t.equal(wav.channels.length, 2)
  t.equal(right.length, 80_000)
  const level = (from: number, hertz: number) =>
    Math.round(10 * toneLevel(right.subarray(from * 8000, (from + 1) * 8000), hertz)) / 10
  t.strictSame([level(2, 900), level(2, 1300)], [0.7, 0])
  t.ok(level(5, 900) > 0.5 && level(5, 1300) > 0.5, 'both are there')
  t.strictSame([level(9, 900), level(9, 1300)], [0.7, 0])
  t.ok(toneLevel(left, 500) > 0.29 && toneLevel(left, 1300) < 0.001, 'the caller alone')
}

t.test('the person of a transfer is mixed into the agent’s channel, and one file remains', async (t) => {
  const { path, raw } = await recorded(t)
  const file = await finishRecording(raw)
  await isWhole(t, path)
  t.strictSame(await readdir(join(path, '..')), ['call_1.wav'])
  t.equal(file?.bytes, (await stat(path)).size)
  t.equal(file?.durationMs, 10_000)
})

t.test('killed at any step of finishing, the next start produces the same bytes', async (t) => {
  const { path, raw } = await recorded(t)
  const track = raw.persons[0]?.path ?? ''
  const copy = { main: await readFile(path), track: await readFile(track) }
  const whole = await finishRecording(raw)
  const mixed = await readFile(path)
  const again = async (what: string, prepare: () => Promise<void>) => {
    await writeFile(path, copy.main)
    await writeFile(track, copy.track)
    await prepare()
    const left = await recoverRecording(path)
    t.ok(left !== null, what)
    if (left === null) return
    const file = await finishRecording(left)
    t.equal(file?.sha256, whole?.sha256, what)
    t.strictSame(await readdir(join(path, '..')), ['call_1.wav'], what)
  }
  await again('before it began', async () => {})
  await again('in the middle of mixing', () => writeFile(`${path}.mixing`, mixed.subarray(0, 12_345)))
  await again('mixed, tracks still there', () => writeFile(`${path}.mixed`, mixed))
  await again('mixed, tracks gone', async () => {
    await writeFile(`${path}.mixed`, mixed)
    await unlink(track)
  })
  await again('all done', async () => {
    await writeFile(path, mixed)
    await unlink(track)
  })
})

t.test('a truncated file is repaired to all its complete samples', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'call.wav')
  const pcm = tone(440, 3000)
  await writeFile(path, writeWav({ rate: 8000, channels: [pcm, pcm] }))
  // An outdated header, a batch, and three bytes of the next sample.
  const bytes = await readFile(path)
  bytes.writeUInt32LE(1000, 40)
  await writeFile(path, bytes)
  await appendFile(path, Uint8Array.of(1, 2, 3))
  t.strictSame(await recoverRecording(path), { path, persons: [] })
  const [left = new Int16Array()] = readWav(await readFile(path)).channels
  t.strictSame(left, pcm)
  t.equal((await stat(path)).size, 44 + pcm.length * 4)
  t.equal(await recoverRecording(join(folder, 'none.wav')), null)
  t.equal(await recoverRecording(join(folder, 'nowhere', 'none.wav')), null)
  for (const [name, content] of [
    ['empty.wav', ''],
    ['header.wav', bytes.subarray(0, 44)],
    ['other.wav', 'x'.repeat(100)],
  ] as const) {
    await writeFile(join(folder, name), content)
    t.equal(await recoverRecording(join(folder, name)), null, name)
  }
  await copyFile(path, join(folder, 'call.person-x.wav'))
  t.strictSame(await recoverRecording(path), { path, persons: [] }, 'only names of ours')
})

t.test('kill -9 during a call leaves a playable file', { timeout: 60_000 }, async (t) => {
  const path = join(t.testdir(), 'call.wav')
  const child = spawn(process.execPath, [RECORDING_CHILD, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  // The child reports each second that it handed to the disk. The kill comes while it is writing.
  for await (const chunk of child.stdout) if (String(chunk).includes('40')) break
  child.kill('SIGKILL')
  await exited
  const torn = readWav(await readFile(path))
  t.ok((torn.channels[0]?.length ?? 0) >= 8000, 'playable as it lies there')
  const raw = await recoverRecording(path)
  t.equal(raw?.persons.length, 1, 'the person’s track was found')
  const file = await finishRecording(raw ?? { path, persons: [] })
  const [left = new Int16Array(), right = new Int16Array()] = readWav(await readFile(path)).channels
  t.ok(left.length >= 30 * 8000, `${left.length / 8000} s were saved`)
  t.equal(file?.durationMs, left.length / 8)
  t.ok(toneLevel(left, 500) > 0.29, 'the caller is whole')
  t.ok(toneLevel(right, 900) > 0.29, 'and the agent')
  t.ok(toneLevel(right.subarray(80_000, 160_000), 1300) > 0.29, 'and the person, from when they came')
  t.ok(toneLevel(right.subarray(0, 40_000), 1300) < 0.001)
})

t.test('ffmpeg decodes the Opus copy', { skip: FFMPEG }, async (t) => {
  for (const rate of [8000, 16_000] as const) {
    const path = join(t.testdir(), `call-${rate}.wav`)
    // Not a whole number of frames, pages or seconds.
    const left = tone(500, 12_345, rate, 0.3)
    const right = tone(1300, 12_345, rate, 0.3)
    left.fill(0, rate, 2 * rate)
    await writeFile(path, writeWav({ rate, channels: [left, right] }))
    await holdRecording(path)
    const kept = await readFile(path)
    await unlink(path)
    const bytes = await compressRecording(path)
    await writeFile(path, kept)
    const copy = opusPath(path)
    t.equal(bytes, (await stat(copy)).size)
    t.ok(bytes * 3 < (await stat(path)).size, `${bytes} bytes`)
    const probe = spawnSync('ffprobe', [
      '-v',
      'error',
      '-show_entries',
      'stream=codec_name,channels,duration',
      '-of',
      'json',
      copy,
    ])
    t.equal(probe.stderr.toString(), '')
    const [stream] = JSON.parse(probe.stdout.toString()).streams
    t.match(stream, { codec_name: 'opus', channels: 2 })
    t.ok(Math.abs(Number(stream.duration) - 12.345) < 0.01, stream.duration)
    const decoded = spawnSync(
      'ffmpeg',
      ['-v', 'warning', '-i', copy, '-ar', String(rate), '-f', 'wav', '-'],
      {
        maxBuffer: 1 << 26,
      },
    )
    t.equal(decoded.stderr.toString(), '', 'checksums, sequence and granules are as they should be')
    const [l = new Int16Array(), r = new Int16Array()] = readWav(decoded.stdout).channels
    t.ok(Math.abs(l.length - left.length) <= 1, `${l.length} samples of ${left.length}`)
    t.ok(toneLevel(l.subarray(3 * rate), 500, rate) > 0.25 && toneLevel(r, 1300, rate) > 0.25)
    t.ok(toneLevel(l, 1300, rate) < 0.05, 'channels are not mixed up')
    // Nothing is shifted: the gap is at its position.
    t.ok(levelDbfs(l, Math.round(1.02 * rate), Math.round(1.98 * rate)) < -40)
    t.ok(levelDbfs(l, Math.round(0.9 * rate), Math.round(0.99 * rate)) > -15)
    t.ok(levelDbfs(l, Math.round(2.01 * rate), Math.round(2.1 * rate)) > -15)
  }
})
