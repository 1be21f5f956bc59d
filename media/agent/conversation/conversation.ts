import type { Clock } from '../../base/clock.js'
import type { AudioFrame, Digit, SessionRate } from '../../base/frame.js'
import type { Log } from '../../base/log.js'
import type { DetectorEvent } from '../../detect/events.js'
import type { CloseReason, Endpoint } from '../../session/endpoint.js'
import type { TurnDetector } from '../../vad/turn-detector.js'
import type { VadFactory } from '../../vad/vad.js'
import type { AgentSpec } from '../agent-spec.js'
import { circuitBreakersOf } from '../circuit-breaker.js'
import type { ConversationEvent } from '../conversation-events.js'
import { CallLanguage } from '../language/call-language.js'
import { LlmReplySource, type ReplySource } from '../llm/llm-reply-source.js'
import { CallerInput } from '../stt/caller-input.js'
import type { RecogniserChoice } from '../stt/stt-failover.js'
import type { ToolRunner } from '../tools/tool-calls.js'
import { AgentSpeech } from '../tts/agent-speech.js'
import type { VoiceChoice } from '../tts/synthesis.js'
import { voicesFor } from '../tts/voices.js'
import type { TurnContext } from '../turn/turn-context.js'
import { TurnLoop } from '../turn/turn-loop.js'
import { policyFor, type TurnPolicy } from '../turn/turn-policy.js'
import type { TurnEffect, TurnInput } from '../turn/turn-types.js'
import type { SpeechToText, Vendors } from '../vendor-ports.js'
import { ConversationAccount } from './conversation-account.js'
import type { TurnTracer } from './turn-tracer.js'
import { fallbackRecognisers, openModelChain } from './vendor-cascade.js'

export interface ConversationOptions {
  readonly id: string
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly vendors: Vendors
  readonly vad: VadFactory
  /** Judges the caller's pauses by their sound; without it the words alone decide. */
  readonly turnDetector?: TurnDetector | null
  readonly clock: Clock
  /** In order, on the same thread, also from within `close`. */
  emit(event: ConversationEvent): void
  readonly log: Log
  /** What tools need of the outside. */
  readonly tools: ToolRunner
  /** The next frame ends the agent's sound and may be pulled before its time. Not from within this call. */
  flushEarly?(): void
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
  detected(event: DetectorEvent): void
  /** Media is live: session time 0. Once. */
  start(): void
  /** Idempotent. What was said so far is emitted before it returns; nothing is afterwards. */
  close(why: CloseReason): void
}

/** What hears, thinks and speaks for the agent: three vendors one after the other, or one model for all. */
export interface ReplyModel {
  readonly recogniser: SpeechToText
  /** Those that go on when it fails. */
  readonly fallbackRecognisers?: readonly RecogniserChoice[]
  readonly firstTokenDeadlineMs: number
  /** Models that can answer; absent: one. */
  readonly models?: number
  /** The agent's voice and what stands in for it. */
  readonly voices: readonly VoiceChoice[]
  /** Numbers of turn-taking that are other than usual. */
  readonly policy: Partial<TurnPolicy>
  replies(voice: AgentSpeech, tracer: TurnTracer): ReplySource
}

export type OpenReplyModel = (options: ConversationOptions, floor: TurnContext) => ReplyModel

/** Throws EngineError `config_invalid` when the agent names a vendor that is not configured. */
export function openConversation(
  options: ConversationOptions,
  openMind: OpenReplyModel = cascade,
): Conversation {
  return new AgentConversation(options, openMind)
}

