import t from 'tap'
import type { Rate } from '../base/frame.js'
import { openFirKernel } from './fir-kernel.js'
import { type InputRate, openResampler, resample } from './resampler.js'

const RATES: readonly Rate[] = [8000, 16000, 24000, 48000]
const INPUTS: readonly InputRate[] = [...RATES, 12000, 22050, 32000, 64000, 96000, 192000]

function sine(rate: number, hertz: number, seconds: number, amplitude = 16000): Int16Array {
  return Int16Array.from({ length: Math.round(rate * seconds) }, (_, i) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hertz * i) / rate)),
  )
}

/** Returns the amplitude of one frequency by correlation over whole periods, away from the edges. */
function amplitudeAt(pcm: Int16Array, rate: number, hertz: number): number {
  const from = Math.floor(rate * 0.05)
  const periods = Math.floor(((pcm.length - 2 * from) * hertz) / rate)
  const count = Math.floor((periods * rate) / hertz)
  let re = 0
  let im = 0
  for (let i = 0; i < count; i++) {
    const window = 1 - Math.cos((2 * Math.PI * i) / count)
    const phase = (2 * Math.PI * hertz * (from + i)) / rate
    re += (pcm[from + i] as number) * Math.cos(phase) * window
    im += (pcm[from + i] as number) * Math.sin(phase) * window
  }
  return (2 * Math.hypot(re, im)) / count
}

function power(pcm: Int16Array, rate: number): number {
  const from = Math.floor(rate * 0.05)
  let sum = 0
  for (let i = from; i < pcm.length - from; i++) sum += (pcm[i] as number) ** 2
  return sum / (pcm.length - 2 * from)
}

const decibels = (ratio: number): number => 20 * Math.log10(ratio)

t.test('the pass band is flat', (t) => {
  for (const from of INPUTS) {
    for (const to of RATES) {
      const low = Math.min(from, to)
      for (const share of [0.0125, 0.125, 0.25, 0.375, 0.425]) {
        const hertz = low * share // 0.425 of 8 kHz is 3.4 kHz
        const gain = decibels(amplitudeAt(resample(sine(from, hertz, 0.5), from, to), to, hertz) / 16000)
        t.ok(Math.abs(gain) < 0.02, `${from} to ${to}, ${hertz} Hz: ${gain.toFixed(3)} dB`)
      }
      const edge = low * 0.45
      const gain = decibels(amplitudeAt(resample(sine(from, edge, 0.5), from, to), to, edge) / 16000)
      t.ok(gain > -0.25 && gain < 0.02, `${from} to ${to}, edge ${edge} Hz: ${gain.toFixed(3)} dB`)
    }
  }
  t.end()
})

t.test('aliases are at least 69 dB down', (t) => {
  for (const from of INPUTS) {
    for (const to of RATES) {
      if (to >= from) continue
      for (const share of [0.575, 0.6, 0.7, 0.9, 1.1]) {
        const hertz = to * share // from 4.6 kHz at 8 kHz
        if (hertz >= from / 2) continue
        const level =
          10 * Math.log10((power(resample(sine(from, hertz, 0.5), from, to), to) * 2) / 16000 ** 2)
        t.ok(level < -69, `${from} to ${to}, ${hertz} Hz folds back at ${level.toFixed(1)} dB`)
      }
    }
  }
  t.end()
})

t.test('images above the input are at least 66 dB down', (t) => {
  for (const [from, to] of [
    [8000, 16000],
    [8000, 24000],
    [8000, 48000],
    [22050, 48000],
  ] as const) {
    const hertz = from * 0.425
    const image = from - hertz
    const level = decibels(amplitudeAt(resample(sine(from, hertz, 0.5), from, to), to, image) / 16000)
    t.ok(level < -66, `${from} to ${to}: image of ${hertz} Hz at ${level.toFixed(1)} dB`)
  }
  t.end()
})

