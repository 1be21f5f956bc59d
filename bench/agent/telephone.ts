import type { Random } from '../../fixtures/host/random.js'
import type { Phone } from '../../fixtures/sip/phone.js'
import type { Condition } from '../../fixtures/speech/catalogue.js'
import type { ClipEntry } from '../../fixtures/speech/manifest.js'
import { systemClock } from '../../media/base/clock.js'
import type { Listener } from './listener.js'

/*
 * What the callers of every job have in common.
 */

const QUIET_MS = 500
/** What is measured has its own moments: looking more often would only cost CPU, for each of many calls. */
const LOOK_MS = 20

export interface Clip {
  readonly entry: ClipEntry
  readonly pcm: Int16Array
}

export interface Caller {
  readonly from: string
  /** Where this caller is: its background for the whole call, and its clips. */
  readonly condition: Condition
  readonly phone: Phone
  readonly listener: Listener
  readonly random: Random
}

/** The agent has said nothing for half a second. */
export function quiet(listener: Listener): boolean {
  return systemClock.now() - listener.lastLoudMs > QUIET_MS
}

/** Looks every 20 ms; returns at the deadline as well, what then is so is measured. */
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
