import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ConversationRig } from '../../fixtures/rigs/conversation-rig.js'
import {
  failingNetwork,
  featureNetwork,
  loudnessNetwork,
  powerNetwork,
  slowNetwork,
} from '../../fixtures/vendors/onnx-models.js'
import { systemClock } from '../../media/base/clock.js'
import { type Log, silentLog } from '../../media/base/log.js'
import type { TurnDetectorStream } from '../../media/vad/turn-detector.js'
import { openMediaPool } from '../pool/media-pool.js'
import {
  type OnnxTurnDetector,
  openTurnDetector,
  reportSpeed,
  TURN_DETECTOR_SLOW_MS,
} from './turn-detector.js'

const folder = mkdtempSync(join(tmpdir(), 'parley-ending-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

function installed(): boolean {
  try {
    import.meta.resolve('onnxruntime-node')
    return true
  } catch {
    return false
  }
}

const skip = installed() ? false : 'onnxruntime-node, an optional dependency, is not installed'

interface LogLine {
  readonly event: string
  readonly ms?: number
}

/** A log that keeps its lines. */
function keptLog(): { readonly lines: LogLine[]; readonly log: Log } {
  const lines: LogLine[] = []
  const keep = (fields: object, event: string) => void lines.push({ ...fields, event })
  return { lines, log: { ...silentLog, info: keep, warn: keep, error: keep } }
}

function file(name: string, network: Uint8Array | string): string {
  const path = join(folder, `${name}.onnx`)
  writeFileSync(path, network)
  return path
}

async function running(
  t: Test,
  name: string,
  network: Uint8Array,
  log = silentLog,
): Promise<OnnxTurnDetector> {
  const model = await openTurnDetector({ path: file(name, network), clock: systemClock, log })
  t.teardown(() => model.close())
  return model
}

function hear(stream: TurnDetectorStream, ms: number, level: number, rate = 8000): void {
  const frame = new Int16Array(rate / 50).fill(level)
  for (let at = 0; at < ms; at += 20) stream.push(frame)
}

const ask = (stream: TurnDetectorStream, ms: number): Promise<number> =>
  new Promise((resolve) => stream.ask(ms, resolve))

const HALF = 16_384

t.test('an unusable model is rejected with the reason and the remedy', async (t) => {
  const open = (path: string, runtime?: string) =>
    openTurnDetector({ path, clock: systemClock, log: silentLog, ...(runtime ? { runtime } : {}) })
  await t.rejects(open('any.onnx', 'a-package-that-is-not-there'), {
    code: 'config_invalid',
    message: /npm install a-package-that-is-not-there, or unset PARLEY_TURN_MODEL/,
  })
  if (skip) return
  await t.rejects(open(join(folder, 'none.onnx')), { code: 'config_invalid', message: /none\.onnx/ })
  await t.rejects(open(file('text', 'no network')), { code: 'config_invalid' })
  const cases: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['short', powerNetwork(4000), /it hears 0\.25 s/],
    ['long', powerNetwork(16_000 * 30), /it hears 30 s/],
    ['bands', featureNetwork(128, 800, 10), /must be \[1, samples\] or \[1, 80, frames\]/],
    ['fails', failingNetwork(16_000), /out of data bounds/],
  ]
  for (const [name, network, message] of cases) await t.rejects(open(file(name, network)), { message })
})

t.test('the model gets the requested length of audio, after leading silence', { skip }, async (t) => {
  const model = await running(t, 'power', powerNetwork(128_000))
  const stream = model.open(8000)
  hear(stream, 1000, 0)
  hear(stream, 2000, HALF)
  const near = (found: number, wanted: number) =>
    t.ok(Math.abs(found - wanted) < wanted / 100 + 0.0002, `${found} is about ${wanted}`)
  near(await ask(stream, 2000), 0.25 * (2 / 8))
  near(await ask(stream, 1000), 0.25 * (1 / 8))
  near(await ask(stream, 3000), 0.25 * (2 / 8))
  near(await ask(stream, 60_000), 0.25 * (2 / 8))
  // Wraps around the ring: audio older than 8 s is gone, and nothing is used twice.
  hear(stream, 7000, HALF / 2)
  near(await ask(stream, 8000), 0.25 / 8 + 0.0625 * (7 / 8))
  near(await ask(stream, 500), 0.0625 / 16)
  const wide = model.open(16_000)
  hear(wide, 4000, HALF, 16_000)
  near(await ask(wide, 4000), 0.125)
  near(await ask(stream, 8000), 0.25 / 8 + 0.0625 * (7 / 8))
  t.match(model.stats(), { asked: 8, answered: 8, late: 0, refused: 0, restarts: 0 })
})

t.test('a model with feature input judges the end of the audio', { skip }, async (t) => {
  const model = await running(t, 'features', featureNetwork(80, 800, 20))
  const stream = model.open(8000)
  const noise = new Int16Array(160)
  const voice = (ms: number, level: number) => {
    for (let at = 0; at < ms; at += 20) {
      for (let i = 0; i < noise.length; i++) noise[i] = Math.round(Math.sin(i * i + at) * level)
      stream.push(noise)
    }
  }
  voice(1500, 8000)
  const still = await ask(stream, 2000)
  voice(400, 20)
  const silent = await ask(stream, 2000)
  t.ok(still > 0.9, `${still}`)
  t.ok(silent < 0.5, `${silent}`)
})

t.test('the start measures one question; a slow model is a warning with its effect', { skip }, async (t) => {
  const { lines, log } = keptLog()
  await running(t, 'measured', powerNetwork(128_000), log)
  const [line, ...more] = lines
  t.match(line?.event, /^turn_model\.(measured|slow)$/)
  t.ok((line?.ms ?? -1) >= 0)
  t.same(more, [])
  lines.length = 0
  reportSpeed(TURN_DETECTOR_SLOW_MS, log)
  reportSpeed(TURN_DETECTOR_SLOW_MS + 1, log)
  t.match(lines, [
    { event: 'turn_model.measured', ms: TURN_DETECTOR_SLOW_MS },
    { event: 'turn_model.slow', ms: TURN_DETECTOR_SLOW_MS + 1, effect: /decided without it/ },
  ])
})

t.test('withdrawn questions get no answer, and excess questions are rejected', { skip }, async (t) => {
  const { lines, log } = keptLog()
  const model = await running(t, 'late', loudnessNetwork(128_000, 1e-4), log)
  const told: string[] = []
  const stream = model.open(8000)
  hear(stream, 1000, HALF)
  stream.ask(1000, () => told.push('late'))
  stream.withdraw()
  const others = Array.from({ length: 40 }, () => model.open(8000))
  const replaced = model.open(8000)
  for (const other of [...others, replaced]) hear(other, 200, HALF)
  const waited = new Promise<void>((resolve) => {
    for (const other of others) {
      other.ask(200, () => {
        if (told.push('other') === 16) resolve()
      })
    }
  })
  t.equal(model.stats().refused, 40 - 16, 'sixteen wait')
  await waited
  t.ok((await ask(stream, 1000)) > 0.9, 'it goes on afterwards')
  t.equal(told.filter((one) => one === 'late').length, 0)
  t.equal(told.filter((one) => one === 'other').length, 16)
  t.match(model.stats(), { late: 1, answered: 17 })
  t.equal(lines.filter(({ event }) => event === 'turn_model.late').length, 1)
  // A new question replaces a waiting one; no answer follows the end.
  stream.ask(1000, () => told.push('replaced'))
  t.ok((await ask(stream, 1000)) > 0.9)
  stream.ask(1000, () => told.push('closed'))
  stream.close()
  t.ok((await ask(replaced, 100)) > 0.9)
  t.notOk(told.includes('replaced'))
  t.notOk(told.includes('closed'))
})

t.test('in a conversation the answer decides the endpointing delay', { skip }, async (t) => {
  /** Time (ms) from the caller's last audio to the request to the language model. */
  const waited = async (model: OnnxTurnDetector): Promise<number> => {
    const rig = new ConversationRig({ turnDetector: model })
    await rig.start()
    const { asked, answered } = model.stats()
    rig.callerSound(500, { ms: 1000, text: 'I would like to book a visit.', finalAfterMs: 60 })
    await rig.until(() => model.stats().asked > asked)
    // The virtual call waits until the thread has answered.
    const giveUpMs = systemClock.now() + 30_000
    while (model.stats().answered === answered) {
      if (systemClock.now() > giveUpMs) throw new Error('it does not answer')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await rig.until(() => rig.requests.length === 1)
    const atMs = rig.nowMs
    rig.close()
    return atMs
  }
  // The mean square of one second in eight is close to zero, but any audio exceeds the limit.
  const goesOn = await waited(await running(t, 'goes-on', powerNetwork(128_000)))
  const finished = await waited(await running(t, 'finished', loudnessNetwork(128_000, 1e-9)))
  t.ok(goesOn > finished + 900, `${goesOn} and ${finished} ms`)
})

t.test('closing during a question ends the thread, not the process', { skip }, async (t) => {
  const path = file('slow', slowNetwork(128_000, 300))
  for (const afterMs of [0, 2, 3, 5, 7, 10]) {
    const model = await openTurnDetector({ path, clock: systemClock, log: silentLog })
    const stream = model.open(8000)
    hear(stream, 1000, HALF)
    stream.ask(1000, () => {})
    await new Promise((resolve) => setTimeout(resolve, afterMs))
    await t.resolves(model.close())
  }
})

t.test('media threads load the model at start and report its statistics', { skip }, async (t) => {
  const settings = {
    workers: 1,
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 0, last: 0 },
    mediaTimeoutMs: 30_000,
    providers: { openai: null },
  }
  const pool = await openMediaPool({ ...settings, turnModel: file('pool', powerNetwork(128_000)) })
  const [load] = await pool.load()
  t.match(load?.turnDetector, { asked: 0, restarts: 0 })
  await pool.close()
  await t.rejects(openMediaPool({ ...settings, turnModel: join(folder, 'none.onnx') }))
})
