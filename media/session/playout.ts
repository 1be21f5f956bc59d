import type { SessionRate } from '../base/frame.js'

const FADE_MS = 5
const REMEMBERED = 32

interface Utterance {
  readonly id: number
  /** Own copies, oldest first, each gone once it was pulled. */
  readonly pieces: Int16Array[]
  /** Samples of the first piece already pulled. */
  offset: number
  /** Samples accepted and pulled so far. */
  queued: number
  sent: number
  ended: boolean
}

/**
 * What one party is going to say: a bounded queue of utterances, taken 20 ms at a time on the beat.
 * It can stop within the current frame and go on from the very sample where it stopped.
 * Single thread, no timers; `enqueue`, `end`, `pause`, `resume`, `flush` between beats, `pull` on them.
 */
export class Playout {
  readonly rate: SessionRate
  readonly capacityMs: number
  /** All samples of an ended utterance were pulled. Called from `pull`. Never for a flushed one. */
  onDrained: ((utterance: number) => void) | null = null
  /** Called in the pull that takes the first sample of an utterance. */
  onFirstSample: ((utterance: number) => void) | null = null

  readonly #capacity: number
  readonly #fade: number
  readonly #tail: Int16Array
  /** Samples queued in all utterances. */
  #size = 0
  #paused = false
  /** The last pull ended in the middle of sound, so that stopping now would click. */
  #sounding = false
  /** A faded tail waits for the next pull. */
  #tailReady = false
  #fadeIn = false
  /** Utterances with samples queued or not yet told drained, oldest first. */
  readonly #live: Utterance[] = []
  /** The last finished or flushed ones, for `sentSamples`. */
  readonly #past: Utterance[] = []

  /** @param capacityMs most sound it holds; memory is taken by what is really queued. */
  constructor(rate: SessionRate, capacityMs: number) {
    this.rate = rate
    this.capacityMs = capacityMs
    this.#capacity = (rate / 1000) * capacityMs
    this.#fade = (rate / 1000) * FADE_MS
    this.#tail = new Int16Array(this.#fade)
  }

  get paused(): boolean {
    return this.#paused
  }

  /** The next pull gives the fade of what was stopped in the middle, and nothing else. */
  get fading(): boolean {
    return this.#tailReady
  }

  get queuedMs(): number {
    return (this.#size * 1000) / this.rate
  }

  /**
   * Adds sound to the end of an utterance, copied. A new id begins one; ids are never reused, and
   * utterances are said in the order in which they began. Returns the number of samples taken: fewer
   * than given when full. Sound of an utterance that is already over or was flushed is taken and
   * dropped: nobody may hear it.
   */
  enqueue(utterance: number, pcm: Int16Array): number {
    if (this.#isPast(utterance)) return pcm.length
    const taken = Math.min(pcm.length, this.#capacity - this.#size)
    const entry = this.#entry(utterance)
    if (taken === 0) return 0
    entry.pieces.push(pcm.slice(0, taken))
    this.#size += taken
    entry.queued += taken
    return taken
  }

  /** No more sound will come for it. */
  end(utterance: number): void {
    if (!this.#isPast(utterance)) this.#entry(utterance).ended = true
  }

  /** From the next pull on silence, after a fade of 5 ms within that one frame. Nothing is lost. */
  pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#keepTail()
  }

  /** Goes on with the first sample that was not pulled. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    // Resumed before the next beat, there was no gap to fade around.
    this.#fadeIn = !this.#tailReady
    this.#tailReady = false
  }

  /**
   * Forgets all sound and utterances (`sentSamples` stays readable) and ends a pause. What sounded fades
   * out in the next pull.
   */
  flush(): void {
    // Flushed again, it still has to fade.
    if (!this.#paused && this.#size > 0) this.#keepTail()
    this.#paused = false
    this.#fadeIn = false
    this.#size = 0
    for (const entry of this.#live) this.#remember(entry)
    this.#live.length = 0
  }

  /** Samples of this utterance that were pulled, 0 for an unknown one. The last 32 are remembered. */
  sentSamples(utterance: number): number {
    for (const entry of this.#live) if (entry.id === utterance) return entry.sent
    for (const entry of this.#past) if (entry.id === utterance) return entry.sent
    return 0
  }

  /** Fills `into` with the next frame; false (and zeros) when there is nothing to say. */
  pull(into: Int16Array): boolean {
    if (this.#tailReady) {
      this.#tailReady = false
      into.fill(0)
      into.set(this.#tail, 0)
      this.#sounding = false
      return true
    }
    let filled = 0
    if (!this.#paused) {
      while (filled < into.length) {
        const entry = this.#live[0]
        if (entry === undefined) break
        const ready = entry.queued - entry.sent
        if (ready > 0) {
          const take = Math.min(ready, into.length - filled)
          const isFirst = entry.sent === 0
          this.#take(entry, into, filled, take)
          filled += take
          if (isFirst) this.onFirstSample?.(entry.id)
          continue
        }
        if (!entry.ended) break // the synthesis is behind: wait for it, the order must hold
        this.#finish(entry)
      }
      // The end of an utterance is told in the pull that takes its last sample.
      const entry = this.#live[0]
      if (entry?.ended && entry.sent === entry.queued) this.#finish(entry)
    }
    if (filled < into.length) into.fill(0, filled)
    if (filled > 0 && this.#fadeIn) {
      this.#fadeIn = false
      for (let i = 0; i < this.#fade; i++) into[i] = ((into[i] as number) * i) / this.#fade
    }
    this.#sounding = filled === into.length
    return filled > 0
  }

  #finish(entry: Utterance): void {
    this.#live.shift()
    this.#remember(entry)
    this.onDrained?.(entry.id)
  }

  #isPast(id: number): boolean {
    for (const entry of this.#past) if (entry.id === id) return true
    return false
  }

  #keepTail(): void {
    this.#tailReady = false
    if (!this.#sounding || this.#size === 0) return
    const fade = this.#fade
    const entry = this.#live[0]
    let piece = 0
    let offset = entry?.offset ?? 0
    for (let i = 0; i < fade; i++) {
      if (offset >= (entry?.pieces[piece]?.length ?? 0)) {
        piece++
        offset = 0
      }
      this.#tail[i] = ((entry?.pieces[piece]?.[offset++] ?? 0) * (fade - i)) / fade
    }
    this.#tailReady = true
  }

  #take(entry: Utterance, into: Int16Array, at: number, count: number): void {
    let done = 0
    while (done < count) {
      const piece = entry.pieces[0] as Int16Array
      const take = Math.min(count - done, piece.length - entry.offset)
      for (let i = 0; i < take; i++) into[at + done + i] = piece[entry.offset + i] as number
      done += take
      entry.offset += take
      if (entry.offset < piece.length) break
      entry.pieces.shift()
      entry.offset = 0
    }
    entry.sent += count
    this.#size -= count
  }

  #entry(id: number): Utterance {
    for (const entry of this.#live) if (entry.id === id) return entry
    const entry = { id, pieces: [], offset: 0, queued: 0, sent: 0, ended: false }
    this.#live.push(entry)
    return entry
  }

  #remember(entry: Utterance): void {
    entry.pieces.length = 0
    this.#past.push(entry)
    if (this.#past.length > REMEMBERED) this.#past.shift()
  }
}
