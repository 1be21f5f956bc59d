import type { SpeakerScript, TimedWord } from '../../agent/agent-spec.js'
import { languageTagOf } from '../../agent/language/language-tags.js'
import type {
  SpeechToText,
  SpeechToTextEvents,
  SpeechToTextStream,
  Vendors,
} from '../../agent/vendor-ports.js'
import { VOICE_LANGUAGES } from '../espeak/voices.js'
import { EMBEDDED } from '../vendor-ids.js'
import { type AlignedUtterance, ScriptTimeline } from './script-timeline.js'

/** Mean amplitude above which received audio is a sound: idle A-law decodes to 8, quiet speech to 300. */
const SOUND = 60
/** A shorter pause (ms) does not end a sound. */
const SOUND_GAP_MS = 250
/** Tolerance (ms) between the labels and our VAD at the end of a word. */
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
      const scripted = found === null ? null : new ScriptedRecogniser(found, rate, events)
      return openStream(scripted, events)
    },
  }
}

/** Returns the same vendors, with a sandbox recogniser that reads the script of one simulated caller. */
export function withSandboxScript(vendors: Vendors, script: () => SpeakerScript | null): Vendors {
  const sandbox = sandboxSpeechToText(script)
  return { ...vendors, speechToText: (id) => (id === EMBEDDED ? sandbox : vendors.speechToText(id)) }
}

function openStream(recogniser: ScriptedRecogniser | null, events: SpeechToTextEvents): SpeechToTextStream {
  let closed = false
  return {
    capabilities: {
      partials: recogniser !== null,
      endOfUtterance: false,
      wordTimes: recogniser !== null,
      understandsSpeech: recogniser !== null,
      finalDeadlineMs: 100,
      understoodLanguages: VOICE_LANGUAGES,
      detectsLanguage: recogniser !== null,
    },
    write(pcm, atMs) {
      if (!closed) recogniser?.write(pcm, atMs)
    },
    utteranceStart(atMs) {
      if (!closed) recogniser?.utteranceStart(atMs)
    },
    utteranceEnd(atMs) {
      if (closed) return
      if (recogniser === null) events.final('', null)
      else recogniser.utteranceEnd(atMs)
    },
    close() {
      closed = true
    },
  }
}

class ScriptedRecogniser {
  readonly #timeline: ScriptTimeline
  readonly #events: SpeechToTextEvents
  readonly #msPerSample: number
  /** Utterance of the current speech, while the VAD detects speech. */
  #speaking: AlignedUtterance | null = null
  #inUtterance = false
  /** Words of the current utterance that earlier final texts contained. */
  #reported = 0
  #partialWords = 0
  #soundStartMs = -1
  #soundEndMs = 0
  #soundVoiced = false

  constructor(script: SpeakerScript, rate: number, events: SpeechToTextEvents) {
    this.#timeline = new ScriptTimeline(script)
    this.#events = events
    this.#msPerSample = 1000 / rate
  }

  write(pcm: Int16Array, atMs: number): void {
    const endMs = atMs + pcm.length * this.#msPerSample
    this.#followSounds(pcm, atMs, endMs)
    const aligned = this.#speaking
    if (aligned === null) return
    let heard = this.#reported
    for (let i = this.#reported; i < aligned.words.length; i++) {
      const word = aligned.words[i]
      if (word === undefined || word.endMs > endMs) break
      heard = i + 1
    }
    if (heard - this.#reported <= this.#partialWords) return
    this.#partialWords = heard - this.#reported
    this.#events.partial(
      textOf(aligned.words.slice(this.#reported, heard)),
      languageTagOf(aligned.utterance.language),
    )
  }

  utteranceStart(atMs: number): void {
    this.#inUtterance = true
    this.#soundVoiced = true
    const onset = this.#timeline.onset(atMs)
    if (onset === null || !onset.continued) this.#reported = 0
    this.#speaking = onset?.aligned ?? null
    this.#partialWords = 0
  }

  utteranceEnd(atMs: number): void {
    if (!this.#inUtterance) return
    this.#inUtterance = false
    const aligned = this.#speaking
    this.#speaking = null
    if (aligned === null) {
      this.#events.final('', null)
      return
    }
    const from = this.#reported
    let until = Math.min(from + this.#partialWords, aligned.words.length)
    for (let i = until; i < aligned.words.length; i++) {
      const word = aligned.words[i]
      if (word === undefined || (word.startMs + word.endMs) / 2 > atMs + WORD_SLACK_MS) break
      until = i + 1
    }
    this.#reported = until
    this.#partialWords = 0
    const words = aligned.words.slice(from, until)
    const whole = from === 0 && until === aligned.words.length && until > 0
    this.#events.final(
      whole ? aligned.utterance.text : textOf(words),
      words,
      languageTagOf(aligned.utterance.language),
    )
  }

  /**
   * Follows sounds that the VAD does not take for speech, because coughs are utterances of the script too.
   */
  #followSounds(pcm: Int16Array, atMs: number, endMs: number): void {
    let sum = 0
    for (let i = 0; i < pcm.length; i++) sum += Math.abs(pcm[i] ?? 0)
    if (sum > SOUND * pcm.length) {
      if (this.#soundStartMs < 0) {
        this.#soundStartMs = atMs
        this.#soundVoiced = this.#inUtterance
      }
      this.#soundEndMs = endMs
    } else if (this.#soundStartMs >= 0 && endMs - this.#soundEndMs >= SOUND_GAP_MS) {
      if (!this.#soundVoiced) this.#timeline.unvoiced(this.#soundStartMs, this.#soundEndMs)
      this.#soundStartMs = -1
    }
  }
}

function textOf(words: readonly TimedWord[]): string {
  return words.map((word) => word.text).join(' ')
}