/** A recogniser's words go to a language model, its sentences to a synthesis. */
const cascade: OpenReplyModel = ({ spec, vendors, tools, clock }, floor) => {
  const chosen = [spec.languageModel, ...(spec.fallbacks?.languageModel ?? [])] as const
  const models = openModelChain(chosen, { vendors, clock, floor })
  return {
    recogniser: vendors.speechToText(spec.speechToText.vendor),
    fallbackRecognisers: fallbackRecognisers(spec, vendors),
    firstTokenDeadlineMs: models.firstTokenDeadlineMs,
    models: models.size,
    voices: voicesFor(spec, vendors),
    policy: {},
    replies: (voice, tracer) =>
      new LlmReplySource({ spec, models, tools, speech: voice, turnContext: floor, tracer }),
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
  readonly #replyModel: ReplyModel
  readonly #language: CallLanguage
  readonly #speculate: boolean
  readonly #speech: AgentSpeech
  readonly #callerInput: CallerInput
  readonly #replies: ReplySource
  readonly #loop: TurnLoop
  readonly #account: ConversationAccount

  constructor(options: ConversationOptions, openMind: OpenReplyModel) {
    const { id, spec, rate, vendors, vad, turnDetector: ending = null, clock, emit, log, onFault } = options
    this.id = id
    this.#spec = spec
    this.#rate = rate
    this.#speculate = options.speculate ?? false
    this.#log = log
    this.#emit = emit
    this.#language = new CallLanguage(spec.languages, spec.speechToText.mode === 'translate')
    const floor = this.#turnContext()
    this.#account = new ConversationAccount(floor, () => this.#callerInput)
    const { tracer } = this.#account
    const mind = openMind(options, floor)
    this.#replyModel = mind
    this.#speech = new AgentSpeech({
      spec,
      rate,
      vendors,
      voices: mind.voices,
      clock,
      turnContext: floor,
      audible: () => this.#loop.audible,
      audioSent: (pcm, at) => this.#callerInput.audioSent(pcm, at),
      requested: (turn, { tts, model }, characters) =>
        tracer.textSynthesised(turn, tts.id, model, characters),
      firstAudio: (turn) => tracer.mark(turn, 'ttsFirstAudioMs'),
      firstPacket: (turn) => tracer.sent(turn),
      flushEarly: () => options.flushEarly?.(),
      onFailure: ({ code, message }, vendor, instead) =>
        this.#reportFailure('text_to_speech', code, message, vendor, instead),
    })
    const { model, mode, languages = null } = spec.speechToText
    this.#callerInput = new CallerInput({
      spec,
      rate,
      recognisers: [
        { recogniser: mind.recogniser, model, mode, languages },
        ...(mind.fallbackRecognisers ?? []),
      ],
      breakers: circuitBreakersOf(vendors, clock),
      vad,
      turnDetector: ending,
      clock,
      turnContext: floor,
      recogniserFailed: ({ code, message }, vendor, instead) =>
        this.#reportFailure('speech_to_text', code, message, vendor, instead),
      capabilitiesChanged: () => this.#loop.setPolicy(this.#policy()),
    })
    this.#replies = mind.replies(this.#speech, tracer)
    this.#loop = new TurnLoop({
      clock,
      policy: this.#policy(),
      run: (effect) => this.#run(effect),
      onFault,
    })
    this.#language.onChange((language) => {
      log.info({ conversation: id, language }, 'the caller speaks another language now')
      this.#callerInput.setLanguage(language)
      this.#speech.prepareFor(language)
      this.#loop.setPolicy(this.#policy())
    })
  }

  prepare(): Promise<void> {
    return this.#speech.prepare()
  }

  start(): void {
    if (this.#loop.started || this.#loop.phase === 'ended') return
    this.#loop.begin()
    const failure = this.#callerInput.open()
    this.#loop.setPolicy(this.#policy())
    this.#feed({ type: 'start', opening: this.#spec.openingLine !== null, atMs: 0 })
    if (failure) this.#feed({ type: 'deaf', code: failure.code, message: failure.message, atMs: 0 })
  }

  push(frame: AudioFrame): void {
    if (this.#loop.started && this.#loop.phase !== 'ended') this.#callerInput.push(frame)
  }

  pull(into: Int16Array, at: number): boolean {
    this.#loop.tick((at * 1000) / this.#rate)
    return this.#speech.pull(into, at)
  }

  dtmf(digit: Digit, durationMs: number): void {
    if (!this.#loop.started || this.#loop.phase === 'ended') return
    this.#emit({ type: 'dtmf', digit, atMs: this.#loop.now(), durationMs })
    this.#feed({ type: 'digit', digit, atMs: this.#loop.now() })
  }

  close(_why: CloseReason): void {
    if (this.#loop.phase !== 'ended') this.#feed({ type: 'close', atMs: this.#loop.now() })
    this.#release()
  }

  detected(event: DetectorEvent): void {
    this.#callerInput.detected(event)
  }

  #feed(input: TurnInput): void {
    this.#loop.feed(input)
  }

  /** As the parts see it; they exist before the loop does, and tell nothing until it runs. */
  #turnContext(): TurnContext {
    const loop = () => this.#loop
    return {
      now: () => this.#loop.now(),
      get phase() {
        return loop().phase
      },
      get callerStartMs() {
        return loop().callerStartMs
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
    const { finalDeadlineMs, understandsSpeech, partials } = this.#callerInput.capabilities
    const { firstTokenDeadlineMs, models = 1, policy } = this.#replyModel
    const speculates = this.#speculate && this.#replies.speculative !== undefined
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
    switch (effect.type) {
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
        this.#speech.pause()
        return
      case 'resume':
        this.#speech.resume()
        if (effect.pausedAtMs !== null) {
          const atMs = this.#loop.now()
          const pausedMs = atMs - effect.pausedAtMs
          this.#emit({ type: 'resumed', turnId: effect.turn, atMs, pausedMs })
        }
        return
      case 'interrupt':
        this.#emit({ type: 'interrupted', turnId: effect.turn, atMs: effect.atMs })
        this.#replies.commitAgent(effect.turn, effect.atMs)
        this.#account.endTurn(effect.turn, 'interrupted', effect.atMs)
        return
      case 'cut':
        this.#replies.commitAgent(effect.turn, null)
        this.#account.endTurn(effect.turn, 'cut')
        return
      case 'commitAgent':
        this.#replies.commitAgent(effect.turn, null)
        this.#account.endTurn(effect.turn, 'said')
        return
      case 'drop':
        this.#replies.stop(effect.turn)
        this.#account.endTurn(effect.turn, 'unheard')
        return
      case 'ask':
        if (effect.caller) this.#language.callerSaid(effect.caller.id, effect.caller.text)
        this.#account.beginTurn(effect.turn, 'reply', effect.caller)
        // After the last allowed round the model can only answer.
        this.#replies.ask(effect, effect.round < this.#loop.policy.toolRounds)
        return
      case 'speculate':
        this.#replies.speculative?.begin(effect.caller)
        return
      case 'dropSpeculation':
        this.#replies.speculative?.drop()
        return
      case 'keepSpeculation':
        this.#language.callerSaid(effect.caller.id, effect.caller.text)
        this.#account.beginTurn(effect.turn, 'reply', effect.caller)
        if (!this.#replies.speculative?.keep(effect.turn)) {
          this.#replies.ask({ ...effect, type: 'ask', attempt: 1, round: 0 }, true)
        }
        return
      case 'cancelModel':
        this.#replies.cancelModel()
        return
      case 'say':
        this.#account.beginTurn(effect.turn, 'line', null)
        this.#speech.sayPhrase(effect.turn, effect.phrase)
        return
      case 'finishSpeech':
        this.#speech.finish(effect.turn)
        return
      case 'commitCaller':
        this.#replies.commitCaller(effect.caller, effect.forModel)
        return
      case 'trace':
        this.#account.replyStarted(effect.turn)
        return
      case 'trouble':
        this.#reportTurnFailure(effect)
        return
      case 'reopenEars':
        this.#callerInput.reopen()
        return
      case 'learnNoise':
        this.#log.info({ conversation: this.id }, 'sound without words is taken for noise')
        this.#callerInput.learnNoise()
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

  #reportTurnFailure({ part, code, message, again = false }: TurnEffect & { type: 'trouble' }): void {
    const model = part === 'language_model' ? this.#replies.modelFailed?.(code, again) : undefined
    this.#reportFailure(part, code, message, model?.vendor, model?.instead)
  }

  #reportFailure(
    part: 'speech_to_text' | 'text_to_speech' | 'language_model',
    code: string,
    message: string,
    vendor?: string,
    instead?: string | null,
  ): void {
    const who = { ...(vendor === undefined ? {} : { vendor }), ...(instead ? { instead } : {}) }
    this.#account.tracer.providerFailure()
    this.#log.warn({ conversation: this.id, part, code, ...who }, 'provider trouble')
    this.#emit({ type: 'trouble', part, code, message, ...who, atMs: this.#loop.now() })
  }

  #release(): void {
    this.#replies.close()
    this.#speech.close()
    this.#loop.timers.cancelAll()
    this.#callerInput.close()
    // Whoever listened to a conversation that failed is told nothing more.
    if (this.#loop.started && !this.#loop.faulty) this.#account.close()
  }
}
