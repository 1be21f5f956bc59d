import t from 'tap'
import { ambientNoise } from '../../fixtures/speech/conditions.js'
import { toInt16 } from '../../fixtures/speech/dsp.js'
import { TALKER_DBFS } from '../../fixtures/speech/make-clip.js'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import type { SessionRate } from '../base/frame.js'
import { resample } from '../codec/resampler.js'
import { NoiseSuppression, type NoiseSuppressor } from './noise-suppressor.js'

const suppression = new NoiseSuppression()
t.equal(suppression.open(8000), null, 'nothing is loaded before it is asked for')
await Promise.all([suppression.load(), suppression.load()])

function opened(rate: SessionRate): NoiseSuppressor {
  const suppressor = suppression.open(rate)
  if (suppressor === null) throw new Error('it is not loaded')
  return suppressor
}

/** Runs whole frames of a sound through a suppressor. */
function suppressed(pcm: Int16Array, suppressor: NoiseSuppressor, rate: SessionRate): Int16Array {
  const frame = rate / 50
  const out = new Int16Array(pcm.length - (pcm.length % frame))
  for (let at = 0; at < out.length; at += frame) out.set(suppressor.process(pcm.subarray(at, at + frame)), at)
  return out
}

function decibels(pcm: Int16Array): number {
  const power = pcm.reduce((sum, sample) => sum + sample * sample, 0) / pcm.length
  return 10 * Math.log10(power / 32768 ** 2 + 1e-12)
}

/** Returns the delay (samples) at which `late` is most like `early`. */
function lag(early: Int16Array, late: Int16Array, most: number): number {
  const likeness = Array.from({ length: most }, (_, by) =>
    early.subarray(0, early.length - most).reduce((sum, sample, i) => sum + sample * (late[i + by] ?? 0), 0),
  )
  return likeness.indexOf(Math.max(...likeness))
}

for (const rate of [8000, 16_000] as const) {
  t.test(`speech at ${rate} Hz keeps its level and is late by the declared delay`, (t) => {
    const clip = resample(readClip(findClip('test-u06-clean')), 8000, rate)
    const suppressor = opened(rate)
    const result = suppressed(clip, suppressor, rate)
    suppressor.close()
    t.ok(Math.abs(decibels(result) - decibels(clip)) < 1, `${decibels(result)} and ${decibels(clip)} dB`)
    t.equal(lag(clip, result, rate / 25), (suppressor.delayMs * rate) / 1000)
    t.end()
  })
}

for (const place of ['car', 'office'] as const) {
  t.test(`noise of a ${place} is at least 15 dB softer after a second`, (t) => {
    const noise = ambientNoise(place, 32_000, 5, 8000, TALKER_DBFS)
    if (noise === null) throw new Error('it is silent')
    const suppressor = opened(8000)
    const pcm = toInt16(noise)
    const result = suppressed(pcm, suppressor, 8000)
    suppressor.close()
    const softer = decibels(pcm.subarray(8000)) - decibels(result.subarray(8000))
    t.ok(softer >= 15, `${softer} dB`)
    t.end()
  })
}

t.test('two calls do not share state; a closed one returns the audio as it is', (t) => {
  const clip = readClip(findClip('test-u06-car'))
  const other = readClip(findClip('test-u02-office'))
  const alone = opened(8000)
  const expected = suppressed(clip, alone, 8000)
  alone.close()
  alone.close()
  t.equal(alone.process(clip), clip)
  const [one, two] = [opened(8000), opened(8000)]
  const between = new Int16Array(expected.length)
  for (let at = 0; at < between.length; at += 160) {
    between.set(one.process(clip.subarray(at, at + 160)), at)
    if (at + 160 <= other.length) two.process(other.subarray(at, at + 160))
  }
  one.close()
  two.close()
  t.same(between, expected)
  t.end()
})
