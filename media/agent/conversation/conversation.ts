import type { Clock } from '../../base/clock.js'
import { errorText } from '../../base/errors.js'
import type { AudioFrame, Digit, SessionRate } from '../../base/frame.js'
import type { Log } from '../../base/log.js'
import type { DetectorEvent } from '../../detect/events.js'
import type { CloseReason, Endpoint } from '../../session/endpoint.js'
import type { NoiseSuppression } from '../../vad/noise-suppressor.js'
import type { TurnDetector } from '../../vad/turn-detector.js'
import type { VadFactory } from '../../vad/vad.js'
import type { AgentSpec } from '../agent-spec.js'
import type { CircuitBreakers } from '../circuit-breaker.js'
import type { ConversationEvent, TurnId, TurnRecord } from '../conversation-events.js'
import { CallLanguage } from '../language/call-language.js'
import { LlmReplySource, type ReplySource } from '../llm/llm-reply-source.js'
import { Retrieval, searchesKnowledge } from '../llm/retrieval.js'
import { CallerInput } from '../stt/caller-input.js'
import type { RecogniserChoice } from '../stt/stt-stream.js'
import type { ToolRunner } from '../tools/tool-calls.js'
import { AgentSpeech } from '../tts/agent-speech.js'
import type { PhraseCache } from '../tts/phrase-cache.js'
import type { VoiceChoice } from '../tts/synthesis.js'
import { voicesFor } from '../tts/voices.js'
import type { TurnContext } from '../turn/turn-context.js'
import { TurnLoop } from '../turn/turn-loop.js'
import { policyFor, type TurnPolicy } from '../turn/turn-policy.js'
import type { Announcement, TurnEffect, TurnInput } from '../turn/turn-types.js'
import type { SpeechToText, Vendors } from '../vendor-ports.js'
import { ConversationAccount } from './conversation-account.js'
import { TurnTracer } from './turn-tracer.js'
import { fallbackRecognisers, openModelChain } from './vendor-cascade.js'

/** How an announcement ended. */
export type SayResult = 'said' | 'cut' | 'failed'

export interface ConversationOptions {
  readonly id: string
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly vendors: Vendors
  /** Shared by the calls of a thread. */
  readonly breakers: CircuitBreakers
  /** Shared by the calls of a thread. */
  readonly phrases: PhraseCache
  readonly vad: VadFactory
  /**
   * Estimates from the sound of a pause whether the caller has finished. Without a detector the words alone
   * decide.
   */
  readonly turnDetector?: TurnDetector | null
  /** Shared by the calls of a thread. Without it an agent that asks for it is not served. */
  readonly noiseSuppression?: NoiseSuppression | null
  readonly clock: Clock
  /** Receives events in order, on the same thread, also during `close`. */
  emit(event: ConversationEvent): void
  readonly log: Log
  /** Runs tools that need something outside the conversation. */
  readonly tools: ToolRunner
  /**
   * Signals that the next frame ends the agent's audio and may be pulled early. Must not pull during this
   * call.
   */
  flushEarly?(): void
  /** Asks the model before the end of the caller's turn is decided. Some requests are wasted. */
  readonly speculate?: boolean
  /**
   * Called once when the conversation fails in a timer, a vendor callback or a frame tick. The conversation
   * then neither speaks nor listens and waits for `close`. Without this callback the error is thrown at its
   * origin.
   */
  readonly onFault?: (error: unknown) => void
}

/** The models behind a conversation: an STT, LLM and TTS cascade, or one speech-to-speech model. */
export interface ReplyModel {
  readonly recogniser: SpeechToText
  /** Recognisers that take over when `recogniser` fails. */
  readonly fallbackRecognisers?: readonly RecogniserChoice[]
  readonly firstTokenDeadlineMs: number
  /** Number of models that can answer. Absent means one. */
  readonly models?: number
  /** The agent's voice, then its fallbacks. */
  readonly voices: readonly VoiceChoice[]
  /** Turn-taking values that differ from the defaults. */
  readonly policy: Partial<TurnPolicy>
  replies(speech: AgentSpeech, tracer: TurnTracer): ReplySource
}

export type OpenReplyModel = (options: ConversationOptions, turnContext: TurnContext) => ReplyModel

/**
 * Opens an agent conversation. Throws EngineError `config_invalid` when the agent names an unconfigured
 * vendor.
 */
export function openConversation(
  options: ConversationOptions,
  openReplyModel: OpenReplyModel = cascade,
): Conversation {
  return new Conversation(options, openReplyModel)
}

