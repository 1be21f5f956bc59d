import type { Clock } from '../../base/clock.js'
import type { AudioFrame, CloseReason, Digit, Endpoint, SessionRate } from '../../base/frame.js'
import type { Log } from '../../base/log.js'
import type { DetectorEvent } from '../../detect/events.js'
import type { TurnDetector } from '../../vad/turn-detector.js'
import type { VadFactory } from '../../vad/vad.js'
import type { AgentSpec, SpeakerScript } from '../agent-spec.js'
import { breakersOf } from '../circuit-breaker.js'
import type { ConversationEvent } from '../conversation-events.js'
import { CallLanguage } from '../language/call-language.js'
import { type Replies, ReplyMaker } from '../llm/llm-reply-source.js'
import { CallerEar } from '../stt/caller-input.js'
import type { RecogniserChoice } from '../stt/stt-failover.js'
import type { ToolRunner } from '../tools/tool-calls.js'
import { AgentVoice } from '../tts/agent-speech.js'
import type { VoiceChoice } from '../tts/synthesis.js'
import { voicesFor } from '../tts/voices.js'
import type { Floor } from '../turn/turn-context.js'
import { TurnLoop } from '../turn/turn-loop.js'
import { policyFor, type TurnPolicy } from '../turn/turn-policy.js'
import type { TurnEffect, TurnInput } from '../turn/turn-types.js'
import type { SpeechToText, Vendors } from '../vendor-ports.js'
import { ConversationAccount } from './conversation-account.js'
import type { TurnTracer } from './turn-tracer.js'
import { modelChain, spareRecognisers } from './vendor-cascade.js'

export interface ConversationOptions {
  readonly id: string
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly vendors: Vendors
  readonly vad: VadFactory
  /** Judges the caller's pauses by their sound; without it the words alone decide. */
  readonly ending?: TurnDetector | null
  readonly clock: Clock
  /** In order, on the same thread, also from within `close`. */
  emit(event: ConversationEvent): void
  readonly log: Log
  /** What tools need of the outside. */
  readonly tools: ToolRunner
  /** The next frame ends the agent's sound and may be pulled before its time. Not from within this call. */
  soon?(): void
  /** Ask the model before the caller's turn is decided. Costs requests whose answers nobody hears. */
  readonly speculate?: boolean
  /**
   * Once: the conversation failed, on whoever's call: a timer's, a vendor's, the beat's. Nothing more is
   * said or heard, and it waits to be closed. Without it the error is thrown where it happened.
   */
  readonly onFault?: (error: unknown) => void
}

/**
 * An agent that talks: the shell around the turn machine. It owns what the machine orders about
 * (playout, detector, recogniser, model and synthesis jobs, timers) and tells it what happens.
 */
export interface Conversation extends Endpoint {
  /** Synthesises the opening line so that it can be sent with the first packet. Bounded; never rejects. */
  prepare(): Promise<void>
  /** What was heard of the far side beside speech. */
  heard(event: DetectorEvent): void
  /** Media is live: session time 0. Once. */
  start(script: SpeakerScript | null): void
  /** Idempotent. What was said so far is emitted before it returns; nothing is afterwards. */
  close(why: CloseReason): void
}

/** What hears, thinks and speaks for the agent: three vendors one after the other, or one model for all. */
export interface Mind {
  readonly recogniser: SpeechToText
  /** Those that go on when it fails. */
  readonly spareRecognisers?: readonly RecogniserChoice[]
  readonly firstTokenDeadlineMs: number
  /** Models that can answer; absent: one. */
  readonly models?: number
  /** The agent's voice and what stands in for it. */
  readonly voices: readonly VoiceChoice[]
  /** Numbers of turn-taking that are other than usual. */
  readonly policy: Partial<TurnPolicy>
  replies(voice: AgentVoice, tracer: TurnTracer): Replies
}

export type OpenMind = (options: ConversationOptions, floor: Floor) => Mind

/** Throws EngineError `config_invalid` when the agent names a vendor that is not configured. */
export function openConversation(options: ConversationOptions, openMind: OpenMind = cascade): Conversation {
  return new AgentConversation(options, openMind)
}

/** A recogniser's words go to a language model, its sentences to a synthesis. */
const cascade: OpenMind = ({ spec, vendors, tools, clock }, floor) => {
  const chosen = [spec.languageModel, ...(spec.spares?.languageModel ?? [])] as const
  const models = modelChain(chosen, { vendors, clock, floor })
  return {
    recogniser: vendors.speechToText(spec.speechToText.vendor),
    spareRecognisers: spareRecognisers(spec, vendors),
    firstTokenDeadlineMs: models.firstTokenDeadlineMs,
    models: models.size,
    voices: voicesFor(spec, vendors),
    policy: {},
    replies: (voice, tracer) => new ReplyMaker({ spec, models, tools, voice, floor, tracer }),
  }
}

