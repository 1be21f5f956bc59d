import type { Digit, SessionRate } from '../base/frame.js'
import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import { type FrameView, powerOfDb } from './frame-view.js'
import { ToneBank, ToneBlock } from './tone-bank.js'

/*
 * Detects DTMF digits in audio by the limits of ITU-T Q.24 (AT&T column) and Bellcore TR-TSY-000763:
 * frequencies within 1.5 % are accepted and beyond 3.5 % refused; the high tone may be up to 4 dB above and 8
 * dB below the low one; tones of 40 ms are accepted and tones of 23 ms refused; a break of 10 ms does not end
 * a digit and a break of 40 ms does.
 */

const ROWS = [697, 770, 852, 941]
const COLUMNS = [1209, 1336, 1477, 1633]
const KEYS: readonly Digit[] = [
  '1',
  '2',
  '3',
  'A',
  '4',
  '5',
  '6',
  'B',
  '7',
  '8',
  '9',
  'C',
  '*',
  '0',
  '#',
  'D',
]

const BLOCK_MS = 10
/** A tone has at least -38 dBm0 (Q.24 requires -25). 0 dBm0 is 3.14 dB below a full-scale sine (G.711). */
const MIN_POWER = powerOfDb(-41)
/** Blocks this much softer than the softest tone are silence, which is most of a call. */
const SILENCE = 0.01
/** Limits of the twist, with 1.5 and 2 dB added for tones off their frequency, which are measured weaker. */
const MAX_HIGH_OVER_LOW = 10 ** 0.55
const MAX_LOW_OVER_HIGH = 10
/** The second loudest tone of a group is at least 6 dB softer: 20 ms separate tones 73 Hz apart by 13 dB. */
const GROUP_RATIO = 4
/**
 * Least share of the two tones in the total power. 1.5 % off the top tone costs 0.19, noise at 12 dB costs
 * 0.06.
 */
const MIN_SHARE = 0.6
/**
 * The phase change in 10 ms cannot separate 57 Hz too high (3.5 % of the top tone) from 43 Hz too low. The
 * power at these two limits is measured too: tones within 1.5 % are always louder.
 */
const TOP = 7
const GUARDS = [1633 * 0.965, 1633 * 1.035]
/** Deviation of the frequency by the phase change between blocks, for one window and on average. */
const MAX_DEVIATION = 0.031
const MAX_MEAN_DEVIATION = 0.0245
/** Between 23 ms, which must be refused, and 40 ms, which must be accepted. */
const MIN_TONE_MS = 31
/** A tone of 40 ms fills three blocks and thereby two windows, wherever it begins. */
const MIN_WINDOWS = 2
/** A break of 10 ms spoils at most three windows, a break of 40 ms at least four. */
const END_WINDOWS = 4

export function openDtmf({ rate, report }: DetectorOptions): Detector {
  return new DtmfDetector(rate, report)
}

class DtmfDetector implements Detector {
  readonly #report: ReportEvent
  readonly #rate: SessionRate
  readonly #samples: number
  readonly #bank: ToneBank
  #block: ToneBlock
  /** The block before. */
  #last: ToneBlock
  /** The current digit, -1 for none. `#found` is the digit of one window. */
  #key = -1
  #found = -1
  #rowDeviation = 0
  #columnDeviation = 0
  // State of the current digit:
  #startMs = 0
  #lastMs = 0
  #windows = 0
  #misses = 0
  #peak = 0
  #filled = 0
  /** Amplitudes since the last window with the digit. They count once another window has it. */
  #pending = 0
  #rowSum = 0
  #columnSum = 0

  constructor(rate: SessionRate, report: ReportEvent) {
    this.#rate = rate
    this.#report = report
    this.#samples = (rate / 1000) * BLOCK_MS
    this.#bank = new ToneBank([...ROWS, ...COLUMNS, ...GUARDS], rate, this.#samples)
    this.#block = new ToneBlock(this.#bank)
    this.#last = new ToneBlock(this.#bank)
  }

  process(view: FrameView): void {
    this.#take(view.pcm, 0, view.atMs)
    this.#take(view.pcm, this.#samples, view.atMs + BLOCK_MS)
  }

  #take(pcm: Int16Array, from: number, atMs: number): void {
    const block = this.#last
    this.#last = this.#block
    this.#block = block
    block.load(pcm, from, MIN_POWER * SILENCE * this.#samples)
    this.#window()
    if (this.#found !== this.#key && this.#found !== -1) {
      this.#end()
      this.#begin(atMs)
    } else if (this.#key !== -1) {
      this.#continue(atMs)
    }
  }

