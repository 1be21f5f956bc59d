import type { Clock, Timer } from '../../base/clock.js'
import type { ConversationEvent } from '../conversation-events.js'

/*
 * A model that hears by itself answers before anybody has written down what it heard. Until the words
 * come, a mark stands for them in the caller's turn: one character of the private use area for the
 * item, the words if they are known, and a closing character.
 */

const FIRST = 0xe000
const MARKS = 6000
const CLOSE = '\uf8ff'
const MARKED = /([\ue000-\uf7ff])([^\uf8ff]*)\uf8ff/g

/** What stands in a transcript for words that were heard and never written down. */
export const UNTRANSCRIBED = '[…]'
/** What a model is told of such words when it did not hear them itself. */
export const NOT_HEARD = '[The line was disturbed: what the caller said is not known. Ask for it again.]'

/** The words of the caller's items, as they become known. */
export class CallerTranscripts {
  /** By mark; undefined: still awaited, null: will not come. */
  readonly #texts = new Map<string, string | null | undefined>()
  readonly #marks = new Map<string, string>()

  /** Stands for the words of an item; `text` is given when they are known. */
  mark(item: string, text = ''): string {
    let mark = this.#marks.get(item)
    if (mark === undefined) {
      mark = String.fromCharCode(FIRST + (this.#marks.size % MARKS))
      this.#marks.set(item, mark)
      this.#texts.set(mark, undefined)
    }
    return `${mark}${text}${CLOSE}`
  }

  /** Null: they cannot be had. */
  resolve(item: string, text: string | null): void {
    this.mark(item)
    const mark = this.#marks.get(item)
    if (mark !== undefined) this.#texts.set(mark, text)
  }

  /** No words of the items so far will come any more. */
  giveUp(): void {
    for (const [mark, text] of this.#texts) if (text === undefined) this.#texts.set(mark, null)
  }

  /** The text with its words; null while some of them are awaited, unless that is not to be waited for. */
  read(text: string, waiting: boolean): string | null {
    let missing = false
    const read = text.replace(MARKED, (_whole, mark: string, words: string) => {
      if (words !== '') return words
      const resolve = this.#texts.get(mark)
      if (resolve === undefined) missing = true
      return resolve ?? UNTRANSCRIBED
    })
    return missing && waiting ? null : read.replace(/\s+/g, ' ').trim()
  }
}

/** What of a turn came from keys and not from items. */
export function keyedDigits(text: string): string {
  return text.replace(MARKED, ' ').replace(/\s+/g, ' ').trim()
}

/** Words come within seconds of the speech; then the transcript goes on without them. */
const AWAITED_MS = 4000

/** They belong to no turn, and somebody may be waiting for them. */
const AT_ONCE: ReadonlySet<ConversationEvent['type']> = new Set(['answered_by', 'dtmf', 'detected'])

/** The events of a conversation in order, held back where the words of one are still awaited. */
export class EventQueue {
  readonly #emit: (event: ConversationEvent) => void
  readonly #clock: Clock
  readonly #queue: ((waiting: boolean) => ConversationEvent | null | 'none')[] = []
  #timer: Timer | null = null

  constructor(emit: (event: ConversationEvent) => void, clock: Clock) {
    this.#emit = emit
    this.#clock = clock
  }

  push(event: ConversationEvent): void {
    // The end waits for nothing.
    if (event.type === 'finished') this.flush()
    if (this.#queue.length === 0 || AT_ONCE.has(event.type)) this.#emit(event)
    else this.#queue.push(() => event)
  }

  /** `make` gives the event, null while it cannot, `none` when there is nothing to tell after all. */
  pushDeferred(make: (waiting: boolean) => ConversationEvent | null | 'none'): void {
    this.#queue.push(make)
    this.advance()
  }

  /** Something became known. */
  advance(): void {
    this.#drain(true)
    if (this.#queue.length === 0) this.#timer = stopped(this.#timer)
    else this.#timer ??= this.#clock.after(AWAITED_MS, () => this.#overdue())
  }

  /** Tells everything now, with what is known. */
  flush(): void {
    this.#timer = stopped(this.#timer)
    this.#drain(false)
  }

  #overdue(): void {
    this.#timer = null
    // The oldest has waited long enough; what came after it gets its own time.
    const [make] = this.#queue.splice(0, 1)
    if (make !== undefined) this.#emitIfAny(make(false))
    this.advance()
  }

  #drain(waiting: boolean): void {
    for (let make = this.#queue[0]; make !== undefined; make = this.#queue[0]) {
      const event = make(waiting)
      if (event === null) return
      this.#queue.shift()
      this.#emitIfAny(event)
    }
  }

  #emitIfAny(event: ConversationEvent | null | 'none'): void {
    if (event !== null && event !== 'none') this.#emit(event)
  }
}

function stopped(timer: Timer | null): null {
  timer?.cancel()
  return null
}
