import type { Rate } from '../base/frame.js'
import { type FirKernel, type KernelRows, MAX_CHUNK, openFirKernel } from './fir-kernel.js'

/**
 * 22050 Hz is what eSpeak NG speaks; 44100 Hz is what an operator's music may have; the others are what
 * customers' bots may send. All have a whole number of samples in 20 ms.
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
  /** One row of `taps` coefficients a phase, oldest sample first. */
  readonly rows: Float32Array
  /** Group delay in output samples. */
  readonly delay: number
  /** The rows where the kernel has them. */
  kernelRows: KernelRows | null
}

export interface Resampler {
  readonly from: InputRate
  readonly to: Rate
  /**
   * Converts the next piece of a stream. The result is scratch of this resampler, valid until its next
   * call. Over time exactly `to / from` samples come out for each that goes in; for frames of 20 ms
   * every call gives 20 ms.
   */
  process(input: Int16Array): Int16Array
}

/**
 * A streaming converter with its own state. At equal rates it copies. Flat within 0.02 dB up to 0.425 of
 * the lower rate (3.4 kHz of 8 kHz), -0.2 dB at 0.45 and -6 dB at half of it; what the lower rate cannot
 * carry is at least 69 dB down from 0.575 of it on (4.6 kHz), images of what the input has below 0.425 are
 * at least 66 dB down. 2 ms of delay at 8 kHz. `simd` false does without WebAssembly: the same but for the
 * rounding of the last bit.
 */
export function openResampler(from: InputRate, to: Rate, simd = true): Resampler {
  return new PolyphaseResampler(from, to, simd ? kernel : null)
}

/**
 * Converts a whole sound, aligned: sample n of the result lies where n * from / to was. The result is
 * owned by the caller.
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
  /** The last `taps - 1` inputs. */
  readonly #history: Float32Array
  #out = new Int16Array(0)
  #view = this.#out
  /** Position of the next output, in 1/up input samples from the start of the next piece. */
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

/** What the kernel does, in plain JavaScript: where there is no SIMD, and what it is tested against. */
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
  const line = work
  line.set(history)
  for (let i = 0; i < input.length; i++) line[before + i] = input[i] as number
  for (let n = 0; n < count; n++) {
    const place = position + n * down
    let row = (place % up) * taps
    let from = Math.floor(place / up)
    // Four sums: a single one would make every addition wait for the one before it.
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    for (let k = 0; k < taps; k += 4) {
      a += (rows[row] as number) * (line[from] as number)
      b += (rows[row + 1] as number) * (line[from + 1] as number)
      c += (rows[row + 2] as number) * (line[from + 2] as number)
      d += (rows[row + 3] as number) * (line[from + 3] as number)
      row += 4
      from += 4
    }
    const sum = a + b + (c + d)
    out[at + n] = sum >= 32767 ? 32767 : sum <= -32768 ? -32768 : Math.round(sum)
  }
  for (let i = 0; i < before; i++) history[i] = line[input.length + i] as number
}

/** Work area of `filterInto`. */
let work = new Float32Array(0)
const kernel = openFirKernel()

const filters = new Map<string, Filter>()

/** A Kaiser-windowed sinc with its -6 dB point at the lower Nyquist frequency; cached per thread. */
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
  // Taps per phase grow with decimation, and are a multiple of eight for the kernel's loop.
  const taps = Math.ceil((TAPS * wide) / up / 8) * 8
  // Centre at a whole number of output samples, so that `resample` can align exactly.
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
    // Every phase passes a constant unchanged: no tone at the phase rate.
    for (let k = 0; k < taps; k++) rows[phase * taps + k] = (rows[phase * taps + k] as number) / sum
  }
  return { up, down, taps, rows, delay, kernelRows: null }
}

function kaiser(x: number): number {
  return Math.abs(x) >= 1 ? 0 : bessel(KAISER_BETA * Math.sqrt(1 - x * x)) / bessel(KAISER_BETA)
}

/** Modified Bessel function of the first kind, order 0. */
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
