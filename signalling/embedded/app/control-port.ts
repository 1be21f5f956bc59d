import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { Clock } from '../../../media/base/clock.js'
import { EngineError } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import { newUuid } from '../ids.js'
import type { Limits } from '../limits.js'
import { isLoopback } from '../transport/local-address.js'
import { decodePayload, encodeFrame, type Frame, FrameReader } from './wire-format.js'

/** The version sent to applications; drachtio-srf parses the three numbers and pings from v0.8.2 on. */
const VERSION = 'v0.9.10-parley'

/** A `sip` command; the body is the SIP text, valid during the call only. */
export interface Command {
  readonly messageId: string
  readonly transactionId: string
  readonly dialogId: string
  readonly routeUrl: string
  readonly body: Buffer
}

/** A `proxy` command; the body is a start line and the headers to add. */
export interface ProxyCommand {
  readonly messageId: string
  readonly transactionId: string
  readonly recordRoute: boolean
  /** True if every final response of a destination is reported. */
  readonly fullResponse: boolean
  readonly followRedirects: boolean
  readonly simultaneous: boolean
  /** Maximum time (ms) until the first response of a destination; null without a limit. */
  readonly provisionalMs: number | null
  readonly destinations: readonly string[]
  readonly body: Buffer
}

export interface ControlHandlers {
  onSip(app: App, command: Command): void
  onProxy(app: App, command: ProxyCommand): void
  onDisconnected(app: App): void
}

export interface ControlSettings {
  readonly address: string
  readonly port: number
  readonly secret: string
  /** `protocol/address:port,...` as advertised, and as bound. */
  readonly hostports: string
  readonly localHostports: string
  readonly limits: Limits
  readonly log: Log
  readonly clock: Clock
  /** Maximum time (ms) until a connection has authenticated. */
  readonly authenticationTimeoutMs: number
  readonly handlers: ControlHandlers
}

/**
 * Opens the port for applications: authentication, routes and commands. Throws EngineError `config_invalid`
 * for an address that is not a loopback address, because the protocol is in clear text and its secret gives
 * full control of the SIP server.
 */
export async function openControlPort(settings: ControlSettings): Promise<ControlPort> {
  if (!isLoopback(settings.address)) {
    throw new EngineError('config_invalid', 'the SIP control address must be a loopback address', {
      context: { address: settings.address },
    })
  }
  const control = new ControlPort(settings)
  await control.listen()
  return control
}

export class ControlPort {
  readonly #settings: ControlSettings
  readonly #server = createServer({ noDelay: true, keepAlive: true })
  readonly #apps = new Set<App>()
  /** The applications for each verb, the next one in turn first. */
  readonly #routes = new Map<string, App[]>()
  #closing: Promise<void> | null = null

  constructor(settings: ControlSettings) {
    this.#settings = settings
    this.#server.on('connection', (socket) => this.#accept(socket))
    this.#server.on('error', (error) =>
      settings.log.warn({ error: error.message }, 'sip_control.listener_error'),
    )
  }

  async listen(): Promise<void> {
    const ready = once(this.#server, 'listening')
    this.#server.listen({ host: this.#settings.address, port: this.#settings.port })
    await ready
  }

  get port(): number {
    const bound = this.#server.address()
    return bound !== null && typeof bound === 'object' ? bound.port : 0
  }

  /** Returns the next application in turn for a new request of this method, or null. */
  nextApp(method: string): App | null {
    const apps = this.#routes.get(method.toLowerCase())
    const app = apps?.shift()
    if (apps === undefined || app === undefined) return null
    apps.push(app)
    return app
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const app of [...this.#apps]) app.end()
    })
    return this.#closing
  }

  #accept(socket: Socket): void {
    if (this.#closing || this.#apps.size >= this.#settings.limits.applications) {
      socket.destroy()
      return
    }
    const app: App = new App(socket, this.#settings, {
      onFrame: (frame) => this.#handle(app, frame),
      onGone: () => {
        this.#apps.delete(app)
        deadline.cancel()
        for (const verb of [...this.#routes.keys()]) this.#unroute(app, verb)
        if (app.authenticated) this.#settings.handlers.onDisconnected(app)
      },
    })
    this.#apps.add(app)
    const deadline = this.#settings.clock.after(this.#settings.authenticationTimeoutMs, () => {
      if (!app.authenticated) app.end()
    })
  }

  #handle(app: App, frame: Frame): void {
    const { tokens, body } = frame
    const [messageId = '', type = ''] = tokens
    if (tokens.length < 2 || messageId === '') {
      app.refuse(messageId, 'Invalid message format')
      return
    }
    if (type === 'authenticate') {
      if (!sameSecret(tokens[2] ?? '', this.#settings.secret)) {
        app.refuse(messageId, 'incorrect secret')
        return
      }
      app.authenticated = true
      app.ok(messageId, `${this.#settings.hostports}|${VERSION}|${this.#settings.localHostports}`)
      return
    }
    if (!app.authenticated) {
      app.refuse(messageId, 'not authenticated')
      return
    }
    switch (type) {
      case 'route':
        this.#route(app, tokens[2] ?? '')
        app.ok(messageId)
        break
      case 'remove_route':
        this.#unroute(app, tokens[2] ?? '')
        app.ok(messageId)
        break
      case 'ping':
        app.ok(messageId, 'pong')
        break
      case 'sip': {
        if (tokens.length < 4) {
          app.refuse(messageId, 'Invalid message format')
          return
        }
        const [, , transactionId = '', dialogId = '', routeUrl = ''] = tokens
        this.#settings.handlers.onSip(app, { messageId, transactionId, dialogId, routeUrl, body })
        break
      }
      case 'proxy':
        if (tokens.length < 10) {
          app.refuse(messageId, 'Invalid message format')
          return
        }
        this.#settings.handlers.onProxy(app, proxyCommand(tokens, body))
        break
      default:
        app.refuse(messageId, 'Unknown message type')
    }
  }

  /** Idempotent, because drachtio-srf repeats all its verbs when one is added. */
  #route(app: App, verb: string): void {
    const apps = this.#routes.get(verb)
    if (apps === undefined) this.#routes.set(verb, [app])
    else if (!apps.includes(app)) apps.push(app)
  }

  #unroute(app: App, verb: string): void {
    const apps = this.#routes.get(verb)
    if (apps === undefined) return
    const left = apps.filter((other) => other !== app)
    if (left.length === 0) this.#routes.delete(verb)
    else this.#routes.set(verb, left)
  }
}

