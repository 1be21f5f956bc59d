import { breakerKey, type CircuitBreakers } from '../circuit-breaker.js'
import type { TurnId } from '../conversation-events.js'
import type { LanguageModel } from '../vendor-ports.js'

/** A model of a vendor. */
export interface ModelChoice {
  readonly vendor: LanguageModel
  readonly model: string
  /** Tokens of a prompt and its answer together; absent: what is usual. */
  readonly windowTokens?: number
}

/** After a quick failure the same model is asked once more. */
const TRIES = 2

/**
 * Which model answers: the agent's own, and those that stand in for it while nothing was spoken. One that
 * was waited for in vain, or refused, is not asked again for the same reply; one that failed on other
 * replies just now is not waited for at all.
 */
export class ModelChain {
  readonly #choices: readonly [ModelChoice, ...ModelChoice[]]
  readonly #breakers: CircuitBreakers
  #turn: TurnId | null = null
  /** Failures of each for this reply; `TRIES` and more leave it out. */
  readonly #failures = new Map<ModelChoice, number>()
  #current: ModelChoice

  readonly #passedOver: (who: { readonly vendor: string; readonly instead: string }) => void
  #reported = false

  /** `passedOver`: the agent's own model is not asked, because of what happened before; told once. */
  constructor(
    choices: readonly [ModelChoice, ...ModelChoice[]],
    breakers: CircuitBreakers,
    passedOver: (who: { readonly vendor: string; readonly instead: string }) => void,
  ) {
    this.#passedOver = passedOver
    this.#choices = choices
    this.#breakers = breakers
    this.#current = choices[0]
  }

  /** Of the agent's own. */
  get firstTokenDeadlineMs(): number {
    return this.#choices[0].vendor.firstTokenDeadlineMs
  }

  /** Name of the agent's own. */
  get first(): string {
    return nameOf(this.#choices[0])
  }

  get size(): number {
    return this.#choices.length
  }

  /** Whom to ask for this reply. */
  next(turn: TurnId): ModelChoice {
    if (turn !== this.#turn) this.#failures.clear()
    this.#turn = turn
    const left = this.#available()
    this.#current = left.find((choice) => this.#breakers.allows(keyOf(choice))) ?? left[0] ?? this.#choices[0]
    const [own] = this.#choices
    // What failed for this very reply was told when it did.
    if (this.#current !== own && !this.#failures.has(own) && !this.#reported) {
      this.#reported = true
      this.#passedOver({ vendor: nameOf(own), instead: nameOf(this.#current) })
    }
    return this.#current
  }

  /** The reply is given by one that was asked before there was a reply. */
  adopted(turn: TurnId, by: ModelChoice): void {
    this.#failures.clear()
    this.#turn = turn
    this.#current = by
  }

  /** The one that was asked has answered. */
  answered(): void {
    this.#breakers.succeeded(keyOf(this.#current))
  }

  /**
   * The one that was asked failed; `again`: the reply is asked for once more. Returns who it was, and who is
   * asked instead when that is another.
   */
  failed(code: string, again: boolean): { readonly vendor: string; readonly instead: string | null } {
    const asked = this.#current
    const stalled = code === 'vendor_stalled'
    // An answer that breaks off costs the caller as much as one that does not come.
    this.#breakers.failed(keyOf(asked), stalled || !again)
    const hopeless = stalled || code === 'vendor_rejected'
    this.#failures.set(asked, (this.#failures.get(asked) ?? 0) + (hopeless ? TRIES : 1))
    const left = this.#available()
    const next = left.find((choice) => !this.#breakers.isOpen(keyOf(choice))) ?? left[0] ?? asked
    return { vendor: nameOf(asked), instead: again && next !== asked ? nameOf(next) : null }
  }

  /** Who was not given up for this reply; everybody when all were. */
  #available(): readonly ModelChoice[] {
    const left = this.#choices.filter((choice) => (this.#failures.get(choice) ?? 0) < TRIES)
    return left.length > 0 ? left : this.#choices
  }
}

/** Models of one vendor can stand in for each other. */
function nameOf({ vendor, model }: ModelChoice): string {
  return `${vendor.id} ${model}`
}

function keyOf({ vendor, model }: ModelChoice): string {
  return breakerKey('language_model', vendor.id, model)
}
