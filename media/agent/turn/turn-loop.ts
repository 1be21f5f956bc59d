import type { Clock } from '../../base/clock.js'
import { initialTurnState, step } from './turn-machine.js'
import type { TurnPolicy } from './turn-policy.js'
import { TurnTimers } from './turn-timers.js'
import type { Phase, TurnEffect, TurnInput, TurnState } from './turn-types.js'

export interface TurnLoopOptions {
  readonly clock: Clock
  readonly policy: TurnPolicy
  run(effect: TurnEffect): void
  /** Once; without it the error is thrown where it happened. */
  readonly onFault: ((error: unknown) => void) | undefined
}

/** Runs the turn machine of one conversation: its state, its timers and the session's time. */
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

  /** Session time 0 is now. */
  begin(): void {
    this.#startedAtMs = this.#clock.now()
  }

  /** What the vendors turned out to declare when they were opened. */
  setPolicy(policy: TurnPolicy): void {
    this.#policy = policy
  }

  /**
   * Session time counts from the first beat, which comes up to 20 ms after the start. Beats may be late and
   * are never early: the most punctual one so far tells when the first one was due. Until then the session
   * would be behind its own packets for the whole call, by what a busy host made its first beat late.
   */
  tick(atMs: number): void {
    if (this.#startedAtMs === null) return
    const zeroMs = this.#clock.now() - atMs
    if (this.#ticked && zeroMs >= this.#startedAtMs) return
    this.#ticked = true
    this.#startedAtMs = zeroMs
  }

  /** An effect may bring the next input before the last one is done: inputs wait their turn. */
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

  /** The machine and the shell no longer agree: nothing more is done, and the owner closes the call. */
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
