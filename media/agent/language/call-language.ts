import type { TurnId } from '../conversation-events.js'
import { detectLanguage, initialLanguage, type LanguageState, languageAfterTurn } from './caller-language.js'

/** The language of one call, as everybody who speaks or listens on it asks for it. */
export class CallLanguage {
  readonly #languages: readonly string[]
  readonly #translated: boolean
  #changed: (language: string) => void = () => {}
  #state: LanguageState
  /** Before the latest turn: a turn that grows is judged anew. */
  #before: LanguageState
  #turn: TurnId | null = null
  /** What the recogniser heard last. */
  #detected: string | null = null

  /** `translated`: recognition writes English, whatever is spoken. */
  constructor(languages: readonly string[], translated: boolean) {
    this.#languages = languages
    this.#translated = translated
    this.#state = initialLanguage(languages)
    this.#before = this.#state
  }

  get current(): string {
    return this.#state.current
  }

  /** Told after each change. */
  onChange(changed: (language: string) => void): void {
    this.#changed = changed
  }

  /** With each final text: what language the recogniser heard, null when it does not tell. */
  languageDetected(language: string | null): void {
    this.#detected = language
  }

  /** What the caller said in a turn that is being answered; again when more was said of the same turn. */
  callerSaid(turn: TurnId, text: string): void {
    if (turn !== this.#turn) this.#before = this.#state
    this.#turn = turn
    const before = this.#state.current
    this.#state = languageAfterTurn(this.#before, this.#spokenTurn(text), this.#languages)
    if (this.#state.current !== before) this.#changed(this.#state.current)
  }

  /** What the language of the call would be after `said`. */
  previewAfter(turn: TurnId, text: string): string {
    const before = turn === this.#turn ? this.#before : this.#state
    return languageAfterTurn(before, this.#spokenTurn(text), this.#languages).current
  }

  /** The language of the caller's words; the call's when nothing tells. */
  languageOfText(text: string): string {
    return detectLanguage(this.#spokenTurn(text), this.#languages, this.current)?.language ?? this.current
  }

  #spokenTurn(text: string) {
    return { text, detected: this.#detected, translated: this.#translated }
  }
}
