import type { Clock } from '../base/clock.js'
import { LearntDeadlines, type VendorWait } from './learnt-deadlines.js'
import { LearntManners, type ModelManner } from './learnt-manners.js'

/** Consecutive failures that open the circuit. */
const FAILURES = 3
/** Weight of a stall. A stall makes a caller wait, so fewer stalls open the circuit. */
const STALL_WEIGHT = 1.5
/** Time for which a circuit stays open. Doubles after each failed probe. */
const REST_MS = 30_000
const LONGEST_REST_MS = 240_000
/** A probe without a result expires after this time. */
const PROBE_MS = 10_000

interface Circuit {
  failures: number
  cooldownMs: number
  /** The circuit is open until this time. Then one request may probe. Null means closed. */
  openUntilMs: number | null
  probeUntilMs: number
}

/** A circuit opened for `restMs`, or closed again (null). */
export interface CircuitChange {
  readonly key: string
  readonly restMs: number | null
}

/** A message about a vendor from one media thread of a service to the others. */
export type VendorNews = CircuitChange | VendorWait | ModelManner

/**
 * Circuit breakers for the vendors of one thread. After several consecutive failures no call uses the vendor
 * for a while; then a single probe request decides. Keys name the part, the vendor and the model
 * (`language_model openai m`).
 */
export class CircuitBreakers {
  readonly #clock: Clock
  readonly #circuits = new Map<string, Circuit>()

  readonly #changed: (change: VendorNews) => void
  /** How long to wait for each vendor. */
  readonly deadlines: LearntDeadlines
  /** How requests for each model have to look. */
  readonly manners: LearntManners

  /** Reports circuits that open and close, waits and manners to `changed`, but not those that `adopt` changes. */
  constructor(clock: Clock, changed: (change: VendorNews) => void = () => {}) {
    this.#clock = clock
    this.#changed = changed
    this.deadlines = new LearntDeadlines(clock, changed)
    this.manners = new LearntManners(changed)
  }

  /** Takes over what another thread learnt. */
  adopt(news: VendorNews): void {
    if ('waitedMs' in news) {
      this.deadlines.adopt(news)
      return
    }
    if ('manner' in news) {
      this.manners.adopt(news)
      return
    }
    const { key, restMs } = news
    if (restMs === null) this.#circuits.delete(key)
    else {
      const openUntilMs = this.#clock.now() + restMs
      this.#circuits.set(key, { failures: FAILURES, cooldownMs: restMs, openUntilMs, probeUntilMs: 0 })
    }
  }

  /**
   * Returns whether to use the vendor now. While the circuit is half open, returns true for one probe at a
   * time.
   */
  allows(key: string): boolean {
    const circuit = this.#circuits.get(key)
    if (circuit === undefined || circuit.openUntilMs === null) return true
    const now = this.#clock.now()
    if (now < circuit.openUntilMs || now < circuit.probeUntilMs) return false
    circuit.probeUntilMs = now + PROBE_MS
    return true
  }

  /** Returns whether the circuit is open, without starting a probe. */
  isOpen(key: string): boolean {
    const until = this.#circuits.get(key)?.openUntilMs ?? null
    return until !== null && this.#clock.now() < until
  }

  /** Returns the keys of the open circuits. */
  openKeys(): readonly string[] {
    return [...this.#circuits.keys()].filter((key) => this.isOpen(key))
  }

  succeeded(key: string): void {
    const wasOpen = (this.#circuits.get(key)?.openUntilMs ?? null) !== null
    this.#circuits.delete(key)
    if (wasOpen) this.#changed({ key, restMs: null })
  }

  failed(key: string, stalled: boolean): void {
    const circuit = this.#circuits.get(key) ?? {
      failures: 0,
      cooldownMs: REST_MS,
      openUntilMs: null,
      probeUntilMs: 0,
    }
    this.#circuits.set(key, circuit)
    circuit.failures += stalled ? STALL_WEIGHT : 1
    if (circuit.openUntilMs !== null) {
      // Only the failure of a probe extends the open time. Other failures belong to requests from before.
      if (this.#clock.now() < circuit.openUntilMs) return
      circuit.cooldownMs = Math.min(circuit.cooldownMs * 2, LONGEST_REST_MS)
    } else if (circuit.failures < FAILURES) return
    circuit.openUntilMs = this.#clock.now() + circuit.cooldownMs
    circuit.probeUntilMs = 0
    this.#changed({ key, restMs: circuit.cooldownMs })
  }
}

export type VendorPart = 'speech_to_text' | 'text_to_speech' | 'language_model'

export function breakerKey(part: VendorPart, vendor: string, model: string | null): string {
  return `${part} ${vendor} ${model ?? ''}`
}
