import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'

/** Longest wait for room (ms). The caller has its 100 Trying and repeats nothing meanwhile. */
export const HOLD_MS = 500
/** Interval of the attempts (ms). */
const RETRY_MS = 50
/** More callers than a second of a burst brings; further ones are refused at once. */
const MAX_WAITING = 200

interface Waiter<Place> {
  readonly untilMs: number
  /** Returns null as long as there is no room. */
  readonly attempt: () => Place | null
  readonly resolve: (place: Place | null) => void
  readonly reject: (error: Error) => void
}

/** Sessions for which no worker has room at the moment, in order of arrival. */
export class WaitingRoom<Place> {
  readonly #clock: Clock
  readonly #refresh: () => void
  readonly #waiters = new Map<string, Waiter<Place>>()
  #timer: Timer | null = null

  /** `refresh` asks the workers for their load; called before each attempt. */
  constructor(clock: Clock, refresh: () => void) {
    this.#clock = clock
    this.#refresh = refresh
  }

  get size(): number {
    return this.#waiters.size
  }

  has(session: string): boolean {
    return this.#waiters.has(session)
  }

  /**
   * Resolves with the place that `attempt` returned, or with null after `HOLD_MS` or when too many wait. Rejects with
   * EngineError `closed` when the session left.
   */
  wait(session: string, attempt: () => Place | null): Promise<Place | null> {
    if (this.#waiters.size >= MAX_WAITING) return Promise.resolve(null)
    const waiting = new Promise<Place | null>((resolve, reject) => {
      this.#waiters.set(session, { untilMs: this.#clock.now() + HOLD_MS, attempt, resolve, reject })
    })
    this.#refresh()
    this.#arm()
    return waiting
  }

  /** Gives up the wait of a session. Returns false if it does not wait. */
  leave(session: string): boolean {
    const waiter = this.#waiters.get(session)
    if (waiter === undefined) return false
    this.#waiters.delete(session)
    waiter.reject(new EngineError('closed', 'the session was closed while it waited for a worker'))
    return true
  }

  /** Gives up all waits. */
  close(): void {
    for (const session of [...this.#waiters.keys()]) this.leave(session)
    this.#timer?.cancel()
    this.#timer = null
  }

  #arm(): void {
    this.#timer ??= this.#clock.after(RETRY_MS, () => {
      this.#timer = null
      this.#look()
      if (this.#waiters.size === 0) return
      this.#refresh()
      this.#arm()
    })
  }

  #look(): void {
    let room = true
    for (const [session, waiter] of this.#waiters) {
      const place: Place | null = room ? waiter.attempt() : null
      room = place !== null
      if (place === null && this.#clock.now() < waiter.untilMs) continue
      this.#waiters.delete(session)
      waiter.resolve(place)
    }
  }
}
