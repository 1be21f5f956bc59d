import type { SpeakerScript, TimedWord } from '../../agent-spec.js'
import { contractTag } from '../../language/language-tags.js'
import type { SpeechToText, SpeechToTextEvents, SpeechToTextStream, Vendors } from '../../vendor-ports.js'
import { EMBEDDED } from '../catalogue.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { type AlignedUtterance, ScriptTimeline } from './script-timeline.js'

/** Mean amplitude above which received audio is a sound: idle A-law decodes to 8, quiet speech to 300. */
const SOUND = 60
/** A pause shorter than this does not end a sound. */
const SOUND_GAP_MS = 250
/** Labels and our VAD may differ by this much about where a word ends. */
const WORD_SLACK_MS = 60

/**
 * Opens the sandbox recogniser. Our VAD decides from the received audio when the caller speaks; the words
 * come from the word-timed script of a simulated caller. `script` is asked when a stream opens; while it
 * returns null, `understandsSpeech` is false and every final text is empty.
 */
export function sandboxSpeechToText(script: () => SpeakerScript | null = () => null): SpeechToText {
  return {
    id: EMBEDDED,
    open({ rate }, events) {
      const found = script()
      const scripted = found === null ? null : new ScriptedEar(found, rate, events)
      return openStream(scripted, events)
    },
  }
}

/** Returns the same vendors, with a sandbox recogniser that reads the script of one simulated caller. */
export function withSandboxScript(vendors: Vendors, script: () => SpeakerScript | null): Vendors {
  const recogniser = sandboxSpeechToText(script)
  return { ...vendors, speechToText: (id) => (id === EMBEDDED ? recogniser : vendors.speechToText(id)) }
}

function openStream(ear: ScriptedEar | null, events: SpeechToTextEvents): SpeechToTextStream {
  let closed = false
  return {
    capabilities: {
      partials: ear !== null,
      endOfUtterance: false,
      wordTimes: ear !== null,
      understandsSpeech: ear !== null,
      finalDeadlineMs: 100,
      understoodLanguages: VOICE_LANGUAGES,
      detectsLanguage: ear !== null,
    },
    write(pcm, atMs) {
      if (!closed) ear?.write(pcm, atMs)
    },
    utteranceStart(atMs) {
      if (!closed) ear?.utteranceStart(atMs)
    },
    utteranceEnd(atMs) {
      if (closed) return
      if (ear === null) events.final('', null)
      else ear.utteranceEnd(atMs)
    },
    close() {
      closed = true
    },
  }
}

class ScriptedEar {
  readonly #placement: ScriptTimeline
  readonly #events: SpeechToTextEvents
  readonly #msPerSample: number
  /** The utterance that the present speech belongs to, while our VAD hears speech. */
  #speaking: AlignedUtterance | null = null
  #inUtterance = false
  /** Words of the placed utterance that earlier finals have told. */
  #told = 0
  #partialWords = 0
  #soundStartMs = -1
  #soundEndMs = 0
  #soundVoiced = false

  constructor(script: SpeakerScript, rate: number, events: SpeechToTextEvents) {
    this.#placement = new ScriptTimeline(script)
    this.#events = events
    this.#msPerSample = 1000 / rate
  }

  write(pcm: Int16Array, atMs: number): void {
    const endMs = atMs + pcm.length * this.#msPerSample
    this.#listen(pcm, atMs, endMs)
    const placed = this.#speaking
    if (placed === null) return
    let heard = this.#told
    for (let i = this.#told; i < placed.words.length; i++) {
      const word = placed.words[i]
      if (word === undefined || word.endMs > endMs) break
      heard = i + 1
    }
    if (heard - this.#told <= this.#partialWords) return
    this.#partialWords = heard - this.#told
    this.#events.partial(
      textOf(placed.words.slice(this.#told, heard)),
      contractTag(placed.utterance.language),
    )
  }

  utteranceStart(atMs: number): void {
    this.#inUtterance = true
    this.#soundVoiced = true
    const onset = this.#placement.onset(atMs)
    if (onset === null || !onset.continued) this.#told = 0
    this.#speaking = onset?.placed ?? null
    this.#partialWords = 0
  }

  utteranceEnd(atMs: number): void {
    if (!this.#inUtterance) return
    this.#inUtterance = false
    const placed = this.#speaking
    this.#speaking = null
    if (placed === null) {
      this.#events.final('', null)
      return
    }
    const from = this.#told
    let until = Math.min(from + this.#partialWords, placed.words.length)
    for (let i = until; i < placed.words.length; i++) {
      const word = placed.words[i]
      if (word === undefined || (word.startMs + word.endMs) / 2 > atMs + WORD_SLACK_MS) break
      until = i + 1
    }
    this.#told = until
    this.#partialWords = 0
    const words = placed.words.slice(from, until)
    const whole = from === 0 && until === placed.words.length && until > 0
    this.#events.final(
      whole ? placed.utterance.text : textOf(words),
      words,
      contractTag(placed.utterance.language),
    )
  }

  /** Follows sounds that our VAD does not call speech: the speaker's coughs use up their place too. */
  #listen(pcm: Int16Array, atMs: number, endMs: number): void {
    let sum = 0
    for (let i = 0; i < pcm.length; i++) sum += Math.abs(pcm[i] ?? 0)
    if (sum > SOUND * pcm.length) {
      if (this.#soundStartMs < 0) {
        this.#soundStartMs = atMs
        this.#soundVoiced = this.#inUtterance
      }
      this.#soundEndMs = endMs
    } else if (this.#soundStartMs >= 0 && endMs - this.#soundEndMs >= SOUND_GAP_MS) {
      if (!this.#soundVoiced) this.#placement.unvoiced(this.#soundStartMs, this.#soundEndMs)
      this.#soundStartMs = -1
    }
  }
}

function textOf(words: readonly TimedWord[]): string {
  return words.map((word) => word.text).join(' ')
}
