import type { AgentSpec } from '../agent-spec.js'
import type { Answerer } from '../answering-machine/answering-machine-detector.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import { spokenForm } from '../language/spoken-form.js'
import { languageOf } from '../language/text-language.js'
import { runAnswer } from '../tools/answer-tools.js'
import { declarations, type ToolRunner } from '../tools/tool-calls.js'
import { agentTools, type ToolRounds } from '../tools/tool-rounds.js'
import type { AgentVoice } from '../tts/agent-speech.js'
import type { Floor } from '../turn/turn-context.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import type { Cancellable } from '../vendor-ports.js'
import { ConversationContext } from './conversation-context.js'
import { promptOf } from './knowledge.js'
import type { ModelChain, ModelChoice } from './model-chain.js'
import type { ModelJobEvents } from './model-job.js'
import { ModelRequests } from './model-requests.js'
import { EarlyAnswer } from './speculative-answer.js'

export interface ReplyMakerOptions {
  readonly spec: AgentSpec
  readonly models: ModelChain
  readonly tools: ToolRunner
  readonly voice: AgentVoice
  readonly floor: Floor
  readonly tracer: TurnTracer
  /** A conversation that goes on: what was said so far, and the tools that run. */
  readonly before?: { readonly context: ConversationContext; readonly tools: ToolRounds }
}

/** Where the agent's replies come from, as the conversation orders them. */
export interface Replies {
  /** `mayUseTools` false: the model can only answer. */
  ask(order: TurnEffect & { do: 'ask' }, mayUseTools: boolean): void
  cancelModel(): void
  /** The model failed; who it was, and which other one is asked instead when it is asked `again`. */
  modelFailed?(code: string, again: boolean): { readonly vendor: string; readonly instead: string | null }
  /** Ends sound and jobs of a reply. */
  stop(turn: TurnId): void
  /** Ends a reply and keeps what was heard of it. */
  commitAgent(turn: TurnId, cutAtMs: number | null): void
  commitCaller(caller: CallerTurn, forModel: boolean): void
  /** Who or what took a call that we made. */
  answeredBy(by: Answerer): void
  /** Absent where nothing can be asked before a turn is decided. */
  readonly early?: EarlyReplies | undefined
  /** Nothing is told any more. */
  close(): void
}

/** Replies begun before it is decided that the caller has finished. One at a time. */
export interface EarlyReplies {
  begin(caller: CallerTurn): void
  /** The turn is decided: as `ask`, with what was begun. False: it does not fit, and nothing was done. */
  keep(turn: TurnId): boolean
  drop(): void
}

/** No reply: what is asked before there is one. */
const NO_REPLY: TurnId = -1

interface Asked {
  /** The caller's, when they are not part of the conversation yet. */
  readonly words: string | null
  readonly language: string
  /** False: the model can only answer. */
  readonly mayUseTools: boolean
}

