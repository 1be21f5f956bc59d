import type { Clock, Timer } from '../../base/clock.js'
import type { SessionRate } from '../../base/frame.js'
import type { AgentSpec } from '../agent-spec.js'
import { languageOf } from '../language/text-language.js'
import type { Cancellable } from '../vendor-ports.js'
import type { SpokenWord } from './heard-text.js'
import type { PhraseCache, PreparedPhrase } from './phrase-cache.js'
import { enginePhrases } from './phrases.js'
import { type SentenceToSay, spokenSentences } from './spoken-sentences.js'
import type { Synthesiser, VoiceChoice } from './synthesis.js'

/** Longest time that the answer of a call waits for its opening line. The rest is synthesised live. */
const PREPARE_LIMIT_MS = 3000

export interface PhraseSentence extends SentenceToSay {
  readonly prepared: PreparedPhrase | null
}

/** Synthesises known phrases before they are needed. */
export class PhrasePreparation {
  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #synthesiser: Synthesiser
  readonly #clock: Clock
  readonly #requested: (choice: VoiceChoice, characters: number) => void
  readonly #cache: PhraseCache
  /** Phrases of this call. They stay until it ends, independent of the cache. */
  readonly #own = new Map<string, PreparedPhrase>()
  #job: Cancellable | null = null
  #limit: Timer | null = null
  #prepared: (() => void) | null = null
  #closed = false
  /** Prepared after the current job. */
  #due: readonly string[] = []
  /** Current language of the call. */
  #language: string

  constructor(options: {
    readonly spec: AgentSpec
    readonly rate: SessionRate
    readonly cache: PhraseCache
    readonly synthesiser: Synthesiser
    readonly clock: Clock
    /** Text is sent to a vendor. */
    readonly requested: (choice: VoiceChoice, characters: number) => void
  }) {
    this.#spec = options.spec
    this.#rate = options.rate
    this.#synthesiser = options.synthesiser
    this.#clock = options.clock
    this.#requested = options.requested
    this.#cache = options.cache
    this.#language = options.spec.languages[0] ?? 'en-IN'
  }

  /**
   * Synthesises the opening line in bounded time. Then, without waiting, prepares the phrases for failures.
   */
  prepare(): Promise<void> {
    const { openingLine, hangupLine, languages } = this.#spec
    const opening = this.#texts(openingLine ?? '')
    const later = [...this.#linesOf(languages[0] ?? ''), hangupLine ?? ''].flatMap((phrase) =>
      this.#texts(phrase),
    )
    return new Promise((resolve) => {
      if (this.#closed) {
        resolve()
        return
      }
      this.#prepared = resolve
      this.#limit = this.#clock.after(PREPARE_LIMIT_MS, resolve)
      this.#each(opening, () => {
        this.#limit?.cancel()
        resolve()
        this.#each(later, () => this.#prepareDue())
      })
    })
  }

  /** Prepares the phrases for failures in another language, without waiting. */
  prepareFor(language: string): void {
    this.#language = language
    this.#due = this.#linesOf(language).flatMap((phrase) => this.#texts(phrase))
    if (this.#job === null) this.#prepareDue()
  }

  /** Returns the phrases of a language that may be needed at once. */
  #linesOf(language: string): readonly string[] {
    const { failure, wait, goodbye, listening, following } = enginePhrases(language)
    const heard = this.#spec.turnTaking?.backchannels ? [listening, following] : []
    // Those for a vendor failure, including the goodbye, come last: they are needed less often.
    return [...heard, failure, wait, goodbye]
  }

  #prepareDue(): void {
    const due = this.#due
    this.#due = []
    if (due.length > 0) this.#each(due, () => this.#prepareDue())
  }

  /** Stops all preparation. A pending `prepare` resolves. Idempotent. */
  close(): void {
    this.#closed = true
    this.#job?.cancel()
    this.#job = null
    this.#limit?.cancel()
    this.#prepared?.()
  }

  /** Returns the sentences of a phrase, with their audio when it is ready. */
  sentences(phrase: string): readonly PhraseSentence[] {
    return spokenSentences(phrase, this.#spec.languages, this.#language).map((sentence) => ({
      ...sentence,
      prepared: this.#find(this.#key(sentence.text, sentence.language)),
    }))
  }

  #texts(phrase: string): readonly string[] {
    return spokenSentences(phrase, this.#spec.languages, this.#language).map(({ text }) => text)
  }

  /** One at a time, because other calls use the same voices. */
  #each(texts: readonly string[], done: () => void): void {
    const [text, ...rest] = texts
    if (text === undefined || this.#closed) {
      done()
      return
    }
    const language = this.#languageOf(text)
    const key = this.#key(text, language)
    if (this.#find(key)) {
      this.#each(rest, done)
      return
    }
    const chunks: Int16Array[] = []
    const words: SpokenWord[] = []
    this.#job = this.#synthesiser.speak(
      text,
      language,
      {
        requested: this.#requested,
        audio: (pcm) => {
          chunks.push(pcm)
        },
        word: (word) => {
          words.push(word)
        },
        done: () => {
          this.#job = null
          const phrase = { text, pcm: joined(chunks), words }
          this.#own.set(key, phrase)
          // Other calls may still have the voice that this call lost.
          if (!this.#synthesiser.degraded) this.#cache.set(key, phrase)
          this.#each(rest, done)
        },
        // The failure was reported. The phrase is synthesised when it is needed.
        failed: () => {
          this.#job = null
          done()
        },
      },
      { patient: true },
    )
  }

  #languageOf(text: string): string {
    return languageOf(text, this.#spec.languages, this.#language)
  }

  #find(key: string): PreparedPhrase | null {
    const own = this.#own.get(key)
    if (own) return own
    const cached = this.#cache.get(key)
    if (cached) this.#own.set(key, cached)
    return cached
  }

  #key(text: string, language: string): string {
    const { vendor, model, voice, pace } = this.#spec.textToSpeech
    return JSON.stringify([vendor, model, voice, pace, this.#rate, language, text])
  }
}

function joined(chunks: readonly Int16Array[]): Int16Array {
  const pcm = new Int16Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    pcm.set(chunk, at)
    at += chunk.length
  }
  return pcm
}
