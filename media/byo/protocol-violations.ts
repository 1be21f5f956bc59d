import type { BotErrorCode } from './dialects/wire-format.js'

/** Shortest time between two reports to the bot (ms). */
const REPORT_INTERVAL_MS = 1_000

export interface ProtocolViolationsOptions {
  /** Reports to the bot; returns false when its dialect has no error message. */
  readonly report: (code: BotErrorCode, message: string) => boolean
  /** Records the violation with the call, for bots that cannot be informed. */
  readonly record: (code: BotErrorCode, message: string) => void
}

/**
 * Counts a bot's protocol violations. Reports one per second to the bot or, when its dialect has no error
 * message, records each code once with the call.
 */
export class ProtocolViolations {
  count = 0
  readonly #options: ProtocolViolationsOptions
  readonly #recorded = new Set<BotErrorCode>()
  #reportedMs = Number.NEGATIVE_INFINITY
  /** The dialect has no error message. */
  #cannotReport = false

  constructor(options: ProtocolViolationsOptions) {
    this.#options = options
  }

  add(code: BotErrorCode, message: string, nowMs: number): void {
    this.count++
    if (this.#cannotReport) this.#record(code, message)
    else if (nowMs - this.#reportedMs >= REPORT_INTERVAL_MS) {
      this.#reportedMs = nowMs
      this.#cannotReport = !this.#options.report(code, message)
      if (this.#cannotReport) this.#record(code, message)
    }
  }

  #record(code: BotErrorCode, message: string): void {
    if (this.#recorded.has(code)) return
    this.#recorded.add(code)
    this.#options.record(code, message)
  }
}
