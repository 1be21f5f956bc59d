import type { WireFormat } from './dialects/wire-format.js'

/** Acknowledgements sent per frame tick; each costs a write to the bot's connection. */
const ACKS_PER_TICK = 25
/** Bound of the queue. A bot that asks for more is misbehaving, so its connection is closed. */
const MAX_PENDING = 20_000

export type Ack =
  | { readonly type: 'mark'; readonly name: string; readonly how: 'played' | 'cleared' }
  | { readonly type: 'audio'; readonly id: string }
  | { readonly type: 'clear'; readonly droppedMs: number }

/**
 * Sends a bot its acknowledgements of marks, sounds and clears, in order. A few are sent at once; a burst is
 * spread over frame ticks so that other calls on the thread are not delayed.
 */
export class AckQueue {
  readonly #wireFormat: Pick<WireFormat, 'markAck' | 'playedAck' | 'clearAck'>
  readonly #send: (message: string | null) => void
  readonly #pending: Ack[] = []
  #head = 0
  #left = ACKS_PER_TICK

  /** @param send receives null when the dialect has no message for an acknowledgement. */
  constructor(
    wireFormat: Pick<WireFormat, 'markAck' | 'playedAck' | 'clearAck'>,
    send: (message: string | null) => void,
  ) {
    this.#wireFormat = wireFormat
    this.#send = send
  }

  get pending(): number {
    return this.#pending.length - this.#head
  }

  /** True when acknowledgements were sent since the last tick or are pending. */
  get active(): boolean {
    return this.#left < ACKS_PER_TICK || this.pending > 0
  }

  /** Sends or queues an acknowledgement. Returns false when the queue is full. */
  push(ack: Ack): boolean {
    if (this.pending === 0 && this.#left > 0) {
      this.#left--
      this.#write(ack)
      return true
    }
    if (this.pending >= MAX_PENDING) return false
    this.#pending.push(ack)
    return true
  }

  /** Starts the next frame tick and sends the pending acknowledgements that fit in it. */
  tick(): void {
    this.#left = ACKS_PER_TICK
    while (this.pending > 0 && this.#left > 0) {
      this.#left--
      this.#write(this.#pending[this.#head++] as Ack)
    }
    if (this.pending === 0) {
      this.#pending.length = 0
      this.#head = 0
    }
  }

  #write(ack: Ack): void {
    if (ack.type === 'mark') this.#send(this.#wireFormat.markAck(ack.name, ack.how))
    else if (ack.type === 'audio') this.#send(this.#wireFormat.playedAck(ack.id))
    else this.#send(this.#wireFormat.clearAck(ack.droppedMs))
  }
}
