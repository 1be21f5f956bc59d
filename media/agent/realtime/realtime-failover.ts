import type { AnsweredBy } from '../answering-machine/answering-machine-detector.js'
import type { TurnId } from '../conversation-events.js'
import type { ConversationContext } from '../llm/conversation-context.js'
import type { LlmReplySource, ReplySource, SpeculativeReplies } from '../llm/llm-reply-source.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import { type CallerTranscripts, NOT_HEARD, UNTRANSCRIBED } from './caller-transcripts.js'
import type { RealtimeReplySource } from './realtime-reply-source.js'

/** Failures in a row after which a model is given up for the call. */
const FAILURES = 2
export interface FailoverReplySourceOptions {
  /** The model that hears and speaks. */
  readonly own: RealtimeReplySource
  readonly ownId: string
  readonly transcripts: CallerTranscripts
  readonly context: ConversationContext
  /** Name of the one that writes and goes on. */
  readonly fallbackId: string
  openFallback(): LlmReplySource
  /** The first is over; ears and voice have to follow. */
  onFailover(): void
}

/**
 * Replies of a model that hears and speaks, and when it fails for good, of one that writes: a recogniser
 * and a synthesis stand beside that one from then on. What was said, and the tools that run, stay.
 */
export class FailoverReplySource implements ReplySource {
  readonly #options: FailoverReplySourceOptions
  #fallback: LlmReplySource | null = null
  #asked = false
  #failures = 0

  constructor(options: FailoverReplySourceOptions) {
    this.#options = options
  }

  /** The first model is gone, for the rest of the call. */
  get failedOver(): boolean {
    return this.#fallback !== null
  }

  /** Idempotent. */
  failOver(): void {
    if (this.#fallback !== null) return
    this.#fallback = this.#options.openFallback()
    this.#options.onFailover()
  }

  /** The first model has given an answer. */
  answered(): void {
    this.#failures = 0
  }

  ask(order: TurnEffect & { type: 'ask' }, mayUseTools: boolean): void {
    if (this.#fallback === null) {
      this.#options.own.ask(order, mayUseTools)
      return
    }
    this.#asked = true
    const caller = order.caller && this.#readable(order.caller)
    const told = caller?.text === UNTRANSCRIBED ? { ...caller, text: NOT_HEARD } : caller
    this.#fallback.ask({ ...order, caller: told }, mayUseTools)
  }

  cancelModel(): void {
    this.#current.cancelModel()
  }

  modelFailed(code: string, again: boolean) {
    const { ownId, fallbackId: nextId } = this.#options
    if (this.#fallback !== null && this.#asked) return this.#fallback.modelFailed(code, again)
    this.#failures++
    if (code === 'vendor_rejected' || this.#failures >= FAILURES) this.failOver()
    return { vendor: ownId, instead: this.failedOver ? nextId : null }
  }

  stop(turn: TurnId) {
    return this.#current.stop(turn)
  }

  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    this.#current.commitAgent(turn, cutAtMs)
  }

  commitCaller(caller: CallerTurn, forModel: boolean): void {
    if (this.#fallback === null) this.#options.own.commitCaller(caller, forModel)
    else {
      const said = this.#readable(caller)
      const unknown = said.text === UNTRANSCRIBED
      if (unknown && forModel) this.#options.context.addCallerTurn(NOT_HEARD)
      if (said.text !== '') this.#fallback.commitCaller(said, forModel && !unknown)
    }
  }

  answeredBy(by: AnsweredBy): void {
    this.#current.answeredBy(by)
  }

  get speculative(): SpeculativeReplies | undefined {
    const early = this.#fallback?.speculative
    return early && { ...early, begin: (caller) => early.begin(this.#readable(caller)) }
  }

  /** Nothing is told any more. */
  close(): void {
    this.#fallback?.close()
    this.#options.own.close()
  }

  get #current(): RealtimeReplySource | LlmReplySource {
    return this.#fallback ?? this.#options.own
  }

  /** Marks as words; what was not written down is left out where other words are. */
  #readable(caller: CallerTurn): CallerTurn {
    const text = this.#options.transcripts.read(caller.text, false) ?? ''
    const rest = text.replaceAll(UNTRANSCRIBED, ' ').replace(/\s+/g, ' ').trim()
    return { ...caller, text: rest === '' ? text.trim() : rest }
  }
}
