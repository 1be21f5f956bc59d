/** Returns `a - b` of 16-bit sequence numbers, from -32768 to 32767. */
export function sequenceDelta(a: number, b: number): number {
  return ((a - b) << 16) >> 16
}

/** Returns `a - b` of 32-bit timestamps, from -2^31 to 2^31 - 1. */
export function timestampDelta(a: number, b: number): number {
  return (a - b) | 0
}
