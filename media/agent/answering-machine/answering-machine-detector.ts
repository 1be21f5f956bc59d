import type { DetectorEvent } from '../../detect/events.js'
import { classifyGreeting, type GreetingKind } from './greeting-words.js'

/** Who or what took a call that we made. */
export type AnsweredBy = 'human' | GreetingKind | 'fax' | 'unknown'

export interface AnswerVerdict {
  readonly by: AnsweredBy
  /**
   * What decided: words, the tone of a recorder, a fax machine's tone, how long the greeting was, time; or
   * the greeting was no voice but a tone of the network.
   */
  readonly evidence: 'words' | 'beep' | 'fax' | 'greeting' | 'time' | 'tone'
}

/** A person says hello in less, and then waits. */
const SHORT_GREETING_MS = 2500
const WAITS_MS = 500
/** A recorder's tone follows a greeting, however short. */
const LEAST_GREETING_MS = 700
/** After the window, a tone still tells a recorder from a person who spoke long. */
const BEEP_WINDOW_MS = 30_000
/** An announcement is remembered over its pauses, by so many letters. */
const REMEMBERED = 300

/**
 * Listens to the first seconds of an outbound call and says who answered: a person as soon as a short
 * greeting is over, a machine as soon as its words or its tone give it away. A person who turns out to
 * be a machine within the window is corrected. Times are session ms; the shell brings them.
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
  /** The network was heard: its tones look like short greetings, so only words tell a person now. */
  #networkTone = false
  #settled = false

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  get verdict(): AnswerVerdict | null {
    return this.#verdict
  }

  /** Nothing can change the verdict any more. */
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

  /** Partial or final words of the far side. The new verdict, or null when it stays. */
  words(text: string, atMs: number, final = false): AnswerVerdict | null {
    if (this.#settled || atMs > this.#windowMs + SHORT_GREETING_MS) return null
    const said = `${this.#transcript} ${text}`.slice(-REMEMBERED)
    if (final) this.#transcript = said
    const by = classifyGreeting(said, final)
    if (by !== null) return this.#decide({ by, evidence: 'words' })
    return this.#networkTone && text !== '' ? this.#decide({ by: 'human', evidence: 'words' }) : null
  }

  /** A sound other than speech. The new verdict, or null when it stays. */
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

  /** Ringing, busy, the tones before an announcement: what was taken for a greeting was none. */
  tone(): AnswerVerdict | null {
    this.#networkTone = true
    this.#spokenMs = 0
    if (this.#settled || this.#verdict === null || this.#verdict.evidence === 'words') return null
    return this.#decide({ by: 'unknown', evidence: 'tone' })
  }

  beep(startMs: number): AnswerVerdict | null {
    if (this.#settled || startMs > BEEP_WINDOW_MS) return null
    const spoken = this.#spokenMs + (this.#speaking ? startMs - this.#onsetMs : 0)
    // Without a greeting before it, it is a tone of the network.
    return spoken < LEAST_GREETING_MS ? null : this.#decide({ by: 'voicemail', evidence: 'beep' })
  }

  fax(): AnswerVerdict | null {
    return this.#settled ? null : this.#decide({ by: 'fax', evidence: 'fax' })
  }

  /** Every frame: what time alone tells. */
  tick(atMs: number): AnswerVerdict | null {
    if (this.#settled) return null
    const first = this.#firstOnsetMs
    if (this.#verdict === null && !this.#networkTone && first !== null && !this.#speaking) {
      const short = this.#lastVoicedMs - first <= SHORT_GREETING_MS
      if (short && atMs - this.#lastVoicedMs >= WAITS_MS)
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
    // A machine is a machine, whatever it says next.
    if (this.#verdict !== null && this.#verdict.by !== 'human' && this.#verdict.by !== 'unknown') return null
    if (this.#verdict?.by === verdict.by) return null
    this.#verdict = verdict
    if (verdict.by === 'voicemail' || verdict.by === 'fax') this.#settled = true
    return verdict
  }
}
