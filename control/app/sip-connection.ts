import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { Scope } from '../../media/base/scope.js'
import { type EmbeddedServer, openEmbeddedServer } from '../../signalling/embedded/server.js'
import { isLoopback } from '../../signalling/embedded/transport/local-address.js'
import type { DialGate } from '../../signalling/sip/dial-gate.js'
import type { SipServer } from '../../signalling/sip/sip-port.js'
import { openSipServer } from '../../signalling/sip/sip-server.js'
import type { WireMessage } from '../../signalling/trace/wire-tap.js'
import type { SipGateway } from '../api/deps.js'
import type { SipAddress } from '../config/parsers.js'
import type { Settings } from '../config/settings.js'
import { readTls } from '../config/tls-files.js'

export interface SipEndpoint {
  readonly transport: string
  readonly address: string
  readonly port: number
}

export interface SipConnection {
  readonly sip: SipServer
  readonly endpoints: readonly SipEndpoint[]
  /** Null when an operator's drachtio-server is used. */
  readonly embedded: EmbeddedServer | null
}

const LOOPBACK = '127.0.0.1'

/** Connects the SIP application to the embedded SIP server, or to an operator's drachtio-server. */
export async function connectSip(
  settings: Settings,
  {
    clock,
    log,
    gate,
    entrance,
  }: {
    readonly clock: Clock
    readonly log: Log
    readonly gate: DialGate
    /** The HTTP port, at which dashboards open SIP over WebSocket. */
    readonly entrance: { readonly address: string; readonly port: number }
  },
  scope: Scope,
  onWire: (message: WireMessage) => void,
): Promise<SipConnection> {
  const common = { gate, clock, log, onWire, allowPrivate: settings.allowPrivateUrls }
  if (settings.drachtio !== null) {
    const opening = openSipServer({ ...settings.drachtio, ...common })
    const sip = scope.add(await withSettingName('PARLEY_DRACHTIO_URL', opening))
    return { sip, endpoints: sip.endpoints.map(parseEndpoint), embedded: null }
  }
  const secret = randomBytes(24).toString('base64url')
  const embedded = scope.add(
    await withSettingName(
      'PARLEY_SIP_LISTEN',
      openEmbeddedServer({
        listen: settings.sipListen.map((address) => ({ ...address, ...advertised(settings, address) })),
        ...(settings.sipTls === null ? {} : { tls: readTls(settings.sipTls) }),
        entrance: { address: entrance.address, port: entrance.port },
        control: { address: LOOPBACK, port: 0, secret },
        registeredFlows: false,
        clock,
        log,
      }),
    ),
  )
  const server = { host: LOOPBACK, port: embedded.controlPort, secret }
  const sip = scope.add(await openSipServer({ ...server, ...common }))
  // Behind a NAT the SIP application sees the advertised addresses, which cannot be reached from here.
  return { sip, endpoints: embedded.endpoints, embedded }
}

/** Returns the advertised address for listeners of its family. Loopback listeners have none. */
function advertised({ sipAdvertise }: Settings, { address }: SipAddress): { readonly advertise?: string } {
  const fits = sipAdvertise !== null && isIP(sipAdvertise) === isIP(address) && !isLoopback(address)
  return fits ? { advertise: sipAdvertise } : {}
}

/** Remedy of the operator for an error of a setting, by error code. */
const REMEDIES: Readonly<Record<string, string>> = {
  port_unavailable: 'choose an address of this machine and a free port',
  sip_failed: 'start the SIP server, or correct the address',
  config_invalid: 'correct the secret',
}

/** Adds the setting's name and a remedy to the error of a port or server that cannot be used. */
export async function withSettingName<T>(variable: string, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    const fix = error instanceof EngineError ? REMEDIES[error.code] : undefined
    if (!(error instanceof EngineError) || fix === undefined) throw error
    throw new EngineError(error.code, `${variable}: ${error.message}; ${fix}`, { cause: error })
  }
}

/** Parses `udp/127.0.0.1:5060`, the form in which drachtio servers list their transports. */
function parseEndpoint(text: string): SipEndpoint {
  const match = /^(\w+)\/\[?(.*?)\]?:(\d+)$/.exec(text)
  if (match === null) throw new EngineError('sip_failed', `the SIP server named an endpoint ${text}`)
  return { transport: match[1] ?? '', address: match[2] ?? '', port: Number(match[3]) }
}

/**
 * Returns the address at which the simulated carrier reaches the service. Prefers UDP to TCP, then IPv4 to
 * IPv6, then loopback to an outside address of this machine.
 */
export function sandboxTarget(endpoints: readonly SipEndpoint[]) {
  for (const transport of ['udp', 'tcp'] as const) {
    const [endpoint] = endpoints
      .filter((candidate) => candidate.transport === transport)
      .map(({ address, port }) => ({ host: addressInside(address), port, transport }))
      .sort((a, b) => distance(a.host) - distance(b.host))
    if (endpoint !== undefined) return endpoint
  }
  throw new EngineError('config_invalid', 'PARLEY_SIP_LISTEN: name at least one udp or tcp address')
}

const PREFERRED = ['tls', 'tcp', 'udp'] as const

/**
 * Returns where customers' telephone systems reach the service: the most secure listener, at the configured host
 * name or else at its address.
 */
export function sipGatewayOf(
  { sipHost, sipAdvertise }: Pick<Settings, 'sipHost' | 'sipAdvertise'>,
  endpoints: readonly SipEndpoint[],
): SipGateway {
  const outside = endpoints.filter(({ address }) => !isLoopback(address))
  const reachable = outside.length > 0 ? outside : endpoints
  const ips = [
    ...new Set(
      sipAdvertise === null
        ? reachable.map(({ address }) => address).filter((address) => !isAnyAddress(address))
        : [sipAdvertise],
    ),
  ]
  for (const transport of PREFERRED) {
    const endpoint = reachable.find((candidate) => candidate.transport === transport)
    if (endpoint === undefined) continue
    return { host: sipHost ?? ips[0] ?? endpoint.address, ips, port: endpoint.port, transport }
  }
  throw new EngineError('config_invalid', 'PARLEY_SIP_LISTEN: name at least one tls, tcp or udp address')
}

const isAnyAddress = (address: string): boolean => address === '0.0.0.0' || address === '::'

/** Returns the address at which a listener is reached from this machine. */
function addressInside(address: string): string {
  if (address === '::') return '::1'
  return address === '0.0.0.0' ? LOOPBACK : address
}

/** Returns `udp:[2001:db8::1]:5060`, the form of `PARLEY_SIP_LISTEN`. */
export function sipAddressText({ transport, address, port }: SipEndpoint): string {
  return `${transport}:${isIP(address) === 6 ? `[${address}]` : address}:${port}`
}

function distance(host: string): number {
  return (isIP(host) === 6 ? 2 : 0) + (isLoopback(host) ? 0 : 1)
}
