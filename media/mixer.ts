/** Adds `source` to `into`, clamped to 16 bits. Same lengths. */
export function mixInto(into: Int16Array, source: Int16Array): void {
  for (let i = 0; i < into.length; i++) {
    const sum = (into[i] as number) + (source[i] as number)
    into[i] = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum
  }
}
