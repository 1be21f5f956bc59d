import { lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'

export interface SrvRecord {
  readonly name: string
  readonly port: number
  readonly priority: number
  readonly weight: number
}

export interface NaptrRecord {
  readonly order: number
  readonly preference: number
  readonly flags: string
  readonly service: string
  /** The name to ask for SRV records. */
  readonly replacement: string
}

/** Questions to the DNS. A name without such records gives an empty list; failures reject. */
export interface Dns {
  naptr(name: string): Promise<readonly NaptrRecord[]>
  srv(name: string): Promise<readonly SrvRecord[]>
  /** IPv4 and IPv6, in order of preference. */
  addresses(name: string): Promise<readonly string[]>
  close(): void
}

/** Time for one answer and number of tries: well below what a caller waits for a first response. */
const TIMEOUT_MS = 2000
const TRIES = 2

/** Answers that mean "there is none" rather than "I could not find out". */
const NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND', 'ENONAME'])

/**
 * The machine's resolver: addresses as every program here sees them (hosts file included). With
 * `servers` (`address[:port]`) those are asked for everything instead.
 */
export function openDns(servers: readonly string[] = []): Dns {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  if (servers.length > 0) resolver.setServers(servers)
  return {
    naptr: (name) => orNone(resolver.resolveNaptr(name)),
    srv: (name) => orNone(resolver.resolveSrv(name)),
    addresses: servers.length === 0 ? systemAddresses : (name) => queriedAddresses(resolver, name),
    close: () => resolver.cancel(),
  }
}

async function queriedAddresses(resolver: Resolver, name: string): Promise<readonly string[]> {
  const [four, six] = await Promise.all([orNone(resolver.resolve4(name)), orNone(resolver.resolve6(name))])
  return [...four, ...six]
}

function systemAddresses(name: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true, verbatim: true }, (error, found) => {
      if (error === null) resolve(found.map((entry) => entry.address))
      else if (NONE.has(error.code ?? '')) resolve([])
      else reject(error)
    })
  })
}

async function orNone<T>(asked: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Error && 'code' in error && NONE.has(String(error.code))) return []
    throw error
  }
}
