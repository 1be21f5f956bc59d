import { execFileSync, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type Judgement, judgementOf } from './judged-time.js'

/** The idle process that runs beside every measurement, at the priority of the media threads. */
export interface Probe {
  /** Starts a measurement: what was before no longer counts. */
  begin(): Promise<void>
  /** Judges the time since then; the measurement goes on. */
  judge(): Promise<Judgement>
  /**
   * Runs a measurement whose own load fills all CPUs. The probe has real-time priority meanwhile, so that only the host
   * makes it late; waits of the load for itself count. Needs Linux and root; the priority stays as it is elsewhere.
   */
  atRealTime<T>(run: () => Promise<T>): Promise<T>
  close(): void
}

export function openProbe(): Probe {
  const child = fork(fileURLToPath(new URL('./idle-process.js', import.meta.url)), {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let last = Promise.resolve(new Float64Array(0))
  // One question at a time, so that the answers cannot change places.
  const ask = (question: 'begin' | 'wakes'): Promise<Float64Array<ArrayBuffer>> => {
    last = last.then(
      () =>
        new Promise((resolve, reject) => {
          const ended = (): void => reject(new Error('the probe of the host ended'))
          child.once('exit', ended)
          child.once('message', (answer: Float64Array<ArrayBuffer>) => {
            child.off('exit', ended)
            resolve(answer)
          })
          child.send(question, (error) => {
            if (error !== null) reject(error)
          })
        }),
    )
    return last
  }
  return {
    begin: async () => {
      await ask('begin')
    },
    judge: async () => {
      const times = await ask('wakes')
      return judgementOf(
        Array.from({ length: times.length / 2 }, (_, i) => ({
          dueMs: times[2 * i] ?? 0,
          lateMs: times[2 * i + 1] ?? 0,
        })),
      )
    },
    async atRealTime(run) {
      const pid = String(child.pid)
      if (process.platform !== 'linux' || process.getuid?.() !== 0) return run()
      execFileSync('chrt', ['--fifo', '--pid', '1', pid])
      try {
        return await run()
      } finally {
        execFileSync('chrt', ['--other', '--pid', '0', pid])
      }
    },
    close: () => child.disconnect(),
  }
}
