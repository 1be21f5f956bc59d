import type { AgentSpec } from '../agent-spec.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
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
import { withPassages } from './passage-message.js'
import type { Retrieval, Retrieved } from './retrieval.js'
import { SpeculativeAnswer } from './speculative-answer.js'

export interface LlmReplySourceOptions {
  readonly spec: AgentSpec
  readonly models: ModelChain
  readonly tools: ToolRunner
  readonly speech: AgentSpeech
  readonly turnContext: TurnContext
  readonly tracer: TurnTracer
  /** Searches the agent's knowledge. Null when it has none to search. */
  readonly retrieval?: Retrieval | null
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
  /** Takes note of the words that the caller has said so far in the turn. */
  heard?(text: string): void
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
  readonly #retrieval: Retrieval | null
  /** Passages for the question that is being answered. */
  #found: Retrieved | null = null
  /** The question whose passages were reported. */
  #reported: string | null = null
  #job: Cancellable | null = null
  #speculation: {
    readonly answer: SpeculativeAnswer
    readonly language: string
    readonly choice: ModelChoice
  } | null = null

  constructor(options: LlmReplySourceOptions) {
    const { spec, models, tools, speech, turnContext, tracer, retrieval = null, before } = options
    this.#retrieval = retrieval
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
    const choice = this.#models.next(turn)
    this.#job = this.#start(choice, question, this.#reply(turn), () => this.#reportPassages())
  }

  heard(text: string): void {
    this.#retrieval?.heard(text)
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
      this.#reportPassages()
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
    this.#retrieval?.committed(text)
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
    this.#retrieval?.close()
  }

  /** Asks the model, with the caller's uncommitted words. */
  #start(
    choice: ModelChoice,
    { words, language, mayUseTools }: ModelQuestion,
    events: ModelJobEvents,
    asked?: () => void,
  ): Cancellable {
    const send = (): Cancellable => {
      this.#context.setLanguage(language)
      const messages = withPassages(this.#context.messages(words, this.#tools.messages), this.#found)
      const tools = mayUseTools ? toolDeclarations(this.#spec.tools) : []
      asked?.()
      return this.#requests.start(choice, messages, tools, events)
    }
    // Without new words of the caller, for example after a tool, the question is the same.
    if (this.#retrieval === null || words === null) return send()
    let job: Cancellable | null = null
    const search = this.#retrieval.whenReady(words, (found) => {
      this.#found = found
      job = send()
    })
    return {
      cancel() {
        search.cancel()
        job?.cancel()
      },
    }
  }

  /** Reports which passages a reply was given, once per question. */
  #reportPassages(): void {
    const found = this.#found
    if (found === null || found.question === this.#reported) return
    this.#reported = found.question
    const cited = found.passages.map(({ knowledgeBaseId, documentId, documentName, page, index, score }) => ({
      knowledgeBaseId,
      documentId,
      documentName,
      page,
      index,
      score,
    }))
    const { bestScore, tookMs } = found
    this.#turnContext.emit({
      type: 'tool',
      name: 'knowledge',
      arguments: { query: found.question },
      result: JSON.stringify({ passages: cited, bestScore, tookMs: Math.round(tookMs) }),
      atMs: this.#turnContext.now(),
    })
  }

  /** Returns the receiver that turns an answer into this reply. */
  #reply(turn: TurnId): ModelJobEvents {
    const turnContext = this.#turnContext
    const tracer = this.#tracer
    const takeBack: (() => void)[] = []
    return {
      token: () => {
        this.#models.began()
        tracer.mark(turn, 'modelFirstTokenMs')
        turnContext.feed({ type: 'token', turn, atMs: turnContext.now() })
      },
      progress: () => {
        this.#models.began()
        turnContext.feed({ type: 'progress', turn, atMs: turnContext.now() })
      },
      sentence: (text) => {
        tracer.mark(turn, 'firstSentenceMs')
        turnContext.feed({ type: 'sentence', turn, text, atMs: turnContext.now() })
        const language = languageOf(text, this.#spec.languages, turnContext.language.current)
        takeBack.push(this.#speech.say(turn, text, language))
      },
      withdrawn: () => {
        for (const take of takeBack.splice(0)) take()
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
