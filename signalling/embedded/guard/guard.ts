import { isIP } from 'node:net'
import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import type { Essentials } from '../message/message-validation.js'
import type { SipRequest } from '../message/sip-message.js'
import { type NetworkSet, networkSet } from './network-set.js'
import { isScanner } from './scanners.js'
import { SentNonces } from './sent-nonces.js'

export interface GuardSettings {
  /** Networks (`10.0.0.0/8`) that are never limited or banned. */
  readonly exempt: readonly string[]
  /** Factor by which the limits of a trusted source are wider; see `Guard.setTrustedNetworks`. */
  readonly trustedFactor: number
  /** Sustained rates of one source: new INVITEs, and other requests outside calls. */
  readonly invitesPerSecond: number
  readonly requestsPerSecond: number
  /** Size of a burst, in seconds of the sustained rate. */
  readonly burstSeconds: number
  /** Refusals sent per second for rate or malformed messages; further ones are not answered. */
  readonly refusalsPerSecond: number
  /** Points at which a source is banned; see `OFFENCES`. */
  readonly banPoints: number
  readonly forgivenPerSecond: number
  /** Duration (ms) of the first ban; each further ban of a remembered source takes twice as long. */
  readonly banMs: number
  readonly maxBanMs: number
  /** Maximum number of sources, of offenders and of bans. The oldest is forgotten first. */
  readonly maxSources: number
}

export const DEFAULT_GUARD: GuardSettings = {
  exempt: ['127.0.0.0/8', '::1/128'],
  trustedFactor: 10,
  invitesPerSecond: 100,
  requestsPerSecond: 50,
  burstSeconds: 3,
  refusalsPerSecond: 10,
  banPoints: 100,
  forgivenPerSecond: 0.5,
  banMs: 300_000,
  maxBanMs: 86_400_000,
  maxSources: 20_000,
}

/** How long (ms) a source stays trusted after a request with accepted credentials. */
const AUTHENTICATED_MS = 3_600_000

/** Points of each offence. A wrong password every 20 s never leads to a ban; a dozen in a row do. */
const OFFENCES = { scanner: 100, oversize: 20, authentication: 10, malformed: 5, flood: 0.1 } as const
export type Offence = keyof typeof OFFENCES

/** Outcome for a request outside calls: served, refused with 503, or not answered at all. */
export type GuardVerdict = 'serve' | 'refuse' | 'ignore'

export interface GuardStats {
  readonly sources: number
  readonly banned: number
  /** Number of trusted networks, which are never banned. */
  readonly trusted: number
  readonly refused: number
  readonly ignored: number
  readonly bans: Readonly<Record<Offence, number>>
}

interface Source {
  invites: number
  requests: number
  refusals: number
  seenAt: number
}

/** A source that offended. Its address is proven. */
interface Offender {
  readonly points: number
  readonly bans: number
  /** Time of the latest offence (monotonic ms). */
  readonly at: number
}

/** Rate and burst of log messages about bans, so that an attack does not fill the log. */
const LOG_MESSAGES_PER_SECOND = 1
const LOG_BURST = 20

/**
 * Limits and bans source addresses (IPv6: a /64, which is what one customer has). Only requests outside calls
 * are checked, so that a ban never ends a call. UDP addresses can be forged: a source is therefore banned only for
 * what it sends over a connection, or for wrong credentials with a nonce that was sent to it. Carriers and sources that
 * authenticated in the last hour are trusted: they are never banned and only meet wider limits.
 */
export class Guard {
  readonly #settings: GuardSettings
  readonly #clock: Pick<Clock, 'now'>
  readonly #log: Log
  readonly #exempt: NetworkSet
  #trusted: NetworkSet = networkSet([])
  /** In the order of the latest request. */
  readonly #sources = new Map<string, Source>()
  /** In the order of the latest offence. A flood with forged addresses removes sources, but no offenders. */
  readonly #offenders = new Map<string, Offender>()
  /** Ends of bans. */
  readonly #bans = new Map<string, number>()
  /** Ends of the trust in sources that authenticated, in the order of the latest success. */
  readonly #authenticated = new Map<string, number>()
  readonly #sentNonces = new SentNonces()
  readonly #counts = { scanner: 0, oversize: 0, authentication: 0, malformed: 0, flood: 0 }
  #refused = 0
  #ignored = 0
  #logTokens = LOG_BURST
  #logAt = 0

