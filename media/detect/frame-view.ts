import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { ToneMeter } from './tone-meter.js'

/** Power of a full-scale sine: levels in dB are relative to it. */
export const FULL_SCALE_POWER = 32768 ** 2 / 2

export function powerOfDb(db: number): number {
  return FULL_SCALE_POWER * 10 ** (db / 10)
}

/** One frame as all detectors of a party see it: what several of them need is measured once. */
export class FrameView {
  readonly rate: SessionRate
  /** Exactly 20 ms; borrowed. */
  pcm: Int16Array
  /** Session ms of the first sample. */
  atMs = 0
  /** Mean square of the samples. */
  power = 0
  /** Packets of the party's leg so far, and whether it may send; set by the owner now and then. */
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
    for (let i = 0; i < pcm.length; i++) {
      const sample = pcm[i] as number
      sum += sample * sample
    }
    this.power = sum / pcm.length
    this.#toneMeasured = false
  }

  /** The single tone in this frame, if it is one. */
  get tone(): ToneMeter {
    if (!this.#toneMeasured) {
      this.#tone.measure(this.pcm, this.power)
      this.#toneMeasured = true
    }
    return this.#tone
  }
}
