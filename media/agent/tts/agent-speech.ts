import type { Clock } from '../../base/clock.js'
import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { Scope } from '../../base/scope.js'
import { DTMF_TIMING } from '../../rtp/telephone-event.js'
import type { AgentSpec } from '../agent-spec.js'
import type { CircuitBreakers } from '../circuit-breaker.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { Phrase } from '../turn/turn-types.js'
import type { PhraseCache } from './phrase-cache.js'
import { PhrasePreparation } from './phrase-preparation.js'
import { enginePhrases, phraseText } from './phrases.js'
import { Speaker, type SpokenUtterance, type StreamedAudio, type StreamedSentence } from './speaker.js'
import { sentenceToSay } from './spoken-sentences.js'
import { type OnVoiceFailure, Synthesiser, type VoiceChoice } from './synthesis.js'

const KEY_MS = DTMF_TIMING.toneMs + DTMF_TIMING.gapMs
/** Upper bound (ms) on speech held back for DTMF. More would be dead air. */
const MAX_HOLD_MS = 3200

export interface AgentSpeechOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly breakers: CircuitBreakers
  readonly phrases: PhraseCache
  /** In the order of use. */
  readonly voices: readonly VoiceChoice[]
  readonly clock: Clock
  readonly turnContext: TurnContext
  readonly tracer: TurnTracer
  /** Playout was stopped in mid-audio. Its last frame fades out and may be sent early. */
  flushEarly(): void
  readonly onFailure: OnVoiceFailure
}

/** The agent's speech: turns sentences and phrases into audio frames, one utterance at a time. */
export class AgentSpeech {
  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #options: AgentSpeechOptions
  readonly #speaker: Speaker
  readonly #phrases: PhrasePreparation
  readonly #call = new Scope()
  /** The last frame of the utterance carried audio. */
  #flowing = false
  #heldFrames = 0
  /** A short sound beside the caller's words. It gives way to an utterance. */
  #aside: { readonly pcm: Int16Array; at: number } | null = null
  #asides = 0

  constructor(options: AgentSpeechOptions) {
    const { spec, rate, breakers, voices, clock, turnContext, tracer } = options
    const requested = (turn: TurnId | null, { tts, model }: VoiceChoice, characters: number) =>
      tracer.textSynthesised(turn, tts.id, model, characters)
    this.#spec = spec
    this.#rate = rate
    this.#options = options
    const synthesiser = new Synthesiser({
      voices,
      rate,
      call: this.#call,
      clock,
      breakers,
      onFailure: options.onFailure,
    })
    this.#speaker = new Speaker(rate, synthesiser, {
      requested,
      firstAudio: (turn) => tracer.mark(turn, 'ttsFirstAudioMs'),
      synthesisLost: (turn) => turnContext.feed({ type: 'synthesisFailed', turn, atMs: turnContext.now() }),
    })
    this.#phrases = new PhrasePreparation({
      spec,
      rate,
      cache: options.phrases,
      synthesiser,
      clock,
      requested: (choice, characters) => requested(null, choice, characters),
    })
  }

  /** Synthesises the opening line. Takes bounded time and never rejects. */
  prepare(): Promise<void> {
    return this.#phrases.prepare()
  }

  /** Prepares the canned phrases in another language. */
  prepareFor(language: string): void {
    this.#phrases.prepareFor(language)
  }

  /** Says a written sentence in its spoken form. The returned function takes it back, unless some of it was played. */
  say(turn: TurnId, written: string, language: string): () => void {
    return this.#speaker.say(turn, sentenceToSay(written, language))
  }

  /** Streams audio of a speech-to-speech model. */
  stream(turn: TurnId, language: string, streamed: StreamedAudio): StreamedSentence {
    return this.#speaker.stream(turn, language, streamed)
  }

  sayPhrase(turn: TurnId, phrase: Phrase): void {
    for (const { prepared, ...sentence } of this.#phrases.sentences(
      phraseText(this.#spec, phrase, this.#options.turnContext.language.current),
    )) {
      this.#speaker.say(turn, sentence, prepared)
    }
  }

  /** Says "hm" if it is prepared and the agent is silent. What is said so is no turn. */
  backchannel(): void {
    const { listening, following } = enginePhrases(this.#options.turnContext.language.current)
    const phrase = this.#asides++ % 2 === 0 ? listening : following
    const [sentence] = this.#phrases.sentences(phrase)
    if (sentence?.prepared && this.#speaker.current === null) {
      this.#aside = { pcm: sentence.prepared.pcm, at: 0 }
    }
  }

  /** Ends the utterance after the sentences so far. */
  finish(turn: TurnId): void {
    this.#speaker.finish(turn)
  }

  /** Ends the utterance at the end of its present clause. */
  stopAtClause(turn: TurnId): void {
    this.#speaker.stopAtClause(turn)
  }

  pause(): void {
    if (this.#speaker.pause()) this.#options.flushEarly()
  }

  resume(): void {
    this.#speaker.resume()
  }

  /**
   * Holds speech back while DTMF is sent instead of audio, from the next frame tick on. No words are lost.
   */
  holdForDtmf(count: number): void {
    this.#heldFrames += Math.min(count * KEY_MS, MAX_HOLD_MS) / FRAME_MS
  }

  /** Discards unsent audio. Returns the spoken part of the utterance, or null when there was none. */
  stop(turn: TurnId): SpokenUtterance | null {
    const spoken = this.#speaker.stop(turn)
    if (this.#speaker.fading) this.#options.flushEarly()
    return spoken
  }

  /** Writes the next frame. `at` is its first sample. Returns false when there is nothing to send. */
  pull(into: Int16Array, at: number): boolean {
    const { turnContext, tracer } = this.#options
    if (this.#heldFrames > 0) {
      this.#heldFrames--
      into.fill(0)
      return false
    }
    const turn = this.#speaker.current
    const { audio, first, drained } = this.#speaker.pull(into, (at * 1000) / this.#rate)
    if (first !== null) {
      tracer.sent(first)
      turnContext.feed({ type: 'firstSample', turn: first, atMs: turnContext.now() })
    }
    if (drained !== null) turnContext.feed({ type: 'drained', turn: drained, atMs: turnContext.now() })
    else if (turn !== null && audio !== this.#flowing && !this.#speaker.paused) this.#reportFlow(turn, audio)
    if (audio || turn !== null) this.#aside = null
    return audio || this.#pullAside(into)
  }

  #pullAside(into: Int16Array): boolean {
    const aside = this.#aside
    if (aside === null) return false
    const until = Math.min(aside.pcm.length, aside.at + into.length)
    into.fill(0)
    for (let i = aside.at; i < until; i++) into[i - aside.at] = aside.pcm[i] ?? 0
    aside.at = until
    if (until === aside.pcm.length) this.#aside = null
    return true
  }

  close(): void {
    this.#speaker.close()
    this.#phrases.close()
    void this.#call.close()
  }

  /** Reports that the utterance ran out of audio, or has audio again. */
  #reportFlow(turn: TurnId, flowing: boolean): void {
    const { turnContext } = this.#options
    this.#flowing = flowing
    // A gap matters only when some of the reply was heard.
    if (turnContext.audible) turnContext.feed({ type: 'audioFlow', turn, flowing, atMs: turnContext.now() })
  }
}
