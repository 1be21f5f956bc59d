import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { AgentSpec } from '../agent-spec.js'
import type { AnsweredBy } from '../answering-machine/answering-machine-detector.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import { languageOf } from '../language/text-language.js'
import type { ConversationContext } from '../llm/conversation-context.js'
import type { ReplySource } from '../llm/llm-reply-source.js'
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

/** Nobody speaks for so long without a breath; a model that does is broken. */
const LONGEST_SECONDS = 120

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
  /** A reply came to its end. */
  answered?(): void
}

/** Replies of a model that hears and speaks: its sound goes to the voice, what was heard of it back. */
export class RealtimeReplySource implements ReplySource {
  readonly #options: RealtimeReplySourceOptions
  readonly #tools: ToolRounds
  #job: Cancellable | null = null
  /** The reply that it is of. */
  #asked: TurnId | null = null
  /** The running attempt was given up because nothing came. */
  #stalled = false
  /** It was asked for an answer and has said nothing, or failed. */
  #unresponsive = false
  /** Of the utterance in the making. */
  readonly #items = new Set<RealtimeItem>()
  /** The caller's words that are being answered and belong to the past only when the answer is heard. */
  #pending: string | null = null
  /** Messages of the tool rounds that the model has. */
  #sentToolMessages = 0
  #keys = { caller: 0, told: '' }

