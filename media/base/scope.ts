import type { Clock, Timer } from './clock.js'
import { errorText } from './errors.js'

export interface Closable {
  close(): void | Promise<void>
}

/**
 * Owns resources that must not outlive their owner: sockets, timers, listeners, children. Closing runs the
 * closers once, newest first. A closer that is added afterwards runs at once. No caller waits for it, so its
 * failure is a process warning. Tests assert that `size` is zero.
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

  /** Adds a closer. The returned function removes it without running it. */
  own(close: () => void | Promise<void>): () => void {
    if (this.#closed) {
      void closeLate(close)
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

  /** Creates a child scope. A child that closes itself leaves this scope. */
  child(): Scope {
    const child = new Scope()
    const forget = this.own(() => child.close())
    child.own(forget)
    return child
  }

  /** Starts a timer that is cancelled with the scope and leaves the scope when it fires. */
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
   * Closes everything. Idempotent. Every closer runs even when an earlier one fails. The failures are
   * rethrown together as an AggregateError.
   */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll()
    return this.#closed
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = []
    const closers = [...this.#owned].reverse()
    for (const close of closers) {
      // A closer may remove another one, as a child does when it leaves its parent.
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

async function closeLate(close: () => void | Promise<void>): Promise<void> {
  try {
    await close()
  } catch (error) {
    process.emitWarning(`closing failed: ${errorText(error)}`, { code: 'scope_close_failed' })
  }
}
