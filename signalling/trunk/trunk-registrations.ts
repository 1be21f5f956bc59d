import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import type { SipServer } from '../sip/sip-port.js'
import { Registration, type RegistrationReport, type RegistrationTarget } from './registration.js'

export interface TrunkRegistrationsOptions {
  readonly sip: SipServer
  readonly clock: Clock
  readonly log: Log
}

/** Keeps exactly the wanted accounts registered. */
export class TrunkRegistrations {
  readonly #options: TrunkRegistrationsOptions
  readonly #registrations = new Map<string, Registration>()
  readonly #unregistering = new Set<Promise<void>>()
  #closed = false

  constructor(options: TrunkRegistrationsOptions) {
    this.#options = options
  }

  /** Starts new registrations, ends unwanted ones, and replaces changed ones. */
  sync(wanted: readonly RegistrationTarget[]): void {
    if (this.#closed) return
    const left = new Set(this.#registrations.keys())
    for (const target of wanted) {
      left.delete(target.trunkId)
      const running = this.#registrations.get(target.trunkId)
      if (running !== undefined && JSON.stringify(running.target) === JSON.stringify(target)) continue
      if (running !== undefined) this.#unregister(running)
      const registration = new Registration({ ...this.#options, target })
      this.#registrations.set(target.trunkId, registration)
      registration.start()
    }
    for (const trunkId of left) {
      const running = this.#registrations.get(trunkId)
      this.#registrations.delete(trunkId)
      if (running !== undefined) this.#unregister(running)
    }
  }

  /** Returns the state of a trunk's registration; null for a trunk that does not register. */
  report(trunkId: string): RegistrationReport | null {
    return this.#registrations.get(trunkId)?.report ?? null
  }

  /** Removes all bindings, or gives up after two seconds. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    for (const registration of this.#registrations.values()) this.#unregister(registration)
    this.#registrations.clear()
    await Promise.all(this.#unregistering)
  }

  #unregister(registration: Registration): void {
    const unregistering = registration.close().finally(() => this.#unregistering.delete(unregistering))
    this.#unregistering.add(unregistering)
  }
}
