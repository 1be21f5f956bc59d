/**
 * Adds `source` to `mix` (16-bit sample values, unclipped) with a linear gain that ramps from `levels[0]` to
 * `levels[1]`. Both arrays have the same length. The gains come in an array because number arguments would be
 * allocated.
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
