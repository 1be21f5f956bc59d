import type { Clock } from '../../media/base/clock.js'

/** The limits of one trunk. */
export interface TrunkLimits {
  /** Concurrent calls in both directions together. */
  readonly maxConcurrent: number
  /** Calls placed within any 60 seconds. */
  readonly callsPerMinute: number
  /** Prefixes of the E.164 numbers that may be dialled; all others are refused. */
  readonly allowedPrefixes: readonly string[]
}

/** Why a call may not use the trunk. */
export type TrunkRefusal = 'trunk_full' | 'trunk_rate' | 'trunk_prefix'

/** Returns whether a trunk may dial an E.164 number at all. */
export function isAllowedNumber({ allowedPrefixes }: TrunkLimits, to: string): boolean {
  return /^\+\d+$/.test(to) && allowedPrefixes.some((prefix) => to.startsWith(prefix))
}

const MINUTE_MS = 60_000

interface Use {
  readonly calls: Set<string>
  /** When the calls of the last minute were placed (clock ms), oldest first. */
  readonly placed: number[]
}

/**
 * The last defence against toll fraud and against more calls than the customer has channels: every call is
 * counted here on its way to the wire, whatever requested it. Counts the calls of this process.
 */
export class TrunkLimiter {
  readonly #clock: Pick<Clock, 'now'>
  readonly #uses = new Map<string, Use>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Number of trunks with a live call or one placed within the last minute. */
  get size(): number {
    return this.#uses.size
  }

  live(trunkId: string): number {
    return this.#uses.get(trunkId)?.calls.size ?? 0
  }

  /** Counts an inbound call. Returns the reason when it is refused, else null. */
  admitInbound(trunkId: string, limits: TrunkLimits, callId: string): TrunkRefusal | null {
    const use = this.#use(trunkId)
    if (use.calls.size >= limits.maxConcurrent) return this.#refuse(trunkId, use, 'trunk_full')
    use.calls.add(callId)
    return null
  }

  /** Counts an outbound call to an E.164 number. Returns the reason when it is refused, else null. */
  admitOutbound(trunkId: string, limits: TrunkLimits, callId: string, to: string): TrunkRefusal | null {
    const use = this.#use(trunkId)
    if (!isAllowedNumber(limits, to)) return this.#refuse(trunkId, use, 'trunk_prefix')
    if (use.calls.size >= limits.maxConcurrent) return this.#refuse(trunkId, use, 'trunk_full')
    if (use.placed.length >= limits.callsPerMinute) return this.#refuse(trunkId, use, 'trunk_rate')
    use.placed.push(this.#clock.now())
    use.calls.add(callId)
    return null
  }

  /** Releases the channel of an ended call. Idempotent; the rate limit still counts the call. */
  release(trunkId: string, callId: string): void {
    const use = this.#uses.get(trunkId)
    if (use === undefined) return
    use.calls.delete(callId)
    this.#forget(trunkId, use)
  }

  #use(trunkId: string): Use {
    // Drops the idle entries of all trunks.
    for (const [id, use] of this.#uses) this.#forget(id, use)
    const use = this.#uses.get(trunkId) ?? { calls: new Set<string>(), placed: [] }
    this.#uses.set(trunkId, use)
    return use
  }

  #refuse(trunkId: string, use: Use, why: TrunkRefusal): TrunkRefusal {
    this.#forget(trunkId, use)
    return why
  }

  #forget(trunkId: string, use: Use): void {
    const since = this.#clock.now() - MINUTE_MS
    let old = 0
    while (old < use.placed.length && (use.placed[old] ?? 0) <= since) old++
    if (old > 0) use.placed.splice(0, old)
    if (use.calls.size === 0 && use.placed.length === 0) this.#uses.delete(trunkId)
  }
}
