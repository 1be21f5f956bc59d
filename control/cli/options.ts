import { parseArgs } from 'node:util'
import { errorText } from '../../media/base/errors.js'

/** Wrong use of the command line: the message says what would be right. Exit status 2. */
export class UsageError extends Error {}

type OptionSpecs = NonNullable<Parameters<typeof parseArgs>[0]>['options']

/** `parseArgs` whose complaints are usage errors. */
export function parseOptions<T extends OptionSpecs>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true })
  } catch (error) {
    throw new UsageError(errorText(error))
  }
}

/** The value as one of those allowed. */
export function oneOf<T extends string>(option: string, value: string | undefined, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw new UsageError(`${option} must be one of: ${allowed.join(', ')}`)
  return found
}

/** SIGTERM and SIGINT, counted. Open it before anything starts, so that none is lost. */
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
