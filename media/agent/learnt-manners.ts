/** The manner of requests that a model takes. Plain data, so that it passes between threads. */
export interface ModelManner {
  readonly key: string
  /** Undefined if the manner is no longer known. */
  readonly manner: unknown
}

/** The manners of the models of one vendor, by the name of the model. */
export interface MannersOf<Manner> {
  get(model: string): Manner | undefined
  set(model: string, manner: Manner): void
  /** Removes a manner that turned out to be wrong. */
  forget(model: string): void
}

/**
 * Remembers for the life of the process how requests have to look so that a model takes them. Adapters learn it from
 * refusals, and each refusal costs a caller a round trip. A vendor id stands for one host and one shape of `manner`.
 */
export class LearntManners {
  readonly #manners = new Map<string, unknown>()
  readonly #learnt: (manner: ModelManner) => void

  /** Reports every new manner to `learnt`, but not those that `adopt` adds. */
  constructor(learnt: (manner: ModelManner) => void = () => {}) {
    this.#learnt = learnt
  }

  /** Takes over what another thread learnt. */
  adopt({ key, manner }: ModelManner): void {
    if (manner === undefined) this.#manners.delete(key)
    else this.#manners.set(key, manner)
  }

  /** Returns the manners of a vendor's models. `Manner` is the shape that this vendor's adapter sets. */
  of<Manner>(vendor: string): MannersOf<Manner> {
    const keyOf = (model: string) => `${vendor} ${model}`
    const learn = (model: string, manner: Manner | undefined): void => {
      const learnt = { key: keyOf(model), manner }
      this.adopt(learnt)
      this.#learnt(learnt)
    }
    return {
      get: (model) => this.#manners.get(keyOf(model)) as Manner | undefined,
      set: learn,
      forget: (model) => learn(model, undefined),
    }
  }
}
