import type { LookupFunction } from 'node:net'
import type { Clock } from '../../base/clock.js'
import { EngineError, errorText } from '../../base/errors.js'
import type { Handshake } from './handshake.js'

/* Connection to a bot: whole messages in both directions, in order, over any transport. */

/** Close codes of RFC 6455 section 7.4.1, also used for connections that are not WebSockets. */
export const NORMAL = 1000
export const GOING_AWAY = 1001
export const NO_STATUS = 1005
export const ABNORMAL = 1006
export const POLICY = 1008
/** Close codes by which a bot ends the call on purpose. */
export const HANGUP_CODES: readonly number[] = [NORMAL, GOING_AWAY, NO_STATUS]

/** Time for the other side to close as well (ms). */
export const CLOSE_TIMEOUT_MS = 1_000
/** Interval of the keep-alive check (ms); after two without a sign of life the bot is gone. */
export const KEEPALIVE_MS = 15_000
export const MAX_MISSED_KEEPALIVES = 2
/** While messages are sent, it is asked at this interval (ms) what the bot has read. */
export const CONFIRM_MS = 100
/**
 * Bound of buffered messages to a bot that does not read; beyond it the connection is closed. Audio is
 * bounded by its sender.
 */
export const MAX_BUFFERED_BYTES = 1024 * 1024

export interface BotConnectionEvents {
  /** Called once, before anything else. Data in the first packet arrives before a promise would resolve. */
  opened(connection: BotConnection): void
  /** The data is valid until the call returns. */
  text(data: Buffer): void
  /** The receiver owns the data. */
  binary(data: Buffer): void
  /** Called once after the last message of an open connection; `ABNORMAL` when it broke. */
  closed(code: number): void
  /** Code of ours threw while it handled a message; nothing more is delivered. */
  internalError(error: unknown): void
}

/** An open connection to a bot. */
export interface BotConnection {
  /** Bytes accepted and not yet taken by the operating system. */
  readonly bufferedBytes: number
  /**
   * Time (ms) for which the bot has been late to confirm what it read; 0 while it is on time. The buffers of
   * both operating systems hold what was sent since. Always 0 for TCP where the system does not tell its queues.
   */
  readonly unreadMs: number
  readonly open: boolean
  /** Sends text, or a binary message unless `isText`. The bytes of either may be changed once this returns. */
  send(message: string | Buffer, isText?: boolean): void
  /** Closes and waits a second for the other side to close as well. Idempotent. */
  close(code: number): void
  /** Drops the connection at once. */
  terminate(): void
}

export interface DialOptions {
  readonly handshake: Handshake
  readonly clock: Clock
  /** From `openSafeNames`. */
  readonly lookup: LookupFunction
  readonly events: BotConnectionEvents
}

/** Outcome of one connection attempt; only the first call counts. */
export interface DialAttempt {
  opened(connection: BotConnection): void
  /**
   * `reason` is shown to people: it holds no secret and no address. `status` is the HTTP status, if there was
   * a response.
   */
  failed(reason: string, status: number | null): void
}

/** Returns the text of a system error without the address that it names. */
export function connectionFailureText(error: Error): string {
  if (error instanceof EngineError || !('code' in error)) return errorText(error)
  return `no connection (${String(error.code)})`
}

/**
 * Starts to connect. The returned function abandons the attempt and closes a connection that opens
 * nevertheless.
 */
export type Dialer = (
  options: DialOptions,
  subprotocols: readonly string[],
  attempt: DialAttempt,
) => () => void
