import type { TurnId } from '../conversation-events.js'
import type { ConversationContext } from '../llm/conversation-context.js'
import type { LlmReplySource, ReplySource, SpeculativeReplies, SpeechCut } from '../llm/llm-reply-source.js'
import type { CallerTurn, TurnEffect } from '../turn/turn-types.js'
import { type CallerTranscripts, NOT_HEARD, UNTRANSCRIBED } from './caller-transcripts.js'
import type { RealtimeReplySource } from './realtime-reply-source.js'

/** Consecutive failures after which realtime.model_given_up for the call. */
const FAILURES = 2
export interface FailoverReplySourceOptions {
  /** The speech-to-speech model. */
  readonly own: RealtimeReplySource
  readonly transcripts: CallerTranscripts
  readonly context: ConversationContext
  /** Name of the fallback LLM. */
  readonly fallbackId: string
  openFallback(): LlmReplySource
  /** The model was given up. Recognition and voice must follow. */
  onFailover(): void
}

/**
 * Replies of a speech-to-speech model, and after its failure those of an LLM with STT and TTS. The context
 * and the running tools are kept.
 */
export class FailoverReplySource implements ReplySource {
  readonly #options: FailoverReplySourceOptions
  #fallback: LlmReplySource | null = null
  #asked = false
  #failures = 0

  constructor(options: FailoverReplySourceOptions) {
    this.#options = options
  }

  /** True if the model was given up. */
  get failedOver(): boolean {
    return this.#fallback !== null
  }

  /** Gives up the model. Idempotent. */
  failOver(): void {
    if (this.#fallback !== null) return
    this.#fallback = this.#options.openFallback()
    this.#options.onFailover()
  }

  /** Records an answer of the model. */
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
    const readable = caller?.text === UNTRANSCRIBED ? { ...caller, text: NOT_HEARD } : caller
    this.#fallback.ask({ ...order, caller: readable }, mayUseTools)
  }

  cancelModel(): void {
    this.#current.cancelModel()
  }

  modelFailed(code: string, again: boolean) {
    const { own, fallbackId: nextId } = this.#options
    if (this.#fallback !== null && this.#asked) return this.#fallback.modelFailed(code, again)
    const { vendor } = own.modelFailed(code, again)
    this.#failures++
    if (code === 'vendor_rejected' || this.#failures >= FAILURES) this.failOver()
    return { vendor, instead: this.failedOver ? nextId : null }
  }

  stop(turn: TurnId) {
    return this.#current.stop(turn)
  }

  commitAgent(turn: TurnId, cut: SpeechCut | null): void {
    this.#current.commitAgent(turn, cut)
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

  addNote(note: string): void {
    this.#current.addNote(note)
  }

  get speculative(): SpeculativeReplies | undefined {
    const early = this.#fallback?.speculative
    return early && { ...early, begin: (caller) => early.begin(this.#readable(caller)) }
  }

  close(): void {
    this.#fallback?.close()
    this.#options.own.close()
  }

  get #current(): RealtimeReplySource | LlmReplySource {
    return this.#fallback ?? this.#options.own
  }

  /** Replaces marks by words. Drops unknown words when there are others. */
  #readable(caller: CallerTurn): CallerTurn {
    const text = this.#options.transcripts.read(caller.text, false) ?? ''
    const rest = text.replaceAll(UNTRANSCRIBED, ' ').replace(/\s+/g, ' ').trim()
    return { ...caller, text: rest === '' ? text.trim() : rest }
  }
}
