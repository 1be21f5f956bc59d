/**
 * How sound takes losses, by ITU-T G.113 appendix I: the values of G.711 with concealment. The other
 * codecs here have none on this (narrowband) scale; they lose nothing to G.711 and are concealed the
 * same way.
 */
const IE = 0
const BPL = 25.1

/** G.107 with all other parameters at their defaults. */
const BEST_R = 93.2

export interface Conditions {
  /** Share of packets not played, 0 to 1. */
  readonly loss: number
  /** 1 for random loss, above for bursts. */
  readonly burstRatio: number
  /** Mouth to ear, one way. */
  readonly delayMs: number
}

/**
 * An estimate of what people would say of this sound, 1 to 4.5 (MOS-CQE): the E-model of ITU-T G.107
 * with the delay impairment simplified to two lines, as for a connection without echo.
 */
export function estimateMos({ loss, burstRatio, delayMs }: Conditions): number {
  const percent = loss * 100
  const equipment = IE + ((95 - IE) * percent) / (percent / Math.max(1, burstRatio) + BPL)
  const delay = 0.024 * delayMs + (delayMs > 177.3 ? 0.11 * (delayMs - 177.3) : 0)
  return mosOf(BEST_R - equipment - delay)
}

/** G.107 annex B. */
function mosOf(r: number): number {
  if (r <= 0) return 1
  if (r >= 100) return 4.5
  return Math.max(1, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
}
