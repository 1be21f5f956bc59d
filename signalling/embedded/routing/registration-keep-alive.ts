import type { Clock, Timer } from '../../../media/base/clock.js'
import { headerOf, type SipRequest, type SipResponse } from '../message/sip-message.js'
import type { Timers } from '../transaction/timers.js'
import { type Flow, socketAddressKey } from '../transport/transport.js'
import { grantedExpiresS } from './registered-flows.js'

/** Maximum number of accounts with keep-alives. */
const MAX_ACCOUNTS = 10_000
const CRLF_CRLF = Buffer.from('\r\n\r\n')

interface Account {
  readonly flow: Flow
  readonly untilMs: number
  timer: Timer
}

/**
 * Keep-alives for our own registrations over UDP. The registrar can only reach us while every NAT on the path
 * keeps its binding, often just half a minute. Until the registration expires, CRLFCRLF is sent at 80 to 97 %
 * of the usual interval (RFC 5626 4.4.1: 24 to 29 s); it is not answered.
 */
export class RegistrationKeepAlives {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #random: () => number
  readonly #accounts = new Map<string, Account>()

  constructor(clock: Clock, timers: Timers, random: () => number) {
    this.#clock = clock
    this.#timers = timers
    this.#random = random
  }

  get size(): number {
    return this.#accounts.size
  }

  /** Starts or stops keep-alives after a 2xx to our REGISTER. */
  onRegistered(request: SipRequest, response: SipResponse, flow: Flow): void {
    if (flow.reliable) return
    const key = `${socketAddressKey(flow.remote)}|${headerOf(request, 'Call-ID') ?? ''}`
    this.#accounts.get(key)?.timer.cancel()
    this.#accounts.delete(key)
    const seconds = grantedExpiresS(request, response)
    if (seconds === 0 || this.#accounts.size >= MAX_ACCOUNTS) return
    this.#accounts.set(key, {
      flow,
      untilMs: this.#clock.now() + seconds * 1000,
      timer: this.#schedule(key),
    })
  }

  close(): void {
    for (const { timer } of this.#accounts.values()) timer.cancel()
    this.#accounts.clear()
  }

  #schedule(key: string): Timer {
    const ms = this.#timers.keepAlive * (0.8 + 0.17 * this.#random())
    return this.#clock.after(ms, () => this.#sendKeepAlive(key))
  }

  #sendKeepAlive(key: string): void {
    const account = this.#accounts.get(key)
    if (account === undefined) return
    if (this.#clock.now() >= account.untilMs || !account.flow.send(CRLF_CRLF)) {
      this.#accounts.delete(key)
      return
    }
    account.timer = this.#schedule(key)
  }
}
