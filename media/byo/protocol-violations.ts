import type { BotErrorCode } from './dialects/dialect.js'

/** At most one error in so long is told. */
const ERROR_EVERY_MS = 1_000

export interface ProtocolViolationsOptions {
  /** Tells the bot; false when its wire format has no word for it. */
  readonly report: (code: BotErrorCode, message: string) => boolean
  /** For the call's record, where the bot cannot be told. */
  readonly record: (code: BotErrorCode, message: string) => void
}

/**
 * What is wrong with a bot's messages: counted, told to the bot once a second, and where it cannot be
 * told, noted in the call's record, each kind once.
 */
export class ProtocolViolations {
  count = 0
  readonly #options: ProtocolViolationsOptions
  readonly #noted = new Set<BotErrorCode>()
  #lastMs = Number.NEGATIVE_INFINITY
  /** It had no word for one. */
  #wordless = false

  constructor(options: ProtocolViolationsOptions) {
    this.#options = options
  }

  add(code: BotErrorCode, message: string, nowMs: number): void {
    this.count++
    if (this.#wordless) this.#note(code, message)
    else if (nowMs - this.#lastMs >= ERROR_EVERY_MS) {
      this.#lastMs = nowMs
      this.#wordless = !this.#options.report(code, message)
      if (this.#wordless) this.#note(code, message)
    }
  }

  #note(code: BotErrorCode, message: string): void {
    if (this.#noted.has(code)) return
    this.#noted.add(code)
    this.#options.record(code, message)
  }
}
