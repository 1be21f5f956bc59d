import type { AgentSpec } from '../agent-spec.js'
import type { AnsweredBy } from '../answering-machine/answering-machine-detector.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import { spokenForm } from '../language/spoken-form.js'
import { languageOf } from '../language/text-language.js'
import { runAnswerTools } from '../tools/answer-tools.js'
import { type ToolRunner, toolDeclarations } from '../tools/tool-calls.js'
import { openToolRounds, type ToolRounds } from '../tools/tool-rounds.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import type { Cancellable } from '../vendor-ports.js'
import { ConversationContext } from './conversation-context.js'
import { promptOf } from './knowledge.js'
import type { ModelChain, ModelChoice } from './model-chain.js'
import type { ModelJobEvents } from './model-job.js'
import { ModelRequests } from './model-requests.js'
import { SpeculativeAnswer } from './speculative-answer.js'

export interface LlmReplySourceOptions {
  readonly spec: AgentSpec
  readonly models: ModelChain
  readonly tools: ToolRunner
  readonly speech: AgentSpeech
  readonly turnContext: TurnContext
  readonly tracer: TurnTracer
  /** A conversation that goes on: what was said so far, and the tools that run. */
  readonly before?: { readonly context: ConversationContext; readonly tools: ToolRounds }
}

/** Where the agent's replies come from, as the conversation orders them. */
export interface ReplySource {
  /** `mayUseTools` false: the model can only answer. */
  ask(order: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void
  cancelModel(): void
  /** The model failed; who it was, and which other one is asked instead when it is asked `again`. */
  modelFailed?(code: string, again: boolean): { readonly vendor: string; readonly instead: string | null }
  /** Ends sound and jobs of a reply. */
  stop(turn: TurnId): void
  /** Ends a reply and keeps what was heard of it. */
  commitAgent(turn: TurnId, cutAtMs: number | null): void
  commitCaller(caller: CallerTurn, forModel: boolean): void
  /** Who or what took a call that we made. */
  answeredBy(by: AnsweredBy): void
  /** Absent where nothing can be asked before a turn is decided. */
  readonly speculative?: SpeculativeReplies | undefined
  /** Nothing is told any more. */
  close(): void
}

/** Replies begun before it is decided that the caller has finished. One at a time. */
export interface SpeculativeReplies {
  begin(caller: CallerTurn): void
  /** The turn is decided: as `ask`, with what was begun. False: it does not fit, and nothing was done. */
  keep(turn: TurnId): boolean
  drop(): void
}

/** No reply: what is asked before there is one. */
const NO_REPLY: TurnId = -1

interface ModelQuestion {
  /** The caller's, when they are not part of the conversation yet. */
  readonly words: string | null
  readonly language: string
  /** False: the model can only answer. */
  readonly mayUseTools: boolean
}

/** Makes replies: asks the model, runs its tools, hands sentences to the voice, keeps what was said. */
export class LlmReplySource implements ReplySource {
  readonly #spec: AgentSpec
  readonly #models: ModelChain
  readonly #tools: ToolRounds
  readonly #speech: AgentSpeech
  readonly #turnContext: TurnContext
  readonly #tracer: TurnTracer
  readonly #requests: ModelRequests
  readonly #context: ConversationContext
  #job: Cancellable | null = null
  #speculation: {
    readonly answer: SpeculativeAnswer
    readonly language: string
    readonly choice: ModelChoice
  } | null = null

  constructor({
    spec,
    models,
    tools,
    speech: voice,
    turnContext: floor,
    tracer,
    before,
  }: LlmReplySourceOptions) {
    this.#spec = spec
    this.#models = models
    this.#speech = voice
    this.#turnContext = floor
    this.#tracer = tracer
    this.#requests = new ModelRequests(tracer)
    const context = before?.context ?? new ConversationContext(promptOf(spec), spec.languages)
    this.#context = context
    this.#tools =
      before?.tools ??
      openToolRounds(spec, tools, voice, floor, (name, result) => {
        context.addLateToolResult(name, result)
        floor.feed({ type: 'learnt', atMs: floor.now() })
      })
  }

