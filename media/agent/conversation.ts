import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import { EchoEstimator } from '../detect/echo.js'
import type { DetectorEvent } from '../detect/events.js'
import {
  type AudioFrame,
  type CloseReason,
  type Digit,
  type End,
  FRAME_MS,
  type SessionRate,
} from '../frame.js'
import { Playout } from '../playout.js'
import type { Vad, VadFactory } from '../vad.js'
import { AnswerListener, type AnswerVerdict } from './answer.js'
import { ConversationContext } from './context.js'
import { Ears } from './ears.js'
import type { ConversationEvent, TurnId } from './events.js'
import { languageOf } from './language.js'
import { engineLines } from './lines.js'
import { startModelJob } from './model-job.js'
import type { Cancellable, LanguageModel, ToolCall, Vendors } from './ports.js'
import { LinePreparation } from './prepare.js'
import { Speaker } from './speaker.js'
import type { AgentSpec, SpeakerScript } from './spec.js'
import { spokenForm } from './spoken-form.js'
import { Synthesiser } from './synthesis.js'
import { ToolRounds } from './tool-rounds.js'
import { declarations, fillerOf, type ToolRunner } from './tools.js'
import { ReplyTrace } from './trace.js'
import { initialTurnState, step } from './turn.js'
import { policyFor, type TurnPolicy, VAD_START_MS, VAD_STOP_MS } from './turn-policy.js'
import { TurnTimers } from './turn-timers.js'
import type { CallerTurn, Line, TurnEffect, TurnInput, TurnState } from './turn-types.js'
import { voicesFor } from './voices.js'

/** Sound waiting to be sent; more waits outside as the vendor delivered it. */
const PLAYOUT_MS = 5000

export interface ConversationOptions {
  readonly id: string
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly vendors: Vendors
  readonly vad: VadFactory
  readonly clock: Clock
  /** In order, on the same thread, also from within `close`. */
  emit(event: ConversationEvent): void
  readonly log: Log
  /** What tools need of the outside. */
  readonly tools: ToolRunner
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
export interface Conversation extends End {
  /** Synthesises the opening line so that it can be sent with the first packet. Bounded; never rejects. */
  prepare(): Promise<void>
  /** What was heard of the far side beside speech. */
  heard(event: DetectorEvent): void
  /** Media is live: session time 0. Once. */
  start(script: SpeakerScript | null): void
  /** Idempotent. What was said so far is emitted before it returns; nothing is afterwards. */
  close(why: CloseReason): void
}

/** Throws EngineError `config_invalid` when the agent names a vendor that is not configured. */
export function openConversation(options: ConversationOptions): Conversation {
  return new AgentConversation(options)
}

class AgentConversation implements Conversation {
  readonly id: string
  readonly kind = 'agent'
  readonly ear = 'arrival'

  readonly #spec: AgentSpec
  readonly #rate: SessionRate
  readonly #clock: Clock
  readonly #log: Log
  readonly #emit: (event: ConversationEvent) => void
  readonly #model: LanguageModel
  readonly #playout: Playout
  readonly #speaker: Speaker
  readonly #lines: LinePreparation
  readonly #context: ConversationContext
  readonly #ears: Ears
  readonly #detector: Vad
  readonly #timers: TurnTimers
  readonly #inputs: TurnInput[] = []

  #state: TurnState = initialTurnState
  #policy: TurnPolicy
  #stepping = false
  #startedAtMs: number | null = null
  #onBeat = false
  #job: Cancellable | null = null
  readonly #tools: ToolRounds
  #callerLanguage: string | null = null
  /** While it matters who answered. */
  #answer: AnswerListener | null
  #trace: ReplyTrace | null = null
  #lastOffsetMs: number | null = null
  #lastFinalMs: number | null = null
  #firstSampleOf: TurnId | null = null
  #drainedOf: TurnId | null = null
  readonly #echo: EchoEstimator
  readonly #quiet: Int16Array
  #echoTold = false
  /** The last frame of the utterance had sound. */
  #sounding = false

