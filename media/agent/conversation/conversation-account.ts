import type { TurnId, TurnRecord } from '../conversation-events.js'
import type { CallerEar } from '../stt/caller-input.js'
import type { Floor } from '../turn/turn-context.js'
import type { CallerTurn } from '../turn/turn-types.js'
import { TurnTracer } from './turn-tracer.js'

/** Tells where the time of a conversation went and what it used. */
export class ConversationAccount {
  readonly tracer: TurnTracer
  readonly #floor: Floor
  readonly #ear: () => CallerEar
  #told = false

  constructor(floor: Floor, ear: () => CallerEar) {
    this.#floor = floor
    this.#ear = ear
    this.tracer = new TurnTracer(() => floor.now())
  }

  /** An utterance of the agent begins: an answer to these words, or a line. */
  begin(turn: TurnId, kind: TurnRecord['kind'], caller: CallerTurn | null): void {
    const { lastOffsetMs, lastFinalMs } = this.#ear()
    const words = caller && { startMs: caller.startMs, endMs: caller.endMs, lastOffsetMs, lastFinalMs }
    this.tracer.begin(turn, kind, words)
  }

  /** The first packet of a reply was sent. */
  waited(turn: TurnId): void {
    const trace = this.tracer.waited(turn)
    if (trace) this.#floor.emit({ type: 'trace', trace })
  }

  over(turn: TurnId, ending: TurnRecord['ending'], interruptedMs: number | null = null): void {
    this.#meterEar()
    const record = this.tracer.end(turn, ending, interruptedMs)
    if (record) this.#floor.emit({ type: 'turn_record', record })
  }

  /** The conversation is over. Idempotent. */
  close(): void {
    if (this.#told) return
    this.#told = true
    this.#meterEar()
    this.#floor.emit({ type: 'usage', usage: this.tracer.total() })
  }

  #meterEar(): void {
    for (const { vendor, model, ms } of this.#ear().takeGiven()) this.tracer.heard(vendor, model, ms)
  }
}
