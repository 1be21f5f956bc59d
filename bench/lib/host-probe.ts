import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { maximum, percentile, rounded } from './statistics.js'

/** Above this the host itself is late and the run says nothing about the engine. */
export const NULL_LIMIT_MS = 5

/** The idle process that runs beside every measurement. */
export interface Probe {
  /** Returns p99.9 of its lateness since the last query (ms). */
  take(): Promise<number>
  /** The worst lateness of the last query: how long the whole host stood still. */
  readonly worstMs: number
  close(): void
}

export function openProbe(): Probe {
  const child = fork(fileURLToPath(new URL('./idle-process.js', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let worstMs = 0
  return {
    get worstMs() {
      return worstMs
    },
    take: () =>
      new Promise((resolve, reject) => {
        child.once('message', (late: number[]) => {
          worstMs = rounded(maximum(late))
          resolve(rounded(percentile(late, 0.999)))
        })
        child.send('take', (error) => {
          if (error !== null) reject(error)
        })
      }),
    close: () => child.disconnect(),
  }
}
