import { FRAME_MS, type SessionRate } from '../base/frame.js'
import type { Detector, DetectorOptions, ReportEvent } from './detector.js'
import { type FrameView, powerOfDb } from './frame-view.js'
import { ToneBank, ToneBlock } from './tone-bank.js'
import { similarDuration, TONE_PLANS, type ToneEntry } from './tone-plans.js'

/** Frequency bins every 25 Hz from 325 to 675 Hz. Over 40 ms they do not leak into each other. */
const FIRST_HERTZ = 325
const STEP_HERTZ = 25
const BINS = 15
const BAND = Array.from({ length: BINS }, (_, k) => FIRST_HERTZ + k * STEP_HERTZ)
const MIN_POWER = powerOfDb(-42)
/** Least share of the band in a frame's power, and of an entry's frequencies in a burst's power. */
const BAND_SHARE = 0.7
const ENTRY_SHARE = 0.72
/** Least share of each of two tones. */
const TONE_SHARE = 0.2
const MAX_MISSED = 1
/** The shortest burst of any plan has 225 ms. */
const MIN_BURST_MS = 150
/** No cadence of any plan has a pause this long. */
const OVER_MS = 5000
/** An entry with a pause this long needs only one burst and a second of silence as evidence. */
const LONG_PAUSE_MS = 1900
const PROOF_PAUSE_MS = 1000

interface Burst {
  startMs: number
  endMs: number
  ms: number
  readonly bins: Float64Array
  total: number
}

/**
 * Opens the detector of ringback, busy, congestion and number-unobtainable tones by frequency and cadence.
 */
export function openProgress({ rate, report }: DetectorOptions): Detector {
  return new ProgressDetector(rate, report)
}

class ProgressDetector implements Detector {
  readonly #report: ReportEvent
  readonly #bank: ToneBank
  readonly #samples: number
  #block: ToneBlock
  /** The last block within the burst. */
  #last: ToneBlock
  /** The current or last burst, and the one before it. */
  #burst: Burst = emptyBurst()
  #before: Burst = emptyBurst()
  #on = false
  #frames = 0
  #missed = 0
  #lastMs = 0
  #firstPower = 0
  #lastPower = 0
  #peak = 0
  #reported: ToneEntry | null = null

  constructor(rate: SessionRate, report: ReportEvent) {
    this.#report = report
    this.#samples = (rate / 1000) * FRAME_MS
    this.#bank = new ToneBank(BAND, rate, this.#samples)
    this.#block = new ToneBlock(this.#bank)
    this.#last = new ToneBlock(this.#bank)
  }

