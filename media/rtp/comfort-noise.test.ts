import t from 'tap'
import { levelDbfs, toneLevel } from '../../fixtures/audio/tones.js'
import { ComfortNoiseGenerator, writeComfortNoise } from './comfort-noise.js'

function play(payload: readonly number[], session: 8000 | 16000 = 8000, noise: 8000 | 16000 = 8000) {
  const player = new ComfortNoiseGenerator(session, noise)
  player.update(Uint8Array.from([9, ...payload]), 1, payload.length)
  const pcm = new Int16Array(session)
  const frame = new Int16Array(session / 50)
  for (let at = 0; at < pcm.length; at += frame.length) {
    player.pull(frame)
    pcm.set(frame, at)
  }
  return { player, pcm }
}

/** Returns the share of the power below a frequency, from the autocorrelation of the first difference. */
function brightness(pcm: Int16Array): number {
  let sum = 0
  let product = 0
  for (let i = 1; i < pcm.length; i++) {
    sum += (pcm[i] ?? 0) ** 2
    product += (pcm[i] ?? 0) * (pcm[i - 1] ?? 0)
  }
  return product / sum
}

t.test('the level equals the requested one', async (t) => {
  for (const level of [20, 40, 60, 70]) {
    for (const spectrum of [[], [200], [60, 150, 127, 90]]) {
      const got = levelDbfs(play([level, ...spectrum]).pcm)
      t.ok(
        Math.abs(got + level) < 1.5,
        `-${level} dBov, ${spectrum.length} coefficients: ${got.toFixed(1)} dBFS`,
      )
    }
  }
  t.ok(levelDbfs(play([127]).pcm) < -100)
  t.ok(levelDbfs(play([255]).pcm) < -100, 'beyond the range')
})

t.test('the spectrum equals the requested one', async (t) => {
  // The correlation of neighbouring samples behind a first-order filter is minus its coefficient.
  for (const quantized of [60, 127, 200]) {
    const k = (258 * (quantized - 127)) / 32_768
    const got = brightness(play([40, quantized]).pcm)
    t.ok(Math.abs(got + k) < 0.05, `k ${k.toFixed(2)}: neighbours correlate by ${got.toFixed(2)}`)
  }
  t.ok(play([30, ...new Array<number>(40).fill(255)]).pcm.every(Number.isFinite), 'too many coefficients')
})

t.test('in a wideband session narrowband noise stays narrowband', async (t) => {
  const { pcm } = play([30], 16_000, 8000)
  t.ok(Math.abs(levelDbfs(pcm) + 30) < 1.5)
  let high = 0
  let low = 0
  for (let hz = 500; hz < 3500; hz += 100) low += toneLevel(pcm, hz, 16_000) ** 2
  for (let hz = 4700; hz < 7700; hz += 100) high += toneLevel(pcm, hz, 16_000) ** 2
  t.ok(high < low / 1000, `${(10 * Math.log10(high / low)).toFixed(0)} dB above 4.6 kHz`)
  t.ok(Math.abs(levelDbfs(play([30], 16_000, 16_000).pcm) + 30) < 1)
})

t.test('no noise before the first description or after stop; an empty payload changes nothing', async (t) => {
  const player = new ComfortNoiseGenerator(8000, 8000)
  t.equal(player.active, false)
  player.update(new Uint8Array(4), 4, 0)
  t.equal(player.active, false)
  const payload = new Uint8Array(3)
  writeComfortNoise(payload, 2)
  player.update(payload, 2, 1)
  t.equal(player.active, true)
  const frame = new Int16Array(160)
  player.pull(frame)
  t.ok(levelDbfs(frame) < -65, 'our own level is hardly to be heard')
  player.stop()
  t.equal(player.active, false)
})
