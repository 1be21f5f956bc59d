import { readdirSync, readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** Priority steps above the rest of the process, in units of `nice`. */
const AHEAD = 10
const HIGHEST = -20

/**
 * Raises the priority of the calling thread above the process's other threads and other programs, because a
 * frame that waits for a CPU is late. Only Linux has thread priorities, and only root or a process with
 * CAP_SYS_NICE (`LimitNICE=` of systemd) may raise them. Returns whether the priority was raised. Threads
 * started afterwards inherit it until they call `resetThreadPriority`.
 */
export function raiseThreadPriority(): boolean {
  return become(Math.max(HIGHEST, getPriority(process.pid) - AHEAD))
}

/** Sets the calling thread to the priority of the process's main thread. */
export function resetThreadPriority(): void {
  become(getPriority(process.pid))
}

/**
 * Sets the whole process to a lower priority. On Linux each thread has its own; those that the engine has started, which
 * collect garbage, would else keep the usual one.
 */
export function lowerProcessPriority(priority: number): void {
  setPriority(priority)
  for (const id of threadIds()) {
    try {
      setPriority(id, priority)
    } catch {
      // The thread has ended.
    }
  }
}

/** Returns the ids of all threads of the process; none where they have none. */
function threadIds(): number[] {
  if (process.platform !== 'linux') return []
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return [] // /proc is not mounted
  }
}

/** Returns the nice value of the calling thread; null where threads have none. */
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
    // Not permitted: the thread keeps the usual priority.
    return false
  }
}

/** Returns the thread's id, which Linux numbers like processes; null elsewhere. */
function ownId(): number | null {
  if (process.platform !== 'linux') return null
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return null // /proc is not mounted
  }
}
