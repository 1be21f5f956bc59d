import type { TurnId, TurnRecord } from '../conversation-events.js'
import type { CallerInput } from '../stt/caller-input.js'
import type { TurnContext } from '../turn/turn-context.js'
import type { CallerTurn } from '../turn/turn-types.js'
import { TurnTracer } from './turn-tracer.js'

/** Tells where the time of a conversation went and what it used. */
export class ConversationAccount {
  readonly tracer: TurnTracer
  readonly #turnContext: TurnContext
  readonly #callerInput: () => CallerInput
  #closed = false

  constructor(floor: TurnContext, ear: () => CallerInput) {
    this.#turnContext = floor
    this.#callerInput = ear
    this.tracer = new TurnTracer(() => floor.now())
  }

  /** An utterance of the agent begins: an answer to these words, or a line. */
  beginTurn(turn: TurnId, kind: TurnRecord['kind'], caller: CallerTurn | null): void {
    const { lastOffsetMs, lastFinalMs } = this.#callerInput()
    const words = caller && { startMs: caller.startMs, endMs: caller.endMs, lastOffsetMs, lastFinalMs }
    this.tracer.begin(turn, kind, words)
  }

  /** The first packet of a reply was sent. */
  replyStarted(turn: TurnId): void {
    const trace = this.tracer.traceOf(turn)
    if (trace) this.#turnContext.emit({ type: 'trace', trace })
  }

  endTurn(turn: TurnId, ending: TurnRecord['ending'], interruptedMs: number | null = null): void {
    this.#meterRecognition()
    const record = this.tracer.end(turn, ending, interruptedMs)
    if (record) this.#turnContext.emit({ type: 'turn_record', record })
  }

  /** The conversation is over. Idempotent. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#meterRecognition()
    this.#turnContext.emit({ type: 'usage', usage: this.tracer.total() })
  }

  #meterRecognition(): void {
    for (const { vendor, model, ms } of this.#callerInput().takeAudioUsage())
      this.tracer.audioRecognised(vendor, model, ms)
  }
}