/** Connects STT to an LLM, and the LLM's sentences to TTS. */
const cascade: OpenReplyModel = ({ spec, vendors, breakers, tools, clock }, turnContext) => {
  const retrieval = searchesKnowledge(spec) ? new Retrieval({ tools, turnContext, clock }) : null
  retrieval?.prepare()
  const chosen = [spec.languageModel, ...(spec.fallbacks?.languageModel ?? [])] as const
  const models = openModelChain(chosen, { vendors, breakers, turnContext })
  return {
    recogniser: vendors.speechToText(spec.speechToText.vendor),
    fallbackRecognisers: fallbackRecognisers(spec, vendors),
    get firstTokenDeadlineMs() {
      return models.firstTokenDeadlineMs
    },
    models: models.size,
    voices: voicesFor(spec, vendors),
    policy: {},
    replies: (speech, tracer) =>
      new LlmReplySource({ spec, models, tools, speech, turnContext, tracer, retrieval }),
  }
}

/**
 * A talking agent: the shell around the turn machine. Owns playout, VAD, recogniser, model and synthesis jobs
 * and timers. Runs the machine's effects and feeds its inputs.
 */
export class Conversation implements Endpoint {
  readonly id: string
  readonly kind = 'agent'
  readonly delivery = 'arrival'

  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #log: Log
  readonly #replyModel: ReplyModel
  readonly #speculate: boolean
  readonly #speech: AgentSpeech
  readonly #callerInput: CallerInput
  readonly #replies: ReplySource
  readonly #loop: TurnLoop
  readonly #tracer: TurnTracer
  readonly #account: ConversationAccount
  /** The announcement in progress; its turn is null until it begins. */
  #saying: { turn: TurnId | null; readonly done: (result: SayResult) => void } | null = null
  #away = false