function proxyCommand(tokens: readonly string[], body: Buffer): ProxyCommand {
  const [messageId = '', , transactionId = '', ...options] = tokens
  const [remain = '', full = '', follow = '', order = '', provisional = '', , ...destinations] = options
  return {
    messageId,
    transactionId,
    recordRoute: remain !== '',
    fullResponse: full !== '',
    followRedirects: follow !== '',
    simultaneous: order === 'simultaneous',
    provisionalMs: duration(provisional),
    destinations: destinations.filter((destination) => destination !== ''),
    body,
  }
}

/** Parses `2s`, `1500ms` or a bare number of milliseconds. Returns null for anything else. */
function duration(text: string): number | null {
  const match = /^(\d{1,7})(ms|s)?$/.exec(text.trim())
  if (match === null) return null
  const value = Number(match[1]) * (match[2] === 's' ? 1000 : 1)
  return value > 0 ? value : null
}

interface AppEvents {
  onFrame(frame: Frame): void
  onGone(): void
}

/** One connected application. */
export class App {
  readonly #socket: Socket
  readonly #backlog: number
  authenticated = false

  constructor(socket: Socket, settings: ControlSettings, events: AppEvents) {
    this.#socket = socket
    this.#backlog = settings.limits.applicationBacklogBytes
    const reader = new FrameReader(
      settings.limits.frameBytes,
      (payload) => {
        if (!socket.destroyed && !socket.writableEnded) events.onFrame(decodePayload(payload))
      },
      (beginning) => {
        const [messageId = ''] = decodePayload(beginning).tokens
        if (this.authenticated) this.send(`response|${messageId}|NOK|message too large`, null)
        else this.refuse(messageId, 'not authenticated')
      },
    )
    socket.on('data', (chunk) => {
      if (!reader.push(chunk)) {
        settings.log.warn({}, 'sip_control.frame_invalid')
        socket.destroy()
      }
    })
    socket.on('end', () => socket.end())
    socket.on('error', (error) =>
      settings.log.debug({ error: error.message }, 'sip_control.connection_error'),
    )
    socket.on('close', () => events.onGone())
  }

  /** False once the connection is closed; `send` then does nothing. */
  get connected(): boolean {
    return !this.#socket.destroyed && !this.#socket.writableEnded
  }

  /** Writes `uuid|<line>` and an optional SIP message. */
  send(line: string, sip: Buffer | null): void {
    if (!this.connected) return
    if (this.#socket.writableLength > this.#backlog) {
      this.#socket.destroy()
      return
    }
    this.#socket.write(encodeFrame(`${newUuid()}|${line}`, sip))
  }

  ok(messageId: string, rest: string | null = null): void {
    this.send(`response|${messageId}|OK${rest === null ? '' : `|${rest}`}`, null)
  }

  /** Rejects a command and closes the connection, after an error of the protocol itself. */
  refuse(messageId: string, reason: string): void {
    this.send(`response|${messageId}|NO|${reason}`, null)
    this.#socket.destroySoon()
  }

  end(): void {
    this.#socket.destroy()
  }
}

/** Compares in constant time; hashing gives both sides the same length. */
function sameSecret(given: string, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text, 'latin1').digest()
  return timingSafeEqual(hash(given), hash(Buffer.from(expected, 'utf8').toString('latin1')))
}
