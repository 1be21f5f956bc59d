/** Reads 32 bits in network byte order. */
export function readUint32(from: Uint8Array, at: number): number {
  return (
    (((from[at] as number) << 24) |
      ((from[at + 1] as number) << 16) |
      ((from[at + 2] as number) << 8) |
      (from[at + 3] as number)) >>>
    0
  )
}

/** Writes 32 bits in network byte order. */
export function writeUint32(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 24
  into[at + 1] = (value >>> 16) & 0xff
  into[at + 2] = (value >>> 8) & 0xff
  into[at + 3] = value & 0xff
}
