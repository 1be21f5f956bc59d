import type { ScriptedUtterance, SpeakerScript, TimedWord } from '../../agent/agent-spec.js'

/** A scripted utterance aligned to session time. */
export interface AlignedUtterance {
  readonly utterance: ScriptedUtterance
  /** Session time (ms) of the labelled first and last voiced sample. */
  readonly startMs: number
  readonly endMs: number
  /** Words with session times (ms). */
  readonly words: readonly TimedWord[]
}

/**
 * Aligns a simulated speaker's script to the speech that was received: each onset starts the next utterance,
 * unless it falls inside the current one (a pause between words). Uses no clock and no audio.
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

  /** Marks the start of speech at session time `atMs` (ms). Returns null when the script is finished. */
  onset(atMs: number): { readonly aligned: AlignedUtterance; readonly continued: boolean } | null {
    const current = this.#current
    if (current !== null && atMs < current.endMs) return { aligned: current, continued: true }
    const utterance = this.#take()
    if (utterance === null) {
      this.#current = null
      return null
    }
    const shift = atMs - utterance.onsetMs
    const aligned: AlignedUtterance = {
      utterance,
      startMs: atMs,
      endMs: utterance.offsetMs + shift,
      words: utterance.words.map((word) => ({
        text: word.text,
        startMs: word.startMs + shift,
        endMs: word.endMs + shift,
      })),
    }
    this.#current = aligned
    return { aligned, continued: false }
  }

  /**
   * Marks audio from `startMs` to `endMs` that the VAD did not take for speech. If it is long enough to be
   * the next utterance (a cough, for example), that utterance is consumed.
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
