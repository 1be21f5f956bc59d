/** Uses of a text after which it has a name: the texts of statements with lists of any length come rarely. */
const NAMED_AFTER = 5
/** Statements with a name. Each connection of the server keeps them. */
const MOST_NAMES = 500
/** Texts whose uses are counted. */
const MOST_COUNTED = 2_000
/** Longest statement with a name (characters). Longer ones write many rows at once. */
const LONGEST = 8_000

/**
 * Names the statements that are used often, so that each connection to PostgreSQL parses them once and plans them a few
 * times: planning takes as long as running a short statement.
 */
export class NamedStatements {
  readonly #names = new Map<string, string | null>()
  readonly #uses = new Map<string, number>()

  /** Counts a use. Returns the name of the statement, or undefined if it has none. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined) return known ?? undefined
    if (text.length > LONGEST || this.#names.size >= MOST_NAMES) return undefined
    const uses = (this.#uses.get(text) ?? 0) + 1
    if (uses < NAMED_AFTER) {
      this.#uses.set(text, uses)
      const [oldest] = this.#uses.size > MOST_COUNTED ? this.#uses.keys() : []
      if (oldest !== undefined) this.#uses.delete(oldest)
      return undefined
    }
    this.#uses.delete(text)
    const name = `parley_${this.#names.size + 1}`
    this.#names.set(text, name)
    return name
  }

  /** Takes the name from a statement for ever. */
  unname(text: string): void {
    this.#names.set(text, null)
  }
}

/**
 * Returns whether the server refuses a statement with a name because a migration of a newer version changed the columns
 * of its result. The same statement without its name is accepted.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === '0A000' &&
    error.message.includes('cached plan must not change result type')
  )
}
