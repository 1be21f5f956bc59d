import type { Rate } from '../base/frame.js'
import { type FirKernel, type KernelRows, MAX_CHUNK, openFirKernel } from './fir-kernel.js'

/**
 * eSpeak NG produces 22050 Hz, an operator's music may have 44100 Hz, and customers' bots may send the
 * others. 20 ms are a whole number of samples at every rate.
 */
export type InputRate = Rate | 12000 | 22050 | 32000 | 44100 | 64000 | 96000 | 192000

/** Filter length per output phase, in samples of the lower rate: 2 ms of delay at 8 kHz. */
const TAPS = 32
/** Kaiser window for 70 dB of stop-band attenuation: 0.1102 (A - 8.7). */
const KAISER_BETA = 6.76

interface Filter {
  readonly up: number
  readonly down: number
  readonly taps: number
  /** One row of `taps` coefficients per phase, oldest sample first. */
  readonly rows: Float32Array
  /** Group delay (output samples). */
  readonly delay: number
  /** The rows in the kernel's memory; null before their first use. */
  kernelRows: KernelRows | null
}

export interface Resampler {
  readonly from: InputRate
  readonly to: Rate
  /**
   * Converts the next piece of a stream. The result is scratch memory, valid until the next call. Over time
   * exactly `to / from` samples come out per input sample; frames of 20 ms result in frames of 20 ms.
   */
  process(input: Int16Array): Int16Array
}

/**
 * Opens a streaming converter. At equal rates it copies. The passband is flat within 0.02 dB up to 0.425 of
 * the lower rate (3.4 kHz of 8 kHz), -0.2 dB at 0.45 and -6 dB at 0.5. Aliases are at least 69 dB down from
 * 0.575 of the lower rate on (4.6 kHz), and images of the passband at least 66 dB down. The delay is 2 ms at
 * 8 kHz. With `simd` false it runs without WebAssembly, with the same result except for rounding of the last
 * bit.
 */
export function openResampler(from: InputRate, to: Rate, simd = true): Resampler {
  return new PolyphaseResampler(from, to, simd ? kernel : null)
}

/**
 * Converts a whole clip without delay: sample n of the result corresponds to input sample n * from / to. The
 * caller owns the result.
 */
export function resample(pcm: Int16Array, from: InputRate, to: Rate): Int16Array {
  if (from === to) return pcm.slice()
  const filter = designFilter(from, to)
  const length = Math.round((pcm.length * to) / from)
  const padded = new Int16Array(pcm.length + Math.ceil(((filter.delay + 1) * from) / to) + 1)
  padded.set(pcm)
  const converted = openResampler(from, to).process(padded)
  return converted.slice(filter.delay, filter.delay + length)
}

class PolyphaseResampler implements Resampler {
  readonly from: InputRate
  readonly to: Rate
  readonly #filter: Filter
  readonly #kernel: FirKernel | null
  /** The last `taps - 1` input samples. */
  readonly #history: Float32Array
  #out = new Int16Array(0)
  #view = this.#out
  /** Position of the next output sample, in 1/up input samples from the start of the next piece. */
  #position = 0

  constructor(from: InputRate, to: Rate, kernel: FirKernel | null) {
    this.from = from
    this.to = to
    this.#kernel = kernel
    this.#filter = designFilter(from, to)
    this.#history = new Float32Array(this.#filter.taps - 1)
  }

  process(input: Int16Array): Int16Array {
    const { up, down } = this.#filter
    const end = input.length * up
    const total = this.#position >= end ? 0 : Math.ceil((end - this.#position) / down)
    const out = this.#scratch(total)
    if (input.length <= MAX_CHUNK) this.#chunk(input, out, 0)
    else {
      let done = 0
      for (let at = 0; at < input.length; at += MAX_CHUNK) {
        done += this.#chunk(input.subarray(at, at + MAX_CHUNK), out, done)
      }
    }
    return out
  }

