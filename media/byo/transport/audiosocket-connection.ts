import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../../base/clock.js'
import { Scope } from '../../base/scope.js'
import { FrameSplitter, HANG_UP, kindOf } from '../dialects/audiosocket-frames.js'
import {
  ABNORMAL,
  type BotConnection,
  type BotConnectionEvents,
  CLOSE_TIMEOUT_MS,
  connectionFailureText,
  type Dialer,
  KEEPALIVE_MS,
  MAX_BUFFERED_BYTES,
  MAX_MISSED_KEEPALIVES,
  NORMAL,
} from './bot-connection.js'
import { ReadBudget } from './read-budget.js'
import { ReadConfirmation } from './read-confirmation.js'
import { type WatchedConnection, watchTcpQueues } from './tcp-queues.js'

/** Cost of reading a frame besides its bytes (ms, measured). */
const FRAME_MS = 0.002

/** Connects over TLS, or over plain TCP when the URL says so. */
export const dialAudioSocket: Dialer = ({ handshake, clock, lookup, events }, _subprotocols, attempt) => {
  const { protocol, hostname, port } = new URL(handshake.url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const target = { host, port: Number(port), lookup }
  const encrypted = protocol === 'tls:'
  const named = isIP(host) === 0 ? { servername: host } : {}
  const socket = encrypted ? connectTls({ ...target, ...named }) : connect(target)
  // One write becomes one packet, because some bots take a packet for a frame.
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEPALIVE_MS)
  // A closing socket still reports errors, so one listener stays attached.
  socket.on('error', (error) => attempt.failed(connectionFailureText(error), null))
  socket.on(encrypted ? 'secureConnect' : 'connect', () =>
    attempt.opened(new AudioSocketConnection(socket, clock, events)),
  )
  return () => socket.destroy()
}

/**
 * An open AudioSocket connection: every message is one frame. The protocol has no pings: the queues of TCP show
 * whether the bot reads. It is considered gone when it reads nothing of the pending data for 30 s. A stream
 * that ends without a hang-up frame counts as lost.
 */
class AudioSocketConnection implements BotConnection {
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #events: BotConnectionEvents
  readonly #scope = new Scope()
  readonly #budget: ReadBudget
  readonly #splitter = new FrameSplitter()
  readonly #deliver = (frame: Buffer) => this.#frame(frame)
  /** Confirms that the bot has read what was written at the time of the question. */
  readonly #confirmation = new ReadConfirmation()
  #questionedBytes = 0
  /** Time (ms) at which the queues were asked last. */
  #checkedAtMs = 0
  /** Bytes known to have been read, or null as long as the queues are not known. */
  #confirmedBytes: number | null = null
  /** Bytes read at the last check that found progress. */
  #readBytes = 0
  #stalledChecks = 0
  /** The bot hung up; later frames do not count. */
  #hungUp = false
  #closing = false
  #dead = false

  constructor(socket: Socket, clock: Clock, events: BotConnectionEvents) {
    this.#socket = socket
    this.#clock = clock
    this.#events = events
    this.#budget = new ReadBudget(clock, this.#scope, (on) => (on ? socket.pause() : socket.resume()))
    socket.on('data', (chunk: Buffer) => this.#data(chunk))
    socket.on('close', () => this.#closed())
    this.#watch()
    this.#scope.own(watchTcpQueues(socket, clock, this.#queues()))
  }

  get unreadMs(): number {
    return this.#confirmation.lateMs(this.#checkedAtMs)
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength
  }

  get open(): boolean {
    return !this.#closing && !this.#dead
  }

  send(message: string | Buffer): void {
    if (!this.open) return
    // A copy, because the operating system may not take all of it at once.
    this.#socket.write(Buffer.from(message))
    if (this.#socket.writableLength > MAX_BUFFERED_BYTES) this.#socket.destroy()
  }

  close(): void {
    if (!this.open) return
    this.#closing = true
    // Unread bytes would turn the FIN into a reset.
    this.#socket.resume()
    this.#socket.end()
    this.#scope.after(this.#clock, CLOSE_TIMEOUT_MS, () => this.#socket.destroy())
  }

  terminate(): void {
    this.#socket.destroy()
  }

  #data(chunk: Buffer): void {
    if (!this.open) return
    this.#budget.beginRead()
    const frames = this.#splitter.split(chunk, this.#deliver)
    this.#budget.charge(chunk.length, frames * FRAME_MS)
    this.#budget.endRead()
  }

  #frame(frame: Buffer): void {
    if (!this.open || this.#hungUp) return
    if (kindOf(frame) === HANG_UP) this.#hungUp = true
    try {
      this.#events.binary(frame)
    } catch (error) {
      // A throw in a socket callback would end the thread and with it other calls.
      this.#events.internalError(error)
    }
  }

  /** Asks whenever the queues are read: what was written before then is confirmed once they hold less. */
  #queues(): WatchedConnection {
    let writtenBytes = 0
    let askedAtMs = 0
    return {
      begin: () => {
        writtenBytes = this.#acceptedBytes
        askedAtMs = this.#clock.now()
        return writtenBytes !== this.#confirmedBytes
      },
      end: (unreadBytes) => {
        this.#checkedAtMs = askedAtMs
        this.#confirmedBytes = writtenBytes - unreadBytes
        if (!this.#confirmation.pending) {
          this.#confirmation.ask(askedAtMs)
          this.#questionedBytes = writtenBytes
        }
        if (this.#confirmedBytes >= this.#questionedBytes) this.#confirmation.confirm(askedAtMs)
      },
    }
  }

  /** Bytes that the operating system took. */
  get #acceptedBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength
  }

  #watch(): void {
    this.#scope.after(this.#clock, KEEPALIVE_MS, () => {
      const readBytes = this.#confirmedBytes ?? this.#acceptedBytes
      const stalled = readBytes <= this.#readBytes && readBytes < this.#socket.bytesWritten
      this.#stalledChecks = stalled ? this.#stalledChecks + 1 : 0
      this.#readBytes = Math.max(readBytes, this.#readBytes)
      if (this.#stalledChecks >= MAX_MISSED_KEEPALIVES) this.#socket.destroy()
      else this.#watch()
    })
  }

  #closed(): void {
    if (this.#dead) return
    this.#dead = true
    this.#scope.close().catch((error: unknown) => this.#events.internalError(error))
    this.#events.closed(this.#hungUp || this.#closing ? NORMAL : ABNORMAL)
  }
}
