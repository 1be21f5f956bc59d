import type { Clock, Timer } from '../../media/base/clock.js'

/** A pure function of a state and an input; effects are data. */
export type Step<State, Input, Effect> = (
  state: State,
  input: Input,
) => { readonly next: State; readonly effects: readonly Effect[] }

/** Runs a pure step function. An input that arises while effects run waits until they are done. */
export class StepMachine<State, Input, Effect> {
  readonly #step: Step<State, Input, Effect>
  readonly #perform: (effect: Effect) => void
  readonly #failed: (effect: Effect, error: unknown) => void
  readonly #queue: Input[] = []
  #state: State
  #running = false

  /**
   * `failed` takes the errors of `perform`: inputs come from timers and sockets, which cannot catch them. The other
   * effects of the step are still performed.
   */
  constructor(
    state: State,
    step: Step<State, Input, Effect>,
    perform: (effect: Effect) => void,
    failed: (effect: Effect, error: unknown) => void,
  ) {
    this.#state = state
    this.#step = step
    this.#perform = perform
    this.#failed = failed
  }

  get state(): State {
    return this.#state
  }

  input(input: Input): void {
    this.#queue.push(input)
    if (this.#running) return
    this.#running = true
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const result = this.#step(this.#state, next)
        this.#state = result.next
        for (const effect of result.effects) this.#run(effect)
      }
    } finally {
      this.#running = false
    }
  }

  #run(effect: Effect): void {
    try {
      this.#perform(effect)
    } catch (error) {
      this.#failed(effect, error)
    }
  }
}

/** Timers by name; one that starts again begins anew. */
export class NamedTimers<Name extends string> {
  readonly #clock: Clock
  readonly #fired: (name: Name) => void
  readonly #timers = new Map<Name, Timer>()

  constructor(clock: Clock, fired: (name: Name) => void) {
    this.#clock = clock
    this.#fired = fired
  }

  start(name: Name, ms: number): void {
    this.cancel(name)
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(name)
      this.#fired(name)
    })
    this.#timers.set(name, timer)
  }

  cancel(name: Name): void {
    this.#timers.get(name)?.cancel()
    this.#timers.delete(name)
  }

  cancelAll(): void {
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }
}
