import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { SipTraceStore } from '../../signalling/trace/sip-trace.js'

export interface SipTraceFilesOptions {
  readonly traces: SipTraceStore
  readonly folder: string
  /** Retention of a file (h). */
  readonly hours: number
  readonly clock: Clock
  readonly log: Log
}

/** Delay before a changed trace is written (ms), long enough to include the response to the last BYE. */
const DELAY_MS = 2_000
const PRUNE_MS = 3_600_000
const HOUR_MS = 3_600_000
/** Maximum number of files, about 10 kB each. Older ones are removed. */
const MAX_FILES = 20_000

export function traceFolder(dataFolder: string): string {
  return join(dataFolder, 'traces')
}

/** Returns the path of the trace of a call, or null if `callId` is not a valid id. */
export function tracePath(folder: string, callId: string): string | null {
  return /^[\w-]{1,64}$/.test(callId) ? join(folder, `${callId}.json`) : null
}

/** Writes the traces of calls to the data folder, so that `parley trace` works without a running service. */
export async function openSipTraceFiles(options: SipTraceFilesOptions): Promise<SipTraceFiles> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 })
  const files = new SipTraceFiles(options)
  await files.prune()
  return files
}

/** The traces of running calls, which are written to files some time after each change. */
class SipTraceFiles {
  readonly #options: SipTraceFilesOptions
  readonly #timers = new Map<string, Timer>()
  readonly #ended = new Set<string>()
  /** Files are written one after another. */
  #writing: Promise<void> = Promise.resolve()
  #pruning: Timer
  #closed = false

  constructor(options: SipTraceFilesOptions) {
    this.#options = options
    options.traces.onChange = (callId) => this.#schedule(callId)
    this.#pruning = this.#pruneLater()
  }

  /** Writes the trace of an ended call a last time and removes it from memory. */
  callEnded(callId: string): void {
    if (this.#options.traces.get(callId) === null) return
    this.#ended.add(callId)
    this.#timers.get(callId)?.cancel()
    this.#timers.delete(callId)
    this.#schedule(callId)
  }

  /** Writes all pending traces. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    this.#options.traces.onChange = null
    this.#pruning.cancel()
    for (const [callId, timer] of this.#timers) {
      timer.cancel()
      this.#write(callId)
    }
    this.#timers.clear()
    await this.#writing
  }

  /** Removes files that are too old, and the oldest ones if there are too many. */
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
        if (at < oldest || index >= MAX_FILES) await rm(path, { force: true })
      }
    } catch (error) {
      log.warn({ error: errorText(error) }, 'sip_trace.prune_failed')
    }
  }

  #pruneLater(): Timer {
    return this.#options.clock.after(PRUNE_MS, () => {
      this.#writing = this.#writing.then(() => this.prune())
      if (!this.#closed) this.#pruning = this.#pruneLater()
    })
  }

  #schedule(callId: string): void {
    if (this.#closed || this.#timers.has(callId)) return
    const timer = this.#options.clock.after(DELAY_MS, () => {
      this.#timers.delete(callId)
      this.#write(callId)
    })
    this.#timers.set(callId, timer)
  }

  #write(callId: string): void {
    const { traces, folder, log } = this.#options
    const trace = traces.get(callId)
    if (this.#ended.delete(callId)) traces.forget(callId)
    const path = tracePath(folder, callId)
    if (trace === null || path === null) return
    this.#writing = this.#writing.then(async () => {
      try {
        // Written to a temporary file and renamed, so that readers never see a partial file.
        await writeFile(`${path}.part`, JSON.stringify(trace), { mode: 0o600 })
        await rename(`${path}.part`, path)
      } catch (error) {
        log.warn({ callId, error: errorText(error) }, 'sip_trace.write_failed')
      }
    })
  }
}
