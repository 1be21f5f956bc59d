import type { Clock } from '../../base/clock.js'
import { initialTurnState, step } from './turn-machine.js'
import type { TurnPolicy } from './turn-policy.js'
import { TurnTimers } from './turn-timers.js'
import type { Phase, TurnEffect, TurnInput, TurnState } from './turn-types.js'

export interface TurnLoopOptions {
  readonly clock: Clock
  readonly policy: TurnPolicy
  run(effect: TurnEffect): void
  /** Called once. Without it the error is thrown at its origin. */
  readonly onFault: ((error: unknown) => void) | undefined
}

/** Runs the turn machine of one conversation: its state, its timers and session time. */
export class TurnLoop {
  readonly #clock: Clock
  readonly #run: (effect: TurnEffect) => void
  readonly #onFault: ((error: unknown) => void) | undefined
  readonly #timers: TurnTimers
  readonly #inputs: TurnInput[] = []
  #policy: TurnPolicy
  #state: TurnState = initialTurnState
  #stepping = false
  #faulty = false
  #startedAtMs: number | null = null
  #ticked = false

  constructor({ clock, policy, run, onFault }: TurnLoopOptions) {
    this.#clock = clock
    this.#policy = policy
    this.#run = run
    this.#onFault = onFault
    this.#timers = new TurnTimers(clock, (turn, name) =>
      this.feed({ type: 'timer', turn, name, atMs: this.now() }),
    )
  }

  get started(): boolean {
    return this.#startedAtMs !== null
  }

  get phase(): Phase {
    return this.#state.phase
  }

  get callerStartMs(): number | null {
    return this.#state.caller?.startMs ?? null
  }

  get policy(): TurnPolicy {
    return this.#policy
  }

  /** The reply's first sample was sent. */
  get audible(): boolean {
    return this.#state.reply?.audible ?? false
  }

  get faulty(): boolean {
    return this.#faulty
  }

  get timers(): TurnTimers {
    return this.#timers
  }

  now(): number {
    return this.#startedAtMs === null ? 0 : this.#clock.now() - this.#startedAtMs
  }

  /** Sets session time 0 to now. */
  begin(): void {
    this.#startedAtMs = this.#clock.now()
  }

  /** Sets the policy after the vendors were opened or changed. */
  setPolicy(policy: TurnPolicy): void {
    this.#policy = policy
  }

  /**
   * Adjusts session time to the frame clock. Its first tick arrives up to 20 ms after the start. Ticks may be
   * late but never early, so the most punctual tick so far defines time 0. Without this, a late first tick
   * would shift session time against the packets for the whole call.
   */
  tick(atMs: number): void {
    if (this.#startedAtMs === null) return
    const zeroMs = this.#clock.now() - atMs
    if (this.#ticked && zeroMs >= this.#startedAtMs) return
    this.#ticked = true
    this.#startedAtMs = zeroMs
  }

  /** Queues an input. An effect may feed the next input before the current one is done. */
  feed(input: TurnInput): void {
    this.#inputs.push(input)
    if (this.#stepping) return
    this.#stepping = true
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
        const { next: state, effects } = step(this.#state, next, this.#policy)
        this.#state = state
        for (const effect of effects) this.#run(effect)
      }
    } catch (error) {
      this.failed(error)
    } finally {
      this.#stepping = false
    }
  }

  /** Stops after an internal error. The owner closes the call. */
  failed(error: unknown): void {
    this.#inputs.length = 0
    this.#state = { ...this.#state, phase: 'ended' }
    this.#timers.cancelAll()
    const before = this.#faulty
    this.#faulty = true
    if (this.#onFault === undefined) throw error
    if (!before) this.#onFault(error)
  }
}
