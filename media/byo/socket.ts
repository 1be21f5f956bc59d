import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { WebSocket } from 'ws'
import type { Clock } from '../base/clock.js'
import { EngineError, errorText } from '../base/errors.js'
import { isPublicAddress } from '../base/public-address.js'
import { Scope } from '../base/scope.js'
import type { Handshake } from './handshake.js'

/** From the first try to an open socket. */
const CONNECT_MS = 5_000
/** After these a second try would be answered the same. */
const FINAL_STATUSES = [401, 403, 404]
const PING_MS = 15_000
/** So many pings without an answer and the bot is gone. */
const MISSED_PONGS = 2
/** What the closing handshake may take. */
const CLOSE_MS = 1_000
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024
/**
 * What reading a bot may cost, in ms of this thread: a burst of minutes of sound, and then many times
 * real time. A faster one is not read for a while, so that it costs the other calls nothing.
 */
const BURST_MS = 30
const SHARE = 0.05
/** Measured: small messages of text; megabytes of base64. */
const MESSAGE_MS = 0.02
const BYTE_MS = 5e-6
/** Answers waiting for a bot that does not read: past this it is gone. Sound is bounded by its sender. */
const MAX_WAITING_BYTES = 1024 * 1024
/** A paused bot is read again when it may cost so much. */
const RESUME_MS = 2

/** RFC 6455, 7.4.1. */
export const NORMAL = 1000
export const GOING_AWAY = 1001
export const NO_STATUS = 1005
export const ABNORMAL = 1006
export const POLICY = 1008

export interface BotSocketEvents {
  /** Borrowed until the call returns. */
  text(data: Buffer): void
  /** The receiver's to keep. */
  binary(data: Buffer): void
  /** Once, after the last message; `ABNORMAL` when it broke. */
  closed(code: number): void
  /** Something of ours threw at a message; nothing more is delivered. */
  fault(error: unknown): void
}

export interface ConnectOptions {
  readonly handshake: Handshake
  readonly clock: Clock
  /** Of `openSafeNames`. */
  readonly lookup: LookupFunction
  /** Development: private addresses and plain `ws`. */
  readonly allowPrivate: boolean
  readonly events: BotSocketEvents
}

/** `reason` is for people: no secret in it, and no address. */
export type Connection =
  | { readonly ok: true; readonly socket: BotSocket }
  | { readonly ok: false; readonly reason: string; readonly status: number | null }

/**
 * Dials a bot: 5 s in all, a second try after a quick failure unless the bot said no. Never rejects.
 * `scope` closed, the attempt is given up.
 */
export async function connectBot(options: ConnectOptions, scope: Scope): Promise<Connection> {
  const { handshake, clock, allowPrivate } = options
  const problem = problemOf(handshake.url, allowPrivate)
  if (problem !== null) return { ok: false, reason: problem, status: null }
  const [first = null, second = first] = handshake.subprotocols
  const deadline = clock.now() + CONNECT_MS
  const opened = await attempt(options, first, deadline, scope)
  const hopeless = !opened.ok && opened.status !== null && FINAL_STATUSES.includes(opened.status)
  if (opened.ok || hopeless || clock.now() >= deadline || scope.closed) return opened
  return await attempt(options, second, deadline, scope)
}

function problemOf(url: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(url)) return 'the address is no URL'
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'wss:' && !(allowPrivate && protocol === 'ws:')) return 'the address is not wss'
  const host = hostname.replace(/^\[|\]$/g, '')
  // A literal address is never looked up.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return 'the address is not public'
  return null
}

function attempt(
  { handshake, clock, lookup, events }: ConnectOptions,
  subprotocol: string | null,
  deadline: number,
  scope: Scope,
): Promise<Connection> {
  return new Promise((resolve) => {
    const own = scope.child()
    const ws = new WebSocket(handshake.url, subprotocol === null ? [] : [subprotocol], {
      headers: { ...handshake.headers },
      lookup,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
      followRedirects: false,
      // What is not text is found out when it is read; a pass over every byte for it is not worth it.
      skipUTF8Validation: true,
    })
    const give = (result: Connection): void => {
      settled = true
      own.close().catch((error: unknown) => events.fault(error))
      resolve(result)
    }
    const fail = (reason: string, status: number | null): void => {
      if (settled) return
      give({ ok: false, reason, status })
      ws.terminate()
    }
    let settled = false
    // A dying socket still reports errors: one listener stays for ever.
    ws.on('error', (error) => fail(reasonOf(error), null))
    ws.on('unexpected-response', (_request, response: IncomingMessage) => {
      response.resume()
      fail(`the bot answered ${response.statusCode ?? 0}`, response.statusCode ?? null)
    })
    ws.on('open', () => {
      if (settled) ws.terminate()
      else give({ ok: true, socket: new BotSocket(ws, clock, events) })
    })
    own.after(clock, Math.max(0, deadline - clock.now()), () => fail('the bot did not answer in time', null))
    own.own(() => fail('the call ended', null))
  })
}

