import t from 'tap'
import { seeded } from '../../fixtures/host/random.js'
import { LogMel, MEL_BANDS, MEL_HOP } from './log-mel.js'

/** Computes the features by definition: direct sums, and triangles from a table of mel values. */
function plainly(pcm: readonly number[]): number[][] {
  const mean = pcm.reduce((sum, x) => sum + x, 0) / pcm.length
  const variance = pcm.reduce((sum, x) => sum + (x - mean) ** 2, 0) / pcm.length
  const x = pcm.map((sample) => (sample - mean) / Math.sqrt(variance + 1e-7))
  const at = (i: number): number => {
    const mirrored = i < 0 ? -i : i >= x.length ? 2 * (x.length - 1) - i : i
    return x[mirrored] ?? 0
  }
  const toHertz = (mel: number) => (mel < 15 ? (mel * 200) / 3 : 1000 * 6.4 ** ((mel - 15) / 27))
  // 8 kHz is 45.2456 mel on this scale.
  const top = 15 + (27 * Math.log(8)) / Math.log(6.4)
  const edges = Array.from({ length: MEL_BANDS + 2 }, (_, i) => toHertz((i * top) / (MEL_BANDS + 1)))
  const rows: number[][] = Array.from({ length: MEL_BANDS }, () => [])
  for (let frame = 0; frame < x.length / MEL_HOP; frame++) {
    const power: number[] = []
    for (let k = 0; k <= 200; k++) {
      let re = 0
      let im = 0
      for (let i = 0; i < 400; i++) {
        const sample = at(frame * MEL_HOP - 200 + i) * Math.sin((Math.PI * i) / 400) ** 2
        re += sample * Math.cos((2 * Math.PI * k * i) / 400)
        im -= sample * Math.sin((2 * Math.PI * k * i) / 400)
      }
      power.push(re * re + im * im)
    }
    rows.forEach((row, band) => {
      const [low = 0, mid = 0, high = 0] = edges.slice(band, band + 3)
      const sum = power.reduce((all, value, k) => {
        const up = (k * 40 - low) / (mid - low)
        const down = (high - k * 40) / (high - mid)
        return all + (value * 2 * Math.max(0, Math.min(up, down))) / (high - low)
      }, 0)
      row.push(Math.log10(Math.max(1e-10, sum)))
    })
  }
  const loudest = Math.max(...rows.flat())
  return rows.map((row) => row.map((value) => (Math.max(value, loudest - 8) + 4) / 4))
}

t.test('the features match their definition, with and without leading silence', async (t) => {
  const random = seeded(5)
  for (const silent of [0, 1000, 2200]) {
    const pcm = Array.from({ length: 20 * MEL_HOP }, (_, i) =>
      i < silent ? 0 : 0.2 * Math.sin(i * 0.3) + 0.05 * random.normal(),
    )
    const mel = new LogMel(pcm.length)
    t.equal(mel.frames, 20)
    const wanted = plainly(pcm)
    for (const again of [false, true]) {
      const found = mel.compute(Float32Array.from(pcm), silent)
      let worst = 0
      wanted.forEach((row, band) => {
        row.forEach((value, frame) => {
          worst = Math.max(worst, Math.abs(value - (found[band * 20 + frame] ?? Number.NaN)))
        })
      })
      t.ok(worst < 1e-4, `${silent} silent, ${again ? 'again' : 'once'}: off by ${worst}`)
    }
  }
})

t.test('silence alone has finite features', async (t) => {
  const mel = new LogMel(10 * MEL_HOP)
  t.ok(mel.compute(new Float32Array(10 * MEL_HOP), 10 * MEL_HOP).every(Number.isFinite))
})
