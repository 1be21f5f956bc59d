import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError, errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import type { CallEvent } from '../../../signalling/call/call-events.js'

/** Smallest size of the file. */
const LEAST_BYTES = 4 * 2 ** 20
/**
 * Reserve (bytes): an event that only informs is written only if the file occupies this much more behind it. If other data
 * fills the disk (SQLite then fails with SQLITE_FULL), the reserve holds the ends of some thousand calls.
 */
const RESERVED_BYTES = 2 * 2 ** 20
/** Maximum size of the file (bytes). */
const MOST_BYTES = 64 * 2 ** 20

/** Call events that wait on this machine's disk for the database. They outlive the process. */
export interface EventSpool {
  /** Events that an earlier run left, in the order in which they happened. */
  readonly left: readonly CallEvent[]
  /**
   * Adds events; those that only inform (`informs`) leave the reserve to the others. Resolves false when there is no room or
   * the file cannot be written: the events are in memory only.
   */
  add(events: readonly CallEvent[], informs: boolean): Promise<boolean>
  /** Forgets all events, because they are stored. */
  clear(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the file `call-events` in the data folder, readable by its owner only: one JSON text on each line, then zeros.
 * Throws EngineError `storage_failed` when it cannot be read or written.
 */
export async function openEventSpool(
  dataFolder: string,
  log: Log,
  mostBytes: number = MOST_BYTES,
): Promise<EventSpool> {
  const path = join(dataFolder, 'call-events')
  let file: FileHandle
  let left: readonly CallEvent[]
  /** Position of the next event in the file. */
  let end: number
  /** Bytes that the file occupies. */
  let size: number
  try {
    await mkdir(dataFolder, { recursive: true, mode: 0o700 })
    file = await open(path, 'a', 0o600)
    await file.close()
    file = await open(path, 'r+')
    await file.chmod(0o600)
    const bytes = await file.readFile()
    ;({ left, end } = readEvents(bytes))
    size = bytes.length
    await occupy(Math.max(LEAST_BYTES, end + RESERVED_BYTES))
    await file.sync()
  } catch (error) {
    throw new EngineError('storage_failed', `${path} cannot be used: ${errorText(error)}`, { cause: error })
  }
  let running: Promise<unknown> = Promise.resolve()

  /** Writes zeros behind the file until it has so many bytes. */
  async function occupy(bytes: number): Promise<void> {
    if (size >= bytes) return
    await writeAll(file, Buffer.alloc(bytes - size), size)
    size = bytes
  }

  /** Runs a function after those that were passed before. */
  function inOrder<T>(run: () => Promise<T>): Promise<T> {
    const result = running.then(run)
    running = result.catch(() => {})
    return result
  }

  return {
    left,
    add: (events, informs) =>
      inOrder(async () => {
        const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
        const needed = end + bytes.length + (informs ? RESERVED_BYTES : 0)
        if (needed > mostBytes) {
          log.error({ events: events.length, bytes: end }, 'call_events.spool_full')
          return false
        }
        try {
          if (informs) await occupy(needed)
          // The next write overwrites a write that failed in the middle.
          await writeAll(file, bytes, end)
          await file.datasync()
        } catch (error) {
          log.error({ events: events.length, error: errorText(error) }, 'call_events.spool_failed')
          return false
        }
        end += bytes.length
        size = Math.max(size, end)
        return true
      }),
    clear: () =>
      inOrder(async () => {
        if (end === 0) return
        try {
          // The zeros are written from the start on: a process that dies meanwhile leaves an empty file.
          await writeAll(file, Buffer.alloc(Math.min(end, LEAST_BYTES)), 0)
          await file.truncate(LEAST_BYTES)
          await file.datasync()
          end = 0
          size = LEAST_BYTES
        } catch (error) {
          // The events stay, and later ones follow them. Storing them again changes nothing.
          log.error({ error: errorText(error) }, 'call_events.spool_not_emptied')
        }
      }),
    close: () => inOrder(() => file.close()),
  }
}

/** Reads the events before the first zero. A line that was cut off by a crash ends them. */
function readEvents(bytes: Buffer): { readonly left: readonly CallEvent[]; readonly end: number } {
  const left: CallEvent[] = []
  let end = 0
  for (;;) {
    const next = bytes.indexOf('\n', end)
    if (next === -1 || bytes[end] === 0) return { left, end }
    try {
      left.push(JSON.parse(bytes.toString('utf8', end, next)))
    } catch {
      return { left, end }
    }
    end = next + 1
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}
