/*
 * A vocabulary in which every word is a tone of its own, so that a listener can tell from the packets which
 * words were spoken, and how much of each.
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

/** All words in three sentences. */
export const RECITAL: readonly string[] = [WORDS.slice(0, 9), WORDS.slice(9, 18), WORDS.slice(18)].map(
  ([first = '', ...rest]) => `${first.charAt(0).toUpperCase()}${first.slice(1)} ${rest.join(' ')}.`,
)

/** Above the low end of the band, and further apart than a 20 ms packet's resolution of 50 Hz. */
const LOWEST_HZ = 400
const STEP_HZ = 100
const PACKET_SAMPLES = 160
const PACKET_RATE = 8000

/** Returns the frequency of the word at `index`. */
export function toneOf(index: number): number {
  return LOWEST_HZ + STEP_HZ * index
}

/** Returns the length of a word: 180 to 400 ms by its letters, in whole packets. */
export function wordMs(index: number): number {
  return 20 * (5 + (WORDS[index]?.length ?? 4) * 2 - 4)
}

/** Returns the index of a written word regardless of case and punctuation, or -1. */
export function wordIndex(written: string): number {
  const bare = written.toLowerCase().replace(/[^a-z]/g, '')
  return WORDS.indexOf(bare)
}

/** Returns the word whose tone is strongest in one packet of 20 ms at 8 kHz. */
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
