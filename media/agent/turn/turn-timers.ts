import type { Clock, Timer } from '../../base/clock.js'
import type { TurnId } from '../conversation-events.js'
import type { TimerName } from './turn-types.js'

/** The running timers of a conversation. Each has a name and belongs to a turn or to the call. */
export class TurnTimers {
  readonly #clock: Clock
  readonly #fired: (turn: TurnId, name: TimerName) => void
  readonly #running = new Map<string, Timer>()

  constructor(clock: Clock, fired: (turn: TurnId, name: TimerName) => void) {
    this.#clock = clock
    this.#fired = fired
  }

  /** Starts or restarts a timer. */
  start(turn: TurnId, name: TimerName, ms: number): void {
    const key = `${turn}:${name}`
    this.#running.get(key)?.cancel()
    const timer = this.#clock.after(ms, () => {
      this.#running.delete(key)
      this.#fired(turn, name)
    })
    this.#running.set(key, timer)
  }

  cancel(turn: TurnId, name: TimerName): void {
    const key = `${turn}:${name}`
    this.#running.get(key)?.cancel()
    this.#running.delete(key)
  }

  /** Cancels all timers of a turn, or all timers when `turn` is absent. */
  cancelAll(turn?: TurnId): void {
    for (const [key, timer] of this.#running) {
      if (turn !== undefined && !key.startsWith(`${turn}:`)) continue
      timer.cancel()
      this.#running.delete(key)
    }
  }
}
