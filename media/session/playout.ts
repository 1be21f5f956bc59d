import type { SessionRate } from '../base/frame.js'

const FADE_MS = 5
const REMEMBERED = 32

interface Utterance {
  readonly id: number
  /** Copies of the audio, oldest first. A piece is dropped after its last sample was pulled. */
  readonly pieces: Int16Array[]
  /** Number of pulled samples of the first piece. */
  offset: number
  /** Number of samples accepted and pulled. */
  queued: number
  sent: number
  ended: boolean
}

/**
 * A bounded queue of utterances for one party, pulled 20 ms at a time on the tick. Playout can stop within
 * the current frame and resume at exactly the next sample. `enqueue`, `end`, `pause`, `resume` and `flush`
 * are called between ticks, `pull` on them.
 */
export class Playout {
  readonly rate: SessionRate
  readonly capacityMs: number
  /**
   * Called from `pull` when all samples of an ended utterance were pulled. Never called for a flushed one.
   */
  onDrained: ((utterance: number) => void) | null = null
  /** Called from the `pull` that takes the first sample of an utterance. */
  onFirstSample: ((utterance: number) => void) | null = null

  readonly #capacity: number
  readonly #fade: number
  readonly #tail: Int16Array
  /** Samples queued in all utterances. */
  #size = 0
  #paused = false
  /** The last pull ended inside audio, so that an abrupt stop would click. */
  #sounding = false
  /** The next pull returns the fade-out. */
  #tailReady = false
  #fadeIn = false
  /** Utterances with queued samples, or not yet reported as drained, oldest first. */
  readonly #live: Utterance[] = []
  /** The last finished or flushed utterances, for `sentSamples`. */
  readonly #past: Utterance[] = []

  /** @param capacityMs capacity (ms); memory is allocated only for queued audio. */
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

  /** The next pull returns only the fade-out of stopped audio. */
  get fading(): boolean {
    return this.#tailReady
  }

  get queuedMs(): number {
    return (this.#size * 1000) / this.rate
  }

  /**
   * Appends a copy of `pcm` to an utterance. A new id begins an utterance; ids are never reused, and
   * utterances play in the order of their first audio. Returns the number of accepted samples, fewer than
   * given when the queue is full. Audio of a finished or flushed utterance is accepted and dropped.
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

  /**
   * Drops the samples of an utterance from sample `from` on, except for pulled ones. The rest fades out within
   * its last 5 ms.
   */
  truncate(utterance: number, from: number): void {
    for (const entry of this.#live) {
      if (entry.id !== utterance) continue
      let excess = entry.queued - Math.max(from, entry.sent)
      if (excess <= 0) return
      entry.queued -= excess
      this.#size -= excess
      for (let last = entry.pieces.pop(); last !== undefined; last = entry.pieces.pop()) {
        if (last.length > excess) {
          const kept = last.subarray(0, last.length - excess)
          entry.pieces.push(kept)
          const fade = Math.min(this.#fade, kept.length - (entry.pieces.length === 1 ? entry.offset : 0))
          for (let i = 1; i <= fade; i++) {
            kept[kept.length - i] = ((kept[kept.length - i] as number) * (i - 1)) / fade
          }
          return
        }
        excess -= last.length
        if (excess === 0) return
      }
    }
  }

  /** Marks the end of the audio of an utterance. */
  end(utterance: number): void {
    if (!this.#isPast(utterance)) this.#entry(utterance).ended = true
  }

  /** Pauses with a fade of 5 ms in the next frame. No sample is lost. */
  pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#keepTail()
  }

  /** Resumes with the first sample that was not pulled. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    // Resumed before the next tick: there is no gap to fade around.
    this.#fadeIn = !this.#tailReady
    this.#tailReady = false
  }

  /**
   * Drops all audio and utterances and ends a pause. The audio being played fades out in the next pull.
   * `sentSamples` stays readable.
   */
  flush(): void {
    // A second flush must keep the fade-out.
    if (!this.#paused && this.#size > 0) this.#keepTail()
    this.#paused = false
    this.#fadeIn = false
    this.#size = 0
    for (const entry of this.#live) this.#remember(entry)
    this.#live.length = 0
  }

  /**
   * Returns the number of pulled samples of an utterance, 0 for an unknown one. The last 32 are remembered.
   */
  sentSamples(utterance: number): number {
    for (const entry of this.#live) if (entry.id === utterance) return entry.sent
    for (const entry of this.#past) if (entry.id === utterance) return entry.sent
    return 0
  }

  /** Fills `into` with the next frame. Returns false, and writes zeros, when there is nothing to play. */
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
        if (!entry.ended) break // synthesis is behind: wait, to keep the order
        this.#finish(entry)
      }
      // Reports the end of an utterance in the pull that takes its last sample.
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
