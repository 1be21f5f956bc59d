import type { Dialect } from './dialects/dialect.js'

/** A bot that asks for more than this at once is answered in portions: each costs a write to its line. */
const A_BEAT = 25
/** More that wait are no marks anybody meant: the bot is told no more, and its line is given up. */
const MOST = 20_000

export type Ack =
  | { readonly type: 'mark'; readonly name: string; readonly how: 'played' | 'cleared' }
  | { readonly type: 'audio'; readonly id: string }
  | { readonly type: 'clear'; readonly droppedMs: number }

/**
 * What a bot is told of its marks, sounds and clears: in order, at once while they are few, and else so
 * many a beat that the other calls of the thread do not notice.
 */
export class AckQueue {
  readonly #dialect: Pick<Dialect, 'markAck' | 'playedAck' | 'clearAck'>
  readonly #send: (message: string | null) => void
  readonly #waiting: Ack[] = []
  #head = 0
  #left = A_BEAT

  /** @param send is given null for what the dialect has no word for. */
  constructor(
    dialect: Pick<Dialect, 'markAck' | 'playedAck' | 'clearAck'>,
    send: (message: string | null) => void,
  ) {
    this.#dialect = dialect
    this.#send = send
  }

  get pending(): number {
    return this.#waiting.length - this.#head
  }

  /** Some were given since the last beat, or wait. */
  get active(): boolean {
    return this.#left < A_BEAT || this.pending > 0
  }

  /** False: far too many wait. */
  push(answer: Ack): boolean {
    if (this.pending === 0 && this.#left > 0) {
      this.#left--
      this.#give(answer)
      return true
    }
    if (this.pending >= MOST) return false
    this.#waiting.push(answer)
    return true
  }

  /** A beat is over: the next ones may be given. */
  tick(): void {
    this.#left = A_BEAT
    while (this.pending > 0 && this.#left > 0) {
      this.#left--
      this.#give(this.#waiting[this.#head++] as Ack)
    }
    if (this.pending === 0) {
      this.#waiting.length = 0
      this.#head = 0
    }
  }

  #give(answer: Ack): void {
    if (answer.type === 'mark') this.#send(this.#dialect.markAck(answer.name, answer.how))
    else if (answer.type === 'audio') this.#send(this.#dialect.playedAck(answer.id))
    else this.#send(this.#dialect.clearAck(answer.droppedMs))
  }
}
