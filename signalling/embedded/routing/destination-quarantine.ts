import type { Clock } from '../../../media/base/clock.js'

/** Maximum number of destinations remembered; beyond it the oldest is forgotten. */
const MAX_REMEMBERED = 1000

/**
 * Destinations that failed recently. They are tried after all others but never left out: when all have
 * failed, the first one is still the best choice.
 */
export class DestinationQuarantine {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#until.size
  }

  put(key: string, ms: number): void {
    this.#until.delete(key)
    this.#until.set(key, this.#clock.now() + ms)
    if (this.#until.size <= MAX_REMEMBERED) return
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest)
      break
    }
  }

  /** Removes a destination that answered. */
  release(key: string): void {
    this.#until.delete(key)
  }

  has(key: string): boolean {
    const until = this.#until.get(key)
    if (until === undefined) return false
    if (until > this.#clock.now()) return true
    this.#until.delete(key)
    return false
  }

  /** Returns the items with those in quarantine last, otherwise in the given order. */
  sort<T>(things: readonly T[], keyOf: (thing: T) => string): readonly T[] {
    if (this.#until.size === 0) return things
    const held = things.map((thing) => this.has(keyOf(thing)))
    return [...things.filter((_, i) => !held[i]), ...things.filter((_, i) => held[i])]
  }
}
