import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { TURN_DETECTOR_MS, type TurnDetector, type TurnDetectorStream } from '../../vad/turn-detector.js'
import type { Vad } from '../../vad/vad.js'
import type { TurnContext } from '../turn/turn-context.js'

/**
 * A pause worth judging. The detector tells the end of speech 100 ms later: an answer in time is there
 * when the words are weighed, and costs no wait of its own.
 */
export const ESTIMATE_AFTER_MS = 200
/** Breath and soft beginnings before the first sound. */
const LEAD_MS = 300

/** Asks a model in each of the caller's pauses whether the caller has finished, and tells the machine. */
export class EndpointingDelay {
  readonly #stream: TurnDetectorStream
  readonly #turnContext: TurnContext
  /** The pause that was asked about, by the last sound before it. */
  #askedMs = Number.NaN

  constructor(model: TurnDetector, rate: SessionRate, floor: TurnContext) {
    this.#stream = model.open(rate)
    this.#turnContext = floor
  }

  /** After the detector heard the same 20 ms. */
  process(pcm: Int16Array, atMs: number, detector: Vad): void {
    this.#stream.push(pcm)
    const { lastVoicedMs, speaking } = detector
    const endMs = atMs + FRAME_MS
    if (!speaking || lastVoicedMs === this.#askedMs || endMs - lastVoicedMs < ESTIMATE_AFTER_MS) return
    const floor = this.#turnContext
    if (floor.phase !== 'callerSpeaking') return
    this.#askedMs = lastVoicedMs
    const sinceMs = floor.callerStartMs ?? detector.onsetMs
    this.#stream.ask(Math.min(TURN_DETECTOR_MS, endMs - sinceMs + LEAD_MS), (likely) => {
      if (floor.phase !== 'ended')
        floor.feed({ type: 'judged', lastVoicedMs, probability: likely, atMs: floor.now() })
    })
  }

  /** Idempotent. */
  close(): void {
    this.#stream.close()
  }
}
