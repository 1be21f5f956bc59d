import { EngineError } from '../../base/errors.js'
import type { SessionRate } from '../../base/frame.js'
import type { AgentSpec } from '../agent-spec.js'
import type { Answerer } from '../answering-machine/answering-machine-detector.js'
import type { TurnTracer } from '../conversation/turn-tracer.js'
import type { TurnId } from '../conversation-events.js'
import { languageOf } from '../language/text-language.js'
import type { ConversationContext } from '../llm/conversation-context.js'
import type { Replies } from '../llm/llm-reply-source.js'
import { runAnswer } from '../tools/answer-tools.js'
import type { ToolRunner } from '../tools/tool-calls.js'
import { agentTools, type ToolRounds } from '../tools/tool-rounds.js'
import type { AgentVoice } from '../tts/agent-speech.js'
import type { Spoken } from '../tts/speaker.js'
import type { Floor } from '../turn/turn-context.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import type { Cancellable, ChatMessage } from '../vendor-ports.js'
import { type CallerWords, type EventLine, keyed, NOT_HEARD, UNWRITTEN } from './caller-transcripts.js'
import type { RealtimeLink } from './realtime-connection.js'
import { RealtimeItem } from './realtime-item.js'

/** Nobody speaks for so long without a breath; a model that does is broken. */
const LONGEST_SECONDS = 120

export interface RealtimeRepliesOptions {
  readonly spec: AgentSpec
  readonly rate: SessionRate
  readonly link: RealtimeLink
  readonly words: CallerWords
  readonly line: EventLine
  readonly context: ConversationContext
  readonly tools: ToolRunner
  readonly voice: AgentVoice
  readonly floor: Floor
  readonly tracer: TurnTracer
  /** A reply came to its end. */
  answered?(): void
}

/** Replies of a model that hears and speaks: its sound goes to the voice, what was heard of it back. */
export class RealtimeReplies implements Replies {
  readonly #options: RealtimeRepliesOptions
  readonly #tools: ToolRounds
  #job: Cancellable | null = null
  /** The reply that it is of. */
  #asked: TurnId | null = null
  /** The running attempt was given up because nothing came. */
  #stalled = false
  /** It was asked for an answer and has said nothing, or failed. */
  #silent = false
  /** Of the utterance in the making. */
  readonly #items = new Set<RealtimeItem>()
  /** The caller's words that are being answered and belong to the past only when the answer is heard. */
  #pending: string | null = null
  /** Messages of the tool rounds that the model has. */
  #told = 0
  #keys = { caller: 0, told: '' }

