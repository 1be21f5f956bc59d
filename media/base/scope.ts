import type { Clock, Timer } from './clock.js'

export interface Closable {
  close(): void | Promise<void>
}

/**
 * Owns what must not outlive a thing: sockets, timers, listeners, children. Closing runs the owned
 * closers newest first, once; whatever is added afterwards is closed at once. `size` is what tests
 * assert to be zero.
 */
export class Scope {
  readonly #owned = new Set<() => void | Promise<void>>()
  #closed: Promise<void> | undefined

  get size(): number {
    return this.#owned.size
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  /** Adds a closer; the returned function forgets it without running it. */
  own(close: () => void | Promise<void>): () => void {
    if (this.#closed) {
      void close()
      return () => {}
    }
    this.#owned.add(close)
    return () => {
      this.#owned.delete(close)
    }
  }

  add<T extends Closable>(thing: T): T {
    this.own(() => thing.close())
    return thing
  }

  /** A child that closes itself leaves this scope. */
  child(): Scope {
    const child = new Scope()
    const forget = this.own(() => child.close())
    child.own(forget)
    return child
  }

  /** A timer that dies with the scope and leaves it when it fires. */
  after(clock: Clock, ms: number, run: () => void): Timer {
    const timer = clock.after(ms, () => {
      forget()
      run()
    })
    const forget = this.own(() => timer.cancel())
    return {
      cancel: () => {
        forget()
        timer.cancel()
      },
    }
  }

  /**
   * Idempotent. Every closer runs even when an earlier one fails; the failures are rethrown
   * together as an AggregateError.
   */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll()
    return this.#closed
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = []
    const closers = [...this.#owned].reverse()
    for (const close of closers) {
      // A closer may forget another one (a child leaving its parent).
      if (!this.#owned.delete(close)) continue
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'closing failed')
  }
}
