import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { AgentSpec } from '../agent-spec.js'
import { breakerKey, type CircuitBreakers } from '../circuit-breaker.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import { asksForNoCalls } from '../language/opt-out-request.js'
import { languageOf } from '../language/text-language.js'
import type { ConversationContext } from '../llm/conversation-context.js'
import { cutTime, type ReplySource, type SpeechCut } from '../llm/llm-reply-source.js'
import { runAnswerTools } from '../tools/answer-tools.js'
import type { ToolRunner } from '../tools/tool-calls.js'
import { openToolRounds, type ToolRounds } from '../tools/tool-rounds.js'
import type { AgentSpeech } from '../tts/agent-speech.js'
import type { SpokenUtterance } from '../tts/speaker.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import type { Cancellable, ChatMessage } from '../vendor-ports.js'
import {
  type CallerTranscripts,
  type EventQueue,
  keyedDigits,
  NOT_HEARD,
  UNTRANSCRIBED,
} from './caller-transcripts.js'
import type { RealtimeConnection } from './realtime-connection.js'
import { RealtimeItem } from './realtime-item.js'

/** Longest reply (s). A model that exceeds it is broken. */
const MAX_SECONDS = 120

export interface RealtimeReplySourceOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly connection: RealtimeConnection
  readonly transcripts: CallerTranscripts
  readonly eventQueue: EventQueue
  readonly context: ConversationContext
  readonly tools: ToolRunner
  readonly speech: AgentSpeech
  readonly turnContext: TurnContext
  readonly tracer: TurnTracer
  readonly breakers: CircuitBreakers
  /** A reply is complete. */
  answered?(): void
}

/** Replies of a speech-to-speech model. Passes its audio to speech and reports back what was heard. */
export class RealtimeReplySource implements ReplySource {
  readonly #options: RealtimeReplySourceOptions
  readonly #tools: ToolRounds
  #job: Cancellable | null = null
  /** The reply of the running job. */
  #asked: TurnId | null = null
  /** The running attempt was cancelled without a result. */
  #stalled = false
  /** The model was asked and has not answered, or has failed. */
  #unresponsive = false
  /** Items of the current utterance. */
  readonly #items = new Set<RealtimeItem>()
  /** The caller's words in the current request. They are committed when the reply is audible. */
  #pending: string | null = null
  /** Number of tool-round messages that the model has received. */
  #sentToolMessages = 0
  #keys = { caller: 0, sent: '' }

