import type { Clock } from '../base/clock.js'

/** Failures in a row after which a vendor is left alone. */
const FAILURES = 3
/** Of a stall, which costs a caller a wait, fewer are needed. */
const STALL_WEIGHT = 1.5
/** How long it is left alone; doubled each time its probe fails, which costs a caller a wait. */
const REST_MS = 30_000
const LONGEST_REST_MS = 240_000
/** A probe that tells nothing is over after this. */
const PROBE_MS = 10_000

interface Circuit {
  failures: number
  cooldownMs: number
  /** Closed until then; then one request may try. */
  openUntilMs: number | null
  probeUntilMs: number
}

/**
 * Circuit breakers of one thread's vendors: one that failed several times in a row is not asked by any
 * call for a while, then by a single request that decides. Keyed by what is asked (`language_model openai m`).
 */
export class CircuitBreakers {
  readonly #clock: Clock
  readonly #circuits = new Map<string, Circuit>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether to ask it now. True for one caller at a time while it is being tried again. */
  allows(key: string): boolean {
    const circuit = this.#circuits.get(key)
    if (circuit === undefined || circuit.openUntilMs === null) return true
    const now = this.#clock.now()
    if (now < circuit.openUntilMs || now < circuit.probeUntilMs) return false
    circuit.probeUntilMs = now + PROBE_MS
    return true
  }

  /** As `allows`, without taking the place of the one that tries. */
  isOpen(key: string): boolean {
    const until = this.#circuits.get(key)?.openUntilMs ?? null
    return until !== null && this.#clock.now() < until
  }

  succeeded(key: string): void {
    this.#circuits.delete(key)
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
      // What fails while it is left alone was begun before; only a probe's failure lengthens the rest.
      if (this.#clock.now() < circuit.openUntilMs) return
      circuit.cooldownMs = Math.min(circuit.cooldownMs * 2, LONGEST_REST_MS)
    } else if (circuit.failures < FAILURES) return
    circuit.openUntilMs = this.#clock.now() + circuit.cooldownMs
    circuit.probeUntilMs = 0
  }
}

const shared = new WeakMap<object, CircuitBreakers>()

/** Those that belong to a thread's vendors and go with them. */
export function circuitBreakersOf(vendors: object, clock: Clock): CircuitBreakers {
  let breakers = shared.get(vendors)
  if (!breakers) {
    breakers = new CircuitBreakers(clock)
    shared.set(vendors, breakers)
  }
  return breakers
}

export type VendorPart = 'speech_to_text' | 'text_to_speech' | 'language_model'

export function breakerKey(part: VendorPart, vendor: string, model: string | null): string {
  return `${part} ${vendor} ${model ?? ''}`
}