  /** Returns the number of samples written to `out` from `at`. */
  #chunk(input: Int16Array, out: Int16Array, at: number): number {
    const filter = this.#filter
    const { up, down } = filter
    const position = this.#position
    const end = input.length * up
    const count = position >= end ? 0 : Math.ceil((end - position) / down)
    const kernel = this.#kernel
    if (kernel === null) filterInto(filter, this.#history, input, position, count, out, at)
    else {
      filter.kernelRows ??= kernel.store(filter.rows, filter.taps, up, down)
      kernel.filter(filter.kernelRows, this.#history, input, position, count, out, at)
    }
    this.#position = position + count * down - end
    return count
  }

  #scratch(count: number): Int16Array {
    if (this.#out.length < count) this.#out = new Int16Array(count)
    if (this.#view.length !== count || this.#view.buffer !== this.#out.buffer) {
      this.#view = this.#out.subarray(0, count)
    }
    return this.#view
  }
}

/** The kernel in plain JavaScript, for hosts without SIMD and for the test of the kernel. */
function filterInto(
  { up, down, taps, rows }: Filter,
  history: Float32Array,
  input: Int16Array,
  position: number,
  count: number,
  out: Int16Array,
  at: number,
): void {
  const before = taps - 1
  if (work.length < before + input.length) work = new Float32Array(before + input.length)
  const samples = work
  samples.set(history)
  for (let i = 0; i < input.length; i++) samples[before + i] = input[i] as number
  for (let n = 0; n < count; n++) {
    const place = position + n * down
    let row = (place % up) * taps
    let from = Math.floor(place / up)
    // Four sums, because a single one would make each addition wait for the previous one.
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    for (let k = 0; k < taps; k += 4) {
      a += (rows[row] as number) * (samples[from] as number)
      b += (rows[row + 1] as number) * (samples[from + 1] as number)
      c += (rows[row + 2] as number) * (samples[from + 2] as number)
      d += (rows[row + 3] as number) * (samples[from + 3] as number)
      row += 4
      from += 4
    }
    const sum = a + b + (c + d)
    out[at + n] = sum >= 32767 ? 32767 : sum <= -32768 ? -32768 : Math.round(sum)
  }
  for (let i = 0; i < before; i++) history[i] = samples[input.length + i] as number
}

/** Work area of `filterInto`. */
let work = new Float32Array(0)
const kernel = openFirKernel()

const filters = new Map<string, Filter>()

/** Designs a Kaiser-windowed sinc with its -6 dB point at the lower Nyquist frequency. Cached per thread. */
function designFilter(from: InputRate, to: Rate): Filter {
  const key = `${from}>${to}`
  const known = filters.get(key)
  if (known !== undefined) return known
  const divisor = greatestCommonDivisor(from, to)
  const up = to / divisor
  const down = from / divisor
  const filter = from === to ? identity() : windowedSinc(up, down)
  filters.set(key, filter)
  return filter
}

function identity(): Filter {
  return {
    up: 1,
    down: 1,
    taps: 8,
    rows: Float32Array.of(0, 0, 0, 0, 0, 0, 0, 1),
    delay: 0,
    kernelRows: null,
  }
}

function windowedSinc(up: number, down: number): Filter {
  const wide = Math.max(up, down)
  // The taps per phase grow with decimation. The loop of the kernel needs a multiple of eight.
  const taps = Math.ceil((TAPS * wide) / up / 8) * 8
  // The centre is a whole number of output samples, so that `resample` can align exactly.
  const delay = Math.floor((taps * up) / 2 / down)
  const centre = delay * down
  const half = Math.min(centre, taps * up - centre)
  const rows = new Float32Array(taps * up)
  for (let phase = 0; phase < up; phase++) {
    let sum = 0
    for (let k = 0; k < taps; k++) {
      const offset = phase + k * up - centre
      const x = offset / wide
      const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)
      const value = sinc * kaiser(offset / half)
      rows[phase * taps + taps - 1 - k] = value
      sum += value
    }
    // Every phase has a DC gain of exactly 1; otherwise a tone at the phase rate would appear.
    for (let k = 0; k < taps; k++) rows[phase * taps + k] = (rows[phase * taps + k] as number) / sum
  }
  return { up, down, taps, rows, delay, kernelRows: null }
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(KAISER_BETA * Math.sqrt(1 - x * x)) / bessel(KAISER_BETA)
}

/** Returns the modified Bessel function of the first kind, order 0. */
function bessel(x: number): number {
  let sum = 1
  let term = 1
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / 2 / k) ** 2
    sum += term
  }
  return sum
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
