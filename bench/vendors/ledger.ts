import { systemClock } from '../../media/base/clock.js'
import type { Fault, FaultMoment, TurnWaits, VendorOptions } from './messages.js'

type Open = { -readonly [K in keyof TurnWaits]?: TurnWaits[K] }

/**
 * State that the fake vendors share. Each question carries a number through recognition, model and synthesis, and the
 * prompt states the caller's number, so that times and faults can be assigned to a caller.
 */
export class Ledger {
  readonly faultMoments: FaultMoment[] = []
  readonly #options: VendorOptions
  readonly #turns = new Map<number, Open>()
  /** Numbers of the questions asked by each caller. */
  readonly #asked = new Map<string, Set<number>>()
  /** Caller of each question. */
  readonly #callers = new Map<number, string>()
  #count = 0

  constructor(options: VendorOptions) {
    this.#options = options
  }

  get options(): VendorOptions {
    return this.#options
  }

  /** Records a request for a final text; returns the question's number. */
  flushed(atMs: number): number {
    const number = ++this.#count
    this.#turns.set(number, { flushMs: atMs })
    return number
  }

  note(number: number, moments: Open): void {
    const turn = this.#turns.get(number)
    // The first of its kind counts: a second sentence is synthesised too.
    if (turn !== undefined) this.#turns.set(number, { ...moments, ...turn })
  }

  /** Records that caller `from` sent question `number` to the model. */
  asked(number: number, from: string): void {
    const asked = this.#asked.get(from) ?? new Set()
    this.#asked.set(from, asked.add(number))
    this.#callers.set(number, from)
    this.note(number, { from, askedMs: systemClock.now() })
  }

  callerOf(number: number | null): string | null {
    return number === null ? null : (this.#callers.get(number) ?? null)
  }

  /**
   * Returns the fault of this caller once its first question was asked; `number` is a question of the model.
   */
  faultOf(from: string | null, number: number | null): Fault | null {
    if (from === null) return null
    const asked = this.#asked.get(from)
    if (asked === undefined) return null
    const [first] = asked
    return number === first ? null : (this.#options.faults[from] ?? null)
  }

  /** Records that the fault takes effect now. */
  recordFault(from: string, fault: Fault): void {
    if (this.faultMoments.some((moment) => moment.from === from)) return
    this.faultMoments.push({ from, fault, atMs: systemClock.now() })
  }

  /** Returns the questions that went through all three vendors. */
  complete(): TurnWaits[] {
    return [...this.#turns.values()].flatMap(
      ({ from, flushMs, finalMs, askedMs, sentenceMs, speakMs, audioMs }) =>
        from === undefined ||
        flushMs === undefined ||
        finalMs === undefined ||
        askedMs === undefined ||
        sentenceMs === undefined ||
        speakMs === undefined ||
        audioMs === undefined
          ? []
          : [{ from, flushMs, finalMs, askedMs, sentenceMs, speakMs, audioMs }],
    )
  }
}
