import type { LookupFunction } from 'node:net'
import type { Clock } from '../../base/clock.js'
import { EngineError, errorText } from '../../base/errors.js'
import type { Scope } from '../../base/scope.js'
import type { Handshake } from './handshake.js'

/*
 * The way to a bot: whole messages in both directions and in order, whatever carries them.
 */

/** Why a line closed, in the numbers of RFC 6455, 7.4.1, also where the line is no WebSocket. */
export const NORMAL = 1000
export const GOING_AWAY = 1001
export const NO_STATUS = 1005
export const ABNORMAL = 1006
export const POLICY = 1008
/** After these the bot meant to end the call. */
export const HANGUP_CODES: readonly number[] = [NORMAL, GOING_AWAY, NO_STATUS]

/** What the other side may take to close as well. */
export const CLOSE_TIMEOUT_MS = 1_000
/** A line is looked at so often; twice without a sign of life and the bot is gone. */
export const KEEPALIVE_MS = 15_000
export const MAX_MISSED_KEEPALIVES = 2
/** Answers waiting for a bot that does not read: past this it is gone. Sound is bounded by its sender. */
export const MAX_BUFFERED_BYTES = 1024 * 1024

export interface BotConnectionEvents {
  /** Once, before anything else: what comes in the first packet comes before a promise would tell. */
  opened(line: BotConnection): void
  /** Borrowed until the call returns. */
  text(data: Buffer): void
  /** The receiver's to keep. */
  binary(data: Buffer): void
  /** Once, after the last message of an open line; `ABNORMAL` when it broke. */
  closed(code: number): void
  /** Something of ours threw at a message; nothing more is delivered. */
  internalError(error: unknown): void
}

/** An open way to a bot. */
export interface BotConnection {
  /** Bytes accepted and not yet taken by the system. */
  readonly bufferedBytes: number
  readonly open: boolean
  /** Text, or a binary message that may be changed again once this returns. */
  send(message: string | Buffer): void
  /** Says goodbye and waits a second for the other side to close as well. Idempotent. */
  close(code: number): void
  /** At once, as if the line broke. */
  terminate(): void
}

export interface DialOptions {
  readonly handshake: Handshake
  readonly clock: Clock
  /** Of `openSafeNames`. */
  readonly lookup: LookupFunction
  readonly events: BotConnectionEvents
}

/** What becomes of one try to reach a bot; only the first call counts. */
export interface DialAttempt {
  opened(line: BotConnection): void
  /** `reason` is for people: no secret in it, and no address. `status` is the answer's, if there was one. */
  failed(reason: string, status: number | null): void
}

/** What went wrong, without the address that a system error's own text names. */
export function connectionFailureText(error: Error): string {
  if (error instanceof EngineError || !('code' in error)) return errorText(error)
  return `no connection (${String(error.code)})`
}

/** Begins to dial; what it returns gives the try up, and closes a line that opens all the same. */
export type Dialer = (options: DialOptions, subprotocol: string | null, trial: DialAttempt) => () => void

/**
 * What reading a bot may cost, in ms of this thread: a burst of minutes of sound, and then many times
 * real time. A faster one is not read for a while. One message of megabytes takes 10 ms at once: with
 * 2 % it comes once a second, which 99 of 100 beats of the other calls do not meet.
 */
const BURST_MS = 30
const SHARE = 0.02
/** Measured: megabytes of base64. */
const BYTE_MS = 5e-6
/** A paused bot is read again when it may cost so much. */
const RESUME_MS = 2
/** A piece of the stream that takes longer than this is dear, whatever it says it holds ... */
const SLOW_MS = 2
/** ... unless the host stood still: so much of it, and then as much as of anything else, is let pass. */
const GRACE_MS = 200

/** Counts what was read and pauses a line that is read too fast. */
export class ReadBudget {
  readonly #clock: Clock
  readonly #scope: Scope
  readonly #pause: (on: boolean) => void
  #credit = BURST_MS
  #creditAt: number
  #paused = false
  /** When the piece being read began, and what its messages cost so far. */
  #pieceAtMs = 0
  #chargedMs = 0
  #graceMs = GRACE_MS
  #graceAtMs: number

  /** `scope` owns the timer of a pause. */
  constructor(clock: Clock, scope: Scope, pause: (on: boolean) => void) {
    this.#clock = clock
    this.#scope = scope
    this.#pause = pause
    this.#creditAt = clock.now()
    this.#graceAtMs = this.#creditAt
  }

  /** A piece of the stream is going to be read. */
  beginRead(): void {
    this.#pieceAtMs = this.#clock.now()
    this.#chargedMs = 0
  }

  /** It was. What it took beyond its charge is charged as well: frames and messages that are small and dear. */
  endRead(): void {
    const nowMs = this.#clock.now()
    const tookMs = Math.min(nowMs - this.#pieceAtMs, BURST_MS)
    if (tookMs <= SLOW_MS || tookMs <= this.#chargedMs) return
    this.#graceMs = Math.min(GRACE_MS, this.#graceMs + (nowMs - this.#graceAtMs) * SHARE)
    this.#graceAtMs = nowMs
    this.#graceMs -= tookMs - this.#chargedMs
    if (this.#graceMs >= 0) return
    this.#spend(-this.#graceMs)
    this.#graceMs = 0
  }

  /** `messageMs` is what the messages cost beside their bytes. */
  charge(bytes: number, messageMs: number): void {
    this.#spend(messageMs + bytes * BYTE_MS)
  }

  #spend(ms: number): void {
    this.#chargedMs += ms
    this.#credit -= ms
    if (this.#credit >= 0) return
    const now = this.#clock.now()
    this.#credit = Math.min(BURST_MS, this.#credit + (now - this.#creditAt) * SHARE)
    this.#creditAt = now
    if (this.#credit >= 0 || this.#paused) return
    this.#paused = true
    this.#pause(true)
    const waitMs = Math.ceil((RESUME_MS - this.#credit) / SHARE)
    this.#scope.after(this.#clock, waitMs, () => {
      this.#paused = false
      this.#pause(false)
    })
  }
}
