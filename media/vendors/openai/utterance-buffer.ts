/** Audio kept before the onset (ms), because the VAD may cut the first consonant. */
const PRE_ROLL_MS = 300
/** Audio kept after the last voiced sample (ms). */
const POST_ROLL_MS = 300
/** Longest distance (ms) back to an onset, which the VAD corrects to the first voiced sample. */
const MEMORY_MS = 1500
/** Servers hear windows of 30 s, and some drop what is beyond. */
const MAX_PART_MS = 25_000
/** A part ends at the quietest moment of its last seconds, between words. */
const CUT_WITHIN_MS = 3000
const CUT_STEP_MS = 50
/** Endpoints refuse less. */
const MIN_PART_MS = 100

/**
 * Buffers the caller's audio of one utterance as delimited by the VAD, with a margin before and after. A longer utterance
 * than 25 s comes in parts. Copies its input.
 */
export class UtteranceBuffer {
  readonly #rate: number
  /** Ring buffer of the last `MEMORY_MS`. */
  readonly #ring: Int16Array
  #written = 0
  /** Session time (ms) of the end of the newest sample. */
  #endMs = 0
  #utterance: Int16Array | null = null
  #length = 0
  #startMs = 0
  /** A part of the utterance was taken before. */
  #inParts = false

  constructor(rate: number) {
    this.#rate = rate
    this.#ring = new Int16Array(this.#samples(MEMORY_MS))
  }

  /** Returns a part of the utterance that is complete, which the caller owns, or null. */
  write(pcm: Int16Array, atMs: number): Int16Array | null {
    const ring = this.#ring
    let at = this.#written % ring.length
    for (let i = 0; i < pcm.length; i++) {
      ring[at++] = pcm[i] as number
      if (at === ring.length) at = 0
    }
    this.#written += pcm.length
    this.#endMs = atMs + (pcm.length * 1000) / this.#rate
    if (this.#utterance === null) return null
    this.#append(pcm)
    return this.#length < this.#samples(MAX_PART_MS) ? null : this.#takePart(this.#utterance)
  }

  /** Marks the start of speech at session time `atMs` (ms). */
  start(atMs: number): void {
    const back = this.#samples(Math.max(0, this.#endMs - (atMs - PRE_ROLL_MS)))
    const kept = Math.min(back, this.#ring.length, this.#written)
    this.#utterance = new Int16Array(this.#samples(4000))
    this.#length = 0
    this.#inParts = false
    this.#startMs = this.#endMs - (kept * 1000) / this.#rate
    const memory = new Int16Array(kept)
    for (let i = 0; i < kept; i++) {
      memory[i] = this.#ring[(this.#written - kept + i) % this.#ring.length] ?? 0
    }
    this.#append(memory)
  }

  /**
   * Marks the end of speech at session time `atMs` (ms). Returns the utterance or its last part, which the caller owns.
   * Returns null when none had started, or when nothing is left after the parts before.
   */
  end(atMs: number): Int16Array | null {
    const whole = this.#utterance
    if (whole === null) return null
    this.#utterance = null
    const until = this.#samples(Math.max(0, atMs + POST_ROLL_MS - this.#startMs))
    const length = Math.min(this.#length, until)
    return this.#inParts && length < this.#samples(MIN_PART_MS) ? null : whole.slice(0, length)
  }

  #append(pcm: Int16Array): void {
    const held = this.#utterance
    if (held === null) return
    let into = held
    if (this.#length + pcm.length > held.length) {
      into = new Int16Array(Math.max(this.#length + pcm.length, held.length * 2))
      into.set(held.subarray(0, this.#length))
      this.#utterance = into
    }
    into.set(pcm, this.#length)
    this.#length += pcm.length
  }

  #takePart(held: Int16Array): Int16Array {
    const cut = this.#quietest(held)
    const part = held.slice(0, cut)
    held.copyWithin(0, cut, this.#length)
    this.#length -= cut
    this.#startMs += (cut * 1000) / this.#rate
    this.#inParts = true
    return part
  }

  /** Returns the middle of the quietest step of the last seconds, the latest of equally quiet ones. */
  #quietest(held: Int16Array): number {
    const step = this.#samples(CUT_STEP_MS)
    let best = this.#length
    let least = Number.POSITIVE_INFINITY
    for (let end = this.#length; end > this.#length - this.#samples(CUT_WITHIN_MS); end -= step) {
      let loudness = 0
      for (let i = end - step; i < end; i++) loudness += Math.abs(held[i] ?? 0)
      if (loudness >= least) continue
      least = loudness
      best = end - (step >> 1)
    }
    return best
  }

  #samples(ms: number): number {
    return Math.round((ms * this.#rate) / 1000)
  }
}
