/** Adds `source` to `into`, clamped to 16 bits. Same lengths. */
export function mixInto(into: Int16Array, source: Int16Array): void {
  for (let i = 0; i < into.length; i++) {
    const sum = (into[i] as number) + (source[i] as number)
    into[i] = Math.max(-32768, Math.min(32767, sum))
  }
}
