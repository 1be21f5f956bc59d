import type { ScriptedUtterance, SpeakerScript, TimedWord } from '../../agent-spec.js'

/** One scripted utterance laid over session time. */
export interface AlignedUtterance {
  readonly utterance: ScriptedUtterance
  /** Session ms of the labelled first and last voiced sample. */
  readonly startMs: number
  readonly endMs: number
  /** In session ms. */
  readonly words: readonly TimedWord[]
}

/**
 * Lays a simulated speaker's script over the speech that was really received: each onset places the
 * next utterance, unless it falls inside the one placed last (a pause between its words). Knows no
 * clock and hears nothing itself.
 */
export class ScriptTimeline {
  readonly #script: SpeakerScript
  #next = 0
  #current: AlignedUtterance | null = null

  constructor(script: SpeakerScript) {
    this.#script = script
  }

  get current(): AlignedUtterance | null {
    return this.#current
  }

  /** Speech began at session ms `atMs`. Null when the speaker has nothing more to say. */
  onset(atMs: number): { readonly placed: AlignedUtterance; readonly continued: boolean } | null {
    const current = this.#current
    if (current !== null && atMs < current.endMs) return { placed: current, continued: true }
    const utterance = this.#take()
    if (utterance === null) {
      this.#current = null
      return null
    }
    const shift = atMs - utterance.onsetMs
    const placed: AlignedUtterance = {
      utterance,
      startMs: atMs,
      endMs: utterance.offsetMs + shift,
      words: utterance.words.map((word) => ({
        text: word.text,
        startMs: word.startMs + shift,
        endMs: word.endMs + shift,
      })),
    }
    this.#current = placed
    return { placed, continued: false }
  }

  /**
   * A sound from `startMs` to `endMs` was not taken for speech. When it was long enough to be the
   * next utterance (a cough, say), that utterance is used up; otherwise it was something else.
   */
  unvoiced(startMs: number, endMs: number): void {
    if (this.#current !== null && startMs < this.#current.endMs) return
    const utterance = this.#peek()
    if (utterance !== null && endMs - startMs >= (utterance.offsetMs - utterance.onsetMs) / 2) this.#take()
  }

  #peek(): ScriptedUtterance | null {
    const { utterances, repeatFrom } = this.#script
    if (this.#next >= utterances.length && repeatFrom !== undefined) this.#next = repeatFrom
    return utterances[this.#next] ?? null
  }

  #take(): ScriptedUtterance | null {
    const utterance = this.#peek()
    if (utterance !== null) this.#next++
    return utterance
  }
}
