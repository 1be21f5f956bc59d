import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { TURN_DETECTOR_MS, type TurnDetector, type TurnDetectorStream } from '../../vad/turn-detector.js'
import type { Vad } from '../../vad/vad.js'
import type { TurnContext } from '../turn/turn-context.js'

/**
 * Silence (ms) after which the turn detector is asked. The VAD reports the end of speech 100 ms later, so a
 * timely estimate adds no delay.
 */
export const ESTIMATE_AFTER_MS = 200
/** Audio before the first detected sound: breath and soft onsets. */
const LEAD_MS = 300

/**
 * Asks the turn detector in each of the caller's pauses whether the caller has finished. Feeds the estimate,
 * which shortens or extends the endpointing delay.
 */
export class EndpointingDelay {
  readonly #stream: TurnDetectorStream
  readonly #turnContext: TurnContext
  /** Last voiced sample before the pause that was last asked about. */
  #askedMs = Number.NaN

  constructor(model: TurnDetector, rate: SessionRate, turnContext: TurnContext) {
    this.#stream = model.open(rate)
    this.#turnContext = turnContext
  }

  /** Processes a frame (20 ms) after the VAD has. */
  process(pcm: Int16Array, atMs: number, detector: Vad): void {
    this.#stream.push(pcm)
    const { lastVoicedMs, speaking } = detector
    const endMs = atMs + FRAME_MS
    if (!speaking || lastVoicedMs === this.#askedMs || endMs - lastVoicedMs < ESTIMATE_AFTER_MS) return
    const turnContext = this.#turnContext
    if (turnContext.phase !== 'callerSpeaking') return
    this.#askedMs = lastVoicedMs
    const sinceMs = turnContext.callerStartMs ?? detector.onsetMs
    this.#stream.ask(Math.min(TURN_DETECTOR_MS, endMs - sinceMs + LEAD_MS), (probability) => {
      if (turnContext.phase !== 'ended')
        turnContext.feed({ type: 'turnEstimate', lastVoicedMs, probability, atMs: turnContext.now() })
    })
  }

  /** Closes the detector's stream. Idempotent. */
  close(): void {
    this.#stream.close()
  }
}