class AgentConversation implements Conversation {
  readonly id: string
  readonly kind = 'agent'
  readonly delivery = 'arrival'

  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #log: Log
  readonly #emit: (event: ConversationEvent) => void
  readonly #mind: Mind
  readonly #language: CallLanguage
  readonly #speculate: boolean
  readonly #voice: AgentVoice
  readonly #ear: CallerEar
  readonly #replies: Replies
  readonly #loop: TurnLoop
  readonly #account: ConversationAccount

  constructor(options: ConversationOptions, openMind: OpenMind) {
    const { id, spec, rate, vendors, vad, ending = null, clock, emit, log, onFault } = options
    this.id = id
    this.#spec = spec
    this.#rate = rate
    this.#speculate = options.speculate ?? false
    this.#log = log
    this.#emit = emit
    this.#language = new CallLanguage(spec.languages, spec.speechToText.mode === 'translate')
    const floor = this.#floor()
    this.#account = new ConversationAccount(floor, () => this.#ear)
    const { tracer } = this.#account
    const mind = openMind(options, floor)
    this.#mind = mind
    this.#voice = new AgentVoice({
      spec,
      rate,
      vendors,
      voices: mind.voices,
      clock,
      floor,
      audible: () => this.#loop.audible,
      sent: (pcm, at) => this.#ear.sent(pcm, at),
      asked: (turn, { tts, model }, characters) => tracer.spoke(turn, tts.id, model, characters),
      firstAudio: (turn) => tracer.mark(turn, 'ttsFirstAudioMs'),
      firstPacket: (turn) => tracer.sent(turn),
      fading: () => options.soon?.(),
      trouble: ({ code, message }, vendor, instead) =>
        this.#trouble('text_to_speech', code, message, vendor, instead),
    })
    const { model, mode, languages = null } = spec.speechToText
    this.#ear = new CallerEar({
      spec,
      rate,
      recognisers: [
        { recogniser: mind.recogniser, model, mode, languages },
        ...(mind.spareRecognisers ?? []),
      ],
      breakers: breakersOf(vendors, clock),
      vad,
      ending,
      clock,
      floor,
      replaced: ({ code, message }, vendor, instead) =>
        this.#trouble('speech_to_text', code, message, vendor, instead),
      changed: () => this.#loop.decideBy(this.#policy()),
    })
    this.#replies = mind.replies(this.#voice, tracer)
    this.#loop = new TurnLoop({
      clock,
      policy: this.#policy(),
      run: (effect) => this.#run(effect),
      onFault,
    })
    this.#language.onChange((language) => {
      log.info({ conversation: id, language }, 'the caller speaks another language now')
      this.#ear.listenFor(language)
      this.#voice.prepareFor(language)
      this.#loop.decideBy(this.#policy())
    })
  }

  prepare(): Promise<void> {
    return this.#voice.prepare()
  }

  start(script: SpeakerScript | null): void {
    if (this.#loop.started || this.#loop.phase === 'ended') return
    this.#loop.begin()
    const failure = this.#ear.open(script)
    this.#loop.decideBy(this.#policy())
    this.#feed({ on: 'start', opening: this.#spec.openingLine !== null, at: 0 })
    if (failure) this.#feed({ on: 'deaf', code: failure.code, message: failure.message, at: 0 })
  }

  push(frame: AudioFrame): void {
    if (this.#loop.started && this.#loop.phase !== 'ended') this.#ear.push(frame)
  }

  pull(into: Int16Array, at: number): boolean {
    this.#loop.beat((at * 1000) / this.#rate)
    return this.#voice.pull(into, at)
  }

  dtmf(digit: Digit, durationMs: number): void {
    if (!this.#loop.started || this.#loop.phase === 'ended') return
    this.#emit({ type: 'dtmf', digit, atMs: this.#loop.now(), durationMs })
    this.#feed({ on: 'digit', digit, at: this.#loop.now() })
  }

  close(_why: CloseReason): void {
    if (this.#loop.phase !== 'ended') this.#feed({ on: 'close', at: this.#loop.now() })
    this.#release()
  }

  heard(event: DetectorEvent): void {
    this.#ear.heard(event)
  }

  #feed(input: TurnInput): void {
    this.#loop.feed(input)
  }

  /** As the parts see it; they exist before the loop does, and tell nothing until it runs. */
  #floor(): Floor {
    const loop = () => this.#loop
    return {
      now: () => this.#loop.now(),
      get phase() {
        return loop().phase
      },
      get callerSinceMs() {
        return loop().callerSinceMs
      },
      language: this.#language,
      feed: (input) => this.#loop.feed(input),
      failed: (error) => this.#loop.failed(error),
      emit: (event) => {
        this.#emit(event)
        if (event.type === 'answered_by') this.#replies.answeredBy(event.by)
      },
    }
  }

  #policy(): TurnPolicy {
    const { finalDeadlineMs, understandsSpeech, partials } = this.#ear.capabilities
    const { firstTokenDeadlineMs, models = 1, policy } = this.#mind
    const speculates = this.#speculate && this.#replies.early !== undefined
    const limits = {
      finalDeadlineMs,
      understandsSpeech,
      partials,
      firstTokenDeadlineMs,
      models,
      speculates,
    }
    return { ...policyFor(this.#spec, limits, this.#language.current), ...policy }
  }

  #run(effect: TurnEffect): void {
    const { timers } = this.#loop
    switch (effect.do) {
      case 'startTimer':
        timers.start(effect.turn, effect.name, effect.ms)
        return
      case 'cancelTimer':
        timers.cancel(effect.turn, effect.name)
        return
      case 'cancelTimers':
        timers.cancelAll(effect.turn)
        return
      case 'pause':
        this.#voice.pause()
        return
      case 'resume':
        this.#voice.resume()
        if (effect.pausedAtMs !== null) {
          const atMs = this.#loop.now()
          const pausedMs = atMs - effect.pausedAtMs
          this.#emit({ type: 'resumed', turnId: effect.turn, atMs, pausedMs })
        }
        return
      case 'interrupt':
        this.#emit({ type: 'interrupted', turnId: effect.turn, atMs: effect.atMs })
        this.#replies.commitAgent(effect.turn, effect.atMs)
        this.#account.over(effect.turn, 'interrupted', effect.atMs)
        return
      case 'cut':
        this.#replies.commitAgent(effect.turn, null)
        this.#account.over(effect.turn, 'cut')
        return
      case 'commitAgent':
        this.#replies.commitAgent(effect.turn, null)
        this.#account.over(effect.turn, 'said')
        return
      case 'drop':
        this.#replies.stop(effect.turn)
        this.#account.over(effect.turn, 'unheard')
        return
      case 'ask':
        if (effect.caller) this.#language.said(effect.caller.id, effect.caller.text)
        this.#account.begin(effect.turn, 'reply', effect.caller)
        // After the last allowed round the model can only answer.
        this.#replies.ask(effect, effect.round < this.#loop.policy.toolRounds)
        return
      case 'speculate':
        this.#replies.early?.begin(effect.caller)
        return
      case 'dropSpeculation':
        this.#replies.early?.drop()
        return
      case 'keepSpeculation':
        this.#language.said(effect.caller.id, effect.caller.text)
        this.#account.begin(effect.turn, 'reply', effect.caller)
        if (!this.#replies.early?.keep(effect.turn)) {
          this.#replies.ask({ ...effect, do: 'ask', attempt: 1, round: 0 }, true)
        }
        return
      case 'cancelModel':
        this.#replies.cancelModel()
        return
      case 'say':
        this.#account.begin(effect.turn, 'line', null)
        this.#voice.sayLine(effect.turn, effect.line)
        return
      case 'finishSpeech':
        this.#voice.finish(effect.turn)
        return
      case 'commitCaller':
        this.#replies.commitCaller(effect.caller, effect.forModel)
        return
      case 'trace':
        this.#account.waited(effect.turn)
        return
      case 'trouble':
        this.#machineTrouble(effect)
        return
      case 'reopenEars':
        this.#ear.reopen()
        return
      case 'learnNoise':
        this.#log.info({ conversation: this.id }, 'sound without words is taken for noise')
        this.#ear.learnNoise()
        return
      case 'finish':
        this.#emit({ type: 'finished', why: effect.why })
        return
      case 'stop':
        this.#release()
        return
      default:
        effect satisfies never
    }
  }

  #machineTrouble({ part, code, message, again = false }: TurnEffect & { do: 'trouble' }): void {
    const model = part === 'language_model' ? this.#replies.modelFailed?.(code, again) : undefined
    this.#trouble(part, code, message, model?.vendor, model?.instead)
  }

  #trouble(
    part: 'speech_to_text' | 'text_to_speech' | 'language_model',
    code: string,
    message: string,
    vendor?: string,
    instead?: string | null,
  ): void {
    const who = { ...(vendor === undefined ? {} : { vendor }), ...(instead ? { instead } : {}) }
    this.#account.tracer.trouble()
    this.#log.warn({ conversation: this.id, part, code, ...who }, 'provider trouble')
    this.#emit({ type: 'trouble', part, code, message, ...who, atMs: this.#loop.now() })
  }

  #release(): void {
    this.#replies.close()
    this.#voice.close()
    this.#loop.timers.cancelAll()
    this.#ear.close()
    // Whoever listened to a conversation that failed is told nothing more.
    if (this.#loop.started && !this.#loop.faulty) this.#account.close()
  }
}
