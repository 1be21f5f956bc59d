import { type BlockList, isIP } from 'node:net'
import type { Clock } from '../../../media/base/clock.js'
import type { Log } from '../../../media/base/log.js'
import type { Essentials } from '../message/message-validation.js'
import type { SipRequest } from '../message/sip-message.js'
import { parseNetwork } from '../transport/advertised-address.js'
import { type NetworkSet, networkSet } from './network-set.js'
import { isScanner } from './scanners.js'

export interface GuardSettings {
  /** Networks (`10.0.0.0/8`) that are never limited or banned. */
  readonly exempt: readonly string[]
  /** How much more than a stranger a trusted source may send; see `Guard.trust`. */
  readonly trustedFactor: number
  /** New INVITEs, and other requests outside calls, that one source may send for good. */
  readonly invitesPerSecond: number
  readonly requestsPerSecond: number
  /** Seconds' worth of these it may send at once. */
  readonly burstSeconds: number
  /** Answers a second to what is refused for the rate or for its form; the rest goes unanswered. */
  readonly refusalsPerSecond: number
  /** Points that get a source banned; see `OFFENCES`. */
  readonly banPoints: number
  readonly forgivenPerSecond: number
  /** The first ban; each further one while the source is remembered takes twice as long. */
  readonly banMs: number
  readonly maxBanMs: number
  /** Sources remembered, and bans; the oldest goes first. */
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

/** Points of each offence. A wrong password every 20 s is forgiven for ever; a dozen in a row are not. */
const OFFENCES = { scanner: 100, oversize: 20, authentication: 10, malformed: 5, flood: 0.1 } as const
export type Offence = keyof typeof OFFENCES

/** What becomes of a request outside every call: served, refused with 503, or not even answered. */
export type GuardVerdict = 'serve' | 'refuse' | 'ignore'

export interface GuardStats {
  readonly sources: number
  readonly isBanned: number
  /** Networks that are never banned, overlaps merged. */
  readonly trusted: number
  readonly refused: number
  readonly ignored: number
  readonly bans: Readonly<Record<Offence, number>>
}

interface Source {
  invites: number
  requests: number
  refusals: number
  points: number
  bans: number
  seenAt: number
}

/** Lines about bans, a second and at once: an attack must not fill the log. */
const LINES_PER_SECOND = 1
const LINES_AT_ONCE = 20

/**
 * Who may ask for how much, by source address (IPv6: by /64, which is what one customer has). Only
 * requests outside calls come here, so that a ban ends no call. UDP addresses can be forged: a ban is
 * therefore never prolonged by what comes during it, and carriers are trusted: nothing that is sent in
 * their name bans them, it only meets wider limits.
 */
export class Guard {
  readonly #settings: GuardSettings
  readonly #clock: Pick<Clock, 'now'>
  readonly #log: Log
  readonly #exempt: readonly BlockList[]
  #trusted: NetworkSet = networkSet([])
  /** In the order of their last request. */
  readonly #sources = new Map<string, Source>()
  /** Ends of bans. Apart from the sources, whom a flood of others pushes out. */
  readonly #bans = new Map<string, number>()
  readonly #counts = { scanner: 0, oversize: 0, authentication: 0, malformed: 0, flood: 0 }
  #refused = 0
  #ignored = 0
  #lines = LINES_AT_ONCE
  #lineAt = 0

  constructor(settings: GuardSettings, clock: Pick<Clock, 'now'>, log: Log) {
    this.#settings = settings
    this.#clock = clock
    this.#log = log
    this.#exempt = settings.exempt.flatMap((text) => parseNetwork(text) ?? [])
  }

  isExempt(address: string): boolean {
    const family = isIP(address)
    return family === 0 || this.#exempt.some((list) => list.check(address, family === 6 ? 'ipv6' : 'ipv4'))
  }

  /** Trusts these networks instead of those of before, also in the middle of a ban. */
  setTrustedNetworks(networks: readonly string[]): void {
    this.#trusted = networkSet(networks)
  }

  isTrusted(address: string): boolean {
    return this.#trusted.has(address)
  }

  isBanned(address: string): boolean {
    return !this.isExempt(address) && !this.isTrusted(address) && this.#bannedKey(sourceKey(address))
  }

