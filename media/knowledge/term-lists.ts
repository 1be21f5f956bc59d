/** One thing that is asked for. */
export interface Concept {
  /** Terms that stand for it, and how certain each is (0 to 1). */
  readonly terms: readonly (readonly [term: string, certainty: number])[]
  readonly weight: number
  /** True if a passage without it may cover the whole question. */
  readonly optional: boolean
}

/** Passages that one list of terms finds. */
export interface RankedTerms {
  /** The best first. */
  readonly ids: readonly number[]
  /** Returns the share of the question that a passage covers, 0 to 1. */
  shareOf(id: number): number
}

/** The terms of all passages, as stored. */
export interface StoredTerms {
  /** Names of the fields. */
  readonly fields: readonly string[]
  /** For each field, how many different terms each passage has. */
  readonly lengths: readonly (readonly number[])[]
  /** Each term with, for each field, pairs of a passage and how often it has the term. Null in a field without it. */
  readonly terms: readonly (readonly [term: string, pairs: readonly (readonly number[] | null)[]])[]
}

/** Collects the terms of passages. */
export class TermWriter {
  readonly #fields: readonly string[]
  readonly #lengths: number[][]
  readonly #terms = new Map<string, (number[] | null)[]>()

  constructor(fields: readonly string[]) {
    this.#fields = fields
    this.#lengths = fields.map(() => [])
  }

  /** Adds the next passage with the terms of its fields. */
  add(termsOf: Readonly<Record<string, readonly string[]>>): void {
    const id = this.#lengths[0]?.length ?? 0
    for (const [field, name] of this.#fields.entries()) {
      const times = new Map<string, number>()
      for (const term of termsOf[name] ?? []) times.set(term, (times.get(term) ?? 0) + 1)
      this.#lengths[field]?.push(times.size)
      for (const [term, count] of times) this.#pairs(term, field).push(id, count)
    }
  }

  #pairs(term: string, field: number): number[] {
    let byField = this.#terms.get(term)
    if (byField === undefined) {
      byField = this.#fields.map(() => null)
      this.#terms.set(term, byField)
    }
    const pairs = byField[field] ?? []
    byField[field] = pairs
    return pairs
  }

  /** Returns what was added. */
  stored(): StoredTerms {
    return { fields: this.#fields, lengths: this.#lengths, terms: [...this.#terms] }
  }
}

/** Parameters of BM25+ (Lv and Zhai, CIKM 2011). */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.7
const LEAST = 0.5

/**
 * The terms of an index, laid out for searches: the passages of each term and field are a part of one array, and scores are
 * summed in arrays by passage.
 */
export class TermLists {
  readonly #fields: Readonly<Record<string, number>>
  readonly #count: number
  /** Pairs of a passage and how often it has the term. */
  readonly #postings: Uint32Array
  /** For each term, the begin and the end of its pairs for each field. */
  readonly #places = new Map<string, readonly number[]>()
  /** For each field, the part of a score's divisor that depends on the length of the passage. */
  readonly #lengths: readonly Float64Array[]

  constructor({ fields, lengths, terms }: StoredTerms) {
    this.#fields = Object.fromEntries(fields.map((name, field) => [name, field]))
    this.#count = lengths[0]?.length ?? 0
    let size = 0
    for (const [, byField] of terms) for (const pairs of byField) size += pairs?.length ?? 0
    this.#postings = new Uint32Array(size)
    let end = 0
    for (const [term, byField] of terms) {
      const places: number[] = []
      for (const pairs of byField) {
        places.push(end)
        for (const number of pairs ?? []) this.#postings[end++] = number
        places.push(end)
      }
      this.#places.set(term, places)
    }
    this.#lengths = lengths.map((ofField) => {
      const average = ofField.reduce((sum, length) => sum + length, 0) / Math.max(1, ofField.length) || 1
      return Float64Array.from(ofField, (length) => {
        return SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / average)
      })
    })
  }

  /** Tells whether a passage has the term in one of the fields. */
  has(term: string, fields: readonly string[]): boolean {
    const places = this.#places.get(term)
    return places !== undefined && fields.some((field) => this.#isIn(places, field))
  }

  /** Returns the terms of a field. */
  termsOf(field: string): string[] {
    return [...this.#places].flatMap(([term, places]) => (this.#isIn(places, field) ? [term] : []))
  }

  #isIn(places: readonly number[], field: string): boolean {
    const at = 2 * (this.#fields[field] ?? Number.NaN)
    return (places[at + 1] ?? 0) > (places[at] ?? 0)
  }

  /**
   * Ranks passages by BM25+ over the fields, times the number of concepts that they have. The share of a passage is the
   * information (inverse document frequency) of its concepts, of that of all.
   */
  rank(concepts: readonly Concept[], boosts: Readonly<Record<string, number>>, limit: number): RankedTerms {
    const scores = new Float64Array(this.#count)
    const covered = new Float64Array(this.#count)
    const matched = new Uint16Array(this.#count)
    const certainties = new Float64Array(this.#count)
    const reached: number[] = []
    let total = 0
    for (const { terms, weight, optional } of concepts) {
      const having: number[] = []
      for (const [term, certainty] of terms) {
        const places = this.#places.get(term)
        if (places === undefined) continue
        for (const [name, boost] of Object.entries(boosts)) {
          const field = this.#fields[name] ?? Number.NaN
          const [begin = 0, end = 0] = [places[2 * field], places[2 * field + 1]]
          const lengths = this.#lengths[field]
          if (lengths === undefined || begin === end) continue
          const factor = weight * certainty * boost * information(this.#count, (end - begin) / 2)
          for (let at = begin; at < end; at += 2) {
            const id = this.#postings[at] ?? 0
            const times = this.#postings[at + 1] ?? 0
            const gain = (times * (SATURATION + 1)) / (times + (lengths[id] ?? 1))
            scores[id] = (scores[id] ?? 0) + factor * (LEAST + gain)
            const before = certainties[id] ?? 0
            if (before === 0) having.push(id)
            if (certainty > before) certainties[id] = certainty
          }
        }
      }
      const worth = weight * information(this.#count, having.length)
      if (!optional) total += worth
      for (const id of having) {
        covered[id] = (covered[id] ?? 0) + worth * (certainties[id] ?? 0)
        certainties[id] = 0
        if (matched[id] === 0) reached.push(id)
        matched[id] = (matched[id] ?? 0) + 1
      }
    }
    for (const id of reached) scores[id] = (scores[id] ?? 0) * (matched[id] ?? 0)
    const shareOf = (id: number): number => (total === 0 ? 0 : Math.min(1, (covered[id] ?? 0) / total))
    return { ids: best(reached, scores, limit), shareOf }
  }
}

function information(count: number, having: number): number {
  return Math.log(1 + (count - having + 0.5) / (having + 0.5))
}

/** Returns the passages with the highest scores, the best first. Of equals the first comes first. */
function best(ids: readonly number[], scores: Float64Array, limit: number): number[] {
  const top: number[] = []
  for (const id of ids) {
    const score = scores[id] ?? 0
    let at = top.length
    for (; at > 0; at--) {
      const other = top[at - 1] ?? 0
      const difference = score - (scores[other] ?? 0)
      if (difference < 0 || (difference === 0 && other < id)) break
    }
    if (at === limit) continue
    top.splice(at, 0, id)
    if (top.length > limit) top.pop()
  }
  return top
}