/** What went wrong, without the address that a system error's own text names. */
function reasonOf(error: Error): string {
  if (error instanceof EngineError || !('code' in error)) return errorText(error)
  return `no connection (${String(error.code)})`
}

/** An open socket to a bot. */
export class BotSocket {
  readonly #ws: WebSocket
  readonly #clock: Clock
  readonly #events: BotSocketEvents
  readonly #scope = new Scope()
  #unanswered = 0
  #credit = BURST_MS
  #creditAt: number
  #closing = false
  #dead = false

  constructor(ws: WebSocket, clock: Clock, events: BotSocketEvents) {
    this.#ws = ws
    this.#clock = clock
    this.#events = events
    this.#creditAt = clock.now()
    ws.on('message', (data: Buffer, isBinary: boolean) => this.#message(data, isBinary))
    ws.on('pong', () => {
      this.#unanswered = 0
    })
    ws.on('ping', (data: Buffer) => {
      this.#charge(data.length)
      if (ws.bufferedAmount > MAX_WAITING_BYTES) ws.terminate()
    })
    ws.on('close', (code: number) => this.#closed(code))
    this.#ping()
  }

  /** Bytes accepted and not yet taken by the system. */
  get waitingBytes(): number {
    return this.#ws.bufferedAmount
  }

  get open(): boolean {
    return !this.#closing && !this.#dead
  }

  /** Text, or a binary message that may be changed again once this returns. */
  send(message: string | Buffer): void {
    if (!this.open) return
    // A buffer is masked into one piece with its header, which is one plain write; a string is two.
    const isText = typeof message === 'string'
    this.#ws.send(isText ? Buffer.from(message) : message, { binary: !isText })
    if (this.#ws.bufferedAmount > MAX_WAITING_BYTES) this.#ws.terminate()
  }

  /** Sends the closing handshake and waits a second for its answer. Idempotent. */
  close(code: number): void {
    if (!this.open) return
    this.#closing = true
    this.#ws.resume()
    this.#ws.close(code)
    this.#scope.after(this.#clock, CLOSE_MS, () => this.#ws.terminate())
  }

  /** At once, as if the line broke. */
  terminate(): void {
    this.#ws.terminate()
  }

  #message(data: Buffer, isBinary: boolean): void {
    if (!this.open) return
    this.#charge(data.length)
    try {
      if (isBinary) this.#events.binary(data)
      else this.#events.text(data)
    } catch (error) {
      // The socket's callback belongs to the thread: other calls must not pay for this one.
      this.#events.fault(error)
    }
  }

  #charge(bytes: number): void {
    this.#credit -= MESSAGE_MS + bytes * BYTE_MS
    if (this.#credit >= 0) return
    const now = this.#clock.now()
    this.#credit = Math.min(BURST_MS, this.#credit + (now - this.#creditAt) * SHARE)
    this.#creditAt = now
    if (this.#credit >= 0 || this.#ws.isPaused) return
    this.#ws.pause()
    const waitMs = Math.ceil((RESUME_MS - this.#credit) / SHARE)
    this.#scope.after(this.#clock, waitMs, () => this.#ws.resume())
  }

  #ping(): void {
    this.#scope.after(this.#clock, PING_MS, () => {
      if (!this.open) return
      if (this.#unanswered >= MISSED_PONGS) {
        this.#ws.terminate()
        return
      }
      this.#unanswered++
      this.#ws.ping()
      this.#ping()
    })
  }

  #closed(code: number): void {
    if (this.#dead) return
    this.#dead = true
    this.#scope.close().catch((error: unknown) => this.#events.fault(error))
    this.#events.closed(code)
  }
}
