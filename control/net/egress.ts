import { type ClientRequestArgs, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { EngineError } from '../../media/base/errors.js'
import { isPublicAddress, openSafeResolver, type Resolver } from '../../media/base/public-address.js'
import { URL_SCHEMES as BOT_SCHEMES, type BotTransport } from '../../media/byo/bot-spec.js'
import { urlFormProblem } from './url-form.js'

export interface EgressOptions {
  /** For development: allows loopback and private addresses, and plain http, ws and tcp. */
  readonly allowPrivate: boolean
  readonly resolve?: Resolver
}

/** The problem of a URL, for the `reason` of a validation issue. */
export interface UrlProblem {
  readonly reason: string
  /** True if the name could not be resolved now. It may resolve later. */
  readonly unresolved?: true
}

/**
 * The only route to URLs that customers give. A URL is checked when it is saved (`check`) and again when it
 * is used: the agents resolve the name themselves, refuse every address that is not public, and connect to
 * exactly the address they checked, so that a DNS change in between has no effect. Requests through the
 * agents must not follow redirects.
 */
export interface Egress {
  /**
   * Returns null when the URL is well written and may be used now. Resolves the name but contacts no server.
   * The lookup counts for the organization. Store the URL as `parsedUrl` returns it.
   */
  check(url: string, kind: UrlKind, organizationId: string): Promise<UrlProblem | null>
  /**
   * Checks form, scheme, credentials and literal addresses without a DNS lookup. Throws EngineError
   * `egress_refused`. Call it before using `lookup` with anything but the two agents: a socket to a literal
   * address never calls a lookup.
   */
  permit(url: string, kind: UrlKind): URL
  readonly http: HttpAgent
  readonly https: HttpsAgent
  /**
   * Returns the lookup of an organization. Each request through the agents names it, as does each socket of
   * `net.connect`, `tls.connect` and WebSocket clients.
   */
  lookupOf(organizationId: string): LookupFunction
  close(): void
}

export type UrlKind = 'http' | BotTransport

const MAX_URL = 2048
const SCHEMES = { http: ['https:', 'http:'], ...BOT_SCHEMES } as const

export function openEgress(options: EgressOptions): Egress {
  const { allowPrivate } = options
  const names = openSafeResolver(allowPrivate, options.resolve)

  function examine(url: string, kind: UrlKind): URL | UrlProblem {
    if (url.length > MAX_URL) return { reason: `is longer than ${MAX_URL} characters` }
    if (!URL.canParse(url)) return { reason: 'is not a URL' }
    const parsed = new URL(url)
    if (parsed.href.length > MAX_URL) return { reason: `is longer than ${MAX_URL} characters when encoded` }
    const [safe, plain] = SCHEMES[kind]
    if (parsed.protocol !== safe && !(allowPrivate && parsed.protocol === plain)) {
      return { reason: `must start with ${safe}//` }
    }
    if (parsed.username !== '' || parsed.password !== '')
      return { reason: 'must not contain a user or password' }
    const host = hostOf(parsed)
    if (host === '') return { reason: 'has no host' }
    // RFC 6455 3: WebSocket URLs have no fragment.
    if (kind === 'websocket' && parsed.hash !== '') return { reason: 'must not have a fragment' }
    if (kind === 'tcp' && parsed.port === '') return { reason: 'has no port' }
    if (parsed.port === '0') return { reason: 'must not have port 0' }
    if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host))
      return { reason: 'is not a public address' }
    return parsed
  }

  const agentOptions = { keepAlive: true, maxSockets: 64 }
  const http = new SafeHttpAgent(agentOptions, allowPrivate)
  const https = new SafeHttpsAgent(agentOptions, allowPrivate)
  return {
    async check(url, kind, organizationId) {
      const parsed = examine(url, kind)
      if (!(parsed instanceof URL)) return parsed
      const form = urlFormProblem(url)
      if (form !== null) return { reason: form }
      const host = hostOf(parsed)
      if (isIP(host) !== 0) return null
      try {
        await names.addresses(host, organizationId)
        return null
      } catch (error) {
        if (error instanceof EngineError) return { reason: error.message }
        return { reason: 'does not resolve', unresolved: true }
      }
    },
    permit(url, kind) {
      const parsed = examine(url, kind)
      if (parsed instanceof URL) return parsed
      throw refused(parsed.reason)
    },
    http,
    https,
    lookupOf: (organizationId) => names.lookupOf(organizationId),
    close() {
      http.destroy()
      https.destroy()
      names.close()
    },
  }
}

type Connected = (error: Error | null, stream: Duplex) => void
type Opened = Duplex | null | undefined

/** Returns the error for a literal address that is refused. Host names are checked by the lookup of the request. */
function problemOf(
  { host, lookup }: Pick<ClientRequestArgs, 'host' | 'lookup'>,
  allowPrivate: boolean,
): EngineError | null {
  const address = (host ?? '').replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return lookup === undefined ? refused('names no organization') : null
  return allowPrivate || isPublicAddress(address) ? null : refused('is not a public address')
}

/** Literal addresses never reach the lookup, so the agents check them when they connect. */
class SafeHttpAgent extends HttpAgent {
  readonly #allowPrivate: boolean

  constructor(options: ConstructorParameters<typeof HttpAgent>[0], allowPrivate: boolean) {
    super(options)
    this.#allowPrivate = allowPrivate
  }

  override createConnection(options: ClientRequestArgs, connected?: Connected): Opened {
    const problem = problemOf(options, this.#allowPrivate)
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
    const problem = problemOf(options, this.#allowPrivate)
    if (problem === null) return super.createConnection(options, connected)
    return fail(problem, connected)
  }
}

/** Node reports a connection that was never made through the callback's error only. */
function fail(problem: EngineError, connected: Connected | undefined): undefined {
  if (connected === undefined) throw problem
  const reject = connected as (error: Error) => void
  process.nextTick(() => reject(problem))
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function refused(reason: string): EngineError {
  return new EngineError('egress_refused', reason)
}
