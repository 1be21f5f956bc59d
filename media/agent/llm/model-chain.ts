import { breakerKey, type CircuitBreakers } from '../circuit-breaker.js'
import type { TurnId } from '../conversation-events.js'
import type { PendingWait } from '../learnt-deadlines.js'
import type { LanguageModel } from '../vendor-ports.js'

/** A model of a vendor. */
export interface ModelChoice {
  readonly vendor: LanguageModel
  readonly model: string
  /** Context window: tokens of a prompt and its answer. Absent means the default. */
  readonly windowTokens?: number
}

/** Bounds of the learnt wait (ms) for a first token. The agent says that it needs a moment meanwhile. */
const LEAST_WAIT_MS = 1000
const MOST_WAIT_MS = 6000

/** A quickly failed model is asked once more. */
const TRIES = 2

/**
 * Chooses the model for a reply: the agent's own, then its fallbacks while nothing was spoken. A model that
 * timed out or rejected the request is not asked again for the same reply. A model with an open circuit is
 * skipped.
 */
export class ModelChain {
  readonly #choices: readonly [ModelChoice, ...ModelChoice[]]
  readonly #breakers: CircuitBreakers
  #turn: TurnId | null = null
  /** Failures per model for this reply. `TRIES` failures exclude a model. */
  readonly #failures = new Map<ModelChoice, number>()
  #current: ModelChoice
  /** The request whose first token is pending. */
  #wait: PendingWait | null = null

  readonly #passedOver: (models: { readonly vendor: string; readonly instead: string }) => void
  #reported = false

  /** `passedOver` reports, once, that the agent's own model is skipped because of earlier failures. */
  constructor(
    choices: readonly [ModelChoice, ...ModelChoice[]],
    breakers: CircuitBreakers,
    passedOver: (models: { readonly vendor: string; readonly instead: string }) => void,
  ) {
    this.#passedOver = passedOver
    this.#choices = choices
    this.#breakers = breakers
    this.#current = choices[0]
  }

  /** First-token deadline (ms) of the agent's own model. */
  get firstTokenDeadlineMs(): number {
    const [own] = this.#choices
    const { firstTokenDeadlineMs: usualMs, deadlineSet } = own.vendor
    if (deadlineSet) return usualMs
    const bounds = { leastMs: Math.min(usualMs, LEAST_WAIT_MS), usualMs, mostMs: MOST_WAIT_MS }
    return this.#breakers.deadlines.of(keyOf(own), bounds)
  }

  /** Name of the agent's own model. */
  get first(): string {
    return nameOf(this.#choices[0])
  }

  get size(): number {
    return this.#choices.length
  }

  /** Returns the model to ask for this reply. */
  next(turn: TurnId): ModelChoice {
    if (turn !== this.#turn) this.#failures.clear()
    this.#turn = turn
    const left = this.#available()
    this.#current = left.find((choice) => this.#breakers.allows(keyOf(choice))) ?? left[0] ?? this.#choices[0]
    const [own] = this.#choices
    // Failures of this reply were reported when they occurred.
    if (this.#current !== own && !this.#failures.has(own) && !this.#reported) {
      this.#reported = true
      this.#passedOver({ vendor: nameOf(own), instead: nameOf(this.#current) })
    }
    this.#wait = this.#breakers.deadlines.begin(keyOf(this.#current))
    return this.#current
  }

  /** Assigns a speculative answer of `by` to the reply. */
  adopted(turn: TurnId, by: ModelChoice): void {
    this.#failures.clear()
    this.#turn = turn
    this.#current = by
  }

  /** Records that the current model began to answer, or works on it. */
  began(): void {
    this.#wait?.answered()
    this.#wait = null
  }

  /** Records a success of the current model. */
  answered(): void {
    this.#breakers.succeeded(keyOf(this.#current))
  }

  /**
   * Records a failure of the current model. Returns its name and, when the reply is asked for `again`, the
   * name of a different replacement.
   */
  failed(code: string, again: boolean): { readonly vendor: string; readonly instead: string | null } {
    const asked = this.#current
    const stalled = code === 'vendor_stalled'
    if (stalled) this.#wait?.timedOut()
    this.#wait = null
    // An answer that breaks off costs the caller as much as a missing one.
    this.#breakers.failed(keyOf(asked), stalled || !again)
    const hopeless = stalled || code === 'vendor_rejected'
    this.#failures.set(asked, (this.#failures.get(asked) ?? 0) + (hopeless ? TRIES : 1))
    const left = this.#available()
    const next = left.find((choice) => !this.#breakers.isOpen(keyOf(choice))) ?? left[0] ?? asked
    return { vendor: nameOf(asked), instead: again && next !== asked ? nameOf(next) : null }
  }

  /** Returns the models that are left for this reply, or all when none are. */
  #available(): readonly ModelChoice[] {
    const left = this.#choices.filter((choice) => (this.#failures.get(choice) ?? 0) < TRIES)
    return left.length > 0 ? left : this.#choices
  }
}

/** Includes the model because models of one vendor can replace each other. */
function nameOf({ vendor, model }: ModelChoice): string {
  return `${vendor.id} ${model}`
}

function keyOf({ vendor, model }: ModelChoice): string {
  return breakerKey('language_model', vendor.id, model)
}
