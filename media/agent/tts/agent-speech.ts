import type { Clock } from '../../base/clock.js'
import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { DTMF_TIMING } from '../../rtp/telephone-event.js'
import { Playout } from '../../session/playout.js'
import type { AgentSpec } from '../agent-spec.js'
import { circuitBreakersOf } from '../circuit-breaker.js'
import type { TurnId } from '../conversation-events.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { Phrase } from '../turn/turn-types.js'
import type { Vendors } from '../vendor-ports.js'
import { PhrasePreparation } from './phrase-preparation.js'
import { phraseText } from './phrases.js'
import { Speaker, type SpokenUtterance, type StreamedAudio, type StreamedSentence } from './speaker.js'
import { type OnVoiceFailure, Synthesiser, type VoiceChoice } from './synthesis.js'

/** Sound waiting to be sent; more waits outside as the vendor delivered it. */
const PLAYOUT_MS = 5000
const KEY_MS = DTMF_TIMING.toneMs + DTMF_TIMING.gapMs
/** Of words that wait for more keys some are lost: an agent that is silent for longer has failed. */
const LONGEST_HOLD_MS = 3200

export interface AgentSpeechOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly vendors: Vendors
  /** In the order in which they are tried. */
  readonly voices: readonly VoiceChoice[]
  readonly clock: Clock
  readonly turnContext: TurnContext
  /** Some of the reply was heard: it counts whether its sound goes on. */
  audible(): boolean
  /** A frame with sound that is being sent; `at` is its first sample. */
  audioSent(pcm: Int16Array, at: number): void
  /** A vendor is sent this much text; of no utterance when lines are prepared. */
  requested(turn: TurnId | null, choice: VoiceChoice, characters: number): void
  /** Synthesis delivered the first sound of the utterance. */
  firstAudio(turn: TurnId): void
  /** Its first packet with sound is being sent. */
  firstPacket(turn: TurnId): void
  /** It was stopped in the middle of sound: its last frame, which fades, need not wait for its time. */
  flushEarly(): void
  readonly onFailure: OnVoiceFailure
}

/** What the agent sounds like: sentences and lines as sound on the beat, one utterance at a time. */
export class AgentSpeech {
  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #options: AgentSpeechOptions
  readonly #playout: Playout
  readonly #speaker: Speaker
  readonly #phrases: PhrasePreparation
  #firstSampleOf: TurnId | null = null
  #drainedOf: TurnId | null = null
  /** The last frame of the utterance had sound. */
  #flowing = false
  #heldFrames = 0

  constructor(options: AgentSpeechOptions) {
    const { spec, rate, vendors, voices, clock, turnContext: floor } = options
    this.#spec = spec
    this.#rate = rate
    this.#options = options
    const synthesiser = new Synthesiser({
      voices,
      rate,
      clock,
      breakers: circuitBreakersOf(vendors, clock),
      trouble: options.onFailure,
    })
    this.#playout = new Playout(rate, PLAYOUT_MS)
    this.#playout.onFirstSample = (turn) => {
      this.#firstSampleOf = turn
    }
    this.#playout.onDrained = (turn) => {
      this.#drainedOf = turn
    }
    this.#speaker = new Speaker(this.#playout, rate, synthesiser, {
      requested: options.requested,
      firstAudio: options.firstAudio,
      synthesisLost: (turn) => floor.feed({ type: 'mute', turn, atMs: floor.now() }),
    })
    this.#phrases = new PhrasePreparation({
      spec,
      rate,
      vendors,
      synthesiser,
      clock,
      asked: (choice, characters) => options.requested(null, choice, characters),
    })
  }

  /** Synthesises the opening line. Bounded; never rejects. */
  prepare(): Promise<void> {
    return this.#phrases.prepare()
  }

  /** The lines the engine says by itself, in another language, for when they are needed. */
  prepareFor(language: string): void {
    this.#phrases.prepareFor(language)
  }

  say(turn: TurnId, text: string, language: string): void {
    this.#speaker.say(turn, text, language)
  }

  /** Sound of a model that speaks by itself. */
  stream(turn: TurnId, language: string, live: StreamedAudio): StreamedSentence {
    return this.#speaker.stream(turn, language, live)
  }

  sayPhrase(turn: TurnId, line: Phrase): void {
    for (const { text, language, prepared } of this.#phrases.sentences(
      phraseText(this.#spec, line, this.#options.turnContext.language.current),
    )) {
      this.#speaker.say(turn, text, language, prepared)
    }
  }

  /** Nothing follows what was said so far. */
  finish(turn: TurnId): void {
    this.#speaker.finish(turn)
  }

  pause(): void {
    this.#playout.pause()
    if (this.#playout.fading) this.#options.flushEarly()
  }

  resume(): void {
    this.#playout.resume()
  }

  /** Keys are sent in the place of sound from the next beat on: nothing is said meanwhile, and nothing lost. */
  holdForDtmf(count: number): void {
    this.#heldFrames += Math.min(count * KEY_MS, LONGEST_HOLD_MS) / FRAME_MS
  }

  /** Forgets what was not sent; returns what the utterance came to, null when there was none. */
  stop(turn: TurnId): SpokenUtterance | null {
    const spoken = this.#speaker.stop(turn)
    // Also when nothing had been handed over yet: the pause ends with the reply.
    this.#playout.flush()
    if (this.#playout.fading) this.#options.flushEarly()
    return spoken
  }

  /** The next frame; `at` is its first sample. False: nothing to send. */
  pull(into: Int16Array, at: number): boolean {
    const { turnContext: floor } = this.#options
    if (this.#heldFrames > 0) {
      this.#heldFrames--
      into.fill(0)
      return false
    }
    const turn = this.#speaker.current
    const sentBefore = turn === null ? 0 : this.#playout.sentSamples(turn)
    const sound = this.#playout.pull(into)
    if (sound) this.#options.audioSent(into, at)
    if (turn !== null) this.#speaker.pulled(turn, sentBefore, (at * 1000) / this.#rate, FRAME_MS)
    const first = this.#firstSampleOf
    const drained = this.#drainedOf
    this.#firstSampleOf = null
    this.#drainedOf = null
    if (first !== null) {
      this.#options.firstPacket(first)
      floor.feed({ type: 'firstSample', turn: first, atMs: floor.now() })
    }
    if (drained !== null) floor.feed({ type: 'drained', turn: drained, atMs: floor.now() })
    else if (turn !== null && sound !== this.#flowing && !this.#playout.paused) this.#reportFlow(turn, sound)
    return sound
  }

  close(): void {
    const turn = this.#speaker.current
    if (turn !== null) this.#speaker.stop(turn)
    this.#playout.flush()
    this.#phrases.close()
  }

  /** The utterance ran dry, or goes on. */
  #reportFlow(turn: TurnId, sounding: boolean): void {
    const { turnContext: floor, audible } = this.#options
    this.#flowing = sounding
    if (audible()) floor.feed({ type: 'flow', turn, flowing: sounding, atMs: floor.now() })
  }
}
