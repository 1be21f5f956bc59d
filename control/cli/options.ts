import { parseArgs } from 'node:util'
import { errorText } from '../../media/base/errors.js'

/** Wrong use of the command line. The message explains the correct use. Exit status 2. */
export class UsageError extends Error {}

type OptionSpecs = NonNullable<Parameters<typeof parseArgs>[0]>['options']

/** Parses options like `parseArgs`, but throws UsageError. */
export function parseOptions<T extends OptionSpecs>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true })
  } catch (error) {
    throw new UsageError(errorText(error))
  }
}

/** Returns the value if it is one of those allowed. Throws UsageError otherwise. */
export function oneOf<T extends string>(option: string, value: string | undefined, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw new UsageError(`${option} must be one of: ${allowed.join(', ')}`)
  return found
}

/**
 * Resolves on the first and the second SIGTERM or SIGINT. Create it before starting anything, so that no
 * signal is missed.
 */
export class Signals {
  readonly first: Promise<NodeJS.Signals>
  readonly second: Promise<NodeJS.Signals>
  readonly #take: (signal: NodeJS.Signals) => void

  constructor() {
    const waiting: ((signal: NodeJS.Signals) => void)[] = []
    this.first = new Promise((resolve) => waiting.push(resolve))
    this.second = new Promise((resolve) => waiting.push(resolve))
    this.#take = (signal) => waiting.shift()?.(signal)
    process.on('SIGTERM', this.#take)
    process.on('SIGINT', this.#take)
  }

  close(): void {
    process.off('SIGTERM', this.#take)
    process.off('SIGINT', this.#take)
  }
}