  constructor(settings: GuardSettings, clock: Pick<Clock, 'now'>, log: Log) {
    this.#settings = settings
    this.#clock = clock
    this.#log = log
    this.#exempt = networkSet(settings.exempt)
  }

  isExempt(address: string): boolean {
    return isIP(address) === 0 || this.#exempt.has(address)
  }

  /** Replaces the trusted networks. A ban has no effect while its source is trusted. */
  setTrustedNetworks(networks: readonly string[]): void {
    this.#trusted = networkSet(networks)
  }

  isTrusted(address: string): boolean {
    return this.#trusted.has(address) || this.#isAuthenticated(sourceKey(address))
  }

  isBanned(address: string): boolean {
    return !this.isExempt(address) && !this.isTrusted(address) && this.#bannedKey(sourceKey(address))
  }

  /** Checks a request outside calls. `proven` is false when its source address may be forged (UDP). */
  checkRequest(address: string, request: SipRequest, essentials: Essentials, proven: boolean): GuardVerdict {
    if (this.isExempt(address)) return 'serve'
    const key = sourceKey(address)
    const trusted = this.isTrusted(address)
    if (!trusted && this.#bannedKey(key)) return this.#ignore()
    const source = this.#touch(key, trusted)
    if (isScanner(request, essentials)) {
      if (!trusted && proven) this.#offend(key, 'scanner')
      return this.#ignore()
    }
    const allowance = request.method === 'INVITE' ? 'invites' : 'requests'
    if (source[allowance] >= 1) {
      source[allowance] -= 1
      return 'serve'
    }
    if (!trusted && proven) this.#offend(key, 'flood')
    return this.#refuse(source)
  }

  /** Checks a keep-alive that expects a response. It counts as a request, but too many are no offence. */
  checkKeepAlive(address: string): GuardVerdict {
    if (this.isExempt(address)) return 'serve'
    if (this.isBanned(address)) return this.#ignore()
    const source = this.#touch(sourceKey(address), this.isTrusted(address))
    if (source.requests < 1) return this.#ignore()
    source.requests -= 1
    return 'serve'
  }

  /** Counts an unreadable or malformed message; `proven` as in `checkRequest`. */
  checkMalformed(address: string, offence: 'malformed' | 'oversize', proven: boolean): GuardVerdict {
    if (this.isExempt(address)) return 'refuse'
    const key = sourceKey(address)
    const trusted = this.isTrusted(address)
    if (!trusted && this.#bannedKey(key)) return this.#ignore()
    const source = this.#touch(key, trusted)
    if (!trusted && proven) this.#offend(key, offence)
    return this.#refuse(source)
  }

  /** Stores that a challenge with this nonce was sent to a source. */
  onChallenge(address: string, nonce: string): void {
    if (this.isExempt(address)) return
    this.#sentNonces.add(sourceKey(address), nonce)
  }

  /**
   * Counts wrong credentials; `proven` as in `checkRequest`. A nonce that was sent to the source also proves its
   * address.
   */
  onAuthenticationFailure(address: string, nonce: string, proven: boolean): void {
    if (this.isExempt(address) || this.isTrusted(address)) return
    const key = sourceKey(address)
    if (!proven && !this.#sentNonces.has(key, nonce)) return
    if (!this.#bannedKey(key)) this.#offend(key, 'authentication')
  }

  /**
   * Trusts a source for an hour, because an application accepted its credentials. Its address must be proven as in
   * `onAuthenticationFailure`.
   */
  onAuthenticated(address: string, nonce: string, proven: boolean): void {
    if (this.isExempt(address)) return
    const key = sourceKey(address)
    if (!proven && !this.#sentNonces.has(key, nonce)) return
    this.#authenticated.delete(key)
    evict(this.#authenticated, this.#settings.maxSources - 1)
    this.#authenticated.set(key, this.#clock.now() + AUTHENTICATED_MS)
  }

  stats(): GuardStats {
    return {
      sources: this.#sources.size,
      banned: this.#bans.size,
      trusted: this.#trusted.size,
      refused: this.#refused,
      ignored: this.#ignored,
      bans: { ...this.#counts },
    }
  }

  #isAuthenticated(key: string): boolean {
    const until = this.#authenticated.get(key)
    if (until === undefined) return false
    if (until > this.#clock.now()) return true
    this.#authenticated.delete(key)
    return false
  }

  #bannedKey(key: string): boolean {
    const until = this.#bans.get(key)
    if (until === undefined) return false
    if (until > this.#clock.now()) return true
    this.#bans.delete(key)
    return false
  }

  /** Returns the source with its allowances refilled, and moves it to the end of the table. */
  #touch(key: string, trusted: boolean): Source {
    const { burstSeconds, refusalsPerSecond } = this.#settings
    const factor = trusted ? this.#settings.trustedFactor : 1
    const invitesPerSecond = this.#settings.invitesPerSecond * factor
    const requestsPerSecond = this.#settings.requestsPerSecond * factor
    const now = this.#clock.now()
    const existing = this.#sources.get(key)
    if (existing === undefined) {
      evict(this.#sources, this.#settings.maxSources - 1)
      const source: Source = {
        invites: invitesPerSecond * burstSeconds,
        requests: requestsPerSecond * burstSeconds,
        refusals: refusalsPerSecond * burstSeconds,
        seenAt: now,
      }
      this.#sources.set(key, source)
      return source
    }
    const seconds = (now - existing.seenAt) / 1000
    const refilled = (had: number, rate: number) => Math.min(had + seconds * rate, rate * burstSeconds)
    existing.invites = refilled(existing.invites, invitesPerSecond)
    existing.requests = refilled(existing.requests, requestsPerSecond)
    existing.refusals = refilled(existing.refusals, refusalsPerSecond)
    existing.seenAt = now
    this.#sources.delete(key)
    this.#sources.set(key, existing)
    return existing
  }

  #offend(key: string, offence: Offence): void {
    const { banPoints, banMs, forgivenPerSecond, maxBanMs, maxSources } = this.#settings
    const now = this.#clock.now()
    const { points: before, bans, at } = this.#offenders.get(key) ?? { points: 0, bans: 0, at: now }
    const points = Math.max(0, before - ((now - at) / 1000) * forgivenPerSecond) + OFFENCES[offence]
    const isBan = points >= banPoints
    this.#offenders.delete(key)
    evict(this.#offenders, maxSources - 1)
    this.#offenders.set(key, { points: isBan ? 0 : points, bans: isBan ? bans + 1 : bans, at: now })
    if (!isBan) return
    const ms = Math.min(banMs * 2 ** bans, maxBanMs)
    this.#counts[offence] += 1
    evict(this.#bans, maxSources - 1)
    this.#bans.set(key, now + ms)
    if (this.#mayLog()) this.#log.warn({ source: key, offence, seconds: ms / 1000 }, 'sip.source_banned')
  }

  #refuse(source: Source): GuardVerdict {
    if (source.refusals < 1) return this.#ignore()
    source.refusals -= 1
    this.#refused += 1
    return 'refuse'
  }

  #ignore(): GuardVerdict {
    this.#ignored += 1
    return 'ignore'
  }

  #mayLog(): boolean {
    const now = this.#clock.now()
    this.#logTokens = Math.min(
      LOG_BURST,
      this.#logTokens + ((now - this.#logAt) / 1000) * LOG_MESSAGES_PER_SECOND,
    )
    this.#logAt = now
    if (this.#logTokens < 1) return false
    this.#logTokens -= 1
    return true
  }
}

function evict(table: Map<string, unknown>, size: number): void {
  for (const key of table.keys()) {
    if (table.size <= size) return
    table.delete(key)
  }
}

/** Returns the key of a source: the address, or the first 64 bits of an IPv6 one. */
export function sourceKey(address: string): string {
  if (isIP(address) !== 6) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [left = '', right] = (address.split('%')[0] ?? '').split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const head = groups(left)
  const tail = groups(right ?? '')
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length
  const all = [...head, ...new Array<string>(Math.max(0, zeros)).fill('0'), ...tail]
  const short = all.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
  return `${short.join(':')}::/64`
}
