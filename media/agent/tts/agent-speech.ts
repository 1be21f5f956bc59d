import type { Clock } from '../../base/clock.js'
import { FRAME_MS, type SessionRate } from '../../base/frame.js'
import { DTMF_TIMING } from '../../rtp/telephone-event.js'
import { Playout } from '../../session/playout.js'
import type { AgentSpec } from '../agent-spec.js'
import { breakersOf } from '../circuit-breaker.js'
import type { TurnId } from '../conversation-events.js'
import type { Floor } from '../turn/turn-context.js'
import type { Line } from '../turn/turn-types.js'
import type { Vendors } from '../vendor-ports.js'
import { LinePreparation } from './phrase-preparation.js'
import { lineText } from './phrases.js'
import { type LiveSentence, type LiveSound, Speaker, type Spoken } from './speaker.js'
import { Synthesiser, type VoiceChoice, type VoiceTrouble } from './synthesis.js'

/** Sound waiting to be sent; more waits outside as the vendor delivered it. */
const PLAYOUT_MS = 5000
const KEY_MS = DTMF_TIMING.toneMs + DTMF_TIMING.gapMs
/** Of words that wait for more keys some are lost: an agent that is silent for longer has failed. */
const LONGEST_HOLD_MS = 3200

export interface AgentVoiceOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly vendors: Vendors
  /** In the order in which they are tried. */
  readonly voices: readonly VoiceChoice[]
  readonly clock: Clock
  readonly floor: Floor
  /** Some of the reply was heard: it counts whether its sound goes on. */
  audible(): boolean
  /** A frame with sound that is being sent; `at` is its first sample. */
  sent(pcm: Int16Array, at: number): void
  /** A vendor is sent this much text; of no utterance when lines are prepared. */
  asked(turn: TurnId | null, choice: VoiceChoice, characters: number): void
  /** Synthesis delivered the first sound of the utterance. */
  firstAudio(turn: TurnId): void
  /** Its first packet with sound is being sent. */
  firstPacket(turn: TurnId): void
  /** It was stopped in the middle of sound: its last frame, which fades, need not wait for its time. */
  fading(): void
  readonly trouble: VoiceTrouble
}

/** What the agent sounds like: sentences and lines as sound on the beat, one utterance at a time. */
export class AgentVoice {
  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #options: AgentVoiceOptions
  readonly #playout: Playout
  readonly #speaker: Speaker
  readonly #lines: LinePreparation
  #firstSampleOf: TurnId | null = null
  #drainedOf: TurnId | null = null
  /** The last frame of the utterance had sound. */
  #sounding = false
  #heldFrames = 0

  constructor(options: AgentVoiceOptions) {
    const { spec, rate, vendors, voices, clock, floor } = options
    this.#spec = spec
    this.#rate = rate
    this.#options = options
    const synthesiser = new Synthesiser({
      voices,
      rate,
      clock,
      breakers: breakersOf(vendors, clock),
      trouble: options.trouble,
    })
    this.#playout = new Playout(rate, PLAYOUT_MS)
    this.#playout.onFirstSample = (turn) => {
      this.#firstSampleOf = turn
    }
    this.#playout.onDrained = (turn) => {
      this.#drainedOf = turn
    }
    this.#speaker = new Speaker(this.#playout, rate, synthesiser, {
      asked: options.asked,
      firstAudio: options.firstAudio,
      mute: (turn) => floor.feed({ on: 'mute', turn, at: floor.now() }),
    })
    this.#lines = new LinePreparation({
      spec,
      rate,
      vendors,
      synthesiser,
      clock,
      asked: (choice, characters) => options.asked(null, choice, characters),
    })
  }

  /** Synthesises the opening line. Bounded; never rejects. */
  prepare(): Promise<void> {
    return this.#lines.prepare()
  }

  /** The lines the engine says by itself, in another language, for when they are needed. */
  prepareFor(language: string): void {
    this.#lines.prepareFor(language)
  }

  say(turn: TurnId, text: string, language: string): void {
    this.#speaker.say(turn, text, language)
  }

  /** Sound of a model that speaks by itself. */
  stream(turn: TurnId, language: string, live: LiveSound): LiveSentence {
    return this.#speaker.stream(turn, language, live)
  }

  sayLine(turn: TurnId, line: Line): void {
    for (const { text, language, prepared } of this.#lines.sentences(
      lineText(this.#spec, line, this.#options.floor.language.current),
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
    if (this.#playout.fading) this.#options.fading()
  }

  resume(): void {
    this.#playout.resume()
  }

  /** Keys are sent in the place of sound from the next beat on: nothing is said meanwhile, and nothing lost. */
  keysAreSent(count: number): void {
    this.#heldFrames += Math.min(count * KEY_MS, LONGEST_HOLD_MS) / FRAME_MS
  }

  /** Forgets what was not sent; returns what the utterance came to, null when there was none. */
  stop(turn: TurnId): Spoken | null {
    const spoken = this.#speaker.stop(turn)
    // Also when nothing had been handed over yet: the pause ends with the reply.
    this.#playout.flush()
    if (this.#playout.fading) this.#options.fading()
    return spoken
  }

  /** The next frame; `at` is its first sample. False: nothing to send. */
  pull(into: Int16Array, at: number): boolean {
    const { floor } = this.#options
    if (this.#heldFrames > 0) {
      this.#heldFrames--
      into.fill(0)
      return false
    }
    const turn = this.#speaker.current
    const sentBefore = turn === null ? 0 : this.#playout.sentSamples(turn)
    const sound = this.#playout.pull(into)
    if (sound) this.#options.sent(into, at)
    if (turn !== null) this.#speaker.pulled(turn, sentBefore, (at * 1000) / this.#rate, FRAME_MS)
    const first = this.#firstSampleOf
    const drained = this.#drainedOf
    this.#firstSampleOf = null
    this.#drainedOf = null
    if (first !== null) {
      this.#options.firstPacket(first)
      floor.feed({ on: 'firstSample', turn: first, at: floor.now() })
    }
    if (drained !== null) floor.feed({ on: 'drained', turn: drained, at: floor.now() })
    else if (turn !== null && sound !== this.#sounding && !this.#playout.paused) this.#flow(turn, sound)
    return sound
  }

  close(): void {
    const turn = this.#speaker.current
    if (turn !== null) this.#speaker.stop(turn)
    this.#playout.flush()
    this.#lines.close()
  }

  /** The utterance ran dry, or goes on. */
  #flow(turn: TurnId, sounding: boolean): void {
    const { floor, audible } = this.#options
    this.#sounding = sounding
    if (audible()) floor.feed({ on: 'flow', turn, sounding, at: floor.now() })
  }
}
