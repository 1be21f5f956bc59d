import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { percentile, rounded } from './statistics.js'

/** Above this the host itself is late and says nothing about the engine. */
export const NULL_LIMIT_MS = 5

/** The idle process beside every run. */
export interface Probe {
  /** p99.9 of its lateness since it was asked before, in ms. */
  take(): Promise<number>
  close(): void
}

export function openProbe(): Probe {
  const child = fork(fileURLToPath(new URL('./null-probe.js', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return {
    take: () =>
      new Promise((resolve, reject) => {
        child.once('message', (late: number[]) => resolve(rounded(percentile(late, 0.999))))
        child.send('take', (error) => {
          if (error !== null) reject(error)
        })
      }),
    close: () => child.disconnect(),
  }
}
