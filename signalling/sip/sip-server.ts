import { channel } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import Srf from 'drachtio-srf'
import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import { parseAddress } from '../embedded/message/name-addr.js'
import { paramOf } from '../embedded/message/sip-header.js'
import { tapWire, type WireMessage } from '../trace/wire-tap.js'
import type { ConnectionBound } from './connection-bound.js'
import { type DialGate, permitRefusal } from './dial-gate.js'
import type { RawRequest, RawResponse, RawSrf } from './drachtio-types.js'
import { IncomingInvite, readInvite } from './incoming-invite.js'
import { IncomingRegister } from './incoming-register.js'
import { unsupportedBy } from './option-tags.js'
import { OutgoingInvite, type ServerConnection, sendOutOfDialogRequest } from './outgoing-request.js'
import { ALLOWED_METHODS, answerInfo, answerOptions, type DialogHandle } from './sip-dialog.js'
import type {
  InviteHandlers,
  InviteRequest,
  OutOfDialogRequest,
  OutOfDialogResponse,
  SipServer,
} from './sip-port.js'

export interface SipServerOptions {
  /**
   * Application port of the drachtio-compatible server: the embedded one's control port, or an external
   * server.
   */
  readonly host: string
  readonly port: number
  readonly secret: string
  /** The door of every INVITE that this application sends outside of dialogs. */
  readonly gate: Pick<DialGate, 'spend' | 'allows'>
  readonly clock: Clock
  readonly log: Log
  /** Time limit (ms) of the first connection; `openSipServer` rejects after it. */
  readonly connectDeadlineMs?: number
  /** Receives every SIP message received or sent, unmodified. */
  readonly onWire?: (message: WireMessage) => void
  /** For development: hosts of customers may have private addresses. Default false. */
  readonly allowPrivate?: boolean
  /** How long (ms) live calls wait for the next connection before they count as lost. */
  readonly reconnectGraceMs?: number
}

/** Methods refused outside of dialogs, with an Allow header. */
const REFUSED_METHODS = ['message', 'subscribe', 'publish', 'refer']

/** Outside of dialogs REFER is not allowed. */
const ALLOWED_OUTSIDE = ALLOWED_METHODS.replace(', REFER', '')

/** Headers of a 503. The value is in seconds: a database that restarts is back soon. */
const RETRY_AFTER = { 'Retry-After': '5' }

// drachtio's own back-off with an upper bound, so that a restarted server is found soon.
const RECONNECT_FIRST_MS = 150
const RECONNECT_FACTOR = 1.7
const RECONNECT_MAX_MS = 5000
/** A BYE of the peer in this time is missed; the media timeout ends such a call (`mediaTimeoutMs`). */
const RECLAIM_MS = 15_000
/** How long (ms) a 200 that crossed our CANCEL waits for the server's own BYE before we send one. */
const RACE_BYE_MS = 1000

/**
 * Connects to a drachtio-compatible SIP server and reconnects without limit. Rejects with EngineError
 * `config_invalid` (wrong secret) or `sip_failed` (not reachable in time). Live calls continue when the
 * connection returns in time; everything else is reported as lost at once.
 */
export async function openSipServer(options: SipServerOptions): Promise<SipServer> {
  const server = new DrachtioServer(options)
  try {
    await server.open(options.connectDeadlineMs ?? 10_000)
  } catch (error) {
    await server.close()
    throw error
  }
  return server
}

class DrachtioServer implements SipServer {
  readonly #options: SipServerOptions
  readonly #scope = new Scope()
  /** Open INVITEs and dialogs of the current connection. */
  readonly #open = new Set<ConnectionBound>()
  #srf: RawSrf | null = null
  #socket: Socket | null = null
  readonly #listeners = new Set<() => void>()
  #endpoints: readonly string[] = []
  #handler: ((invite: IncomingInvite) => void) | null = null
  #accepted: () => boolean = () => true
  #registrar: ((register: IncomingRegister) => void) | null = null
  #delayMs = RECONNECT_FIRST_MS
  #closed = false
  /** Timer that ends the wait for a lost server. */
  #graceTimer: Timer | null = null
  /** Settles the first connection. */
  #first: { resolve(): void; reject(error: EngineError): void } | null = null