  constructor(options: ConversationOptions, openReplyModel: OpenReplyModel) {
    const { id, spec, rate, breakers, phrases, vad, turnDetector = null, clock, emit, log, onFault } = options
    this.id = id
    this.#spec = spec
    this.#rate = rate
    this.#speculate = options.speculate ?? false
    this.#log = log
    const language = new CallLanguage(spec.languages, spec.speechToText.mode === 'translate')
    this.#loop = new TurnLoop({ clock, language, emit, onFault })
    const turnContext: TurnContext = this.#loop
    const tracer = new TurnTracer(() => turnContext.now())
    this.#tracer = tracer
    const replyModel = openReplyModel(options, turnContext)
    this.#replyModel = replyModel
    this.#speech = new AgentSpeech({
      spec,
      rate,
      breakers,
      phrases,
      voices: replyModel.voices,
      clock,
      turnContext,
      tracer,
      flushEarly: () => options.flushEarly?.(),
      onFailure: (error, vendor, instead) => this.#reportFailure('text_to_speech', error, vendor, instead),
    })
    const { model, mode, languages = null } = spec.speechToText
    this.#callerInput = new CallerInput({
      spec,
      rate,
      recognisers: [
        { recogniser: replyModel.recogniser, model, mode, languages },
        ...(replyModel.fallbackRecognisers ?? []),
      ],
      breakers,
      vad,
      turnDetector,
      noiseSuppression: options.noiseSuppression ?? null,
      clock,
      turnContext,
      heard: (text) => this.#replies.heard?.(text),
      recogniserFailed: (error, vendor, instead) =>
        this.#reportFailure('speech_to_text', error, vendor, instead),
    })
    this.#account = new ConversationAccount(turnContext, tracer, this.#callerInput)
    this.#replies = replyModel.replies(this.#speech, tracer)
    this.#loop.attach({ run: (effect) => this.#run(effect), policy: () => this.#policy() })
    language.onChange((tag) => {
      log.info({ conversation: id, language: tag }, 'conversation.language_changed')
      this.#callerInput.setLanguage(tag)
      this.#speech.prepareFor(tag)
      this.#loop.policyChanged()
    })
  }

  /**
   * Synthesises the opening line for the first packet and loads noise suppression. Takes bounded time and
   * never rejects.
   */
  async prepare(): Promise<void> {
    const input = this.#callerInput.prepare().catch((error: unknown) => {
      this.#log.error({ conversation: this.id, error: errorText(error) }, 'noise_suppression.failed')
    })
    await Promise.all([this.#speech.prepare(), input])
  }

  /** Starts the conversation at a session time (ms), that is when media is live. Call once. */
  start(atMs = 0): void {
    if (this.#loop.started || this.#loop.phase === 'ended') return
    this.#loop.begin(atMs)
    const failure = this.#callerInput.open()
    this.#loop.policyChanged()
    this.#feed({ type: 'start', opening: this.#spec.openingLine !== null, atMs })
    if (failure) this.#feed({ type: 'recognitionFailed', code: failure.code, message: failure.message, atMs })
    if (this.#away) this.#leaveOrReturn()
  }

  push(frame: AudioFrame): void {
    if (!this.#away && this.#loop.started && this.#loop.phase !== 'ended') this.#callerInput.push(frame)
  }

  pull(into: Int16Array, at: number): boolean {
    this.#loop.tick((at * 1000) / this.#rate)
    const audio = this.#speech.pull(into, at)
    if (audio) this.#callerInput.audioSent(into, at)
    return audio
  }

  dtmf(digit: Digit, durationMs: number): void {
    if (this.#away || !this.#loop.started || this.#loop.phase === 'ended') return
    this.#loop.emit({ type: 'dtmf', digit, atMs: this.#loop.now(), durationMs })
    this.#feed({ type: 'digit', digit, atMs: this.#loop.now() })
  }

  /** Emits the turns so far, then closes the conversation. Emits nothing after it returns. Idempotent. */
  close(_why: CloseReason): void {
    if (this.#loop.phase !== 'ended') this.#feed({ type: 'close', atMs: this.#loop.now() })
    this.#release()
  }

  /**
   * Says a text in the agent's voice, at the end of the clause in progress. Resolves when it was said to the
   * end, was cut, or could not be said. With `last` the conversation finishes with `asked`; a null text then
   * says nothing. An agent that is ending says nothing more.
   */
  say(announcement: Announcement): Promise<SayResult> {
    const { phase, started } = this.#loop
    if (!started || phase === 'ended' || phase === 'ending') return Promise.resolve('failed')
    this.#said('cut')
    return new Promise((done) => {
      this.#saying = { turn: null, done }
      this.#feed({ type: 'say', ...announcement, atMs: this.#loop.now() })
    })
  }

  /** Tells the model something for its next reply. Nothing is said. Returns false when the agent replies no more. */
  note(text: string): boolean {
    const { phase, started } = this.#loop
    if (!started || phase === 'ended' || phase === 'ending') return false
    this.#loop.emit({ type: 'note', text, atMs: this.#loop.now() })
    this.#replies.addNote(text)
    return true
  }

  /**
   * Makes the agent leave the call to others, or take part again. Away, it hears no party and says only what `say`
   * tells it; its memory stays, and the limits of the call stand still.
   */
  setAway(away: boolean): void {
    if (away === this.#away) return
    this.#away = away
    if (this.#loop.started && this.#loop.phase !== 'ended') this.#leaveOrReturn()
  }

  /** Handles a detected sound of the far side other than speech. */
  detected(event: DetectorEvent): void {
    this.#callerInput.detected(event)
  }

  #leaveOrReturn(): void {
    this.#feed({ type: this.#away ? 'leave' : 'return', atMs: this.#loop.now() })
  }

  #said(result: SayResult): void {
    this.#saying?.done(result)
    this.#saying = null
  }

  #endTurn(turn: TurnId, ending: TurnRecord['ending'], interruptedMs: number | null = null): void {
    this.#account.endTurn(turn, ending, interruptedMs)
    if (this.#saying?.turn !== turn) return
    this.#said(ending === 'said' ? 'said' : ending === 'unheard' ? 'failed' : 'cut')
  }

  #feed(input: TurnInput): void {
    this.#loop.feed(input)
  }

  #policy(): TurnPolicy {
    const { finalDeadlineMs, deadlineSet, understandsSpeech, partials } = this.#callerInput.capabilities
    const { firstTokenDeadlineMs, models = 1, policy } = this.#replyModel
    const speculates = this.#speculate && this.#replies.speculative !== undefined
    const limits = {
      finalDeadlineMs,
      finalDeadlineSet: deadlineSet ?? false,
      understandsSpeech,
      partials,
      firstTokenDeadlineMs,
      models,
      speculates,
    }
    return { ...policyFor(this.#spec, limits, this.#loop.language.current), ...policy }
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
          this.#loop.emit({ type: 'resumed', turnId: effect.turn, atMs, pausedMs })
        }
        return
      case 'interrupt':
        this.#loop.emit({ type: 'interrupted', turnId: effect.turn, atMs: effect.atMs })
        this.#replies.commitAgent(effect.turn, { atMs: effect.atMs, byCaller: true })
        this.#endTurn(effect.turn, 'interrupted', effect.atMs)
        return
      case 'stopSpeech':
        this.#replies.commitAgent(effect.turn, { atMs: this.#loop.now(), byCaller: false })
        this.#endTurn(effect.turn, 'cut')
        return
      case 'commitAgent':
        this.#replies.commitAgent(effect.turn, null)
        this.#endTurn(effect.turn, 'said')
        return
      case 'dropReply':
        this.#replies.stop(effect.turn)
        this.#endTurn(effect.turn, 'unheard')
        return
      case 'ask':
        if (effect.caller) this.#loop.language.callerSaid(effect.caller.id, effect.caller.text)
        this.#account.beginTurn(effect.turn, 'reply', effect.caller)
        // In the last allowed round the model gets no tools, so it can only answer.
        this.#replies.ask(effect, effect.round < this.#loop.policy.toolRounds)
        return
      case 'speculate':
        this.#replies.speculative?.begin(effect.caller)
        return
      case 'dropSpeculation':
        this.#replies.speculative?.drop()
        return
      case 'keepSpeculation':
        this.#loop.language.callerSaid(effect.caller.id, effect.caller.text)
        this.#account.beginTurn(effect.turn, 'reply', effect.caller)
        if (!this.#replies.speculative?.keep(effect.turn)) {
          this.#replies.ask({ ...effect, type: 'ask', attempt: 1, round: 0 }, true)
        }
        return
      case 'backchannel':
        this.#speech.backchannel()
        return
      case 'cancelModel':
        this.#replies.cancelModel()
        return
      case 'sayPhrase':
        this.#account.beginTurn(effect.turn, 'line', null)
        if (this.#saying !== null && typeof effect.phrase === 'object' && 'say' in effect.phrase) {
          this.#saying.turn = effect.turn
        }
        this.#speech.sayPhrase(effect.turn, effect.phrase)
        return
      case 'stopAtClause':
        this.#speech.stopAtClause(effect.turn)
        return
      case 'finishSpeech':
        this.#speech.finish(effect.turn)
        return
      case 'commitCaller':
        // A turn that is not answered by the model decides about the language, too.
        if (effect.forModel) this.#loop.language.callerSaid(effect.caller.id, effect.caller.text)
        this.#replies.commitCaller(effect.caller, effect.forModel)
        return
      case 'replyAudible':
        this.#account.replyStarted(effect.turn)
        return
      case 'reportFailure':
        this.#reportTurnFailure(effect)
        return
      case 'reopenRecogniser':
        this.#callerInput.reopen()
        return
      case 'suspendRecogniser':
        this.#callerInput.suspend()
        return
      case 'expectNumber':
        this.#callerInput.expectNumber(effect.expected)
        return
      case 'learnNoise':
        this.#log.info({ conversation: this.id }, 'vad.noise_learned')
        this.#callerInput.learnNoise()
        return
      case 'addNote':
        this.#replies.addNote(effect.note)
        return
      case 'finish':
        this.#loop.emit({ type: 'finished', why: effect.why })
        return
      case 'stop':
        this.#release()
        return
      default:
        effect satisfies never
    }
  }

  #reportTurnFailure({ part, code, message, again = false }: TurnEffect & { type: 'reportFailure' }): void {
    const model = part === 'language_model' ? this.#replies.modelFailed?.(code, again) : undefined
    this.#reportFailure(part, { code, message }, model?.vendor, model?.instead)
    // A vendor that is slower than expected gets more time.
    this.#loop.policyChanged()
  }

  #reportFailure(
    part: 'speech_to_text' | 'text_to_speech' | 'language_model',
    { code, message }: { readonly code: string; readonly message: string },
    vendor?: string,
    instead?: string | null,
  ): void {
    const who = { ...(vendor === undefined ? {} : { vendor }), ...(instead ? { instead } : {}) }
    this.#tracer.providerFailure()
    this.#log.warn({ conversation: this.id, part, code, ...who }, 'provider.failed')
    this.#loop.emit({ type: 'trouble', part, code, message, ...who, atMs: this.#loop.now() })
  }

  #release(): void {
    this.#said('cut')
    this.#replies.close()
    this.#speech.close()
    this.#loop.timers.cancelAll()
    this.#callerInput.close()
    // A failed conversation reports nothing more.
    if (this.#loop.started && !this.#loop.faulty) this.#account.close()
  }
}
