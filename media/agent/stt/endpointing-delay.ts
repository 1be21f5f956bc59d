import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { TURN_DETECTOR_MS, type TurnDetector, type TurnDetectorStream } from '../../vad/turn-detector.js'
import type { Vad } from '../../vad/vad.js'
import type { TurnContext } from '../turn/turn-context.js'

/**
 * Silence (ms) after which the turn detector is asked: longer than the closure of a plosive, and 180 ms before
 * the VAD reports the end of speech, so that a timely estimate adds no delay.
 */
export const ESTIMATE_AFTER_MS = 120
/** Silence (ms) after which it is asked once more while the turn is open: longer silence is better evidence. */
export const ESTIMATE_AGAIN_AFTER_MS = 400
/** Audio before the first detected sound: breath and soft onsets. */
const LEAD_MS = 300

/**
 * Asks the turn detector in each of the caller's pauses whether the caller has finished. Feeds the estimate,
 * which shortens or extends the endpointing delay, as long as the pause lasts and the turn is not decided.
 */
export class EndpointingDelay {
  readonly #stream: TurnDetectorStream
  readonly #turnContext: TurnContext
  /** Last voiced sample before the pause that was last asked about, and the silence (ms) for its next question. */
  #askedMs = Number.NaN
  #nextAfterMs: number = ESTIMATE_AFTER_MS
  #pending = false

  constructor(model: TurnDetector, rate: SessionRate, turnContext: TurnContext) {
    this.#stream = model.open(rate)
    this.#turnContext = turnContext
  }

  /** Processes a frame (20 ms) after the VAD has. */
  process(pcm: Int16Array, atMs: number, detector: Vad): void {
    this.#stream.push(pcm)
    const { lastVoicedMs } = detector
    const turnContext = this.#turnContext
    const { phase } = turnContext
    const open = phase === 'callerSpeaking' || phase === 'waitingFinal'
    if (this.#pending && (!open || lastVoicedMs !== this.#askedMs)) {
      this.#pending = false
      this.#stream.withdraw()
    }
    if (!open) return
    const newPause = lastVoicedMs !== this.#askedMs
    const endMs = atMs + FRAME_MS
    if (endMs - lastVoicedMs < (newPause ? ESTIMATE_AFTER_MS : this.#nextAfterMs)) return
    // A turn that waits for its text has no pause that was not asked about before.
    if (newPause && phase !== 'callerSpeaking') return
    this.#askedMs = lastVoicedMs
    this.#nextAfterMs = newPause ? ESTIMATE_AGAIN_AFTER_MS : Number.POSITIVE_INFINITY
    // The first question still runs: a second one would only wait behind it.
    if (this.#pending) return
    this.#pending = true
    const sinceMs = turnContext.callerStartMs ?? detector.onsetMs
    this.#stream.ask(Math.min(TURN_DETECTOR_MS, endMs - sinceMs + LEAD_MS), (probability) => {
      this.#pending = false
      if (turnContext.phase !== 'ended')
        turnContext.feed({ type: 'turnEstimate', lastVoicedMs, probability, atMs: turnContext.now() })
    })
  }

  /** Closes the detector's stream. Idempotent. */
  close(): void {
    this.#stream.close()
  }
}
