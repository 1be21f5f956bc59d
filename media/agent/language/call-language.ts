import type { TurnId } from '../conversation-events.js'
import { detectLanguage, initialLanguage, type LanguageState, languageAfterTurn } from './caller-language.js'

/** The language of one call, shared by speech and recognition. */
export class CallLanguage {
  readonly #languages: readonly string[]
  readonly #translated: boolean
  #changed: (language: string) => void = () => {}
  #state: LanguageState
  /** State before the latest turn, which is evaluated again when the turn grows. */
  #before: LanguageState
  #turn: TurnId | null = null
  /** Language that the recogniser detected last. */
  #detected: string | null = null

  /** `translated`: recognition writes English, independent of the spoken language. */
  constructor(languages: readonly string[], translated: boolean) {
    this.#languages = languages
    this.#translated = translated
    this.#state = initialLanguage(languages)
    this.#before = this.#state
  }

  get current(): string {
    return this.#state.current
  }

  /** Calls `changed` after each change. */
  onChange(changed: (language: string) => void): void {
    this.#changed = changed
  }

  /** Records the language detected with a final text. Null when the recogniser reports none. */
  languageDetected(language: string | null): void {
    this.#detected = language
  }

  /** Updates the language from a turn that is being answered. Call again when the turn grows. */
  callerSaid(turn: TurnId, text: string): void {
    if (turn !== this.#turn) this.#before = this.#state
    this.#turn = turn
    const before = this.#state.current
    this.#state = languageAfterTurn(this.#before, this.#spokenTurn(text), this.#languages)
    if (this.#state.current !== before) this.#changed(this.#state.current)
  }

  /** Returns the language of the call after `callerSaid` with the same turn. */
  previewAfter(turn: TurnId, text: string): string {
    const before = turn === this.#turn ? this.#before : this.#state
    return languageAfterTurn(before, this.#spokenTurn(text), this.#languages).current
  }

  /** Returns the language of the caller's words, or the call's when they do not tell. */
  languageOfText(text: string): string {
    return detectLanguage(this.#spokenTurn(text), this.#languages, this.current)?.language ?? this.current
  }

  #spokenTurn(text: string) {
    return { text, detected: this.#detected, translated: this.#translated }
  }
}
