import type { Dialect } from './dialects/dialect.js'

/** A bot that asks for more than this at once is answered in portions: each costs a write to its line. */
const A_BEAT = 25
/** More that wait are no marks anybody meant: the bot is told no more, and its line is given up. */
const MOST = 20_000

export type Answer =
  | { readonly to: 'mark'; readonly name: string; readonly how: 'played' | 'cleared' }
  | { readonly to: 'sound'; readonly id: string }
  | { readonly to: 'clear'; readonly droppedMs: number }

/**
 * What a bot is told of its marks, sounds and clears: in order, at once while they are few, and else so
 * many a beat that the other calls of the thread do not notice.
 */
export class Answers {
  readonly #dialect: Pick<Dialect, 'marked' | 'played' | 'cleared'>
  readonly #send: (message: string | null) => void
  readonly #waiting: Answer[] = []
  #head = 0
  #left = A_BEAT

  /** @param send is given null for what the dialect has no word for. */
  constructor(
    dialect: Pick<Dialect, 'marked' | 'played' | 'cleared'>,
    send: (message: string | null) => void,
  ) {
    this.#dialect = dialect
    this.#send = send
  }

  get waiting(): number {
    return this.#waiting.length - this.#head
  }

  /** Some were given since the last beat, or wait. */
  get used(): boolean {
    return this.#left < A_BEAT || this.waiting > 0
  }

  /** False: far too many wait. */
  tell(answer: Answer): boolean {
    if (this.waiting === 0 && this.#left > 0) {
      this.#left--
      this.#give(answer)
      return true
    }
    if (this.waiting >= MOST) return false
    this.#waiting.push(answer)
    return true
  }

  /** A beat is over: the next ones may be given. */
  beat(): void {
    this.#left = A_BEAT
    while (this.waiting > 0 && this.#left > 0) {
      this.#left--
      this.#give(this.#waiting[this.#head++] as Answer)
    }
    if (this.waiting === 0) {
      this.#waiting.length = 0
      this.#head = 0
    }
  }

  #give(answer: Answer): void {
    if (answer.to === 'mark') this.#send(this.#dialect.marked(answer.name, answer.how))
    else if (answer.to === 'sound') this.#send(this.#dialect.played(answer.id))
    else this.#send(this.#dialect.cleared(answer.droppedMs))
  }
}
