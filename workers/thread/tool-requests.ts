import type { ToolRequest } from '../../media/agent/tools/tool-calls.js'
import type { Cancellable } from '../../media/agent/vendor-ports.js'
import type { Clock, Timer } from '../../media/base/clock.js'
import type { SessionEvent } from '../channel/protocol.js'

/** Margin (ms) over the main thread's own limit; after it, no result will arrive. */
const MARGIN_MS = 3000
/** Model replies call a few tools; more at once is a faulty model. */
const MAX_WAITING = 16

interface Waiting {
  readonly done: (result: string) => void
  readonly timer: Timer
}

/** The tool requests of one session that the main thread runs, and their results. */
export class ToolRequests {
  readonly #clock: Clock
  readonly #emit: (event: SessionEvent) => void
  readonly #waiting = new Map<number, Waiting>()
  #last = 0

  constructor(clock: Clock, emit: (event: SessionEvent) => void) {
    this.#clock = clock
    this.#emit = emit
  }

  /** See `ToolRunner.run`. */
  run(request: ToolRequest, done: (result: string) => void): Cancellable {
    const id = ++this.#last
    if (this.#waiting.size >= MAX_WAITING) {
      const timer = this.#clock.after(0, () =>
        done('Failed: too many requests are running. Nothing was sent.'),
      )
      return timer
    }
    const timer = this.#clock.after(request.timeoutMs + MARGIN_MS, () => {
      this.result(id, 'Failed: no answer came in time. The request may have been carried out.')
    })
    this.#waiting.set(id, { done, timer })
    this.#emit({ type: 'tool_request', request: id, tool: request.tool, arguments: request.arguments })
    return { cancel: () => this.#forget(id) }
  }

  /** Delivers a result; ignores it when the request is no longer pending. */
  result(id: number, result: string): void {
    this.#forget(id)?.done(result)
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#forget(id)
  }

  #forget(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    waiting?.timer.cancel()
    this.#waiting.delete(id)
    return waiting
  }
}