t.test('a stream in uneven pieces equals the same stream in one piece', (t) => {
  for (const [from, to] of [
    [8000, 16000],
    [48000, 8000],
    [22050, 8000],
    [24000, 16000],
  ] as const) {
    const pcm = sine(from, 440, 0.3)
    const whole = openResampler(from, to).process(pcm).slice()
    const stream = openResampler(from, to)
    const pieces: number[] = []
    for (let at = 0, size = 1; at < pcm.length; at += size, size = (size * 7 + 3) % 311) {
      size = Math.max(1, size)
      pieces.push(...stream.process(pcm.subarray(at, at + size)))
    }
    t.strictSame(pieces, Array.from(whole), `${from} to ${to}`)
    t.equal(whole.length, Math.ceil((pcm.length * to) / from))
  }
  t.end()
})

t.test('every 20 ms of input give 20 ms of output, from the first frame on', (t) => {
  for (const from of INPUTS) {
    for (const to of RATES) {
      const stream = openResampler(from, to)
      const frame = new Int16Array(from / 50)
      for (let i = 0; i < 10; i++) t.equal(stream.process(frame).length, to / 50, `${from} to ${to}`)
    }
  }
  t.end()
})

t.test('one-shot conversion keeps the position of a click', (t) => {
  for (const from of INPUTS) {
    for (const to of RATES) {
      const pcm = new Int16Array(Math.floor(from / 5))
      const at = Math.floor(pcm.length / 2)
      pcm[at] = 30000
      const out = resample(pcm, from, to)
      let peak = 0
      for (let i = 0; i < out.length; i++) if ((out[i] as number) > (out[peak] as number)) peak = i
      t.ok(Math.abs(peak - (at * to) / from) <= 1 + to / from / 2, `${from} to ${to}: ${peak}`)
      t.equal(out.length, Math.round((pcm.length * to) / from))
    }
  }
  t.end()
})

t.test('full scale is clamped, not wrapped', (t) => {
  const square = Int16Array.from({ length: 800 }, (_, i) => (i % 40 < 20 ? 32767 : -32768))
  const out = resample(square, 8000, 16000)
  for (let i = 100; i < 1500; i++) {
    const high = Math.floor(i / 2) % 40 < 20
    const deep = Math.floor(i / 2) % 20 > 3 && Math.floor(i / 2) % 20 < 16
    if (deep && (out[i] as number) > 0 !== high) t.fail(`sample ${i} has the wrong sign`)
  }
  t.end()
})

t.test('SIMD and scalar results are equal except for rounding of the last bit', (t) => {
  let state = 1
  const noise = Int16Array.from({ length: 6000 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 16) - 32768
  })
  t.ok(openFirKernel() !== null, 'this machine has SIMD')
  for (const from of [...INPUTS, 44100] as const) {
    for (const to of RATES) {
      const fast = openResampler(from, to)
      const plain = openResampler(from, to, false)
      let worst = 0
      let count = 0
      // Pieces of every size, including one longer than the kernel takes at once.
      for (let at = 0, size = 1; at < noise.length; at += size, size = size * 3 + 1) {
        const piece = noise.subarray(at, at + size)
        const a = fast.process(piece)
        const b = plain.process(piece)
        if (a.length !== b.length) t.fail(`${from} to ${to}: ${a.length} and ${b.length} samples`)
        for (let i = 0; i < a.length; i++) worst = Math.max(worst, Math.abs((a[i] ?? 0) - (b[i] ?? 0)))
        count += a.length
      }
      t.ok(worst <= 1, `${from} to ${to}: differs by ${worst} in ${count}`)
      t.equal(count, Math.ceil((noise.length * to) / from))
    }
  }
  t.end()
})

t.test('a frame creates no garbage', (t) => {
  const frame = new Int16Array(160)
  const stream = openResampler(8000, 16000)
  const first = stream.process(frame)
  for (let i = 0; i < 10; i++) t.equal(stream.process(frame), first, 'the same array')
  t.end()
})
