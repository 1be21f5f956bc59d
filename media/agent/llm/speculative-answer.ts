import type { TokenCount } from '../conversation/usage-meter.js'
import type { Cancellable, ToolCall, VendorFailure } from '../vendor-ports.js'
import type { ModelJobEvents } from './model-job.js'

/**
 * Buffers an answer that may not be used. Its events are delivered after `keep`, and its tools run only then.
 */
export class SpeculativeAnswer implements Cancellable {
  readonly askedAtMs: number
  firstTokenMs: number | null = null
  firstSentenceMs: number | null = null
  readonly #sentences: string[] = []
  readonly #job: Cancellable
  #done: readonly [string, readonly ToolCall[], TokenCount | null] | null = null
  #receiver: ModelJobEvents | null = null

  constructor(options: {
    readonly now: () => number
    readonly start: (events: ModelJobEvents) => Cancellable
    /** The request failed before `keep`. */
    readonly failed: (error: VendorFailure) => void
  }) {
    const { now, start, failed } = options
    this.askedAtMs = now()
    this.#job = start({
      token: () => {
        this.firstTokenMs ??= now()
        this.#receiver?.token()
      },
      progress: () => this.#receiver?.progress(),
      sentence: (text) => {
        this.firstSentenceMs ??= now()
        if (this.#receiver) this.#receiver.sentence(text)
        else this.#sentences.push(text)
      },
      withdrawn: () => {
        this.#sentences.length = 0
        this.#receiver?.withdrawn()
      },
      done: (text, calls, usage) => {
        if (this.#receiver) this.#receiver.done(text, calls, usage)
        else this.#done = [text, calls, usage]
      },
      failed: (error) => {
        if (this.#receiver) this.#receiver.failed(error)
        else failed(error)
      },
    })
  }

  /** Delivers the events so far and all that follow. Call once. */
  keep(events: ModelJobEvents): void {
    this.#receiver = events
    if (this.firstTokenMs !== null) events.token()
    for (const sentence of this.#sentences) events.sentence(sentence)
    if (this.#done) events.done(...this.#done)
  }

  cancel(): void {
    this.#job.cancel()
  }
}
