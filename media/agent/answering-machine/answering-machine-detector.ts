import type { DetectorEvent } from '../../detect/events.js'
import { classifyGreeting, type GreetingKind } from './greeting-words.js'

/** The party that answered an outbound call. */
export type AnsweredBy = 'human' | GreetingKind | 'fax' | 'unknown'

export interface AnswerVerdict {
  readonly by: AnsweredBy
  /**
   * Evidence of the verdict: words, a voicemail beep, a fax tone, the length of the greeting, the end of the
   * window, or a network tone that was taken for a greeting.
   */
  readonly evidence: 'words' | 'beep' | 'fax' | 'greeting' | 'time' | 'tone'
}

/** A person's hello is shorter and is followed by a wait. */
const SHORT_GREETING_MS = 2500
const SILENCE_MS = 500
/** A beep follows a greeting of at least this length. */
const MIN_GREETING_MS = 700
/** After the window, a beep still tells a voicemail from a person with a long greeting. */
const BEEP_WINDOW_MS = 30_000
/** Characters of an announcement to keep across its pauses. */
const MAX_TRANSCRIPT = 300

/**
 * Detects who answered an outbound call from its first seconds. A short greeting followed by silence is a
 * person; typical words or tones are a machine. The verdict changes when an apparent person proves to be a
 * machine within the window. Times are session ms, supplied by the caller.
 */
export class AnsweringMachineDetector {
  readonly #windowMs: number
  #verdict: AnswerVerdict | null = null
  #firstOnsetMs: number | null = null
  #lastVoicedMs = 0
  #speaking = false
  #spokenMs = 0
  #onsetMs = 0
  #transcript = ''
  /** A network tone was heard. Tones look like short greetings, so only words prove a person now. */
  #networkTone = false
  #settled = false

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  get verdict(): AnswerVerdict | null {
    return this.#verdict
  }

  /** True if the verdict is final. */
  get settled(): boolean {
    return this.#settled
  }

  onset(atMs: number): void {
    this.#firstOnsetMs ??= atMs
    this.#onsetMs = atMs
    this.#speaking = true
  }

  offset(lastVoicedMs: number): void {
    this.#speaking = false
    this.#lastVoicedMs = lastVoicedMs
    this.#spokenMs += Math.max(0, lastVoicedMs - this.#onsetMs)
  }

  /** Handles partial or final words. Returns the new verdict, or null when it stays. */
  words(text: string, atMs: number, final = false): AnswerVerdict | null {
    if (this.#settled || atMs > this.#windowMs + SHORT_GREETING_MS) return null
    const transcript = `${this.#transcript} ${text}`.slice(-MAX_TRANSCRIPT)
    if (final) this.#transcript = transcript
    const by = classifyGreeting(transcript, final)
    if (by !== null) return this.#decide({ by, evidence: 'words' })
    return this.#networkTone && text !== '' ? this.#decide({ by: 'human', evidence: 'words' }) : null
  }

  /** Handles a sound other than speech. Returns the new verdict, or null when it stays. */
  detected(event: DetectorEvent): AnswerVerdict | null {
    switch (event.type) {
      case 'beep':
        return this.beep(event.startMs)
      case 'fax':
        return this.fax()
      case 'progress':
      case 'information_tone':
        return this.tone()
      default:
        return null
    }
  }

  /** Handles ringing, busy and information tones: the apparent greeting was a tone. */
  tone(): AnswerVerdict | null {
    this.#networkTone = true
    this.#spokenMs = 0
    if (this.#settled || this.#verdict === null || this.#verdict.evidence === 'words') return null
    return this.#decide({ by: 'unknown', evidence: 'tone' })
  }

  beep(startMs: number): AnswerVerdict | null {
    if (this.#settled || startMs > BEEP_WINDOW_MS) return null
    const spoken = this.#spokenMs + (this.#speaking ? startMs - this.#onsetMs : 0)
    // A beep without a greeting before it is a network tone.
    return spoken < MIN_GREETING_MS ? null : this.#decide({ by: 'voicemail', evidence: 'beep' })
  }

  fax(): AnswerVerdict | null {
    return this.#settled ? null : this.#decide({ by: 'fax', evidence: 'fax' })
  }

  /** Handles the passing of time, once per frame. */
  tick(atMs: number): AnswerVerdict | null {
    if (this.#settled) return null
    const first = this.#firstOnsetMs
    if (this.#verdict === null && !this.#networkTone && first !== null && !this.#speaking) {
      const short = this.#lastVoicedMs - first <= SHORT_GREETING_MS
      if (short && atMs - this.#lastVoicedMs >= SILENCE_MS)
        return this.#decide({ by: 'human', evidence: 'greeting' })
    }
    if (atMs < this.#windowMs) return null
    if (this.#verdict === null) {
      return this.#decide({ by: first === null || this.#networkTone ? 'unknown' : 'human', evidence: 'time' })
    }
    if (atMs >= BEEP_WINDOW_MS) this.#settled = true
    return null
  }

  #decide(verdict: AnswerVerdict): AnswerVerdict | null {
    // A machine stays a machine.
    if (this.#verdict !== null && this.#verdict.by !== 'human' && this.#verdict.by !== 'unknown') return null
    if (this.#verdict?.by === verdict.by) return null
    this.#verdict = verdict
    if (verdict.by === 'voicemail' || verdict.by === 'fax') this.#settled = true
    return verdict
  }
}
