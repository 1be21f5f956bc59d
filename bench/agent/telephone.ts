import type { Random } from '../../fixtures/host/random.js'
import type { Phone } from '../../fixtures/sip/phone.js'
import type { Condition } from '../../fixtures/speech/catalogue.js'
import type { ClipEntry } from '../../fixtures/speech/manifest.js'
import { systemClock } from '../../media/base/clock.js'
import type { Listener } from './listener.js'

/* Parts shared by the callers of every job. */

const QUIET_MS = 500
/** Measured events have their own time stamps: polling more often would only cost CPU on every call. */
const LOOK_MS = 20

export interface Clip {
  readonly entry: ClipEntry
  readonly pcm: Int16Array
}

export interface Caller {
  readonly from: string
  /** The caller's condition: background of the whole call, and variant of its clips. */
  readonly condition: Condition
  readonly phone: Phone
  readonly listener: Listener
  readonly random: Random
}

/** Returns true if the agent has been silent for half a second. */
export function quiet(listener: Listener): boolean {
  return systemClock.now() - listener.lastLoudMs > QUIET_MS
}

/** Polls every 20 ms; also returns at the deadline, and the state at that time is measured. */
export async function until(done: () => boolean, deadlineMs: number): Promise<void> {
  const deadline = systemClock.now() + deadlineMs
  while (!done() && systemClock.now() < deadline) await pause(LOOK_MS)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}

export function required(value: number | null): number {
  if (value === null) throw new Error('a sample that was not sent')
  return value
}
