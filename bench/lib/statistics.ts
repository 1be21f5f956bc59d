/** Returns the value below which a share `p` (0..1) of the sample lies; NaN for an empty sample. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] ?? Number.NaN
}

export function maximum(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
}

/** Rounds to two digits after the point: finer is noise. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

export interface OutPacket {
  readonly atMs: number
  readonly timestamp: number
}

/**
 * Returns the lateness of each packet of one stream against its own 20 ms grid. The RTP timestamps (8 per ms)
 * and the earliest packet define the grid. Packets are in order of arrival.
 */
export function latenessOf(packets: readonly OutPacket[]): number[] {
  const [first] = packets
  if (first === undefined) return []
  const delays = packets.map(({ atMs, timestamp }) => atMs - ((timestamp - first.timestamp) | 0) / 8)
  const earliest = delays.reduce((least, delay) => Math.min(least, delay), Number.POSITIVE_INFINITY)
  return delays.map((delay) => delay - earliest)
}

/** Returns the difference between the spacing of neighbouring packets and that of their timestamps. */
export function gapsOf(packets: readonly OutPacket[]): number[] {
  const gaps: number[] = []
  for (let i = 1; i < packets.length; i++) {
    const before = packets[i - 1]
    const packet = packets[i]
    if (before === undefined || packet === undefined) continue
    const spokenMs = ((packet.timestamp - before.timestamp) | 0) / 8
    gaps.push(Math.abs(packet.atMs - before.atMs - spokenMs))
  }
  return gaps
}
