import type { ProgressTone } from './events.js'

/** A network tone: its frequencies sound together, with the cadence [on, off, ...] (ms). */
export interface ToneEntry {
  readonly tone: ProgressTone
  readonly plan: string
  readonly hertz: readonly number[]
  /** The tone may be modulated by 15 to 33 Hz. */
  readonly modulated?: boolean
  readonly cadence: readonly number[]
}

/**
 * Tones of ITU-T E.180, supplement 2. The first matching entry wins. India comes first. Plans with equal
 * tones share the entry of the first one (`eu`: CEPT countries and most that follow them).
 */
export const TONE_PLANS: readonly ToneEntry[] = [
  { plan: 'in', tone: 'ringback', hertz: [400], modulated: true, cadence: [400, 200, 400, 2000] },
  { plan: 'in', tone: 'busy', hertz: [400], cadence: [750, 750] },
  { plan: 'in', tone: 'congestion', hertz: [400], cadence: [250, 250] },
  { plan: 'in', tone: 'unobtainable', hertz: [400], cadence: [2500, 500] },
  { plan: 'in', tone: 'unobtainable', hertz: [400], cadence: [2800, 200] },
  { plan: 'us', tone: 'ringback', hertz: [440, 480], cadence: [2000, 4000] },
  { plan: 'us', tone: 'busy', hertz: [480, 620], cadence: [500, 500] },
  { plan: 'us', tone: 'congestion', hertz: [480, 620], cadence: [250, 250] },
  { plan: 'gb', tone: 'ringback', hertz: [400, 450], cadence: [400, 200, 400, 2000] },
  { plan: 'gb', tone: 'busy', hertz: [400], cadence: [375, 375] },
  { plan: 'gb', tone: 'congestion', hertz: [400], cadence: [400, 350, 225, 525] },
  { plan: 'jp', tone: 'ringback', hertz: [400], modulated: true, cadence: [1000, 2000] },
  { plan: 'jp', tone: 'busy', hertz: [400], cadence: [500, 500] },
  { plan: 'eu', tone: 'ringback', hertz: [425], cadence: [1000, 4000] },
  { plan: 'eu', tone: 'busy', hertz: [425], cadence: [500, 500] },
  { plan: 'eu', tone: 'congestion', hertz: [425], cadence: [250, 250] },
  { plan: 'sg', tone: 'ringback', hertz: [425], modulated: true, cadence: [400, 200, 400, 2000] },
  { plan: 'sg', tone: 'busy', hertz: [425], cadence: [750, 750] },
  { plan: 'fr', tone: 'ringback', hertz: [440], cadence: [1500, 3500] },
  { plan: 'fr', tone: 'busy', hertz: [440], cadence: [500, 500] },
]

/** Returns true when a measured duration matches a nominal one. */
export function similarDuration(ms: number, nominalMs: number): boolean {
  return Math.abs(ms - nominalMs) <= Math.max(30, nominalMs * 0.08)
}

/** Returns true when a burst of one frequency is a network tone and not a sound of an answering machine. */
export function isNetworkBurst(hertz: number, ms: number): boolean {
  for (const entry of TONE_PLANS) {
    const [own, second] = entry.hertz
    if (own === undefined || second !== undefined || Math.abs(hertz - own) > own * 0.02) continue
    for (let i = 0; i < entry.cadence.length; i += 2) {
      if (similarDuration(ms, entry.cadence[i] ?? 0)) return true
    }
  }
  return false
}
