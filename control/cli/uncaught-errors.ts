import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'

/** Number of uncaught errors that are logged. The same error may come back with every packet. */
const MAX_LOGGED = 20

/**
 * Keeps the process alive after an error that no code caught, so that live calls can end normally. Errors of
 * this kind leave an unknown state: the service must stop as soon as its calls have ended.
 */
export class UncaughtErrors {
  /** Resolves at the first uncaught error. */
  readonly first: Promise<'uncaught_error'>
  readonly #log: Log
  readonly #stop: () => void
  #count = 0

  constructor(log: Log) {
    this.#log = log
    let happened = (): void => {}
    this.first = new Promise((resolve) => {
      happened = () => resolve('uncaught_error')
    })
    // Without a listener for rejections, Node reports them as uncaught exceptions with this origin.
    const take = (error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void => {
      this.#report(error, origin)
      happened()
    }
    process.on('uncaughtException', take)
    this.#stop = () => process.off('uncaughtException', take)
  }

  /** True after an uncaught error. */
  get any(): boolean {
    return this.#count > 0
  }

  /** Restores the usual behaviour: an uncaught error ends the process. */
  close(): void {
    this.#stop()
  }

  #report(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
    this.#count++
    if (this.#count > MAX_LOGGED) return
    const stack = error instanceof Error ? error.stack : undefined
    this.#log.error({ error: errorText(error), origin, stack }, 'process.uncaught_error')
  }
}
