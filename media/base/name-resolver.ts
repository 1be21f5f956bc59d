import { lookup, type RecordWithTtl } from 'node:dns'
import { Resolver as DnsResolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Clock, systemClock } from './clock.js'
import { hostsFileAddresses } from './hosts-file.js'

/** An address of a host name. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Time for one name (ms). */
const LIMIT_MS = 2_000
/** Time for one name server before the next one is asked (ms), and the rounds of all servers. */
const SERVER_MS = 700
const ROUNDS = 2
/** Names of one organization that are looked up at once, and that wait for their turn. */
const MAX_RUNNING = 16
const MAX_WAITING = 64
/** Bounds of the time to live of a result (s). */
const SHORTEST_TTL_S = 1
const LONGEST_TTL_S = 60
/** How long a name without addresses, and one without an answer, is not asked for again (ms). */
const UNKNOWN_MS = 5_000
const UNANSWERED_MS = 15_000
/** Names in the cache. */
const MAX_CACHED = 2_000
/** Codes of c-ares for a name that has no address. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EBADQUERY'])

export interface NameResolverOptions {
  readonly clock?: Clock
  /** Name servers (`address[:port]`); by default those of the machine. */
  readonly servers?: readonly string[]
  /** Asks the system for names that the DNS does not know: search domains, mDNS. */
  readonly useSystem: boolean
  /** Time for one name server (ms). */
  readonly serverMs?: number
}

interface Turns {
  running: number
  readonly waiting: (() => void)[]
}

type Result = { readonly addresses: readonly ResolvedAddress[] } | { readonly error: Error }

/**
 * Resolves the host names of customers without the thread pool of the process, because a name server that never
 * answers would block the lookups of everyone else there. Each name takes at most two seconds, each organization
 * has a bounded number of lookups, and results are cached.
 */
export class NameResolver {
  readonly #clock: Clock
  readonly #options: NameResolverOptions
  readonly #cache = new Map<string, { readonly untilMs: number; readonly result: Result }>()
  readonly #asking = new Map<string, Promise<Result>>()
  readonly #turns = new Map<string, Turns>()
  readonly #cancels = new Set<() => void>()

  constructor(options: NameResolverOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /**
   * Returns the addresses of a host name. `owner` is the organization that the lookup counts for. Rejects with
   * the code `ENOTFOUND` when the name has no address, and with `EAI_AGAIN` when no server answered in time or
   * the owner has too many lookups.
   */
  async resolve(hostname: string, owner: string): Promise<readonly ResolvedAddress[]> {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    const result = this.#cached(name) ?? (await this.#asking.get(name)) ?? (await this.#inTurn(name, owner))
    if ('error' in result) throw result.error
    return result.addresses
  }

  /** Ends all lookups without a result. */
  close(): void {
    for (const cancel of [...this.#cancels]) cancel()
  }

  #cached(name: string): Result | null {
    const entry = this.#cache.get(name)
    if (entry === undefined) return null
    if (entry.untilMs > this.#clock.now()) return entry.result
    this.#cache.delete(name)
    return null
  }

  async #inTurn(name: string, owner: string): Promise<Result> {
    const turns = this.#turns.get(owner) ?? { running: 0, waiting: [] }
    this.#turns.set(owner, turns)
    if (turns.running >= MAX_RUNNING) {
      if (turns.waiting.length >= MAX_WAITING) {
        return { error: failure('EAI_AGAIN', 'too many host names are being looked up') }
      }
      await new Promise<void>((resolve) => turns.waiting.push(resolve))
    } else turns.running++
    try {
      return this.#cached(name) ?? (await (this.#asking.get(name) ?? this.#ask(name)))
    } finally {
      const next = turns.waiting.shift()
      if (next !== undefined) next()
      else if (--turns.running === 0) this.#turns.delete(owner)
    }
  }

  #ask(name: string): Promise<Result> {
    const asking = this.#lookUp(name)
      .then(({ result, ttlMs }) => {
        this.#keep(name, result, ttlMs)
        return result
      })
      .finally(() => this.#asking.delete(name))
    this.#asking.set(name, asking)
    return asking
  }

  #keep(name: string, result: Result, ttlMs: number): void {
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size < MAX_CACHED) break
      this.#cache.delete(oldest)
    }
    this.#cache.set(name, { untilMs: this.#clock.now() + ttlMs, result })
  }

  async #lookUp(name: string): Promise<{ readonly result: Result; readonly ttlMs: number }> {
    const local = addressesOf(await hostsFileAddresses(name))
    if (local.length > 0) return { result: { addresses: local }, ttlMs: SHORTEST_TTL_S * 1000 }
    const { answers, unanswered } = await this.#query(name)
    if (answers.length > 0) {
      const ttlS = Math.min(LONGEST_TTL_S, ...answers.map(({ ttl }) => ttl))
      const addresses = addressesOf(answers.map(({ address }) => address))
      return { result: { addresses }, ttlMs: Math.max(SHORTEST_TTL_S, ttlS) * 1000 }
    }
    if (unanswered) {
      return { result: { error: failure('EAI_AGAIN', 'no name server answered') }, ttlMs: UNANSWERED_MS }
    }
    const others = this.#options.useSystem ? await systemAddresses(name) : []
    if (others.length > 0) return { result: { addresses: others }, ttlMs: SHORTEST_TTL_S * 1000 }
    return { result: { error: failure('ENOTFOUND', 'the host name has no address') }, ttlMs: UNKNOWN_MS }
  }

  /** Asks for both families, and takes what has arrived when the time is over. */
  async #query(name: string): Promise<{ answers: readonly RecordWithTtl[]; unanswered: boolean }> {
    const { servers, serverMs = SERVER_MS } = this.#options
    const dns = new DnsResolver({ timeout: serverMs, tries: ROUNDS })
    if (servers !== undefined) dns.setServers(servers)
    const cancel = (): void => dns.cancel()
    this.#cancels.add(cancel)
    const timer = this.#clock.after(LIMIT_MS, cancel)
    const both = await Promise.allSettled([
      dns.resolve4(name, { ttl: true }),
      dns.resolve6(name, { ttl: true }),
    ])
    timer.cancel()
    this.#cancels.delete(cancel)
    return {
      answers: both.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
      unanswered: both.some((one) => one.status === 'rejected' && !NO_ADDRESS.has(one.reason?.code)),
    }
  }
}

function addressesOf(addresses: readonly string[]): readonly ResolvedAddress[] {
  return addresses.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }))
}

function systemAddresses(name: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((resolve) => {
    lookup(name, { all: true, verbatim: true }, (error, found) => {
      // The DNS has already said that it does not know the name.
      resolve(error === null ? addressesOf(found.map(({ address }) => address)) : [])
    })
  })
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
