import type { Clock } from '../../base/clock.js'
import type { ConversationEvent } from '../conversation-events.js'
import type { CallLanguage } from '../language/call-language.js'
import type { TurnContext } from './turn-context.js'
import { initialTurnState, step } from './turn-machine.js'
import type { TurnPolicy } from './turn-policy.js'
import { TurnTimers } from './turn-timers.js'
import type { Phase, TurnEffect, TurnInput, TurnState } from './turn-types.js'

export interface TurnLoopOptions {
  readonly clock: Clock
  readonly language: CallLanguage
  emit(event: ConversationEvent): void
  /** Called once. Without it the error is thrown at its origin. */
  readonly onFault: ((error: unknown) => void) | undefined
}

/** The conversation as the loop sees it. */
export interface TurnShell {
  run(effect: TurnEffect): void
  policy(): TurnPolicy
}

/**
 * Runs the turn machine of one conversation: its input queue, state, timers and session time. The parts of the
 * conversation feed the queue and only the loop consumes it.
 */
export class TurnLoop implements TurnContext {
  readonly language: CallLanguage
  readonly timers: TurnTimers
  readonly #clock: Clock
  readonly #emit: (event: ConversationEvent) => void
  readonly #onFault: ((error: unknown) => void) | undefined
  readonly #inputs: TurnInput[] = []
  #shell: TurnShell | null = null
  #policy: TurnPolicy | null = null
  #state: TurnState = initialTurnState
  #stepping = false
  #faulty = false
  #startedAtMs: number | null = null
  #ticked = false

  constructor({ clock, language, emit, onFault }: TurnLoopOptions) {
    this.language = language
    this.#clock = clock
    this.#emit = emit
    this.#onFault = onFault
    this.timers = new TurnTimers(clock, (turn, name) =>
      this.feed({ type: 'timer', turn, name, atMs: this.now() }),
    )
  }

  /** Connects the conversation when all of its parts exist. Inputs are not allowed before. */
  attach(shell: TurnShell): void {
    this.#shell = shell
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
    this.#policy ??= this.#attached().policy()
    return this.#policy
  }

  get audible(): boolean {
    return this.#state.reply?.audible ?? false
  }

  get faulty(): boolean {
    return this.#faulty
  }

  now(): number {
    return this.#startedAtMs === null ? 0 : this.#clock.now() - this.#startedAtMs
  }

  /** Sets the session time (ms) to `atMs`. */
  begin(atMs = 0): void {
    this.#startedAtMs = this.#clock.now() - atMs
  }

  policyChanged(): void {
    this.#policy = null
  }

  emit(event: ConversationEvent): void {
    this.#emit(event)
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

  feed(input: TurnInput): void {
    this.#inputs.push(input)
    if (this.#stepping) return
    const shell = this.#attached()
    this.#stepping = true
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
        const { next: state, effects } = step(this.#state, next, this.policy)
        this.#state = state
        for (const effect of effects) shell.run(effect)
      }
    } catch (error) {
      this.failed(error)
    } finally {
      this.#stepping = false
    }
  }

  failed(error: unknown): void {
    this.#inputs.length = 0
    this.#state = { ...this.#state, phase: 'ended' }
    this.timers.cancelAll()
    const before = this.#faulty
    this.#faulty = true
    if (this.#onFault === undefined) throw error
    if (!before) this.#onFault(error)
  }
  #attached(): TurnShell {
    if (this.#shell === null) throw new Error('the conversation is not complete')
    return this.#shell
  }
}