  constructor(options: RealtimeRepliesOptions) {
    this.#options = options
    const { spec, tools, voice, floor, context, link } = options
    this.#tools = agentTools(spec, tools, voice, floor, (name, result) => {
      context.toolCameLate(name, result)
      link.tell('system', `The result of ${name}, which came late: ${result}`)
      floor.feed({ on: 'learnt', at: floor.now() })
    })
  }

  /** What another model needs to go on with the conversation. This one says nothing more. */
  handOver(): { readonly context: ConversationContext; readonly tools: ToolRounds } {
    const { context, words, floor } = this.#options
    const turn = this.#asked
    this.#stop()
    for (const item of this.#items) item.end()
    if (turn !== null) {
      const { code, message } = new EngineError('vendor_unreachable', 'the model is gone')
      floor.feed({ on: 'modelFailed', turn, code, message, at: floor.now() })
    }
    context.rewrite((text) => {
      const read = words.read(text, false) ?? ''
      return read === UNWRITTEN ? NOT_HEARD : read
    })
    return { context, tools: this.#tools }
  }

  /** The model owes an answer, or failed to give one: a line is not worth waiting for either. */
  get silent(): boolean {
    return this.#silent
  }

  /** What a new connection is told; it has everything then. */
  history(): readonly ChatMessage[] {
    const { context, words } = this.#options
    this.#told = this.#tools.messages.length
    return context
      .messages(this.#pending, this.#tools.messages)
      .slice(1)
      .map((message) =>
        message.role === 'user' ? { ...message, content: words.read(message.content, false) ?? '' } : message,
      )
  }

  ask({ turn, caller, attempt }: TurnEffect & { do: 'ask' }, mayUseTools: boolean): void {
    const { link, spec, tracer } = this.#options
    const { vendor, model } = spec.languageModel
    const stalled = this.#stalled && attempt > 1
    this.#stop()
    this.#stalled = false
    this.#pending = caller?.text ?? null
    tracer.mark(turn, 'modelRequestMs')
    tracer.asked(vendor, model)
    if (stalled) link.renew()
    else {
      if (caller) this.#tellKeys(caller)
      this.#tellTools()
    }
    this.#silent = true
    this.#asked = turn
    this.#job = this.#listen(turn, mayUseTools)
  }

  cancelModel(): void {
    this.#stalled = this.#job !== null
    this.#silent ||= this.#stalled
    this.#stop()
    // What came of it is said, and then what is said instead of the rest.
    for (const item of this.#items) item.end()
  }

  /** Nobody else can be asked: nobody else heard the caller. */
  modelFailed(): { readonly vendor: string; readonly instead: null } {
    return { vendor: this.#options.spec.languageModel.vendor, instead: null }
  }

  stop(turn: TurnId): Spoken | null {
    const { link, voice } = this.#options
    this.#stop()
    this.#silent = false
    this.#tools.leave()
    const spoken = voice.stop(turn)
    for (const { id, whole, sentMs } of this.#items) {
      if (whole) continue
      if (sentMs > 0) link.truncate(id, sentMs)
      else link.forget(id)
    }
    this.#items.clear()
    return spoken
  }

  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    const { context, floor, link, spec } = this.#options
    const live = this.#items.size > 0
    const spoken = this.stop(turn)
    if (!spoken) return
    this.#tellTools()
    this.#told = 0
    const { text, heard, startMs, endMs, words } = spoken
    context.agentSaid(heard, cutAtMs !== null, this.#tools.take())
    // Lines are said beside the model's conversation.
    if (!live && heard !== '') link.tell('assistant', heard)
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
    const { context, words, line, floor } = this.#options
    this.#pending = null
    if (forModel) context.callerSaid(text)
    line.later((waiting) => {
      const said = words.read(text, waiting)
      if (said === null) return null
      if (said === '') return 'none'
      // Only now is it known what was spoken: what is said from here on follows it.
      if (forModel) floor.language.said(id, said)
      return {
        type: 'turn',
        turn: {
          id,
          speaker: 'caller',
          text: said,
          heardText: said,
          language: floor.language.ofCaller(said),
          startMs: Math.round(startMs),
          endMs: Math.round(endMs),
          words: timed.length > 0 ? timed : null,
        },
      }
    })
  }

  answeredBy(by: Answerer): void {
    const { context, link } = this.#options
    const note = context.answeredBy(by)
    if (note !== null) link.tell('system', note)
  }

  close(): void {
    const { line, link } = this.#options
    this.#stop()
    this.#tools.close()
    link.close()
    line.flush()
  }

  #stop(): void {
    this.#job?.cancel()
    this.#over()
  }

  #over(): void {
    this.#job = null
    this.#asked = null
  }

  // ---- what the model is told

  #tellKeys({ id, text }: CallerTurn): void {
    const keys = keyed(text)
    const before = this.#keys.caller === id ? this.#keys.told : ''
    const rest = keys.startsWith(before) ? keys.slice(before.length).trim() : keys
    this.#keys = { caller: id, told: keys }
    if (rest !== '') this.#options.link.tell('user', `Keys pressed on the telephone: ${rest}`)
  }

  #tellTools(): void {
    const { messages } = this.#tools
    for (const message of messages.slice(this.#told)) {
      if (message.role === 'tool') this.#options.link.toolResult(message.toolCallId, message.content)
    }
    this.#told = messages.length
  }

  // ---- what the model says

  #listen(turn: TurnId, mayUseTools: boolean): Cancellable {
    const { floor, link, spec, tracer } = this.#options
    const { vendor, model } = spec.languageModel
    const texts = new Map<string, string>()
    const mine: RealtimeItem[] = []
    const job = link.respond(mayUseTools, {
      audio: (id, pcm, rate) => {
        this.#silent = false
        tracer.mark(turn, 'modelFirstTokenMs')
        floor.feed({ on: 'token', turn, at: floor.now() })
        // Whatever the machine made of that: it may have ended the reply.
        if (this.#job !== job) return
        let item = mine.find((known) => known.id === id)
        if (item === undefined) {
          mine.at(-1)?.end()
          item = this.#item(turn, id, texts.get(id) ?? '')
          mine.push(item)
        }
        item.push(pcm, rate)
        if (item.seconds > LONGEST_SECONDS) this.#broken(turn)
      },
      words: (id, piece) => {
        texts.set(id, (texts.get(id) ?? '') + piece)
        mine.find((known) => known.id === id)?.addWords(piece)
      },
      progress: () => floor.feed({ on: 'token', turn, at: floor.now() }),
      done: (calls, usage) => {
        this.#over()
        this.#silent = false
        this.#options.answered?.()
        tracer.answered(vendor, model, usage)
        for (const item of mine) item.end()
        runAnswer(
          { turn, text: [...texts.values()].join(' ').trim(), calls: calls },
          { ...this.#options, tools: this.#tools },
        )
      },
      failed: ({ code, message }) => {
        this.#over()
        this.#silent = true
        for (const item of mine) item.end()
        floor.feed({ on: 'modelFailed', turn, code, message, at: floor.now() })
      },
    })
    return job
  }

  #item(turn: TurnId, id: string, words: string): RealtimeItem {
    const { floor, voice, spec, rate, tracer } = this.#options
    tracer.mark(turn, 'firstSentenceMs')
    floor.feed({ on: 'sentence', turn, at: floor.now() })
    const item = new RealtimeItem(id, rate)
    item.addWords(words)
    this.#items.add(item)
    item.attach((live) => voice.stream(turn, spec.languages[0] ?? '', live))
    return item
  }

  #broken(turn: TurnId): void {
    const { floor } = this.#options
    this.#stop()
    const { code, message } = new EngineError('vendor_failed', 'the reply does not end')
    floor.feed({ on: 'modelFailed', turn, code, message, at: floor.now() })
  }
}
