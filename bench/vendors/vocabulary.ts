/*
 * A vocabulary whose every word sounds as a tone of its own, so that a listener can tell from the wire
 * which words were spoken, and how much of each.
 */

export const WORDS: readonly string[] = [
  'alpha',
  'bravo',
  'charlie',
  'delta',
  'echo',
  'foxtrot',
  'golf',
  'hotel',
  'india',
  'juliett',
  'kilo',
  'lima',
  'mike',
  'november',
  'oscar',
  'papa',
  'quebec',
  'romeo',
  'sierra',
  'tango',
  'uniform',
  'victor',
  'whiskey',
  'xray',
  'yankee',
  'zulu',
]

/** All the words, in three sentences. */
export const RECITAL: readonly string[] = [WORDS.slice(0, 9), WORDS.slice(9, 18), WORDS.slice(18)].map(
  ([first = '', ...rest]) => `${first.charAt(0).toUpperCase()}${first.slice(1)} ${rest.join(' ')}.`,
)

/** Below the band's edge, and further apart than a 20 ms packet's resolution of 50 Hz. */
const LOWEST_HZ = 400
const STEP_HZ = 100
const PACKET_SAMPLES = 160
const PACKET_RATE = 8000

/** Tone of the word at `index`. */
export function toneOf(index: number): number {
  return LOWEST_HZ + STEP_HZ * index
}

/** Longer words last longer: 180 to 400 ms, whole packets. */
export function wordMs(index: number): number {
  return 20 * (5 + (WORDS[index]?.length ?? 4) * 2 - 4)
}

/** Index of a written word, whatever its case and marks; -1 for any other. */
export function wordIndex(written: string): number {
  const bare = written.toLowerCase().replace(/[^a-z]/g, '')
  return WORDS.indexOf(bare)
}

/** Which word's tone is the strongest in one packet of 20 ms at 8 kHz. */
export function wordIn(pcm: Int16Array): number {
  let best = -1
  let most = 0
  for (let index = 0; index < WORDS.length; index++) {
    const power = goertzel(pcm, toneOf(index))
    if (power > most) {
      most = power
      best = index
    }
  }
  return best
}

function goertzel(pcm: Int16Array, hz: number): number {
  const twice = 2 * Math.cos((2 * Math.PI * hz) / PACKET_RATE)
  let before = 0
  let last = 0
  for (let i = 0; i < PACKET_SAMPLES; i++) {
    const now = (pcm[i] ?? 0) + twice * last - before
    before = last
    last = now
  }
  return last * last + before * before - twice * last * before
}