  /** Detects the digit of the last 20 ms. */
  #window(): void {
    this.#found = -1
    const total = this.#last.energy + this.#block.energy
    // Less than half a window at the minimum level: nothing to detect, which is most of a call.
    if (total < MIN_POWER * this.#samples) return
    const least = (MIN_SHARE * total) / (2 * this.#samples)
    this.#measure(ROWS.length)
    const row = this.#loudest(0)
    if (row === -1) return
    const low = this.#blockPower(row)
    // In most of the speech even the loudest high tone that the low one permits would be too little.
    if (low < MIN_POWER || low + low * MAX_HIGH_OVER_LOW < least) return
    this.#measure(ROWS.length + COLUMNS.length)
    const column = this.#loudest(4)
    if (column === -1) return
    const high = this.#blockPower(column)
    if (high < MIN_POWER || low + high < least) return
    if (high > low * MAX_HIGH_OVER_LOW || low > high * MAX_LOW_OVER_HIGH) return
    if (column === TOP) {
      this.#measure(this.#bank.count)
      const own = this.#windowPower(TOP)
      if (this.#windowPower(TOP + 1) > own || this.#windowPower(TOP + 2) > own) return
    }
    const rowDeviation = this.#deviation(row, ROWS[row] as number)
    const columnDeviation = this.#deviation(column, COLUMNS[column - 4] as number)
    if (Math.abs(rowDeviation) > MAX_DEVIATION || Math.abs(columnDeviation) > MAX_DEVIATION) return
    this.#rowDeviation = rowDeviation
    this.#columnDeviation = columnDeviation
    this.#found = row * 4 + column - 4
  }

  /** Computes the amplitudes of the first `count` tones in both blocks. */
  #measure(count: number): void {
    this.#last.measure(count)
    this.#block.measure(count)
  }

  /** Returns the loudest of four tones in the window, or -1 when another one is nearly as loud. */
  #loudest(first: number): number {
    let best = -1
    let most = 0
    let next = 0
    for (let k = first; k < first + 4; k++) {
      const power = this.#windowPower(k)
      if (power > most) {
        next = most
        most = power
        best = k
      } else if (power > next) next = power
    }
    return most > next * GROUP_RATIO ? best : -1
  }

  /** Returns the power of both blocks as one window of 20 ms. */
  #windowPower(k: number): number {
    const { re, im } = this.#block
    const { rotationRe, rotationIm } = this.#bank
    const a = re[k] as number
    const b = im[k] as number
    const c = rotationRe[k] as number
    const d = rotationIm[k] as number
    const sumRe = (this.#last.re[k] as number) + a * c - b * d
    const sumIm = (this.#last.im[k] as number) + a * d + b * c
    return sumRe * sumRe + sumIm * sumIm
  }

  /** Returns the mean power of the two blocks, which is less sensitive to a deviation of the frequency. */
  #blockPower(k: number): number {
    return (powerAt(this.#last, k) + powerAt(this.#block, k)) / (this.#samples * this.#samples)
  }

  /** Returns the deviation of the tone from `hertz`, as a share of `hertz`. */
  #deviation(k: number, hertz: number): number {
    const { re, im } = this.#block
    const { rotationRe, rotationIm } = this.#bank
    const a = re[k] as number
    const b = im[k] as number
    const c = rotationRe[k] as number
    const d = rotationIm[k] as number
    // Compares the phase of this block, rotated to the start of the previous one, with the previous block.
    const nowRe = a * c - b * d
    const nowIm = a * d + b * c
    const thenRe = this.#last.re[k] as number
    const thenIm = this.#last.im[k] as number
    const angle = Math.atan2(nowIm * thenRe - nowRe * thenIm, nowRe * thenRe + nowIm * thenIm)
    return (angle * this.#rate) / (2 * Math.PI * this.#samples * hertz)
  }

  #begin(atMs: number): void {
    const key = this.#found
    this.#key = key
    this.#startMs = atMs - BLOCK_MS
    this.#lastMs = atMs + BLOCK_MS
    this.#windows = 1
    this.#misses = 0
    this.#rowSum = this.#rowDeviation
    this.#columnSum = this.#columnDeviation
    const before = amplitude(this.#last, key)
    const now = amplitude(this.#block, key)
    this.#peak = Math.max(before, now)
    this.#filled = before + now
    this.#pending = 0
  }

  #continue(atMs: number): void {
    const now = amplitude(this.#block, this.#key)
    this.#pending += now
    if (this.#found === this.#key) {
      this.#windows++
      this.#misses = 0
      this.#lastMs = atMs + BLOCK_MS
      this.#rowSum += this.#rowDeviation
      this.#columnSum += this.#columnDeviation
      if (now > this.#peak) this.#peak = now
      this.#filled += this.#pending
      this.#pending = 0
      return
    }
    this.#misses++
    // The end of a tone that stops within a block belongs to the tone.
    if (this.#misses === 1) {
      this.#filled += this.#pending
      this.#pending = 0
    }
    if (this.#misses >= END_WINDOWS) this.#end()
  }

  #end(): void {
    const key = this.#key
    if (key === -1) return
    this.#key = -1
    // Length at full level: the first and the last block are partly silence.
    const toneMs = (this.#filled / this.#peak) * BLOCK_MS
    if (toneMs < MIN_TONE_MS || this.#windows < MIN_WINDOWS) return
    if (Math.abs(this.#rowSum / this.#windows) > MAX_MEAN_DEVIATION) return
    if (Math.abs(this.#columnSum / this.#windows) > MAX_MEAN_DEVIATION) return
    this.#report({
      type: 'digit',
      digit: KEYS[key] as Digit,
      startMs: this.#startMs,
      durationMs: Math.round(Math.min(toneMs, this.#lastMs - this.#startMs)),
    })
  }
}

/** Returns the amplitude of both tones of a digit in a block. */
function amplitude(block: ToneBlock, key: number): number {
  block.measure(ROWS.length + COLUMNS.length)
  return Math.sqrt(powerAt(block, key >> 2) + powerAt(block, ROWS.length + (key & 3)))
}

function powerAt({ re, im }: ToneBlock, k: number): number {
  return (re[k] as number) ** 2 + (im[k] as number) ** 2
}