/** Makes replies: asks the model, runs its tools, hands sentences to the voice, keeps what was said. */
export class ReplyMaker implements Replies {
  readonly #spec: AgentSpec
  readonly #models: ModelChain
  readonly #tools: ToolRounds
  readonly #voice: AgentVoice
  readonly #floor: Floor
  readonly #tracer: TurnTracer
  readonly #requests: ModelRequests
  readonly #context: ConversationContext
  #job: Cancellable | null = null
  #begun: {
    readonly answer: EarlyAnswer
    readonly language: string
    readonly choice: ModelChoice
  } | null = null

  constructor({ spec, models, tools, voice, floor, tracer, before }: ReplyMakerOptions) {
    this.#spec = spec
    this.#models = models
    this.#voice = voice
    this.#floor = floor
    this.#tracer = tracer
    this.#requests = new ModelRequests(tracer)
    const context = before?.context ?? new ConversationContext(promptOf(spec), spec.languages)
    this.#context = context
    this.#tools =
      before?.tools ??
      agentTools(spec, tools, voice, floor, (name, result) => {
        context.toolCameLate(name, result)
        floor.feed({ on: 'learnt', at: floor.now() })
      })
  }

  /** `mayUseTools` false: the model can only answer. */
  ask({ turn, caller }: TurnEffect & { do: 'ask' }, mayUseTools: boolean): void {
    this.cancelModel()
    this.#tracer.mark(turn, 'modelRequestMs')
    const asked = { words: caller?.text ?? null, language: this.#floor.language.current, mayUseTools }
    this.#job = this.#start(this.#models.next(turn), asked, this.#reply(turn))
  }

  readonly early: EarlyReplies = {
    begin: ({ id, text }) => {
      const floor = this.#floor
      const language = floor.language.after(id, text)
      this.#begun?.answer.cancel()
      const choice = this.#models.next(NO_REPLY)
      const asked = { words: text, language, mayUseTools: true }
      const answer = new EarlyAnswer({
        now: () => floor.now(),
        start: (events) => this.#start(choice, asked, events),
        failed: ({ code }) => {
          this.#models.failed(code, true)
          floor.feed({ on: 'speculationFailed', at: floor.now() })
        },
      })
      this.#begun = { answer, language, choice }
    },
    keep: (turn) => {
      // The final text may be in another language than its beginning.
      if (this.#begun?.language !== this.#floor.language.current) {
        this.early.drop()
        return false
      }
      const { answer, choice } = this.#begun
      const tracer = this.#tracer
      this.#begun = null
      this.cancelModel()
      this.#models.taken(turn, choice)
      tracer.kept(turn)
      tracer.mark(turn, 'modelRequestMs', answer.askedAtMs)
      if (answer.firstTokenMs !== null) tracer.mark(turn, 'modelFirstTokenMs', answer.firstTokenMs)
      if (answer.firstSentenceMs !== null) tracer.mark(turn, 'firstSentenceMs', answer.firstSentenceMs)
      this.#job = answer
      answer.keep(this.#reply(turn))
      return true
    },
    drop: () => {
      if (this.#begun === null) return
      this.#begun.answer.cancel()
      this.#begun = null
      this.#tracer.thrownAway()
    },
  }

  modelFailed(code: string, again: boolean) {
    return this.#models.failed(code, again)
  }

  cancelModel(): void {
    this.#job?.cancel()
    this.#job = null
  }

  /** Ends sound and jobs of a reply. */
  stop(turn: TurnId) {
    this.cancelModel()
    this.#tools.leave()
    return this.#voice.stop(turn)
  }

  /** Ends a reply and keeps what was heard of it. */
  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    const spoken = this.stop(turn)
    if (!spoken) return
    const { text, heard, language, startMs, endMs, words } = spoken
    this.#context.agentSaid(heard, cutAtMs !== null, this.#tools.take())
    this.#floor.emit({
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

  commitCaller({ id, text, startMs, endMs, words }: CallerTurn, forModel: boolean): void {
    if (forModel) this.#context.callerSaid(text)
    this.#floor.emit({
      type: 'turn',
      turn: {
        id,
        speaker: 'caller',
        text,
        heardText: text,
        language: this.#floor.language.ofCaller(text),
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        words: words.length > 0 ? words : null,
      },
    })
  }

  /** Who or what took a call that we made: what to do then is the prompt's to say. */
  answeredBy(by: Answerer): void {
    if (this.#context.answeredBy(by) !== null) this.#floor.feed({ on: 'learnt', at: this.#floor.now() })
  }

  /** Nothing is told any more. */
  close(): void {
    this.cancelModel()
    this.early.drop()
    this.#tools.close()
  }

  /** Asks the model, after the caller's words when they are not part of the conversation yet. */
  #start(choice: ModelChoice, { words, language, mayUseTools }: Asked, events: ModelJobEvents): Cancellable {
    this.#context.callerSpeaks(language)
    const messages = this.#context.messages(words, this.#tools.messages)
    return this.#requests.start(choice, messages, mayUseTools ? declarations(this.#spec.tools) : [], events)
  }

  /** What becomes of an answer that is this reply. */
  #reply(turn: TurnId): ModelJobEvents {
    const floor = this.#floor
    const tracer = this.#tracer
    return {
      token: () => {
        tracer.mark(turn, 'modelFirstTokenMs')
        floor.feed({ on: 'token', turn, at: floor.now() })
      },
      sentence: (text) => {
        tracer.mark(turn, 'firstSentenceMs')
        floor.feed({ on: 'sentence', turn, at: floor.now() })
        const language = languageOf(text, this.#spec.languages, floor.language.current)
        this.#voice.say(turn, spokenForm(text, language), language)
      },
      done: (text, calls) => {
        this.#job = null
        this.#models.answered()
        runAnswer({ turn, text, calls }, { floor: this.#floor, voice: this.#voice, tools: this.#tools })
      },
      failed: ({ code, message }) => {
        this.#job = null
        floor.feed({ on: 'modelFailed', turn, code, message, at: floor.now() })
      },
    }
  }
}