  /** `mayUseTools` false: the model can only answer. */
  ask({ turn, caller }: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void {
    this.cancelModel()
    this.#tracer.mark(turn, 'modelRequestMs')
    const asked = { words: caller?.text ?? null, language: this.#turnContext.language.current, mayUseTools }
    this.#job = this.#start(this.#models.next(turn), asked, this.#reply(turn))
  }

  readonly speculative: SpeculativeReplies = {
    begin: ({ id, text }) => {
      const floor = this.#turnContext
      const language = floor.language.previewAfter(id, text)
      this.#speculation?.answer.cancel()
      const choice = this.#models.next(NO_REPLY)
      const asked = { words: text, language, mayUseTools: true }
      const answer = new SpeculativeAnswer({
        now: () => floor.now(),
        start: (events) => this.#start(choice, asked, events),
        failed: ({ code }) => {
          this.#models.failed(code, true)
          floor.feed({ type: 'speculationFailed', atMs: floor.now() })
        },
      })
      this.#speculation = { answer, language, choice }
    },
    keep: (turn) => {
      // The final text may be in another language than its beginning.
      if (this.#speculation?.language !== this.#turnContext.language.current) {
        this.speculative.drop()
        return false
      }
      const { answer, choice } = this.#speculation
      const tracer = this.#tracer
      this.#speculation = null
      this.cancelModel()
      this.#models.adopted(turn, choice)
      tracer.speculationKept(turn)
      tracer.mark(turn, 'modelRequestMs', answer.askedAtMs)
      if (answer.firstTokenMs !== null) tracer.mark(turn, 'modelFirstTokenMs', answer.firstTokenMs)
      if (answer.firstSentenceMs !== null) tracer.mark(turn, 'firstSentenceMs', answer.firstSentenceMs)
      this.#job = answer
      answer.keep(this.#reply(turn))
      return true
    },
    drop: () => {
      if (this.#speculation === null) return
      this.#speculation.answer.cancel()
      this.#speculation = null
      this.#tracer.speculationDropped()
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
    this.#tools.detach()
    return this.#speech.stop(turn)
  }

  /** Ends a reply and keeps what was heard of it. */
  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    const spoken = this.stop(turn)
    if (!spoken) return
    const { text, heard, language, startMs, endMs, words } = spoken
    this.#context.addAgentTurn(heard, cutAtMs !== null, this.#tools.take())
    this.#turnContext.emit({
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
    if (forModel) this.#context.addCallerTurn(text)
    this.#turnContext.emit({
      type: 'turn',
      turn: {
        id,
        speaker: 'caller',
        text,
        heardText: text,
        language: this.#turnContext.language.languageOfText(text),
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        words: words.length > 0 ? words : null,
      },
    })
  }

  /** Who or what took a call that we made: what to do then is the prompt's to say. */
  answeredBy(by: AnsweredBy): void {
    if (this.#context.answeredBy(by) !== null)
      this.#turnContext.feed({ type: 'learnt', atMs: this.#turnContext.now() })
  }

  /** Nothing is told any more. */
  close(): void {
    this.cancelModel()
    this.speculative.drop()
    this.#tools.close()
  }

  /** Asks the model, after the caller's words when they are not part of the conversation yet. */
  #start(
    choice: ModelChoice,
    { words, language, mayUseTools }: ModelQuestion,
    events: ModelJobEvents,
  ): Cancellable {
    this.#context.setLanguage(language)
    const messages = this.#context.messages(words, this.#tools.messages)
    return this.#requests.start(
      choice,
      messages,
      mayUseTools ? toolDeclarations(this.#spec.tools) : [],
      events,
    )
  }

  /** What becomes of an answer that is this reply. */
  #reply(turn: TurnId): ModelJobEvents {
    const floor = this.#turnContext
    const tracer = this.#tracer
    return {
      token: () => {
        tracer.mark(turn, 'modelFirstTokenMs')
        floor.feed({ type: 'token', turn, atMs: floor.now() })
      },
      sentence: (text) => {
        tracer.mark(turn, 'firstSentenceMs')
        floor.feed({ type: 'sentence', turn, atMs: floor.now() })
        const language = languageOf(text, this.#spec.languages, floor.language.current)
        this.#speech.say(turn, spokenForm(text, language), language)
      },
      done: (text, calls) => {
        this.#job = null
        this.#models.answered()
        runAnswerTools(
          { turn, text, calls },
          { turnContext: this.#turnContext, speech: this.#speech, tools: this.#tools },
        )
      },
      failed: ({ code, message }) => {
        this.#job = null
        floor.feed({ type: 'modelFailed', turn, code, message, atMs: floor.now() })
      },
    }
  }
}