  constructor(options: RealtimeReplySourceOptions) {
    this.#options = options
    const { spec, tools, speech, turnContext, context, connection } = options
    this.#tools = openToolRounds(spec, tools, speech, turnContext, (name, result) => {
      context.addLateToolResult(name, result)
      connection.addMessage('system', `The result of ${name}, which came late: ${result}`)
      turnContext.feed({ type: 'contextChanged', atMs: turnContext.now() })
    })
  }

  get #circuit(): string {
    const { vendor, model } = this.#options.spec.languageModel
    return breakerKey('language_model', vendor, model)
  }

  /** Stops this source. Returns what another model needs to continue the conversation. */
  handOver(): { readonly context: ConversationContext; readonly tools: ToolRounds } {
    const { context, transcripts, turnContext } = this.#options
    const turn = this.#asked
    this.#stop()
    for (const item of this.#items) item.end()
    if (turn !== null) {
      const { code, message } = new EngineError('vendor_unreachable', 'the realtime model was given up')
      turnContext.feed({ type: 'modelFailed', turn, code, message, atMs: turnContext.now() })
    }
    context.rewrite((text) => {
      const read = transcripts.read(text, false) ?? ''
      return read === UNTRANSCRIBED ? NOT_HEARD : read
    })
    return { context, tools: this.#tools }
  }

  /** True if a reply of the model is pending or failed. A phrase would also have to wait. */
  get unresponsive(): boolean {
    return this.#unresponsive
  }

  /** Returns the messages for a new connection. */
  history(): readonly ChatMessage[] {
    const { context, transcripts } = this.#options
    this.#sentToolMessages = this.#tools.messages.length
    return context
      .messages(this.#pending, this.#tools.messages)
      .slice(1)
      .map((message) =>
        message.role === 'user'
          ? { ...message, content: transcripts.read(message.content, false) ?? '' }
          : message,
      )
  }

  ask({ turn, caller, attempt }: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void {
    const { connection, spec, tracer } = this.#options
    const { vendor, model } = spec.languageModel
    const stalled = this.#stalled && attempt > 1
    this.#stop()
    this.#stalled = false
    this.#pending = caller?.text ?? null
    tracer.mark(turn, 'modelRequestMs')
    tracer.modelRequested(vendor, model)
    if (stalled) connection.renew()
    else {
      if (caller) this.#sendKeys(caller)
      this.#sendToolResults()
    }
    this.#unresponsive = true
    this.#asked = turn
    this.#job = this.#respond(turn, mayUseTools)
  }

  cancelModel(): void {
    this.#stalled = this.#job !== null
    this.#unresponsive ||= this.#stalled
    this.#stop()
    // The audio received so far is spoken before its replacement.
    for (const item of this.#items) item.end()
  }

  /** There is no replacement because no other model heard the caller. */
  modelFailed(code: string, again: boolean): { readonly vendor: string; readonly instead: null } {
    // Calls without a fallback go on asking: the circuit tells others that the model fails.
    this.#options.breakers.failed(this.#circuit, code === 'vendor_stalled' || !again)
    return { vendor: this.#options.spec.languageModel.vendor, instead: null }
  }

  stop(turn: TurnId): SpokenUtterance | null {
    const { connection, speech } = this.#options
    this.#stop()
    this.#unresponsive = false
    this.#tools.detach()
    const spoken = speech.stop(turn)
    for (const { id, fullySent: whole, sentMs } of this.#items) {
      if (whole) continue
      if (sentMs > 0) connection.truncate(id, sentMs)
      else connection.deleteItem(id)
    }
    this.#items.clear()
    return spoken
  }

  commitAgent(turn: TurnId, cut: SpeechCut | null): void {
    const { context, turnContext, connection, spec } = this.#options
    const streamed = this.#items.size > 0
    const spoken = this.stop(turn)
    if (!spoken) return
    this.#sendToolResults()
    this.#sentToolMessages = 0
    const { text, heard, startMs, endMs, words } = spoken
    context.addAgentTurn(heard, cut?.byCaller ?? false, this.#tools.take())
    // Phrases are spoken outside the model's conversation.
    if (!streamed && heard !== '') connection.addMessage('assistant', heard)
    turnContext.emit({
      type: 'turn',
      turn: {
        id: turn,
        speaker: 'agent',
        text,
        heardText: heard,
        language: streamed ? languageOf(text, spec.languages, turnContext.language.current) : spoken.language,
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        ...cutTime(spoken, cut),
        words,
      },
    })
  }

  commitCaller({ id, text, startMs, endMs, words: timed }: CallerTurn, forModel: boolean): void {
    const { context, transcripts, eventQueue, turnContext, spec } = this.#options
    this.#pending = null
    if (forModel) context.addCallerTurn(text)
    eventQueue.pushDeferred((waiting) => {
      const said = transcripts.read(text, waiting)
      if (said === null) return null
      if (said === '') return 'none'
      // The language is known only with the words. It applies from here on.
      if (forModel) turnContext.language.callerSaid(id, said)
      // The turn was decided before its words were known.
      if (said !== text && spec.optOut?.phrases && asksForNoCalls(said)) {
        turnContext.feed({ type: 'optOut', atMs: turnContext.now() })
      }
      return {
        type: 'turn',
        turn: {
          id,
          speaker: 'caller',
          text: said,
          heardText: said,
          language: turnContext.language.languageOfText(said),
          startMs: Math.round(startMs),
          endMs: Math.round(endMs),
          words: timed.length > 0 ? timed : null,
        },
      }
    })
  }

  addNote(note: string): void {
    const { context, connection } = this.#options
    context.addNote(note)
    connection.addMessage('system', note)
  }

  close(): void {
    const { eventQueue, connection } = this.#options
    this.#stop()
    this.#tools.close()
    connection.close()
    eventQueue.flush()
  }

  #stop(): void {
    this.#job?.cancel()
    this.#clearJob()
  }

  #clearJob(): void {
    this.#job = null
    this.#asked = null
  }

  // ---- input of the model

  #sendKeys({ id, text }: CallerTurn): void {
    const keys = keyedDigits(text)
    const before = this.#keys.caller === id ? this.#keys.sent : ''
    const rest = keys.startsWith(before) ? keys.slice(before.length).trim() : keys
    this.#keys = { caller: id, sent: keys }
    if (rest !== '') this.#options.connection.addMessage('user', `Keys pressed on the telephone: ${rest}`)
  }

  #sendToolResults(): void {
    const { messages } = this.#tools
    for (const message of messages.slice(this.#sentToolMessages)) {
      if (message.role === 'tool') this.#options.connection.toolResult(message.toolCallId, message.content)
    }
    this.#sentToolMessages = messages.length
  }

  // ---- output of the model

  #respond(turn: TurnId, mayUseTools: boolean): Cancellable {
    const { turnContext, connection, spec, tracer } = this.#options
    const { vendor, model } = spec.languageModel
    const transcriptOf = new Map<string, string>()
    const items: RealtimeItem[] = []
    const job = connection.respond(mayUseTools, {
      audio: (id, pcm, rate) => {
        this.#unresponsive = false
        tracer.mark(turn, 'modelFirstTokenMs')
        turnContext.feed({ type: 'token', turn, atMs: turnContext.now() })
        // The turn machine may have ended the reply.
        if (this.#job !== job) return
        let item = items.find((known) => known.id === id)
        if (item === undefined) {
          items.at(-1)?.end()
          item = this.#item(turn, id, transcriptOf.get(id) ?? '')
          items.push(item)
        }
        item.push(pcm, rate)
        if (item.seconds > MAX_SECONDS) this.#failEndless(turn)
      },
      words: (id, piece) => {
        transcriptOf.set(id, (transcriptOf.get(id) ?? '') + piece)
        items.find((known) => known.id === id)?.addWords(piece)
      },
      progress: () => turnContext.feed({ type: 'token', turn, atMs: turnContext.now() }),
      done: (calls, usage) => {
        this.#clearJob()
        this.#unresponsive = false
        this.#options.breakers.succeeded(this.#circuit)
        this.#options.answered?.()
        tracer.modelAnswered(vendor, model, usage)
        for (const item of items) item.end()
        runAnswerTools(
          { turn, text: [...transcriptOf.values()].join(' ').trim(), calls },
          { ...this.#options, tools: this.#tools },
        )
      },
      failed: ({ code, message }) => {
        this.#clearJob()
        this.#unresponsive = true
        for (const item of items) item.end()
        turnContext.feed({ type: 'modelFailed', turn, code, message, atMs: turnContext.now() })
      },
    })
    return job
  }

  #item(turn: TurnId, id: string, words: string): RealtimeItem {
    const { turnContext, speech, spec, rate, tracer } = this.#options
    tracer.mark(turn, 'firstSentenceMs')
    turnContext.feed({ type: 'sentence', turn, atMs: turnContext.now() })
    const item = new RealtimeItem(id, rate)
    item.addWords(words)
    this.#items.add(item)
    item.attach((streamed) => speech.stream(turn, spec.languages[0] ?? '', streamed))
    return item
  }

  #failEndless(turn: TurnId): void {
    const { turnContext } = this.#options
    this.#stop()
    const { code, message } = new EngineError('vendor_failed', 'the reply is too long')
    turnContext.feed({ type: 'modelFailed', turn, code, message, atMs: turnContext.now() })
  }
}
