/**
 * Adds `source` to `mix` with a gain that goes straight from `levels[0]` to `levels[1]`; in an array,
 * because numbers handed over one by one are allocated. Same lengths.
 */
export function mixInto(mix: Float32Array, source: Int16Array, levels: Float64Array): void {
  const from = levels[0] as number
  const to = levels[1] as number
  const length = mix.length
  if (from === to) {
    if (from === 0) return
    for (let i = 0; i < length; i++) mix[i] = (mix[i] as number) + (source[i] as number) * from
    return
  }
  const step = (to - from) / length
  let gain = from
  for (let i = 0; i < length; i++) {
    gain += step
    mix[i] = (mix[i] as number) + (source[i] as number) * gain
  }
}
