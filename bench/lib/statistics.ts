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
