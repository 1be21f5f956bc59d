import type { WebSocket } from 'ws'
import { errorText } from '../../../media/base/errors.js'
import { Scope } from '../../../media/base/scope.js'
import type { LiveAudio } from '../../../signalling/call/ports.js'
import { roleInSession } from '../../access/sessions/sessions.js'
import type { Deps } from '../../api/deps.js'
import { mayMonitor, readMonitoring } from '../../organization/monitoring.js'
import { beginListening } from './store.js'
import type { ListenTicket } from './ticket.js'

/** Why the service closes a socket. Clients read the text; the numbers are private (RFC 6455, 7.4.2). */
const CLOSINGS = {
  call_ended: 1000,
  restart: 1001,
  unexpected_message: 1008,
  internal: 1011,
  ticket_invalid: 4400,
  not_allowed: 4403,
  too_many_listeners: 4409,
  /** Another process carries the call: the ticket is still good, at its own address. */
  other_process: 4421,
} as const
export type Closing = keyof typeof CLOSINGS

/** Interval at which audio is sent (ms). */
const SEND_MS = 60
/** Audio that waits for a slow client (bytes): about a second. Later audio is dropped. */
const MAX_BUFFERED_BYTES = 64 * 1024
/** Interval at which the right to listen is checked, and the client is asked for a sign of life (ms). */
const CHECK_MS = 15_000
/** Checks without a sign of life after which the connection is ended. */
const MAX_SILENT_CHECKS = 2
/** Time for the closing handshake (ms). */
const CLOSE_MS = 2_000

/** One person who listens to one call. A slow connection loses audio. The call never waits for it. */
export class ListenConnection {
  readonly #deps: Deps
  readonly #socket: WebSocket
  readonly #ticket: ListenTicket
  readonly #scope = new Scope()
  readonly #onClosed: () => void
  #audio: LiveAudio | null = null
  #silentChecks = 0
  #lostMs = 0
  /** Dropped audio (ms) that the client was not told about. */
  #droppedMs = 0
  #closing = false

  constructor(deps: Deps, socket: WebSocket, ticket: ListenTicket, onClosed: () => void) {
    this.#deps = deps
    this.#socket = socket
    this.#ticket = ticket
    this.#onClosed = onClosed
    // 'close' follows.
    socket.on('error', () => {})
    socket.on('pong', () => {
      this.#silentChecks = 0
    })
    socket.on('message', () => this.close('unexpected_message'))
    socket.on('close', () => this.#closed())
  }

  /** Id of the listening, which is that of its ticket. */
  get monitorId(): string {
    return this.#ticket.id
  }

  /** Uses the ticket, and sends the audio from now on. */
  async begin(): Promise<void> {
    const { db, clock, calls, nodeId: own } = this.#deps
    const ticket = this.#ticket
    if (ticket.nodeId !== own) return this.close('other_process')
    if (!(await this.#allowed(ticket))) return this.close('not_allowed')
    const outcome = await beginListening(db, toRow(ticket), clock.wall())
    if (outcome === 'ended') return this.close('call_ended')
    if (outcome === 'used') return this.close('ticket_invalid')
    if (outcome === 'full') return this.close('too_many_listeners')
    // The call reports the end of the listening, and that is stored; also of a client that left meanwhile.
    const ended = () => this.close('call_ended')
    const audio = await calls.listen(ticket.callId, { id: ticket.id, by: ticket.userId, ended })
    if (audio === null) return this.close('call_ended')
    if (this.#closing) return audio.close()
    this.#audio = audio
    this.#tell({
      type: 'started',
      callId: ticket.callId,
      sampleRate: audio.rate,
      encoding: 'pcm_s16le',
      channels: ['caller', 'heard_by_caller'],
    })
    this.#sendAgain()
    this.#checkAgain(ticket)
  }

  /** Ends the connection. Idempotent; the first reason counts. */
  close(why: Closing): void {
    if (this.#closing) return
    this.#leave()
    this.#socket.close(CLOSINGS[why], why)
    const timer = this.#deps.clock.after(CLOSE_MS, () => this.#socket.terminate())
    this.#socket.once('close', () => timer.cancel())
  }

  #sendAgain(): void {
    this.#scope.after(this.#deps.clock, SEND_MS, () => {
      this.#send()
      this.#sendAgain()
    })
  }

  #send(): void {
    const audio = this.#audio
    if (audio === null) return
    const frames = audio.read()
    this.#droppedMs += audio.lostMs - this.#lostMs
    this.#lostMs = audio.lostMs
    if (frames === null) return
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#droppedMs += (frames.length * 1000) / (2 * audio.rate)
      return
    }
    if (this.#droppedMs > 0) this.#tell({ type: 'dropped', ms: this.#droppedMs })
    this.#droppedMs = 0
    this.#socket.send(Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength))
  }

  #checkAgain(ticket: ListenTicket): void {
    this.#scope.after(this.#deps.clock, CHECK_MS, () => {
      if (this.#silentChecks++ >= MAX_SILENT_CHECKS) {
        this.#socket.terminate()
        return
      }
      this.#socket.ping()
      this.#allowed(ticket).then(
        (allowed) => {
          if (allowed) this.#checkAgain(ticket)
          else this.close('not_allowed')
        },
        (error: unknown) => {
          this.#deps.log.warn({ callId: ticket.callId, error: errorText(error) }, 'listen.check_failed')
          this.close('internal')
        },
      )
    })
  }

  /** Returns whether the user of the ticket may listen now. */
  async #allowed(ticket: ListenTicket): Promise<boolean> {
    const { db, clock } = this.#deps
    const { organizationId, environment } = ticket
    const role = await roleInSession(db, ticket, clock.wall())
    if (role === null) return false
    return mayMonitor(await readMonitoring(db, organizationId), { role, environment }, 'listen')
  }

  #tell(message: object): void {
    this.#socket.send(JSON.stringify(message))
  }

  #closed(): void {
    this.#leave()
    this.#onClosed()
  }

  #leave(): void {
    if (this.#closing) return
    this.#closing = true
    this.#audio?.close()
    void this.#scope.close()
  }
}

function toRow({ id, organizationId, environment, callId, userId, mode }: ListenTicket) {
  return { id, organizationId, environment, callId, userId, mode }
}
