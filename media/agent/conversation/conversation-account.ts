import type { TurnId, TurnRecord } from '../conversation-events.js'
import type { CallerInput } from '../stt/caller-input.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { CallerTurn } from '../turn/turn-types.js'
import type { TurnTracer } from './turn-tracer.js'

/** Reports the latency and the vendor usage of a conversation. */
export class ConversationAccount {
  readonly #turnContext: TurnContext
  readonly #tracer: TurnTracer
  readonly #callerInput: CallerInput
  #closed = false

  constructor(turnContext: TurnContext, tracer: TurnTracer, callerInput: CallerInput) {
    this.#turnContext = turnContext
    this.#tracer = tracer
    this.#callerInput = callerInput
  }

  /** Starts the record of an agent utterance: a reply to `caller`, or a canned phrase. */
  beginTurn(turn: TurnId, kind: TurnRecord['kind'], caller: CallerTurn | null): void {
    const { lastOffsetMs, lastFinalMs } = this.#callerInput
    const words = caller && { startMs: caller.startMs, endMs: caller.endMs, lastOffsetMs, lastFinalMs }
    this.#tracer.begin(turn, kind, words)
  }

  /** Emits the latency trace when the first packet of a reply was sent. */
  replyStarted(turn: TurnId): void {
    const trace = this.#tracer.traceOf(turn)
    if (trace) this.#turnContext.emit({ type: 'trace', trace })
  }

  endTurn(turn: TurnId, ending: TurnRecord['ending'], interruptedMs: number | null = null): void {
    this.#meterRecognition()
    const record = this.#tracer.end(turn, ending, interruptedMs)
    if (record) this.#turnContext.emit({ type: 'turn_record', record })
  }

  /** Emits the total usage when the conversation is over. Idempotent. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#meterRecognition()
    this.#turnContext.emit({ type: 'usage', usage: this.#tracer.total() })
  }

  #meterRecognition(): void {
    for (const { vendor, model, ms } of this.#callerInput.takeAudioUsage())
      this.#tracer.audioRecognised(vendor, model, ms)
  }
}
