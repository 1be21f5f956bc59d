import { getPriority, setPriority } from 'node:os'

/** Between other programs and the media threads, which are ten steps of `nice` ahead. */
const STEPS = 5
const HIGHEST = -20

/**
 * Raises the priority of a process whose time stamps are measured values, so that a busy host does not make it late.
 * Without the permission it keeps the usual one, and the late windows of the probe decide.
 */
export function raiseCallerPriority(): void {
  try {
    setPriority(Math.max(HIGHEST, getPriority() - STEPS))
  } catch (error) {
    process.stderr.write(`  the priority of the callers is not raised: ${String(error)}\n`)
  }
}
