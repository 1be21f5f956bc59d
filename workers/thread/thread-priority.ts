import { readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** So many steps before the rest of the process, as `nice` counts. */
const AHEAD = 10
const HIGHEST = -20

/**
 * From now on the calling thread is served before the process's other threads, and before other programs:
 * a frame that waits for a processor is late. Only Linux has priorities of threads, and lets only root,
 * or whoever was given them (CAP_SYS_NICE, `LimitNICE=` of systemd), have more than the usual one. Returns
 * whether it has it. Threads that it starts afterwards have it too, until they `resetThreadPriority`.
 */
export function raiseThreadPriority(): boolean {
  return become(Math.max(HIGHEST, getPriority(process.pid) - AHEAD))
}

/** From now on the calling thread is served as the process's first one is: whatever it does can wait. */
export function resetThreadPriority(): void {
  become(getPriority(process.pid))
}

/** The nice value of the calling thread; null where threads have none of their own. */
export function threadPriority(): number | null {
  const id = ownId()
  return id === null ? null : getPriority(id)
}

function become(priority: number): boolean {
  const id = ownId()
  if (id === null) return false
  try {
    setPriority(id, priority)
    return true
  } catch {
    // Not allowed: it is served in turn, like everybody.
    return false
  }
}

/** On Linux threads are numbered as processes are. */
function ownId(): number | null {
  if (process.platform !== 'linux') return null
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return null // no /proc in here
  }
}
