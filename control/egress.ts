import { lookup as systemLookup } from 'node:dns/promises'
import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type RequestOptions } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { EngineError, errorText } from '../media/base/errors.js'

/** An address a name resolves to. */
export interface Resolved {
  readonly address: string
  readonly family: 4 | 6
}

/** All addresses of a name; rejects when there are none. */
export type Resolver = (hostname: string) => Promise<readonly Resolved[]>

export interface EgressOptions {
  /** Development: loopback and private addresses, and plain http and ws. */
  readonly allowPrivate: boolean
  readonly resolve?: Resolver
}

/** Why a URL may not be used; for the issue's `reason`. */
export interface UrlProblem {
  readonly reason: string
}

/**
 * The one way to customer-given targets. A URL is checked when it is saved (`check`) and again
 * when it is used: the agents resolve the name themselves, refuse any address that is not public,
 * and connect to exactly the address they looked at, so that a name cannot change in between.
 * Requests made with the agents must not follow redirects.
 */
export interface Egress {
  /** Null when the URL may be used now. Resolves the name, contacts nothing. */
  check(url: string, kind: UrlKind): Promise<UrlProblem | null>
  /**
   * The same without a name lookup: form, scheme, credentials and literal addresses. Throws
   * EngineError `egress_refused`. Call it before using `lookup` with anything but the two agents:
   * a socket to a literal address never asks a lookup.
   */
  permit(url: string, kind: UrlKind): URL
  readonly http: HttpAgent
  readonly https: HttpsAgent
  /** For `net.connect`, `tls.connect` and WebSocket clients. */
  readonly lookup: LookupFunction
  close(): void
}

export type UrlKind = 'http' | 'websocket'

const MAX_URL = 2048
const SCHEMES = { http: ['https:', 'http:'], websocket: ['wss:', 'ws:'] } as const

/** IANA special-purpose registries for IPv4 and IPv6, plus multicast: nothing a customer may name. */
const IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved and broadcast
]

/** Only 2000::/3 is global unicast at all; these parts of it are not. */
const IPV6 = [
  '2001::/23', // protocol assignments: Teredo, ORCHID, benchmarking
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4 embeds IPv4 addresses
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const blocked = new BlockList()
const global6 = new BlockList()
for (const range of IPV4) addRange(blocked, range, 'ipv4')
for (const range of IPV6) addRange(blocked, range, 'ipv6')
addRange(global6, '2000::/3', 'ipv6')

/** Whether an address literal (no brackets, no zone) is public unicast. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, 'ipv4')
    case 6:
      // Also refuses IPv4-mapped, NAT64, unique local, link-local and multicast addresses.
      return global6.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
    default:
      return false
  }
}

export function openEgress(options: EgressOptions): Egress {
  const { allowPrivate } = options
  const resolve = options.resolve ?? resolveAll

  /** The addresses of a name, all allowed: one private one among them condemns the name. */
  async function safeAddresses(hostname: string): Promise<readonly Resolved[]> {
    const addresses = await resolve(hostname)
    if (addresses.length === 0) throw refused('does not resolve')
    if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
      throw refused('resolves to an address that is not public')
    }
    return addresses
  }

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    safeAddresses(hostname).then(
      (addresses) => {
        const wanted = familyOf(lookupOptions.family)
        const usable = wanted === 0 ? addresses : addresses.filter(({ family }) => family === wanted)
        const [first] = usable
        if (first === undefined) callback(refused('has no address of that family'), '', 0)
        else if (lookupOptions.all) callback(null, [...usable])
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(asError(error), '', 0),
    )
  }

  function examine(url: string, kind: UrlKind): URL | UrlProblem {
    if (url.length > MAX_URL) return { reason: `is longer than ${MAX_URL} characters` }
    if (!URL.canParse(url)) return { reason: 'is not a URL' }
    const parsed = new URL(url)
    const [safe, plain] = SCHEMES[kind]
    if (parsed.protocol !== safe && !(allowPrivate && parsed.protocol === plain)) {
      return { reason: `must start with ${safe}//` }
    }
    if (parsed.username !== '' || parsed.password !== '') return { reason: 'must not hold user or password' }
    const host = hostOf(parsed)
    if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host))
      return { reason: 'is not a public address' }
    return parsed
  }

  const agentOptions = { keepAlive: true, maxSockets: 64, lookup }
  const http = new SafeHttpAgent(agentOptions, allowPrivate)
  const https = new SafeHttpsAgent(agentOptions, allowPrivate)
  return {
    async check(url, kind) {
      const parsed = examine(url, kind)
      if (!(parsed instanceof URL)) return parsed
      const host = hostOf(parsed)
      if (isIP(host) !== 0) return null
      try {
        await safeAddresses(host)
        return null
      } catch (error) {
        return { reason: error instanceof EngineError ? error.message : 'does not resolve' }
      }
    },
    permit(url, kind) {
      const parsed = examine(url, kind)
      if (parsed instanceof URL) return parsed
      throw refused(parsed.reason)
    },
    http,
    https,
    lookup,
    close() {
      http.destroy()
      https.destroy()
    },
  }
}

type Connected = (error: Error | null, stream: Duplex) => void
type Opened = Duplex | null | undefined

/** Whether a connection may go to that host, so far as a lookup will not decide it. */
function literalProblem(host: string | null | undefined, allowPrivate: boolean): EngineError | null {
  const address = (host ?? '').replace(/^\[|\]$/g, '')
  const safe = allowPrivate || isIP(address) === 0 || isPublicAddress(address)
  return safe ? null : refused('is not a public address')
}

/** Literal addresses never reach the lookup, so the agents look at them when they connect. */
class SafeHttpAgent extends HttpAgent {
  readonly #allowPrivate: boolean

  constructor(options: ConstructorParameters<typeof HttpAgent>[0], allowPrivate: boolean) {
    super(options)
    this.#allowPrivate = allowPrivate
  }

  override createConnection(options: ClientRequestArgs, connected?: Connected): Opened {
    const problem = literalProblem(options.host, this.#allowPrivate)
    if (problem === null) return super.createConnection(options, connected)
    return fail(problem, connected)
  }
}

class SafeHttpsAgent extends HttpsAgent {
  readonly #allowPrivate: boolean

  constructor(options: ConstructorParameters<typeof HttpsAgent>[0], allowPrivate: boolean) {
    super(options)
    this.#allowPrivate = allowPrivate
  }

  override createConnection(options: RequestOptions, connected?: Connected): Opened {
    const problem = literalProblem(options.host, this.#allowPrivate)
    if (problem === null) return super.createConnection(options, connected)
    return fail(problem, connected)
  }
}

/** Node reports a connection that never was through the callback's error alone. */
function fail(problem: EngineError, connected: Connected | undefined): undefined {
  if (connected === undefined) throw problem
  const reject = connected as (error: Error) => void
  process.nextTick(() => reject(problem))
}

async function resolveAll(hostname: string): Promise<readonly Resolved[]> {
  const found = await systemLookup(hostname, { all: true, verbatim: true })
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function familyOf(family: number | 'IPv4' | 'IPv6' | undefined): number {
  if (family === 'IPv4') return 4
  if (family === 'IPv6') return 6
  return family ?? 0
}

function addRange(list: BlockList, range: string, family: 'ipv4' | 'ipv6'): void {
  const [network, prefix] = range.split('/')
  list.addSubnet(network ?? '', Number(prefix), family)
}

function refused(reason: string): EngineError {
  return new EngineError('egress_refused', reason)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error))
}
