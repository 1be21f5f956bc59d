import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { SipTraceStore } from '../../signalling/trace/sip-trace.js'

export interface SipTraceFilesOptions {
  readonly traces: SipTraceStore
  readonly folder: string
  /** How long a file is kept. */
  readonly hours: number
  readonly clock: Clock
  readonly log: Log
}

export interface SipTraceFiles {
  /** The call is over: its trace is written a last time and leaves memory. */
  callEnded(callId: string): void
  /** Writes what is not written yet. Idempotent. */
  close(): Promise<void>
}

/** How far a file may be behind; long enough for the answer to the last BYE. */
const DELAY_MS = 2_000
const PRUNE_MS = 3_600_000
const HOUR_MS = 3_600_000
/** However young they are: about 10 kB each. */
const MOST_FILES = 20_000

export function traceFolder(dataFolder: string): string {
  return join(dataFolder, 'traces')
}

/** Where the trace of a call is; null for what cannot be the id of one. */
export function tracePath(folder: string, callId: string): string | null {
  return /^[\w-]{1,64}$/.test(callId) ? join(folder, `${callId}.json`) : null
}

/** Keeps the traces of calls in files of the data folder, so that `parley trace` needs no running service. */
export async function openSipTraceFiles(options: SipTraceFilesOptions): Promise<SipTraceFiles> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 })
  const files = new Files(options)
  await files.prune()
  return files
}

class Files implements SipTraceFiles {
  readonly #options: SipTraceFilesOptions
  readonly #due = new Map<string, Timer>()
  readonly #over = new Set<string>()
  /** Files are written one after another. */
  #writing: Promise<void> = Promise.resolve()
  #pruning: Timer
  #closed = false

  constructor(options: SipTraceFilesOptions) {
    this.#options = options
    options.traces.onChange = (callId) => this.#schedule(callId)
    this.#pruning = this.#pruneLater()
  }

  callEnded(callId: string): void {
    if (this.#options.traces.get(callId) === null) return
    this.#over.add(callId)
    this.#due.get(callId)?.cancel()
    this.#due.delete(callId)
    this.#schedule(callId)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#options.traces.onChange = null
    this.#pruning.cancel()
    for (const [callId, timer] of this.#due) {
      timer.cancel()
      this.#write(callId)
    }
    this.#due.clear()
    await this.#writing
  }

  /** Removes what is too old, and the oldest of too many. */
  async prune(): Promise<void> {
    const { folder, hours, clock, log } = this.#options
    try {
      const files: { readonly path: string; readonly at: number }[] = []
      for (const name of await readdir(folder)) {
        const path = join(folder, name)
        files.push({ path, at: (await stat(path)).mtimeMs })
      }
      files.sort((a, b) => b.at - a.at)
      const oldest = clock.wall() - hours * HOUR_MS
      for (const [index, { path, at }] of files.entries()) {
        if (at < oldest || index >= MOST_FILES) await rm(path, { force: true })
      }
    } catch (error) {
      log.warn({ error: errorText(error) }, 'old SIP traces were not removed')
    }
  }

  #pruneLater(): Timer {
    return this.#options.clock.after(PRUNE_MS, () => {
      this.#writing = this.#writing.then(() => this.prune())
      if (!this.#closed) this.#pruning = this.#pruneLater()
    })
  }

  #schedule(callId: string): void {
    if (this.#closed || this.#due.has(callId)) return
    const timer = this.#options.clock.after(DELAY_MS, () => {
      this.#due.delete(callId)
      this.#write(callId)
    })
    this.#due.set(callId, timer)
  }

  #write(callId: string): void {
    const { traces, folder, log } = this.#options
    const trace = traces.get(callId)
    if (this.#over.delete(callId)) traces.forget(callId)
    const path = tracePath(folder, callId)
    if (trace === null || path === null) return
    this.#writing = this.#writing.then(async () => {
      try {
        // Whole or not at all for whoever reads it meanwhile.
        await writeFile(`${path}.part`, JSON.stringify(trace), { mode: 0o600 })
        await rename(`${path}.part`, path)
      } catch (error) {
        log.warn({ callId, error: errorText(error) }, 'the SIP trace of a call was not written')
      }
    })
  }
}
