import { type Clock, systemClock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { type Log, silentLog } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import { onAppDisconnected } from './app/app-disconnect.js'
import { readAppMessage } from './app/app-message.js'
import { rejectCommand } from './app/app-notifications.js'
import { type App, type Command, type ControlPort, openControlPort } from './app/control-port.js'
import { Core } from './core.js'
import { onSessionTimer } from './dialog/session-refresh.js'
import { ConnectionQuota } from './guard/connection-quota.js'
import { DEFAULT_GUARD, Guard, type GuardSettings, type GuardStats } from './guard/guard.js'
import { parseNetwork } from './guard/network-set.js'
import type { SpammerList } from './guard/spammer-list.js'
import { DEFAULT_LIMITS, type Limits } from './limits.js'
import { hostText } from './message/sip-header.js'
import { proxyRequest } from './proxy/proxy-command.js'
import { type Dns, openDns } from './routing/dns.js'
import { type BaseTimers, deriveTimers, STANDARD_TIMERS } from './transaction/timers.js'
import { type ListenAddress, openEntrance, openTransport } from './transport/listen.js'
import { type TlsSettings, tlsContext } from './transport/tls-context.js'
import type { Protocol, SocketAddress, Transport, TransportEvents } from './transport/transport.js'
import type { WsEntrance, WsUpgrade } from './transport/ws-transport.js'
import { receive, receiveBrokenStream } from './user-agent/receiver.js'
import { sendRequest } from './user-agent/uac.js'
import { sendResponse } from './user-agent/uas.js'

export interface EmbeddedServerSettings {
  readonly listen: readonly ListenAddress[]
  /** Address of an HTTP server that hands SIP over WebSocket over (`acceptWebSocket`); none by default. */
  readonly entrance?: SocketAddress
  /** Certificates for `tls` and `wss` listeners and for outgoing TLS connections. */
  readonly tls?: TlsSettings
  /** The resolver for host names; the server closes it. Default: the resolver of the machine. */
  readonly dns?: Dns
  /** Returns values in [0, 1), used to pick among SRV records of equal priority. */
  readonly random?: () => number
  /** Listener for applications: a loopback address; port 0 takes any free port. */
  readonly control: { readonly address: string; readonly port: number; readonly secret: string }
  readonly clock?: Clock
  readonly log?: Log
  readonly timers?: BaseTimers
  readonly limits?: Partial<Limits>
  /** True if peers behind a NAT are answered at the source address of their messages. Default true. */
  readonly nat?: boolean
  /** The refresher of a session when the request names none (RFC 4028 9); `none` sets no timer then. Default `uac`. */
  readonly sessionRefresher?: 'none' | 'uac' | 'uas'
  /** True if requests to the Contact of a registered client use its connection. Default true. */
  readonly registeredFlows?: boolean
  /** Unwanted callers, matched by words. Default none. */
  readonly spammers?: SpammerList
  /** The limits of one source address before it is limited or banned. */
  readonly guard?: Partial<GuardSettings>
}

export interface EmbeddedServer {
  readonly endpoints: readonly {
    readonly transport: Protocol
    readonly address: string
    readonly port: number
  }[]
  readonly controlPort: number
  /**
   * Takes a WebSocket handshake of the HTTP server at `entrance`. The peer sends SIP over it (RFC 7118).
   */
  acceptWebSocket(upgrade: WsUpgrade): void
  /** Returns live counts, for health checks and tests. */
  stats(): ServerStats
  /**
   * Replaces the networks (or addresses) that are never banned. Messages from a trusted network, which may
   * carry a forged source address, only meet limits ten times as wide as those of an unknown source.
   */
  setTrustedNetworks(networks: readonly string[]): void
  /**
   * Answers new requests with 503 and Retry-After from now on. Resolves when no call is left, or after `ms`.
   */
  drain(ms: number): Promise<void>
  /** Drops every connection and timer at once, without a message to peers. Idempotent. */
  close(): Promise<void>
}

export interface ServerStats {
  readonly dialogs: number
  readonly clientTransactions: number
  readonly serverTransactions: number
  /** Requests that an application has not answered yet. */
  readonly unanswered: number
  /** Connections of peers, including those in their handshake. */
  readonly connections: number
  readonly guard: GuardStats
}

/** Interval (ms) at which a draining server checks whether its last call has ended. */
const DRAIN_CHECK_MS = 100

/**
 * Starts a SIP server for drachtio-srf applications. Throws EngineError `config_invalid` for an unusable
 * address and `port_unavailable` when a port is taken.
 */
export async function openEmbeddedServer(settings: EmbeddedServerSettings): Promise<EmbeddedServer> {
  const { clock = systemClock, log = silentLog } = settings
  const limits: Limits = { ...DEFAULT_LIMITS, ...settings.limits }
  const timers = deriveTimers(settings.timers ?? STANDARD_TIMERS)
  const scope = new Scope()
  const guard = new Guard(guardSettings(settings.guard), clock, log)
  const quota = new ConnectionQuota(limits, guard)
  let control: ControlPort | null = null
  let entrance: WsEntrance | null = null
  let endpoints: EmbeddedServer['endpoints'] = []
  const core: Core = new Core({
    clock,
    timers,
    limits,
    log,
    scope: scope.child(),
    nat: settings.nat ?? true,
    dns: settings.dns ?? openDns(),
    random: settings.random ?? Math.random,
    nextApp: (method) => (core.draining ? null : (control?.nextApp(method) ?? null)),
    sessionRefresher: settings.sessionRefresher ?? 'uac',
    spammers: settings.spammers ?? null,
    registeredFlows: settings.registeredFlows ?? true,
    guard,
    onSessionTimer: (dialog, what) => onSessionTimer(core, dialog, what),
  })
  const events: TransportEvents = {
    admitConnection: (socket) => quota.admit(socket),
    onMessage: (bytes, flow) => receive(core, bytes, flow),
    admitKeepAlive: (flow) => guard.checkKeepAlive(flow.remote.address) === 'serve',
    onBadStream: (status, reason, head, flow) => receiveBrokenStream(core, status, reason, head, flow),
  }
  try {
    if (settings.listen.length === 0) throw new EngineError('config_invalid', 'no SIP listening address')
    const tls = settings.tls === undefined ? null : tlsContext(settings.tls)
    const common = { events, clock, timers, limits, log }
    const listeners: Transport[] = []
    for (const listen of settings.listen) {
      listeners.push(scope.add(await openTransport(listen, tls, common)))
    }
    endpoints = listeners.map((transport) => ({ transport: transport.protocol, ...transport.bound }))
    core.transports.push(...listeners)
    if (settings.entrance !== undefined) {
      entrance = scope.add(openEntrance(settings.entrance, common))
    }
    const opened = await openControlPort({
      ...settings.control,
      hostports: hostports(listeners, (transport) => transport.advertised('')),
      localHostports: hostports(listeners, (transport) => transport.bound),
      limits,
      log,
      clock,
      authenticationTimeoutMs: timers.connect,
      handlers: {
        onSip: (app, command) => takeCommand(core, app, command),
        onProxy: (app, command) => proxyRequest(core, app, command),
        onDisconnected: (app) => onAppDisconnected(core, app),
      },
    })
    control = opened
    scope.add(opened)
  } catch (error) {
    await scope.close()
    if (error instanceof EngineError) throw error
    throw new EngineError('port_unavailable', `SIP listener: ${errorText(error)}`, { cause: error })
  }
  return {
    endpoints,
    controlPort: control.port,
    acceptWebSocket: (upgrade) => {
      if (entrance === null)
        throw new EngineError('internal', 'the SIP server has no entrance for WebSockets')
      entrance.accept(upgrade)
    },
    stats: () => ({
      dialogs: core.dialogs.size,
      clientTransactions: core.clientTransactions.size,
      serverTransactions: core.serverTransactions.size,
      unanswered: core.incoming.size,
      connections: quota.total,
      guard: guard.stats(),
    }),
    setTrustedNetworks: (networks) => guard.setTrustedNetworks(networks),
    drain: (ms) => drain(core, ms),
    close: () => scope.close(),
  }
}

function guardSettings(given: Partial<GuardSettings> = {}): GuardSettings {
  const settings = { ...DEFAULT_GUARD, ...given }
  const wrong = settings.exempt.find((text) => parseNetwork(text) === null)
  if (wrong !== undefined) {
    throw new EngineError('config_invalid', 'an exempt network must have the form address/bits', {
      context: { network: wrong },
    })
  }
  return settings
}

async function drain(core: Core, ms: number): Promise<void> {
  core.draining = true
  const deadline = core.clock.now() + ms
  while (core.dialogs.size + core.invites.size > 0 && core.clock.now() < deadline) {
    await new Promise<void>((resolve) => {
      // Closing the server also ends the wait.
      const forget = core.scope.own(resolve)
      core.scope.after(core.clock, Math.min(DRAIN_CHECK_MS, deadline - core.clock.now()), () => {
        forget()
        resolve()
      })
    })
    if (core.scope.closed) return
  }
}

function takeCommand(core: Core, app: App, command: Command): void {
  const read = readAppMessage(command.body)
  if (!read.ok) rejectCommand(app, command.messageId, read.error)
  else if (read.message.kind === 'request') sendRequest(core, app, command, read.message)
  else sendResponse(core, app, command, read.message)
}

function hostports(
  transports: readonly Transport[],
  of: (transport: Transport) => { readonly address: string; readonly port: number },
): string {
  return transports
    .map((transport) => {
      const { address, port } = of(transport)
      return `${transport.protocol}/${hostText(address)}:${port}`
    })
    .join(',')
}
