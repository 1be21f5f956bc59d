import type { Answerer } from '../answering-machine/answering-machine-detector.js'
import type { TurnId } from '../conversation-events.js'
import type { ConversationContext } from '../llm/conversation-context.js'
import type { EarlyReplies, Replies, ReplyMaker } from '../llm/llm-reply-source.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import { type CallerWords, NOT_HEARD, UNWRITTEN } from './caller-transcripts.js'
import type { RealtimeReplies } from './realtime-reply-source.js'

/** Failures in a row after which a model is given up for the call. */
const FAILURES = 2
export interface SuccessionOptions {
  /** The model that hears and speaks. */
  readonly own: RealtimeReplies
  readonly ownId: string
  readonly words: CallerWords
  readonly context: ConversationContext
  /** Name of the one that writes and goes on. */
  readonly nextId: string
  next(): ReplyMaker
  /** The first is over; ears and voice have to follow. */
  succeeded(): void
}

/**
 * Replies of a model that hears and speaks, and when it fails for good, of one that writes: a recogniser
 * and a synthesis stand beside that one from then on. What was said, and the tools that run, stay.
 */
export class SucceedingReplies implements Replies {
  readonly #options: SuccessionOptions
  #maker: ReplyMaker | null = null
  #asked = false
  #failures = 0

  constructor(options: SuccessionOptions) {
    this.#options = options
  }

  /** The first model is gone, for the rest of the call. */
  get over(): boolean {
    return this.#maker !== null
  }

  /** Idempotent. */
  succeed(): void {
    if (this.#maker !== null) return
    this.#maker = this.#options.next()
    this.#options.succeeded()
  }

  /** The first model has given an answer. */
  answered(): void {
    this.#failures = 0
  }

  ask(order: TurnEffect & { do: 'ask' }, mayUseTools: boolean): void {
    if (this.#maker === null) {
      this.#options.own.ask(order, mayUseTools)
      return
    }
    this.#asked = true
    const caller = order.caller && this.#readable(order.caller)
    const told = caller?.text === UNWRITTEN ? { ...caller, text: NOT_HEARD } : caller
    this.#maker.ask({ ...order, caller: told }, mayUseTools)
  }

  cancelModel(): void {
    this.#now.cancelModel()
  }

  modelFailed(code: string, again: boolean) {
    const { ownId, nextId } = this.#options
    if (this.#maker !== null && this.#asked) return this.#maker.modelFailed(code, again)
    this.#failures++
    if (code === 'vendor_rejected' || this.#failures >= FAILURES) this.succeed()
    return { vendor: ownId, instead: this.over ? nextId : null }
  }

  stop(turn: TurnId) {
    return this.#now.stop(turn)
  }

  commitAgent(turn: TurnId, cutAtMs: number | null): void {
    this.#now.commitAgent(turn, cutAtMs)
  }

  commitCaller(caller: CallerTurn, forModel: boolean): void {
    if (this.#maker === null) this.#options.own.commitCaller(caller, forModel)
    else {
      const said = this.#readable(caller)
      const unknown = said.text === UNWRITTEN
      if (unknown && forModel) this.#options.context.callerSaid(NOT_HEARD)
      if (said.text !== '') this.#maker.commitCaller(said, forModel && !unknown)
    }
  }

  answeredBy(by: Answerer): void {
    this.#now.answeredBy(by)
  }

  get early(): EarlyReplies | undefined {
    const early = this.#maker?.early
    return early && { ...early, begin: (caller) => early.begin(this.#readable(caller)) }
  }

  /** Nothing is told any more. */
  close(): void {
    this.#maker?.close()
    this.#options.own.close()
  }

  get #now(): RealtimeReplies | ReplyMaker {
    return this.#maker ?? this.#options.own
  }

  /** Marks as words; what was not written down is left out where other words are. */
  #readable(caller: CallerTurn): CallerTurn {
    const text = this.#options.words.read(caller.text, false) ?? ''
    const rest = text.replaceAll(UNWRITTEN, ' ').replace(/\s+/g, ' ').trim()
    return { ...caller, text: rest === '' ? text.trim() : rest }
  }
}
