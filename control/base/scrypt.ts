import { scrypt } from 'node:crypto'
import { EngineError } from '../../media/base/errors.js'

/** Cost parameters of scrypt. */
export interface ScryptCost {
  readonly N: number
  readonly r: number
  readonly p: number
  readonly maxmem: number
}

/**
 * Runs at most `running` jobs at once and queues at most `waiting` more in order of arrival. `run` throws
 * EngineError `overloaded` when the queue is full.
 */
export class ConcurrencyLimiter {
  readonly #running: number
  readonly #waiting: number
  readonly #queue = new Set<() => void>()
  #busy = 0

  constructor(running: number, waiting: number) {
    this.#running = running
    this.#waiting = waiting
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#busy >= this.#running) {
      if (this.#queue.size >= this.#waiting) {
        throw new EngineError('overloaded', 'too many passwords at once', { retryable: true })
      }
      await new Promise<void>((resolve) => this.#queue.add(resolve))
    } else this.#busy++
    try {
      return await job()
    } finally {
      const [next] = this.#queue
      // The slot passes directly to the next job, so that a new job cannot overtake it.
      if (next === undefined) this.#busy--
      else {
        this.#queue.delete(next)
        next()
      }
    }
  }
}

/** Why a key is derived: to check a password, or to store a new one. */
export type Derivation = 'sign_in' | 'new_password'

/*
 * Node's thread pool has few threads for the whole process, and recordings are written through it. Two
 * derivations at a time leave it room, however many people sign in. New passwords have a queue of their own,
 * so that requests with new passwords cannot keep people from signing in.
 */
const QUEUES: Readonly<Record<Derivation, ConcurrencyLimiter>> = {
  sign_in: new ConcurrencyLimiter(1, 64),
  new_password: new ConcurrencyLimiter(1, 64),
}

/** Derives a key of `bytes` bytes from a password with scrypt (RFC 7914), off the main thread. */
export function deriveKey(
  use: Derivation,
  password: string,
  salt: Buffer,
  bytes: number,
  cost: ScryptCost,
): Promise<Buffer> {
  return QUEUES[use].run(
    () =>
      new Promise((resolve, reject) => {
        scrypt(password.normalize('NFKC'), salt, bytes, cost, (error, key) =>
          error === null ? resolve(key) : reject(error),
        )
      }),
  )
}
