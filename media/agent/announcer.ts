import type { Clock } from '../base/clock.js'
import type { AudioFrame, SessionRate } from '../base/frame.js'
import { Scope } from '../base/scope.js'
import type { CloseReason, Endpoint, EndpointId } from '../session/endpoint.js'
import type { VoiceSpec } from './agent-spec.js'
import type { CircuitBreakers } from './circuit-breaker.js'
import type { SayResult } from './conversation/conversation.js'
import type { TurnId } from './conversation-events.js'
import { Speaker } from './tts/speaker.js'
import { spokenSentences } from './tts/spoken-sentences.js'
import { type OnVoiceFailure, Synthesiser, type VoiceChoice } from './tts/synthesis.js'

export interface AnnouncerOptions {
  readonly id: EndpointId
  readonly languages: VoiceSpec['languages']
  /** In the order of use. */
  readonly voices: readonly VoiceChoice[]
  readonly rate: SessionRate
  readonly breakers: CircuitBreakers
  readonly clock: Clock
  readonly onFailure: OnVoiceFailure
  /** Told of each text that is synthesised. */
  readonly requested: (choice: VoiceChoice, characters: number) => void
}

/** Says texts, one at a time, and hears nothing: a voice without a conversation. */
export class Announcer implements Endpoint {
  readonly id: EndpointId
  readonly kind = 'agent'
  readonly delivery = 'tick'
  readonly #languages: readonly string[]
  readonly #rate: SessionRate
  readonly #speaker: Speaker
  readonly #call = new Scope()
  #turn: TurnId = 0
  #done: ((result: SayResult) => void) | null = null
  #closed = false

  constructor({ id, languages, voices, rate, breakers, clock, onFailure, requested }: AnnouncerOptions) {
    this.id = id
    this.#languages = languages
    this.#rate = rate
    const synthesiser = new Synthesiser({ voices, rate, call: this.#call, clock, breakers, onFailure })
    this.#speaker = new Speaker(rate, synthesiser, {
      requested: (_turn, choice, characters) => requested(choice, characters),
      firstAudio: () => {},
      synthesisLost: () => this.#stop('failed'),
    })
  }

  /** Says a text, and cuts the one in progress. Resolves when it was said to the end, was cut, or failed. */
  say(text: string): Promise<SayResult> {
    this.#stop('cut')
    const [first = 'en-IN'] = this.#languages
    const sentences = spokenSentences(text, this.#languages, first)
    if (this.#closed || sentences.length === 0) return Promise.resolve('failed')
    return new Promise((done) => {
      this.#done = done
      const turn = ++this.#turn
      for (const sentence of sentences) this.#speaker.say(turn, sentence)
      this.#speaker.finish(turn)
    })
  }

  pull(into: Int16Array, at: number): boolean {
    const { audio, drained } = this.#speaker.pull(into, (at * 1000) / this.#rate)
    if (drained === this.#turn) this.#stop('said')
    return audio
  }

  push(_frame: AudioFrame): void {}

  close(_why: CloseReason): void {
    this.#closed = true
    this.#stop('cut')
    this.#speaker.close()
    void this.#call.close()
  }

  #stop(result: SayResult): void {
    this.#speaker.stop(this.#turn)
    const done = this.#done
    this.#done = null
    done?.(result)
  }
}
