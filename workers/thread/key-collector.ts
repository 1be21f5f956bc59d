import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { Digit } from '../../media/base/frame.js'
import type { CollectedDigits, CollectOptions } from '../channel/protocol.js'

const MAX_DIGITS = 64
const MAX_MS = 120_000

interface Collection {
  readonly options: CollectOptions
  readonly timer: Timer
  readonly done: (collected: CollectedDigits) => void
  digits: string
}

/** Collects the keys of one leg on request. One collection runs at a time. */
export class KeyCollector {
  readonly #clock: Clock
  #running: Collection | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Collects keys from now on; ends the collection in progress. Throws EngineError `config_invalid` for values
   * out of range.
   */
  collect(options: CollectOptions): Promise<CollectedDigits> {
    const { maxDigits, timeoutMs } = options
    const inRange = (value: number, max: number) => Number.isInteger(value) && value >= 1 && value <= max
    if (!inRange(maxDigits, MAX_DIGITS) || !inRange(timeoutMs, MAX_MS)) {
      throw new EngineError('config_invalid', 'keys cannot be collected: a value is out of range', {
        context: { maxDigits, timeoutMs },
      })
    }
    this.close()
    return new Promise((done) => {
      const timer = this.#clock.after(timeoutMs, () => this.#end('timeout'))
      this.#running = { options, timer, done, digits: '' }
    })
  }

  /** Takes a key. Returns false when no collection runs. */
  take(digit: Digit): boolean {
    const running = this.#running
    if (running === null) return false
    const { terminator, maxDigits } = running.options
    if (digit === terminator) {
      this.#end('terminator')
      return true
    }
    running.digits += digit
    if (running.digits.length === maxDigits) this.#end('complete')
    return true
  }

  /** Ends the collection in progress with `left`. */
  close(): void {
    this.#end('left')
  }

  #end(ending: CollectedDigits['ending']): void {
    const running = this.#running
    if (running === null) return
    this.#running = null
    running.timer.cancel()
    running.done({ digits: running.digits, ending })
  }
}
