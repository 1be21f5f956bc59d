import { isJudged, type LateWindows, NO_LATE_WINDOWS } from './judged-time.js'

export interface OutPacket {
  readonly atMs: number
  readonly timestamp: number
}

/**
 * Records packets in memory that is allocated beforehand, because the collection of one object per packet would make
 * later packets look late. Packets beyond the capacity are not recorded.
 */
export class PacketRecord {
  readonly #atMs: Float64Array
  readonly #timestamps: Float64Array
  #count = 0

  constructor(capacity: number) {
    this.#atMs = new Float64Array(capacity)
    this.#timestamps = new Float64Array(capacity)
  }

  add(atMs: number, timestamp: number): void {
    if (this.#count === this.#atMs.length) return
    this.#atMs[this.#count] = atMs
    this.#timestamps[this.#count++] = timestamp
  }

  clear(): void {
    this.#count = 0
  }

  list(): OutPacket[] {
    return Array.from(this.#atMs.subarray(0, this.#count), (atMs, i) => ({
      atMs,
      timestamp: this.#timestamps[i] as number,
    }))
  }
}

/**
 * Returns the lateness of each packet of one stream against its own 20 ms grid. The RTP timestamps (8 per ms) and the
 * earliest packet so far define the grid: the frame clock may move the frames of a call to an earlier phase, and those before were
 * not late. Packets are in order of arrival. Packets due or received in late windows are left out.
 */
export function latenessOf(packets: readonly OutPacket[], hostLate: LateWindows = NO_LATE_WINDOWS): number[] {
  const [first] = packets
  if (first === undefined) return []
  let earliest = Number.POSITIVE_INFINITY
  return packets.flatMap(({ atMs, timestamp }) => {
    const delay = atMs - ((timestamp - first.timestamp) | 0) / 8
    earliest = Math.min(earliest, delay)
    const late = delay - earliest
    return isJudged(hostLate, atMs - late, atMs) ? [late] : []
  })
}

/**
 * Returns the difference between the spacing of neighbouring packets and that of their timestamps. Gaps in late windows
 * are left out.
 */
export function gapsOf(packets: readonly OutPacket[], hostLate: LateWindows = NO_LATE_WINDOWS): number[] {
  const gaps: number[] = []
  for (let i = 1; i < packets.length; i++) {
    const before = packets[i - 1]
    const packet = packets[i]
    if (before === undefined || packet === undefined) continue
    if (!isJudged(hostLate, before.atMs, packet.atMs)) continue
    const spokenMs = ((packet.timestamp - before.timestamp) | 0) / 8
    gaps.push(Math.abs(packet.atMs - before.atMs - spokenMs))
  }
  return gaps
}
