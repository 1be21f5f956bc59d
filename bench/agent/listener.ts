import { decodeG711, PAYLOAD_TYPES } from '../../fixtures/audio/g711.js'
import { levelDbfs } from '../../fixtures/audio/tones.js'
import type { ReceivedPacket } from '../../fixtures/rtp/rtp-peer.js'
import type { OutPacket } from '../lib/packet-times.js'
import { wordIn, wordMs } from '../vendors/vocabulary.js'
import type { ReceivedWord } from './job.js'

/** Audibility limit of the targets. */
const LOUD_DBFS = -45
/** Silence that separates two stretches of speech: longer than a pause between words (ms). */
const STRETCH_GAP_MS = 200
/** Packets of the first word of a complete recital. */
const FIRST_WORD = wordMs(0) / 20

/** Analyses what one caller receives of the agent, packet by packet. */
export class Listener {
  readonly packets: OutPacket[] = []
  /** Arrival times of loud packets. */
  readonly loudMs: number[] = []
  readonly speechStartMs: number[] = []
  lost = 0
  #sequence = -1
  readonly #words: boolean
  /** The word of `vendors/vocabulary.ts` in each loud packet, if words are analysed. */
  readonly #loudWords: number[] = []

  constructor(options: { readonly words: boolean } = { words: false }) {
    this.#words = options.words
  }

  readonly hear = (packet: ReceivedPacket): void => {
    if (packet.payloadType !== PAYLOAD_TYPES.PCMA) return
    if (this.#sequence >= 0) this.lost += ((packet.sequence - this.#sequence - 1) << 16) >> 16
    this.#sequence = packet.sequence
    this.packets.push({ atMs: packet.atMs, timestamp: packet.timestamp })
    const pcm = decodeG711('PCMA', packet.payload)
    if (levelDbfs(pcm) <= LOUD_DBFS) return
    if (this.#words) this.#loudWords.push(wordIn(pcm))
    const last = this.loudMs.at(-1)
    if (last === undefined || packet.atMs - last > STRETCH_GAP_MS) this.speechStartMs.push(packet.atMs)
    this.loudMs.push(packet.atMs)
  }

  /** Returns the recital in progress at `atMs`, up to the next one: packets of each word, in order. */
  recital(atMs: number): readonly ReceivedWord[] {
    const counts = new Map<number, number>()
    for (const index of this.#loudWords.slice(...this.#recitalAt(atMs))) {
      counts.set(index, (counts.get(index) ?? 0) + 1)
    }
    return [...counts].map(([index, packets]) => ({ index, packets })).sort((a, b) => a.index - b.index)
  }

  /**
   * Returns the last loud packets of that recital from `atMs` on before each of its silences, and the last of
   * all.
   */
  stops(atMs: number): readonly number[] {
    const said = this.loudMs.slice(...this.#recitalAt(atMs))
    return said.filter(
      (at, i) => at >= atMs && (said[i + 1] ?? Number.POSITIVE_INFINITY) - at > STRETCH_GAP_MS,
    )
  }

  /** Returns the indices of its first loud packet and of the one after its last. */
  #recitalAt(atMs: number): [from: number, end: number] {
    const { loudMs } = this
    let from = loudMs.length - 1
    while (from >= 0 && (loudMs[from] ?? 0) > atMs) from--
    while (from > 0 && !this.#begins(from)) from--
    let end = from + 1
    while (end < loudMs.length && !this.#begins(end)) end++
    return from < 0 ? [0, 0] : [from, end]
  }

  /**
   * Returns true if a recital begins at this index. One stopped in its first word is followed by the same
   * word.
   */
  #begins(place: number): boolean {
    const words = this.#loudWords
    if (words[place] !== 0) return false
    if (words[place - 1] !== 0) return true
    const gapMs = (this.loudMs[place] ?? 0) - (this.loudMs[place - 1] ?? 0)
    // The rest of a paused word is not a complete word.
    return gapMs > STRETCH_GAP_MS && words.slice(place, place + FIRST_WORD).every((word) => word === 0)
  }

  /** Arrival of the last loud packet, or -Infinity. */
  get lastLoudMs(): number {
    return this.loudMs.at(-1) ?? Number.NEGATIVE_INFINITY
  }

  /** First loud packet at or after `fromMs`. */
  firstLoudAfter(fromMs: number): number | null {
    // Searched from the end: the time in question is usually recent.
    let found: number | null = null
    for (let i = this.loudMs.length - 1; i >= 0; i--) {
      const at = this.loudMs[i]
      if (at === undefined || at < fromMs) break
      found = at
    }
    return found
  }

  /** Returns true if speech was received up to this time. */
  speakingAt(atMs: number): boolean {
    for (let i = this.loudMs.length - 1; i >= 0; i--) {
      const loudMs = this.loudMs[i] ?? 0
      if (loudMs <= atMs) return atMs - loudMs < STRETCH_GAP_MS
    }
    return false
  }

  /**
   * Returns the first loud packet of a resumed speech that stopped between `onsetMs` and shortly after
   * `endMs`. Null: it did not stop, or never resumed. An earlier silence does not count.
   */
  resumedAfter(onsetMs: number, endMs: number): number | null {
    for (let i = 0; i + 1 < this.loudMs.length; i++) {
      const at = this.loudMs[i] ?? 0
      const next = this.loudMs[i + 1] ?? 0
      // Two missing frames are a pause; the synthetic reply itself has none.
      if (at >= onsetMs - 60 && at < endMs + STRETCH_GAP_MS && next - at > 60) {
        if (next >= endMs) return next
      }
    }
    return null
  }

  /**
   * Returns the last loud packet after `fromMs` that is followed by `STRETCH_GAP_MS` of silence, at time
   * `nowMs`.
   */
  stoppedAfter(fromMs: number, nowMs: number): number | null {
    for (let i = 0; i < this.loudMs.length; i++) {
      const at = this.loudMs[i] ?? 0
      if (at < fromMs) continue
      const next = this.loudMs[i + 1] ?? nowMs
      if (next - at > STRETCH_GAP_MS) return at
    }
    return null
  }
}
