import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type { BotEndpoint } from '../../media/byo/bot-endpoint.js'
import type { BotStats } from '../../media/byo/bot-event.js'
import type { Endpoint } from '../../media/session/endpoint.js'

/** From the first try to the second one (ms), if the first has failed by then. */
const SECOND_TRY_MS = 3_000
/** Time after which a bot that is not back is given up (ms). */
const LIMIT_MS = 6_000
/** Time (ms) before the music begins. If the bot is back sooner, the caller hears only a short silence. */
const MUSIC_AFTER_MS = 500

export interface BotResumptionOptions {
  readonly clock: Clock
  readonly log: Log
  /** Makes an endpoint that is not connected yet. */
  readonly open: () => BotEndpoint
  readonly music: Promise<Endpoint>
  /** Takes the bot that is connected again, to be started. */
  readonly resumed: (bot: BotEndpoint) => void
  readonly failed: () => void
  readonly onFault: (error: unknown) => void
}

/** Dials a lost bot again: two tries within six seconds, with music for the caller. Reports the outcome once. */
export class BotResumption {
  readonly #options: BotResumptionOptions
  readonly #scope = new Scope()
  readonly #beganMs: number
  #music: Endpoint | null = null
  #bot: BotEndpoint | null = null
  #tries = 0
  #over = false

  constructor(options: BotResumptionOptions) {
    const { clock, log, music } = options
    this.#options = options
    this.#beganMs = clock.now()
    this.#scope.after(clock, LIMIT_MS, () => this.#giveUp())
    music.then(
      (endpoint) => {
        this.#music = endpoint
      },
      (error: unknown) => log.warn({ error: errorText(error) }, 'bot.music_failed'),
    )
    this.#try()
  }

  pull(into: Int16Array, at: number): boolean {
    if (this.#options.clock.now() < this.#beganMs + MUSIC_AFTER_MS) return false
    return this.#music?.pull(into, at) ?? false
  }

  /** Idempotent. The outcome is not reported any more. */
  close(): void {
    if (this.#over) return
    this.#end()
    this.#bot?.close('hangup')
  }

  #try(): void {
    this.#tries++
    const bot = this.#options.open()
    this.#bot = bot
    bot.connect().then(
      (connected) => {
        if (this.#over) return
        if (connected) {
          this.#end()
          this.#options.resumed(bot)
          return
        }
        bot.close('error')
        if (this.#tries === 2) this.#giveUp()
        else {
          const { clock } = this.#options
          const waitMs = Math.max(0, this.#beganMs + SECOND_TRY_MS - clock.now())
          this.#scope.after(clock, waitMs, () => this.#try())
        }
      },
      (error: unknown) => {
        this.close()
        this.#options.onFault(error)
      },
    )
  }

  #giveUp(): void {
    if (this.#over) return
    this.close()
    this.#options.failed()
  }

  #end(): void {
    this.#over = true
    this.#scope.close().catch(this.#options.onFault)
  }
}

/** Returns the statistics of both connections of a call together. */
export function joinedStats(before: BotStats | null, after: BotStats): BotStats {
  if (before === null) return after
  return {
    firstAudioMs: before.firstAudioMs ?? after.firstAudioMs,
    replyMs: [...before.replyMs, ...after.replyMs],
    underruns: before.underruns + after.underruns,
    droppedInMs: before.droppedInMs + after.droppedInMs,
    droppedOutMs: before.droppedOutMs + after.droppedOutMs,
    trimmedMs: before.trimmedMs + after.trimmedMs,
    marks: before.marks + after.marks,
    errors: before.errors + after.errors,
    closeCode: after.closeCode ?? before.closeCode,
  }
}