  readonly #onFault: ((error: unknown) => void) | undefined
  #faulty = false

  constructor({ id, spec, rate, vendors, vad, clock, emit, log, tools, onFault }: ConversationOptions) {
    this.id = id
    this.#tools = new ToolRounds(spec.tools, tools, {
      used: ({ name, arguments: given }, result) =>
        this.#emit({ type: 'tool', name, arguments: given, result, atMs: this.#now() }),
      late: ({ name }, result) => this.#context.toolCameLate(name, result),
    })
    this.#onFault = onFault
    this.#spec = spec
    this.#answer = spec.voicemail.enabled ? new AnswerListener(spec.voicemail.windowSeconds * 1000) : null
    this.#rate = rate
    this.#clock = clock
    this.#log = log
    this.#emit = emit
    this.#model = vendors.languageModel(spec.languageModel.vendor)
    const synthesiser = new Synthesiser({
      voices: voicesFor(spec, vendors),
      rate,
      clock,
      trouble: (error) => this.#trouble('text_to_speech', error.code, error.message),
    })
    this.#playout = new Playout(rate, PLAYOUT_MS)
    this.#playout.onFirstSample = (turn) => {
      this.#firstSampleOf = turn
    }
    this.#playout.onDrained = (turn) => {
      this.#drainedOf = turn
    }
    this.#speaker = new Speaker(this.#playout, rate, synthesiser, {
      firstAudio: (turn) => this.#trace?.firstAudio(turn, this.#now()),
      mute: (turn) => this.#feed({ on: 'mute', turn, at: this.#now() }),
    })
    this.#lines = new LinePreparation({ spec, rate, vendors, synthesiser, clock })
    this.#context = new ConversationContext(spec.systemPrompt, spec.languages)
    this.#ears = new Ears({
      spec,
      rate,
      recogniser: vendors.speechToText(spec.speechToText.vendor),
      clock,
      partial: (text) => {
        this.#feed({ on: 'partial', text, at: this.#now() })
        this.#judge(this.#answer?.words(text, this.#now()))
      },
      final: (text, words) => {
        this.#lastFinalMs = this.#now()
        this.#feed({ on: 'final', text, words, at: this.#now() })
        this.#judge(this.#answer?.words(text, this.#now()))
      },
      failed: ({ code, message }) => this.#feed({ on: 'deaf', code, message, at: this.#now() }),
    })
    this.#detector = vad.open({ rate, startMs: VAD_START_MS, stopMs: VAD_STOP_MS })
    this.#echo = new EchoEstimator(rate)
    this.#quiet = new Int16Array((rate / 1000) * FRAME_MS)
    this.#policy = policyFor(spec, this.#limits())
    this.#timers = new TurnTimers(clock, (turn, name) =>
      this.#feed({ on: 'timer', turn, name, at: this.#now() }),
    )
  }

  prepare(): Promise<void> {
    return this.#lines.prepare()
  }

  start(script: SpeakerScript | null): void {
    if (this.#startedAtMs !== null || this.#state.phase === 'ended') return
    this.#startedAtMs = this.#clock.now()
    const failure = this.#ears.open(script)
    this.#policy = policyFor(this.#spec, this.#limits())
    this.#feed({ on: 'start', opening: this.#spec.openingLine !== null, at: 0 })
    if (failure) this.#feed({ on: 'deaf', code: failure.code, message: failure.message, at: 0 })
  }

  push(frame: AudioFrame): void {
    if (this.#startedAtMs === null || this.#state.phase === 'ended') return
    const atMs = (frame.at * 1000) / frame.rate
    const detector = this.#detector
    const echo = this.#echo
    echo.heard(frame.pcm, atMs)
    if (echo.delayMs !== null && !this.#echoTold) this.#tellEcho(echo.delayMs, echo.gain)
    // The recogniser must not take our own words for the caller's, nor the detector our voice for one.
    this.#ears.write(echo.own && !detector.speaking ? this.#quiet : frame.pcm, atMs)
    const change = detector.process(frame.pcm, atMs, echo.explained)
    if (change === 'onset') {
      this.#answer?.onset(detector.onsetMs)
      this.#feed({ on: 'onset', fromMs: detector.onsetMs, at: this.#now() })
      this.#ears.utteranceStart(detector.onsetMs)
    } else if (change === 'offset') {
      this.#answer?.offset(detector.lastVoicedMs)
      this.#lastOffsetMs = this.#now()
      this.#feed({ on: 'offset', lastVoicedMs: detector.lastVoicedMs, at: this.#now() })
      this.#ears.utteranceEnd(detector.lastVoicedMs)
    }
    if (this.#answer !== null) this.#judge(this.#answer.tick(atMs))
    if (this.#state.phase === 'paused') {
      this.#feed({
        on: 'voice',
        voicedMs: detector.voicedMs,
        quietMs: atMs + FRAME_MS - detector.lastVoicedMs,
        at: this.#now(),
      })
    }
  }

  pull(into: Int16Array, at: number): boolean {
    if (!this.#onBeat && this.#startedAtMs !== null) {
      // Session time counts from the first beat, which comes up to 20 ms after the start.
      this.#onBeat = true
      this.#startedAtMs = this.#clock.now() - (at * 1000) / this.#rate
    }
    const turn = this.#speaker.current
    const sentBefore = turn === null ? 0 : this.#playout.sentSamples(turn)
    const sound = this.#playout.pull(into)
    if (sound) this.#echo.sent(into, (at * 1000) / this.#rate)
    if (turn !== null) this.#speaker.pulled(turn, sentBefore, (at * 1000) / this.#rate, FRAME_MS)
    const first = this.#firstSampleOf
    const drained = this.#drainedOf
    this.#firstSampleOf = null
    this.#drainedOf = null
    if (first !== null) this.#feed({ on: 'firstSample', turn: first, at: this.#now() })
    if (drained !== null) this.#feed({ on: 'drained', turn: drained, at: this.#now() })
    else if (turn !== null && sound !== this.#sounding && !this.#playout.paused) this.#flow(turn, sound)
    return sound
  }

  #tellEcho(delayMs: number, gain: number): void {
    this.#echoTold = true
    const gainDb = Math.round(20 * Math.log10(gain))
    this.#emit({ type: 'detected', event: { type: 'echo', delayMs, gainDb, atMs: this.#now() } })
  }

  /** The utterance ran dry, or goes on. */
  #flow(turn: TurnId, sounding: boolean): void {
    this.#sounding = sounding
    if (this.#state.reply?.audible) this.#feed({ on: 'flow', turn, sounding, at: this.#now() })
  }

  dtmf(digit: Digit, durationMs: number): void {
    if (this.#startedAtMs === null || this.#state.phase === 'ended') return
    this.#emit({ type: 'dtmf', digit, atMs: this.#now(), durationMs })
    this.#feed({ on: 'digit', digit, at: this.#now() })
  }

  close(_why: CloseReason): void {
    if (this.#state.phase !== 'ended') this.#feed({ on: 'close', at: this.#now() })
    this.#release()
  }

  heard(event: DetectorEvent): void {
    if (event.type === 'beep') this.#judge(this.#answer?.beep(event.startMs))
    else if (event.type === 'fax') this.#judge(this.#answer?.fax())
  }

  /** Who answered, as soon as it is known. Nobody talks to a recorder. */
  #judge(verdict: AnswerVerdict | null | undefined): void {
    if (this.#answer?.over) this.#answer = null
    if (!verdict || this.#state.phase === 'ended') return
    this.#emit({ type: 'answered_by', ...verdict, atMs: Math.round(this.#now()) })
    if (verdict.by === 'voicemail') this.#feed({ on: 'machine', why: 'voicemail', at: this.#now() })
    else if (verdict.by === 'fax') this.#feed({ on: 'machine', why: 'agent_hangup', at: this.#now() })
  }

  // ---- the machine

  #now(): number {
    return this.#startedAtMs === null ? 0 : this.#clock.now() - this.#startedAtMs
  }

  #limits() {
    const { finalDeadlineMs, understandsSpeech, partials } = this.#ears.capabilities
    return {
      finalDeadlineMs,
      understandsSpeech,
      partials,
      firstTokenDeadlineMs: this.#model.firstTokenDeadlineMs,
    }
  }

  /** An effect may bring the next input before the last one is done: inputs wait their turn. */
  #feed(input: TurnInput): void {
    this.#inputs.push(input)
    if (this.#stepping) return
    this.#stepping = true
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
        const { next: state, effects } = step(this.#state, next, this.#policy)
        this.#state = state
        for (const effect of effects) this.#run(effect)
      }
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#stepping = false
    }
  }

  /** The machine and the shell no longer agree: nothing more is done, and the owner closes the call. */
  #failed(error: unknown): void {
    this.#inputs.length = 0
    this.#state = { ...this.#state, phase: 'ended' }
    this.#timers.cancelAll()
    if (this.#onFault === undefined) throw error
    if (this.#faulty) return
    this.#faulty = true
    this.#onFault(error)
  }

  #run(effect: TurnEffect): void {
    switch (effect.do) {
      case 'startTimer':
        this.#timers.start(effect.turn, effect.name, effect.ms)
        return
      case 'cancelTimer':
        this.#timers.cancel(effect.turn, effect.name)
        return
      case 'cancelTimers':
        this.#timers.cancelAll(effect.turn)
        return
      case 'pause':
        this.#playout.pause()
        return
      case 'resume':
        this.#playout.resume()
        if (effect.pausedAtMs !== null) {
          const atMs = this.#now()
          const pausedMs = atMs - effect.pausedAtMs
          this.#emit({ type: 'resumed', turnId: effect.turn, atMs, pausedMs })
        }
        return
      case 'interrupt':
        this.#emit({ type: 'interrupted', turnId: effect.turn, atMs: effect.atMs })
        this.#commitAgent(effect.turn, effect.atMs)
        return
      case 'cut':
      case 'commitAgent':
        this.#commitAgent(effect.turn, null)
        return
      case 'drop':
        this.#stopReply(effect.turn)
        return
      case 'ask':
        this.#ask(effect)
        return
      case 'cancelModel':
        this.#cancelModel()
        return
      case 'say':
        this.#say(effect.turn, effect.line)
        return
      case 'finishSpeech':
        this.#speaker.finish(effect.turn)
        return
      case 'commitCaller':
        this.#commitCaller(effect.caller, effect.forModel)
        return
      case 'trace':
        if (this.#trace?.turn === effect.turn) {
          this.#emit({ type: 'trace', trace: this.#trace.finish(this.#now()) })
        }
        this.#trace = null
        return
      case 'trouble':
        this.#trouble(effect.part, effect.code, effect.message)
        return
      case 'reopenEars':
        this.#ears.reopen(this.#detector.speaking ? this.#detector.onsetMs : null)
        return
      case 'learnNoise':
        this.#log.info({ conversation: this.id }, 'sound without words is taken for noise')
        this.#detector.learnNoise()
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

  // ---- words

  #ask({ turn, caller, attempt, round }: TurnEffect & { do: 'ask' }): void {
    this.#cancelModel()
    if (caller) this.#callerLanguage = languageOf(caller.text, this.#spec.languages)
    if (round === 0 && attempt === 1 && caller) {
      this.#trace = new ReplyTrace(turn, caller.endMs, this.#now(), this.#lastOffsetMs, this.#lastFinalMs)
    }
    const request = {
      model: this.#spec.languageModel.model,
      messages: this.#context.messages(caller?.text ?? null, this.#tools.messages),
      // After the last allowed round the model can only answer.
      tools: round < this.#policy.toolRounds ? declarations(this.#spec.tools) : [],
    }
    this.#job = startModelJob(this.#model, request, {
      token: () => {
        this.#trace?.firstToken(turn, this.#now())
        this.#feed({ on: 'token', turn, at: this.#now() })
      },
      sentence: (text) => {
        this.#trace?.firstSentence(turn, this.#now())
        this.#feed({ on: 'sentence', turn, at: this.#now() })
        const language = languageOf(text, this.#spec.languages)
        this.#speaker.say(turn, spokenForm(text, language), language)
      },
      done: (text, calls) => {
        this.#job = null
        this.#answered(turn, text, calls)
      },
      failed: ({ code, message }) => {
        this.#job = null
        this.#feed({ on: 'modelFailed', turn, code, message, at: this.#now() })
      },
    })
  }

  #answered(turn: TurnId, text: string, calls: readonly ToolCall[]): void {
    try {
      const pending = this.#tools.run(text, calls, (next) =>
        this.#feed({ on: 'modelDone', turn, next, at: this.#now() }),
      )
      if (pending === null) return
      const language = this.#callerLanguage ?? this.#spec.languages[0] ?? ''
      const filler = fillerOf(pending, language)
      this.#feed({ on: 'toolsRun', turn, bridged: filler !== null, at: this.#now() })
      if (filler !== null) this.#speaker.say(turn, spokenForm(filler, language), language)
    } catch (error) {
      this.#failed(error)
    }
  }

  #cancelModel(): void {
    this.#job?.cancel()
    this.#job = null
  }

  #say(turn: TurnId, line: Line): void {
    for (const { text, language, prepared } of this.#lines.sentences(this.#lineText(line))) {
      this.#speaker.say(turn, text, language, prepared)
    }
  }

  #lineText(line: Line): string {
    if (typeof line === 'object') return this.#spec.nudges.steps[line.nudge]?.text ?? ''
    if (line === 'opening') return this.#spec.openingLine ?? ''
    if (line === 'hangup') return this.#spec.hangupLine ?? ''
    return engineLines(this.#spec.languages[0] ?? '')[line]
  }

  /** Ends sound and jobs of a reply. */
  #stopReply(turn: TurnId) {
    this.#cancelModel()
    this.#tools.leave()
    const spoken = this.#speaker.stop(turn)
    // Also when nothing had been handed over yet: the pause ends with the reply.
    this.#playout.flush()
    return spoken
  }

  #commitAgent(turn: TurnId, cutAtMs: number | null): void {
    const spoken = this.#stopReply(turn)
    if (!spoken) return
    const { text, heard, language, startMs, endMs, words } = spoken
    this.#context.agentSaid(heard, cutAtMs !== null, this.#tools.take())
    this.#emit({
      type: 'turn',
      turn: {
        id: turn,
        speaker: 'agent',
        text,
        heardText: heard,
        language,
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        ...(cutAtMs === null ? {} : { cutAtMs: Math.round(cutAtMs) }),
        words,
      },
    })
  }

  #commitCaller({ id, text, startMs, endMs, words }: CallerTurn, forModel: boolean): void {
    if (forModel) this.#context.callerSaid(text)
    this.#emit({
      type: 'turn',
      turn: {
        id,
        speaker: 'caller',
        text,
        heardText: text,
        language: languageOf(text, this.#spec.languages),
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        words: words.length > 0 ? words : null,
      },
    })
  }

  #trouble(
    part: 'speech_to_text' | 'text_to_speech' | 'language_model',
    code: string,
    message: string,
  ): void {
    this.#log.warn({ conversation: this.id, part, code }, 'provider trouble')
    this.#emit({ type: 'trouble', part, code, message, atMs: this.#now() })
  }

  #release(): void {
    this.#cancelModel()
    this.#tools.close()
    const turn = this.#speaker.current
    if (turn !== null) this.#speaker.stop(turn)
    this.#playout.flush()
    this.#timers.cancelAll()
    this.#lines.close()
    this.#ears.close()
    this.#detector.close()
  }
}