  constructor(options: SipServerOptions) {
    this.#options = options
  }

  get endpoints(): readonly string[] {
    return this.#endpoints
  }

  get connected(): boolean {
    return this.#srf !== null
  }

  async open(deadlineMs: number): Promise<void> {
    const { clock, host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#first = { resolve, reject }
      this.#scope.after(clock, deadlineMs, () => {
        this.#first?.reject(
          new EngineError('sip_failed', 'no connection to the SIP server', {
            retryable: true,
            context: { host, port },
          }),
        )
      })
      this.#connect()
    })
    this.#first = null
  }

  onInvite(handler: ((invite: IncomingInvite) => void) | null): void {
    this.#handler = handler
  }

  acceptCallsWhile(accepted: () => boolean): void {
    this.#accepted = accepted
  }

  onRegister(handler: ((register: IncomingRegister) => void) | null): void {
    this.#registrar = handler
  }

  invite(request: InviteRequest, handlers: InviteHandlers): { cancel(reason?: string): void } {
    const spending = this.#options.gate.spend(request.permit)
    if (spending !== 'spent') {
      queueMicrotask(() => handlers.failed(permitRefusal(spending)))
      return { cancel() {} }
    }
    const connection = this.#connection()
    if (connection === null) {
      queueMicrotask(() =>
        handlers.failed(new EngineError('sip_failed', 'there is no connection to the SIP server')),
      )
      return { cancel() {} }
    }
    const call = new OutgoingInvite(connection, request, handlers)
    call.start()
    return call
  }

  async request(request: OutOfDialogRequest): Promise<OutOfDialogResponse> {
    const connection = this.#connection()
    if (connection === null)
      throw new EngineError('sip_failed', 'there is no connection to the SIP server', { retryable: true })
    return sendOutOfDialogRequest(connection, request)
  }

  onConnected(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true
      this.#first?.reject(new EngineError('closed', 'closed while connecting'))
      this.#disconnected()
      const socket = this.#socket
      this.#scope.own(
        () =>
          new Promise<void>((resolve) => {
            if (!socket || socket.closed) return resolve()
            socket.once('close', () => resolve())
            socket.destroy()
          }),
      )
    }
    return this.#scope.close()
  }

  #connection(): ServerConnection | null {
    const srf = this.#srf
    if (srf === null) return null
    const { clock, log, allowPrivate = false, gate } = this.#options
    const endLateDialog = (dialog: DialogHandle) => this.#endLateDialog(dialog)
    return { srf, open: this.#open, clock, log, allowPrivate, gate, endLateDialog }
  }

  #connect(): void {
    const { host, port, secret, log } = this.#options
    // A new instance for each connection: the library's own reconnection cannot be stopped while it waits.
    const srf = new Srf() as unknown as RawSrf
    let failed = false
    srf.on('connect', (error: unknown, shown: unknown, _version: unknown, bound: unknown) => {
      if (this.#closed) return
      if (error) {
        log.error({ host, port }, 'sip.secret_refused')
        this.#first?.reject(
          new EngineError('config_invalid', 'the SIP server refused the secret', { context: { host, port } }),
        )
        return
      }
      this.#srf = srf
      // A server behind a NAT shows its public addresses; older ones do not name the bound ones.
      this.#endpoints = String(bound || shown)
        .split(',')
        .filter((text) => text.length > 0)
      this.#delayMs = RECONNECT_FIRST_MS
      log.info({ endpoints: this.#endpoints }, 'sip.connected')
      this.#first?.resolve()
      this.#graceTimer?.cancel()
      this.#graceTimer = null
      if (this.#socket !== null) for (const bound of [...this.#open]) bound.resume?.(srf, this.#socket)
      for (const listener of [...this.#listeners]) listener()
    })
    srf.on('error', (error: unknown) => {
      log.warn({ error: errorText(error), host, port }, 'sip.connection_failed')
    })
    srf.on('close', () => {
      if (failed || this.#closed) return
      failed = true
      this.#disconnected()
      const delayMs = this.#delayMs
      this.#delayMs = Math.min(delayMs * RECONNECT_FACTOR, RECONNECT_MAX_MS)
      this.#scope.after(this.#options.clock, delayMs, () => this.#connect())
    })
    this.#route(srf)
    this.#socket = captureSocket(() => srf.connect({ host, port, secret, reconnect: { maxAttempts: 1 } }))
    const { onWire } = this.#options
    if (onWire !== undefined && this.#socket !== null) tapWire(this.#socket, onWire)
  }

  #disconnected(): void {
    this.#srf = null
    this.#endpoints = []
    let suspended = false
    for (const bound of [...this.#open]) {
      if (this.#closed || bound.suspend === undefined) {
        this.#open.delete(bound)
        bound.lost()
      } else {
        bound.suspend()
        suspended = true
      }
    }
    // Each failed attempt to connect arrives here too: one grace period covers all of them.
    if (!suspended || this.#graceTimer !== null) return
    this.#graceTimer = this.#scope.after(
      this.#options.clock,
      this.#options.reconnectGraceMs ?? RECLAIM_MS,
      () => {
        this.#graceTimer = null
        for (const bound of [...this.#open]) if (this.#srf === null) bound.lost()
      },
    )
  }

  #route(srf: RawSrf): void {
    srf.use('invite', (req, res) => this.#invited(srf, req, res))
    const use = (method: string, handler: (req: RawRequest, res: RawResponse) => void): void => {
      srf.use(method, (req, res) => {
        const unsupported = unsupportedBy(req.get('Require'))
        if (unsupported === null) handler(req, res)
        else res.send(420, { headers: unsupported })
      })
    }
    use('options', (_req, res) => {
      if (this.#accepted()) answerOptions(res)
      else res.send(503, { headers: RETRY_AFTER })
    })
    // The server passes on INFOs in dialogs that are not answered yet. Their digits are ignored before the answer.
    use('info', (req, res) => {
      if (isInDialog(req)) answerInfo(req, res)
      else res.send(481)
    })
    for (const method of ['notify', 'update']) use(method, (_req, res) => res.send(481))
    srf.use('register', (req, res) => {
      if (this.#registrar === null) res.send(405, { headers: { Allow: ALLOWED_OUTSIDE } })
      else this.#registrar(new IncomingRegister(req, res))
    })
    for (const method of REFUSED_METHODS) {
      use(method, (_req, res) => res.send(405, { headers: { Allow: ALLOWED_OUTSIDE } }))
    }
  }

  #invited(srf: RawSrf, req: RawRequest, res: RawResponse): void {
    const form = readInvite(req)
    if (!form.ok) {
      res.send(form.status, { headers: form.headers })
      return
    }
    if (!this.#handler || !this.#accepted()) {
      res.send(503, { headers: RETRY_AFTER })
      return
    }
    const invite = new IncomingInvite(srf, req, res, form.offer, this.#open, this.#options)
    try {
      this.#handler(invite)
    } catch (error) {
      this.#options.log.error({ error: errorText(error) }, 'sip.invite_handling_failed')
      invite.refuse(500)
    }
  }

  /**
   * Ends a dialog whose 200 crossed our CANCEL. A server that saw the CANCEL sends the BYE itself; otherwise
   * we send it.
   */
  #endLateDialog(dialog: DialogHandle): void {
    const timer = this.#scope.after(this.#options.clock, RACE_BYE_MS, () => void dialog.bye())
    dialog.listen({
      acknowledged() {},
      offered: (_body, reply) => reply(500, ''),
      ended: () => timer.cancel(),
    })
  }
}

function isInDialog(req: RawRequest): boolean {
  return paramOf(parseAddress(req.get('To') ?? '')?.params ?? '', 'tag') !== null
}

/** Returns the socket that `connect` creates; the library hides it until it is connected. */
function captureSocket(connect: () => void): Socket | null {
  let created: Socket | null = null
  const listener = (message: unknown) => {
    if (
      typeof message === 'object' &&
      message !== null &&
      'socket' in message &&
      message.socket instanceof Socket
    )
      created = message.socket
  }
  const created$ = channel('net.client.socket')
  created$.subscribe(listener)
  try {
    connect()
  } finally {
    created$.unsubscribe(listener)
  }
  return created
}