  process(view: FrameView): void {
    if (this.#isInBand(view)) this.#continue(view)
    else if (!this.#on) this.#onPause(view.atMs + FRAME_MS)
    // The trough of a soft modulated tone may be missed: no plan has a pause this short.
    else if (++this.#missed > MAX_MISSED) this.#end()
  }

  /** Returns true when the frame's power lies in the band. Only candidates are measured in full. */
  #isInBand(view: FrameView): boolean {
    // Half of the frames of a fully modulated tone are 8 dB softer than its mean.
    if (view.power < (this.#on ? MIN_POWER / 8 : MIN_POWER)) return false
    const { hertz } = view.tone
    if (hertz < FIRST_HERTZ || hertz > FIRST_HERTZ + (BINS - 1) * STEP_HERTZ) return false
    const block = this.#block
    block.load(view.pcm, 0)
    block.measure()
    let sum = 0
    for (let k = 0; k < BINS; k++) sum += (block.re[k] as number) ** 2 + (block.im[k] as number) ** 2
    // 20 ms resolve 50 Hz, but the bins are 25 Hz apart.
    return sum / this.#samples >= BAND_SHARE * block.energy
  }

  #continue(view: FrameView): void {
    if (!this.#on) {
      this.#on = true
      const burst = this.#before
      this.#before = this.#burst
      this.#burst = burst
      burst.startMs = view.atMs
      burst.bins.fill(0)
      burst.total = 0
      this.#frames = 0
      this.#firstPower = view.power
      this.#peak = 0
    } else if (this.#missed === 0) this.#addWindow()
    this.#missed = 0
    this.#frames++
    this.#lastMs = view.atMs
    this.#lastPower = view.power
    if (view.power > this.#peak) this.#peak = view.power
    const before = this.#last
    this.#last = this.#block
    this.#block = before
  }

  /** Adds this frame and the previous one as one window. */
  #addWindow(): void {
    const { re, im } = this.#block
    const last = this.#last
    const { rotationRe, rotationIm } = this.#bank
    const { bins } = this.#burst
    let total = 0
    for (let k = 0; k < BINS; k++) {
      const a = re[k] as number
      const b = im[k] as number
      const c = rotationRe[k] as number
      const d = rotationIm[k] as number
      const sumRe = (last.re[k] as number) + a * c - b * d
      const sumIm = (last.im[k] as number) + a * d + b * c
      const power = sumRe * sumRe + sumIm * sumIm
      bins[k] = (bins[k] as number) + power
      total += power
    }
    this.#burst.total += total
  }

  #end(): void {
    this.#on = false
    const burst = this.#burst
    // Share of the first and of the last frame that the tone filled, by power.
    const first = Math.min(1, this.#firstPower / this.#peak)
    const last = Math.min(1, this.#lastPower / this.#peak)
    burst.startMs += (1 - first) * FRAME_MS
    burst.endMs = this.#lastMs + last * FRAME_MS
    burst.ms = burst.endMs - burst.startMs
    if (burst.ms < MIN_BURST_MS || this.#frames < 3) {
      this.#reset()
      return
    }
    const entry = this.#twoBursts()
    if (entry !== null) this.#detected(entry, this.#before.startMs)
    else if (this.#reported !== null && !fits(burst, this.#reported)) this.#reported = null
  }

  #onPause(nowMs: number): void {
    const burst = this.#burst
    if (burst.ms === 0) return
    const pauseMs = nowMs - burst.endMs
    if (pauseMs > OVER_MS) {
      this.#reset()
      return
    }
    if (this.#reported !== null || pauseMs < PROOF_PAUSE_MS || pauseMs >= PROOF_PAUSE_MS + FRAME_MS) return
    for (const entry of TONE_PLANS) {
      const [on = 0, off = 0, more] = entry.cadence
      if (more !== undefined || off < LONG_PAUSE_MS || !similarDuration(burst.ms, on) || !fits(burst, entry))
        continue
      this.#detected(entry, burst.startMs)
      return
    }
  }

  /** Returns the entry whose cadence matches the last two bursts and the pause between them. */
  #twoBursts(): ToneEntry | null {
    const [first, second] = [this.#before, this.#burst]
    if (first.ms === 0) return null
    const pauseMs = second.startMs - first.endMs
    for (const entry of TONE_PLANS) {
      const { cadence } = entry
      for (let i = 0; i < cadence.length; i += 2) {
        const next = cadence[(i + 2) % cadence.length] ?? 0
        if (!similarDuration(first.ms, cadence[i] ?? 0) || !similarDuration(pauseMs, cadence[i + 1] ?? 0))
          continue
        if (similarDuration(second.ms, next) && fits(first, entry) && fits(second, entry)) return entry
      }
    }
    return null
  }

  #detected(entry: ToneEntry, startMs: number): void {
    if (this.#reported?.tone === entry.tone && this.#reported.plan === entry.plan) return
    this.#reported = entry
    this.#report({ type: 'progress', tone: entry.tone, plan: entry.plan, startMs: Math.round(startMs) })
  }

  #reset(): void {
    this.#burst.ms = 0
    this.#before.ms = 0
    this.#reported = null
  }
}

function emptyBurst(): Burst {
  return { startMs: 0, endMs: 0, ms: 0, bins: new Float64Array(BINS), total: 0 }
}

/** Returns true when the power of the burst lies at the frequencies of the entry, at each of them. */
function fits(burst: Burst, entry: ToneEntry): boolean {
  const reach = entry.modulated ? 34 : 20
  // Two sidebands belong to the carrier, which must be the strongest.
  if (entry.modulated && Math.abs(strongest(burst.bins) - (entry.hertz[0] ?? 0)) > STEP_HERTZ / 2)
    return false
  let sum = 0
  for (const hertz of entry.hertz) {
    let own = 0
    for (let k = 0; k < BINS; k++) {
      if (Math.abs((BAND[k] ?? 0) - hertz) < reach) own += burst.bins[k] as number
    }
    if (entry.hertz.length > 1 && own < TONE_SHARE * burst.total) return false
    sum += own
  }
  return burst.total > 0 && sum >= ENTRY_SHARE * burst.total
}

function strongest(bins: Float64Array): number {
  let best = 0
  for (let k = 1; k < bins.length; k++) if ((bins[k] as number) > (bins[best] as number)) best = k
  return BAND[best] ?? 0
}
