import { statfs } from 'node:fs/promises'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'

/** Poll interval (ms). */
const LOOK_MS = 5_000

export interface DiskWatch {
  /** True if the folder had less free space than wanted at the last poll. */
  readonly isLow: boolean
  close(): Promise<void>
}

interface Options {
  /** Folder of the data and the recordings. */
  readonly folder: string
  /** Free space that is wanted (bytes). 0 switches the check off. */
  readonly minFreeBytes: number
  readonly clock: Clock
  readonly log: Log
  /** Returns the free space of a folder (bytes). */
  readonly freeBytes?: (folder: string) => Promise<number>
}

/** Polls the free space of a folder. Resolves after the first poll. A poll that fails changes nothing and is logged. */
export async function watchDisk(options: Options): Promise<DiskWatch> {
  const { folder, minFreeBytes, clock, log, freeBytes = freeBytesOf } = options
  const scope = new Scope()
  let isLow = false
  const look = async (): Promise<void> => {
    try {
      const free = await freeBytes(folder)
      const low = free < minFreeBytes
      if (low !== isLow) {
        const fields = { freeMb: Math.floor(free / 2 ** 20), wantedMb: Math.floor(minFreeBytes / 2 ** 20) }
        if (low) log.error(fields, 'disk.low')
        else log.info(fields, 'disk.free_again')
      }
      isLow = low
    } catch (error) {
      log.error({ error: errorText(error) }, 'disk.unknown')
    }
    if (!scope.closed) scope.after(clock, LOOK_MS, () => void look())
  }
  if (minFreeBytes > 0) await look()
  return {
    get isLow() {
      return isLow
    },
    close: () => scope.close(),
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