  constructor(options: RealtimeReplySourceOptions) {
    this.#options = options
    const { spec, tools, speech: voice, turnContext: floor, context, connection: link } = options
    this.#tools = openToolRounds(spec, tools, voice, floor, (name, result) => {
      context.addLateToolResult(name, result)
      link.addMessage('system', `The result of ${name}, which came late: ${result}`)
      floor.feed({ type: 'learnt', atMs: floor.now() })
    })
  }

  /** What another model needs to go on with the conversation. This one says nothing more. */
  handOver(): { readonly context: ConversationContext; readonly tools: ToolRounds } {
    const { context, transcripts: words, turnContext: floor } = this.#options
    const turn = this.#asked
    this.#stop()
    for (const item of this.#items) item.end()
    if (turn !== null) {
      const { code, message } = new EngineError('vendor_unreachable', 'the model is gone')
      floor.feed({ type: 'modelFailed', turn, code, message, atMs: floor.now() })
    }
    context.rewrite((text) => {
      const read = words.read(text, false) ?? ''
      return read === UNTRANSCRIBED ? NOT_HEARD : read
    })
    return { context, tools: this.#tools }
  }

  /** The model owes an answer, or failed to give one: a line is not worth waiting for either. */
  get unresponsive(): boolean {
    return this.#unresponsive
  }

  /** What a new connection is told; it has everything then. */
  history(): readonly ChatMessage[] {
    const { context, transcripts: words } = this.#options
    this.#sentToolMessages = this.#tools.messages.length
    return context
      .messages(this.#pending, this.#tools.messages)
      .slice(1)
      .map((message) =>
        message.role === 'user' ? { ...message, content: words.read(message.content, false) ?? '' } : message,
      )
  }

  ask({ turn, caller, attempt }: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void {
    const { connection: link, spec, tracer } = this.#options
    const { vendor, model } = spec.languageModel
    const stalled = this.#stalled && attempt > 1
    this.#stop()
    this.#stalled = false
    this.#pending = caller?.text ?? null
    tracer.mark(turn, 'modelRequestMs')
    tracer.modelRequested(vendor, model)
    if (stalled) link.renew()
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
    // What came of it is said, and then what is said instead of the rest.
    for (const item of this.#items) item.end()
  }

  /** Nobody else can be asked: nobody else heard the caller. */
  modelFailed(): { readonly vendor: string; readonly instead: null } {
    return { vendor: this.#options.spec.languageModel.vendor, instead: null }
  }

  stop(turn: TurnId): SpokenUtterance | null {
    const { connection: link, speech: voice } = this.#options
    this.#stop()
    this.#unresponsive = false
    this.#tools.detach()
    const spoken = voice.stop(turn)
    for (const { id, fullySent: whole, sentMs } of this.#items) {
      if (whole) continue
      if (sentMs > 0) link.truncate(id, sentMs)
      else link.deleteItem(id)
    }
    this.#items.clear()
    return spoken
  }

  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    const { context, turnContext: floor, connection: link, spec } = this.#options
    const live = this.#items.size > 0
    const spoken = this.stop(turn)
    if (!spoken) return
    this.#sendToolResults()
    this.#sentToolMessages = 0
    const { text, heard, startMs, endMs, words } = spoken
    context.addAgentTurn(heard, cutAtMs !== null, this.#tools.take())
    // Lines are said beside the model's conversation.
    if (!live && heard !== '') link.addMessage('assistant', heard)
    floor.emit({
      type: 'turn',
      turn: {
        id: turn,
        speaker: 'agent',
        text,
        heardText: heard,
        language: live ? languageOf(text, spec.languages, floor.language.current) : spoken.language,
        startMs: Math.round(startMs),
        endMs: Math.round(endMs),
        ...(cutAtMs === null ? {} : { cutAtMs: Math.round(cutAtMs) }),
        words,
      },
    })
  }

  commitCaller({ id, text, startMs, endMs, words: timed }: CallerTurn, forModel: boolean): void {
    const { context, transcripts: words, eventQueue: line, turnContext: floor } = this.#options
    this.#pending = null
    if (forModel) context.addCallerTurn(text)
    line.pushDeferred((waiting) => {
      const said = words.read(text, waiting)
      if (said === null) return null
      if (said === '') return 'none'
      // Only now is it known what was spoken: what is said from here on follows it.
      if (forModel) floor.language.callerSaid(id, said)
      return {
        type: 'turn',
        turn: {
          id,
          speaker: 'caller',
          text: said,
          heardText: said,
          language: floor.language.languageOfText(said),
          startMs: Math.round(startMs),
          endMs: Math.round(endMs),
          words: timed.length > 0 ? timed : null,
        },
      }
    })
  }

  answeredBy(by: AnsweredBy): void {
    const { context, connection: link } = this.#options
    const note = context.answeredBy(by)
    if (note !== null) link.addMessage('system', note)
  }

  close(): void {
    const { eventQueue: line, connection: link } = this.#options
    this.#stop()
    this.#tools.close()
    link.close()
    line.flush()
  }

  #stop(): void {
    this.#job?.cancel()
    this.#clearJob()
  }

  #clearJob(): void {
    this.#job = null
    this.#asked = null
  }

  // ---- what the model is told

  #sendKeys({ id, text }: CallerTurn): void {
    const keys = keyedDigits(text)
    const before = this.#keys.caller === id ? this.#keys.told : ''
    const rest = keys.startsWith(before) ? keys.slice(before.length).trim() : keys
    this.#keys = { caller: id, told: keys }
    if (rest !== '') this.#options.connection.addMessage('user', `Keys pressed on the telephone: ${rest}`)
  }

  #sendToolResults(): void {
    const { messages } = this.#tools
    for (const message of messages.slice(this.#sentToolMessages)) {
      if (message.role === 'tool') this.#options.connection.toolResult(message.toolCallId, message.content)
    }
    this.#sentToolMessages = messages.length
  }

  // ---- what the model says

  #respond(turn: TurnId, mayUseTools: boolean): Cancellable {
    const { turnContext: floor, connection: link, spec, tracer } = this.#options
    const { vendor, model } = spec.languageModel
    const texts = new Map<string, string>()
    const mine: RealtimeItem[] = []
    const job = link.respond(mayUseTools, {
      audio: (id, pcm, rate) => {
        this.#unresponsive = false
        tracer.mark(turn, 'modelFirstTokenMs')
        floor.feed({ type: 'token', turn, atMs: floor.now() })
        // Whatever the machine made of that: it may have ended the reply.
        if (this.#job !== job) return
        let item = mine.find((known) => known.id === id)
        if (item === undefined) {
          mine.at(-1)?.end()
          item = this.#item(turn, id, texts.get(id) ?? '')
          mine.push(item)
        }
        item.push(pcm, rate)
        if (item.seconds > LONGEST_SECONDS) this.#failEndless(turn)
      },
      words: (id, piece) => {
        texts.set(id, (texts.get(id) ?? '') + piece)
        mine.find((known) => known.id === id)?.addWords(piece)
      },
      progress: () => floor.feed({ type: 'token', turn, atMs: floor.now() }),
      done: (calls, usage) => {
        this.#clearJob()
        this.#unresponsive = false
        this.#options.answered?.()
        tracer.modelAnswered(vendor, model, usage)
        for (const item of mine) item.end()
        runAnswerTools(
          { turn, text: [...texts.values()].join(' ').trim(), calls: calls },
          { ...this.#options, tools: this.#tools },
        )
      },
      failed: ({ code, message }) => {
        this.#clearJob()
        this.#unresponsive = true
        for (const item of mine) item.end()
        floor.feed({ type: 'modelFailed', turn, code, message, atMs: floor.now() })
      },
    })
    return job
  }

  #item(turn: TurnId, id: string, words: string): RealtimeItem {
    const { turnContext: floor, speech: voice, spec, rate, tracer } = this.#options
    tracer.mark(turn, 'firstSentenceMs')
    floor.feed({ type: 'sentence', turn, atMs: floor.now() })
    const item = new RealtimeItem(id, rate)
    item.addWords(words)
    this.#items.add(item)
    item.attach((live) => voice.stream(turn, spec.languages[0] ?? '', live))
    return item
  }

  #failEndless(turn: TurnId): void {
    const { turnContext: floor } = this.#options
    this.#stop()
    const { code, message } = new EngineError('vendor_failed', 'the reply does not end')
    floor.feed({ type: 'modelFailed', turn, code, message, atMs: floor.now() })
  }
}
