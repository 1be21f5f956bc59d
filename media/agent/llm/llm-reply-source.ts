import type { AgentSpec } from '../agent-spec.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import { spokenForm } from '../language/spoken-form.js'
import { languageOf } from '../language/text-language.js'
import { runAnswerTools } from '../tools/answer-tools.js'
import { type ToolRunner, toolDeclarations } from '../tools/tool-calls.js'
import { openToolRounds, type ToolRounds } from '../tools/tool-rounds.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { SpokenUtterance } from '../tts/speaker.js'
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
  /** Continues a conversation: its context and its running tools. */
  readonly before?: { readonly context: ConversationContext; readonly tools: ToolRounds }
}

/** Why and when speech stopped before its end, in session ms. */
export interface SpeechCut {
  readonly atMs: number
  /** Otherwise the call or the conversation ended. */
  readonly byCaller: boolean
}

/** Returns the time of the cut for the turn's event. Speech that was heard to its end was not cut. */
export function cutTime(
  { text, heard }: SpokenUtterance,
  cut: SpeechCut | null,
): { readonly cutAtMs?: number } {
  return cut === null || (!cut.byCaller && heard === text) ? {} : { cutAtMs: Math.round(cut.atMs) }
}

/** The source of the agent's replies. */
export interface ReplySource {
  /** Asks for a reply. With `mayUseTools` false the model can only answer. */
  ask(order: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void
  cancelModel(): void
  /**
   * Handles a failed model. Returns the failed model and, when the reply is asked `again`, its replacement.
   */
  modelFailed?(code: string, again: boolean): { readonly vendor: string; readonly instead: string | null }
  /** Stops the audio and the jobs of a reply. */
  stop(turn: TurnId): void
  /** Ends a reply and keeps the heard words. */
  commitAgent(turn: TurnId, cut: SpeechCut | null): void
  commitCaller(caller: CallerTurn, forModel: boolean): void
  /** Adds a note to the model's context. */
  addNote(note: string): void
  /** Absent when the source cannot answer speculatively. */
  readonly speculative?: SpeculativeReplies | undefined
  /** Stops everything. Nothing is reported after that. */
  close(): void
}

/** Replies requested before the end of the caller's turn is decided. One at a time. */
export interface SpeculativeReplies {
  begin(caller: CallerTurn): void
  /** Uses the speculative answer as the reply. Returns false when it does not fit. */
  keep(turn: TurnId): boolean
  drop(): void
}

/** Turn id of a request that has no reply yet. */
const NO_REPLY: TurnId = -1

interface ModelQuestion {
  /** The caller's uncommitted words, or null. */
  readonly words: string | null
  readonly language: string
  /** With false, the model can only answer. */
  readonly mayUseTools: boolean
}

/**
 * Generates replies with an LLM: asks the model, runs its tools, passes its sentences to speech and keeps the
 * heard words.
 */
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

  constructor({ spec, models, tools, speech, turnContext, tracer, before }: LlmReplySourceOptions) {
    this.#spec = spec
    this.#models = models
    this.#speech = speech
    this.#turnContext = turnContext
    this.#tracer = tracer
    this.#requests = new ModelRequests(tracer)
    const context = before?.context ?? new ConversationContext(promptOf(spec), spec.languages)
    this.#context = context
    this.#tools =
      before?.tools ??
      openToolRounds(spec, tools, speech, turnContext, (name, result) => {
        context.addLateToolResult(name, result)
        turnContext.feed({ type: 'contextChanged', atMs: turnContext.now() })
      })
  }

  ask({ turn, caller }: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void {
    this.cancelModel()
    this.#tracer.mark(turn, 'modelRequestMs')
    const question = {
      words: caller?.text ?? null,
      language: this.#turnContext.language.current,
      mayUseTools,
    }
    this.#job = this.#start(this.#models.next(turn), question, this.#reply(turn))
  }

  readonly speculative: SpeculativeReplies = {
    begin: ({ id, text }) => {
      const turnContext = this.#turnContext
      const language = turnContext.language.previewAfter(id, text)
      this.#speculation?.answer.cancel()
      const choice = this.#models.next(NO_REPLY)
      const question = { words: text, language, mayUseTools: true }
      const answer = new SpeculativeAnswer({
        now: () => turnContext.now(),
        start: (events) => this.#start(choice, question, events),
        failed: ({ code }) => {
          this.#models.failed(code, true)
          turnContext.feed({ type: 'speculationFailed', atMs: turnContext.now() })
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

  stop(turn: TurnId) {
    this.cancelModel()
    this.#tools.detach()
    return this.#speech.stop(turn)
  }

  commitAgent(turn: TurnId, cut: SpeechCut | null): void {
    const spoken = this.stop(turn)
    if (!spoken) return
    const { text, heard, language, startMs, endMs, words } = spoken
    this.#context.addAgentTurn(heard, cut?.byCaller ?? false, this.#tools.take())
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
        ...cutTime(spoken, cut),
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

  addNote(note: string): void {
    this.#context.addNote(note)
    this.#turnContext.feed({ type: 'contextChanged', atMs: this.#turnContext.now() })
  }

  close(): void {
    this.cancelModel()
    this.speculative.drop()
    this.#tools.close()
  }

  /** Asks the model, with the caller's uncommitted words. */
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

  /** Returns the receiver that turns an answer into this reply. */
  #reply(turn: TurnId): ModelJobEvents {
    const turnContext = this.#turnContext
    const tracer = this.#tracer
    return {
      token: () => {
        tracer.mark(turn, 'modelFirstTokenMs')
        turnContext.feed({ type: 'token', turn, atMs: turnContext.now() })
      },
      sentence: (text) => {
        tracer.mark(turn, 'firstSentenceMs')
        turnContext.feed({ type: 'sentence', turn, atMs: turnContext.now() })
        const language = languageOf(text, this.#spec.languages, turnContext.language.current)
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
        turnContext.feed({ type: 'modelFailed', turn, code, message, atMs: turnContext.now() })
      },
    }
  }
}