  /** A request outside every call. */
  checkRequest(address: string, checkRequest: SipRequest, essentials: Essentials): GuardVerdict {
    if (this.isExempt(address)) return 'serve'
    const key = sourceKey(address)
    const trusted = this.isTrusted(address)
    if (!trusted && this.#bannedKey(key)) return this.#ignore()
    const source = this.#touch(key, trusted)
    if (isScanner(checkRequest, essentials)) {
      if (!trusted) this.#offend(key, source, 'scanner')
      return this.#ignore()
    }
    const purse = checkRequest.method === 'INVITE' ? 'invites' : 'requests'
    if (source[purse] >= 1) {
      source[purse] -= 1
      return 'serve'
    }
    if (!trusted) this.#offend(key, source, 'flood')
    return this.#refuse(source)
  }

  /** A keep-alive that wants an answer: one of the other requests, but too many are no offence. */
  checkKeepAlive(address: string): GuardVerdict {
    if (this.isExempt(address)) return 'serve'
    if (this.isBanned(address)) return this.#ignore()
    const source = this.#touch(sourceKey(address), this.isTrusted(address))
    if (source.requests < 1) return this.#ignore()
    source.requests -= 1
    return 'serve'
  }

  /** What could not be read as a message, or not as a sound one. */
  checkMalformed(address: string, offence: 'malformed' | 'oversize'): GuardVerdict {
    if (this.isExempt(address)) return 'refuse'
    const key = sourceKey(address)
    const trusted = this.isTrusted(address)
    if (!trusted && this.#bannedKey(key)) return this.#ignore()
    const source = this.#touch(key, trusted)
    if (!trusted) this.#offend(key, source, offence)
    return this.#refuse(source)
  }

  /** Credentials were wrong. */
  onAuthenticationFailure(address: string): void {
    if (this.isExempt(address) || this.isTrusted(address)) return
    const key = sourceKey(address)
    if (!this.#bannedKey(key)) this.#offend(key, this.#touch(key, false), 'authentication')
  }

  stats(): GuardStats {
    return {
      sources: this.#sources.size,
      isBanned: this.#bans.size,
      trusted: this.#trusted.size,
      refused: this.#refused,
      ignored: this.#ignored,
      bans: { ...this.#counts },
    }
  }

  #bannedKey(key: string): boolean {
    const until = this.#bans.get(key)
    if (until === undefined) return false
    if (until > this.#clock.now()) return true
    this.#bans.delete(key)
    return false
  }

  /** The source with its allowances grown, at the young end of the table. */
  #touch(key: string, trusted: boolean): Source {
    const { burstSeconds, forgivenPerSecond, refusalsPerSecond } = this.#settings
    const factor = trusted ? this.#settings.trustedFactor : 1
    const invitesPerSecond = this.#settings.invitesPerSecond * factor
    const requestsPerSecond = this.#settings.requestsPerSecond * factor
    const now = this.#clock.now()
    const known = this.#sources.get(key)
    if (known === undefined) {
      evict(this.#sources, this.#settings.maxSources - 1)
      const source: Source = {
        invites: invitesPerSecond * burstSeconds,
        requests: requestsPerSecond * burstSeconds,
        refusals: refusalsPerSecond * burstSeconds,
        points: 0,
        bans: 0,
        seenAt: now,
      }
      this.#sources.set(key, source)
      return source
    }
    const seconds = (now - known.seenAt) / 1000
    const grown = (had: number, rate: number) => Math.min(had + seconds * rate, rate * burstSeconds)
    known.invites = grown(known.invites, invitesPerSecond)
    known.requests = grown(known.requests, requestsPerSecond)
    known.refusals = grown(known.refusals, refusalsPerSecond)
    known.points = Math.max(0, known.points - seconds * forgivenPerSecond)
    known.seenAt = now
    this.#sources.delete(key)
    this.#sources.set(key, known)
    return known
  }

  #offend(key: string, source: Source, offence: Offence): void {
    const { banPoints, banMs, maxBanMs: longestBanMs, maxSources: sources } = this.#settings
    source.points += OFFENCES[offence]
    if (source.points < banPoints) return
    source.points = 0
    const ms = Math.min(banMs * 2 ** source.bans, longestBanMs)
    source.bans += 1
    this.#counts[offence] += 1
    evict(this.#bans, sources - 1)
    this.#bans.set(key, this.#clock.now() + ms)
    if (this.#mayLog()) this.#log.warn({ source: key, offence, seconds: ms / 1000 }, 'SIP source banned')
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
    this.#lines = Math.min(LINES_AT_ONCE, this.#lines + ((now - this.#lineAt) / 1000) * LINES_PER_SECOND)
    this.#lineAt = now
    if (this.#lines < 1) return false
    this.#lines -= 1
    return true
  }
}

function evict(table: Map<string, unknown>, size: number): void {
  for (const key of table.keys()) {
    if (table.size <= size) return
    table.delete(key)
  }
}

/** The address, or the first 64 bits of an IPv6 one. */
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
