/** Audio kept before the onset (ms), because the VAD may cut the first consonant. */
const PRE_ROLL_MS = 300
/** Audio kept after the last voiced sample (ms). */
const POST_ROLL_MS = 300
/** Longest distance (ms) back to an onset, which the VAD corrects to the first voiced sample. */
const MEMORY_MS = 1500
const MAX_UTTERANCE_MS = 30_000

/**
 * Buffers the caller's audio of one utterance as delimited by the VAD, with a margin before and after. Drops
 * audio beyond 30 s of one utterance. Copies its input.
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

  constructor(rate: number) {
    this.#rate = rate
    this.#ring = new Int16Array(this.#samples(MEMORY_MS))
  }

  write(pcm: Int16Array, atMs: number): void {
    const ring = this.#ring
    let at = this.#written % ring.length
    for (let i = 0; i < pcm.length; i++) {
      ring[at++] = pcm[i] as number
      if (at === ring.length) at = 0
    }
    this.#written += pcm.length
    this.#endMs = atMs + (pcm.length * 1000) / this.#rate
    if (this.#utterance !== null) this.#append(pcm)
  }

  /** Marks the start of speech at session time `atMs` (ms). */
  start(atMs: number): void {
    const back = this.#samples(Math.max(0, this.#endMs - (atMs - PRE_ROLL_MS)))
    const kept = Math.min(back, this.#ring.length, this.#written)
    this.#utterance = new Int16Array(this.#samples(4000))
    this.#length = 0
    this.#startMs = this.#endMs - (kept * 1000) / this.#rate
    const memory = new Int16Array(kept)
    for (let i = 0; i < kept; i++) {
      memory[i] = this.#ring[(this.#written - kept + i) % this.#ring.length] ?? 0
    }
    this.#append(memory)
  }

  /**
   * Marks the end of speech at session time `atMs` (ms). Returns the utterance, which the caller owns, or
   * null when none had started.
   */
  end(atMs: number): Int16Array | null {
    const whole = this.#utterance
    if (whole === null) return null
    this.#utterance = null
    const until = this.#samples(Math.max(0, atMs + POST_ROLL_MS - this.#startMs))
    return whole.slice(0, Math.min(this.#length, until))
  }

  #append(pcm: Int16Array): void {
    const held = this.#utterance
    if (held === null) return
    const room = this.#samples(MAX_UTTERANCE_MS) - this.#length
    const taken = pcm.length > room ? pcm.subarray(0, room) : pcm
    let into = held
    if (this.#length + taken.length > held.length) {
      into = new Int16Array(Math.min(this.#samples(MAX_UTTERANCE_MS), held.length * 2))
      into.set(held.subarray(0, this.#length))
      this.#utterance = into
    }
    into.set(taken, this.#length)
    this.#length += taken.length
  }

  #samples(ms: number): number {
    return Math.round((ms * this.#rate) / 1000)
  }
}
