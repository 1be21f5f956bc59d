import t from 'tap'
import { tone, toneLevel } from '../../fixtures/audio/tones.js'
import type { SessionRate } from '../base/frame.js'
import { CEILING, Limiter } from './limiter.js'

/** Returns the output, frame by frame, for a sum in 16-bit units. */
function limited(sum: Float32Array, rate: SessionRate, limiter = new Limiter(rate)): Int16Array {
  const frame = rate / 50
  const out = new Int16Array(sum.length)
  for (let at = 0; at < sum.length; at += frame) {
    limiter.process(sum.subarray(at, at + frame), out.subarray(at, at + frame))
  }
  return out
}

const times = (pcm: Int16Array, gain: number): Float32Array =>
  Float32Array.from(pcm, (sample) => sample * gain)

t.test('a mix below the ceiling passes unchanged', (t) => {
  const pcm = tone(440, 400, 8000, 0.89)
  t.strictSame(limited(times(pcm, 1), 8000), pcm)
  t.end()
})

for (const rate of [8000, 16000] as const) {
  t.test(
    `three parties shouting at the same time, ${rate} Hz: below full scale and without distortion`,
    (t) => {
      // 4.6 times full scale.
      const sum = times(tone(400, 2000, rate, 1), 4.6)
      const out = limited(sum, rate)
      const peak = out.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
      t.ok(peak < 32_767, `peak ${peak}`)
      t.ok(
        out.every((sample, i) => sample === 0 || Math.sign(sample) === Math.sign(sum[i] ?? 0)),
        'nothing wrapped',
      )
      const settled = out.subarray(rate / 50)
      const decibels = (pcm: Int16Array, hertz: number) =>
        20 * Math.log10(toneLevel(pcm, hertz, rate) / toneLevel(pcm, 400, rate))
      const clipped = Int16Array.from(sum, (sample) => Math.max(-32768, Math.min(32767, sample)))
      t.ok(decibels(settled, 1200) < -60, `third harmonic ${decibels(settled, 1200).toFixed(1)} dB`)
      t.ok(decibels(clipped, 1200) > -12, `clipped: ${decibels(clipped, 1200).toFixed(1)} dB`)
      t.ok(Math.abs(toneLevel(settled, 400, rate) * 32767 - CEILING) < 100)
      t.end()
    },
  )
}

t.test('the gain moves without steps, and recovers after the peak', (t) => {
  const limiter = new Limiter(8000)
  // A second of one voice with a shout in it.
  const quiet = tone(300, 1000, 8000, 0.4)
  const sum = times(quiet, 1)
  const shout = tone(300, 300, 8000, 1)
  for (let i = 0; i < shout.length; i++) sum[i + 2400] = (sum[i + 2400] ?? 0) + (shout[i] ?? 0)
  const out = limited(sum, 8000, limiter)
  const steepest = (pcm: ArrayLike<number>) => {
    let most = 0
    for (let i = 1; i < pcm.length; i++) most = Math.max(most, Math.abs((pcm[i] ?? 0) - (pcm[i - 1] ?? 0)))
    return most
  }
  t.ok(steepest(out) <= steepest(sum), `${steepest(out)}, before ${steepest(sum)}`)
  t.ok(limiter.idle)
  t.strictSame(out.subarray(0, 2400 - 160), quiet.subarray(0, 2400 - 160), 'untouched before it')
  t.strictSame(out.subarray(-2400), quiet.subarray(-2400), 'and 0.1 s after it')
  t.end()
})

t.test('silence also releases the gain', (t) => {
  const limiter = new Limiter(8000)
  limited(times(tone(400, 100, 8000, 1), 2), 8000, limiter)
  t.notOk(limiter.idle)
  for (let i = 0; i < 6; i++) limiter.silentFrame()
  t.ok(limiter.idle)
  t.end()
})
