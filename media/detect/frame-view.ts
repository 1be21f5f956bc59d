import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { ToneMeter } from './tone-meter.js'

/** Power of a full-scale sine, the reference of levels in dB. */
export const FULL_SCALE_POWER = 32768 ** 2 / 2

export function powerOfDb(db: number): number {
  return FULL_SCALE_POWER * 10 ** (db / 10)
}

/** One frame for all detectors of a party. Values that several detectors need are computed once. */
export class FrameView {
  readonly rate: SessionRate
  /** Exactly 20 ms. Borrowed. */
  pcm: Int16Array
  /** Session time of the first sample (ms). */
  atMs = 0
  /** Mean square of the samples. */
  power = 0
  /** Largest magnitude of a sample. */
  peak = 0
  /** Packet counts of the leg so far, and whether the peer may send. The owner updates them now and then. */
  readonly traffic = { sent: 0, received: 0, expected: false }
  readonly #tone: ToneMeter
  #toneMeasured = false

  constructor(rate: SessionRate) {
    this.rate = rate
    this.pcm = new Int16Array((rate / 1000) * FRAME_MS)
    this.#tone = new ToneMeter(rate)
  }

  load(pcm: Int16Array, atMs: number): void {
    this.pcm = pcm
    this.atMs = atMs
    let sum = 0
    let peak = 0
    for (let i = 0; i < pcm.length; i++) {
      const sample = pcm[i] as number
      const square = sample * sample
      sum += square
      if (square > peak) peak = square
    }
    this.power = sum / pcm.length
    this.peak = Math.sqrt(peak)
    this.#toneMeasured = false
  }

  /** The single tone of this frame. */
  get tone(): ToneMeter {
    if (!this.#toneMeasured) {
      this.#tone.measure(this.pcm, this.power)
      this.#toneMeasured = true
    }
    return this.#tone
  }
}
