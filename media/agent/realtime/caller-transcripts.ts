import type { Clock, Timer } from '../../base/clock.js'
import type { ConversationEvent } from '../conversation-events.js'

/*
 * A speech-to-speech model replies before the transcript of the caller's speech exists. Until it arrives, a
 * mark stands for the words in the caller's turn: a private-use character for the item, the words if they are
 * known, and a closing character.
 */

const FIRST = 0xe000
const MARKS = 6000
const CLOSE = '\uf8ff'
const MARKED = /([\ue000-\uf7ff])([^\ue000-\uf8ff]*)\uf8ff/g

/** Replaces words in a transcript that were never transcribed. */
export const UNTRANSCRIBED = '[…]'
/** Replaces such words for a model that did not hear them itself. */
export const NOT_HEARD = '[The line was disturbed: what the caller said is not known. Ask for it again.]'

/** The transcripts of the caller's items, as they arrive. */
export class CallerTranscripts {
  /** By mark. Undefined while pending, null when unavailable. */
  readonly #texts = new Map<string, string | null | undefined>()
  readonly #marks = new Map<string, string>()

  /** Returns the mark of an item, with its words when `text` is given. */
  mark(item: string, text = ''): string {
    let mark = this.#marks.get(item)
    if (mark === undefined) {
      mark = String.fromCharCode(FIRST + (this.#marks.size % MARKS))
      this.#marks.set(item, mark)
      this.#texts.set(mark, undefined)
    }
    return `${mark}${text}${CLOSE}`
  }

  /** Sets the transcript of an item. Null means that it is unavailable. */
  resolve(item: string, text: string | null): void {
    this.mark(item)
    const mark = this.#marks.get(item)
    if (mark !== undefined) this.#texts.set(mark, text)
  }

  /** Marks all pending transcripts as unavailable. */
  giveUp(): void {
    for (const [mark, text] of this.#texts) if (text === undefined) this.#texts.set(mark, null)
  }

  /** Replaces the marks of a text by words. With `waiting`, returns null while words are pending. */
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

/** Returns the keyed part of a turn. */
export function keyedDigits(text: string): string {
  return text.replace(MARKED, ' ').replace(/\s+/g, ' ').trim()
}

/** Longest wait for a transcript. */
const AWAITED_MS = 4000

/** Events that belong to no turn and are never delayed. */
const AT_ONCE: ReadonlySet<ConversationEvent['type']> = new Set(['answered_by', 'dtmf', 'detected'])

/** Keeps the events of a conversation in order. Delays them while the transcript of a turn is pending. */
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
    // The end of the conversation waits for no transcript.
    if (event.type === 'finished') this.flush()
    if (this.#queue.length === 0 || AT_ONCE.has(event.type)) this.#emit(event)
    else this.#queue.push(() => event)
  }

  /**
   * Queues an event in the making. `make` returns the event, null while it is incomplete, or `none` when
   * there is none after all.
   */
  pushDeferred(make: (waiting: boolean) => ConversationEvent | null | 'none'): void {
    this.#queue.push(make)
    this.advance()
  }

  /** Emits the events that are complete now. */
  advance(): void {
    this.#drain(true)
    if (this.#queue.length === 0) this.#timer = cancelled(this.#timer)
    else this.#timer ??= this.#clock.after(AWAITED_MS, () => this.#overdue())
  }

  /** Emits all events now, with the transcripts known so far. */
  flush(): void {
    this.#timer = cancelled(this.#timer)
    this.#drain(false)
  }

  #overdue(): void {
    this.#timer = null
    // The oldest event has timed out. Later ones get their own time.
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

function cancelled(timer: Timer | null): null {
  timer?.cancel()
  return null
}
