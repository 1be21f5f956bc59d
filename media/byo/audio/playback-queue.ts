import { type Digit, type DtmfTiming, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import { type AudioFormat, decodeAudio } from './audio-format.js'

/** Sound a bot may have waiting. */
export const CAPACITY_MS = 300_000
/** Marks and keys waiting at once: a bot that sends more never meant them. */
const MAX_MARKERS = 10_000
/** Pieces of sound and markers together: 300 s in pieces of 6 ms. */
const MAX_ITEMS = 50_000
/** Sound that comes within this many frames of running dry belonged to the same speech. */
const UNDERRUN_FRAMES = 15
/** A key and the pause after it, unless it has a timing of its own. */
const KEY_MS = 320
/** What `w` in a string of keys stands for: 500 ms. */
const PAUSE_FRAMES = 25
/** Over this long the sound before a piece left out fades into the one after it: no click. */
const FADE_MS = 5
/** Sizes are counted in 1/48000 s, of which all rates but 22050 and 44100 Hz have an exact number a sample. */
const TICKS_PER_MS = 48
/** The highest rate of any sound. */
const MOST_RATE = 192_000
/** Characters in the names of all that waits. */
const MAX_NAMES = 1024 * 1024

/** Something between two sounds. */
export type Marker =
  | { readonly kind: 'mark'; readonly name: string }
  /** The end of one sound that has an id of its own. */
  | { readonly kind: 'played'; readonly id: string }
  | { readonly kind: 'key'; readonly digit: Digit; readonly timing?: DtmfTiming | undefined }
  | { readonly kind: 'pause' }

interface Chunk {
  readonly bytes: Uint8Array
  readonly sound: AudioFormat
  /** When it came. */
  readonly atMs: number
  offset: number
}

type Item = Chunk | Marker

function nameLength(marker: Marker): number {
  return marker.kind === 'mark' ? marker.name.length : marker.kind === 'played' ? marker.id.length : 0
}

const isChunk = (item: Item): item is Chunk => 'bytes' in item

/**
 * What a bot is going to say: sound and markers in one order, taken 20 ms at a time on the beat. Sound
 * is kept as it came and read when it is played, so that a burst costs nothing at once. Chunks may
 * have any length; a sample cut in two is put together again. No clock, no socket.
 */
export class PlaybackQueue {
  /** Times the queue ran dry in the middle of speech. */
  underruns = 0
  /**
   * When the last sound of the last frame came here, had it come sample by sample; infinite when the frame
   * was not full.
   */
  arrivedMs = Number.POSITIVE_INFINITY
  readonly #rate: SessionRate
  readonly #frameSamples: number
  #items: Item[] = []
  #head = 0
  /** Items that were before the first one of the array. */
  #gone = 0
  #ticks = 0
  #markers = 0
  /** Characters in their names. */
  #names = 0
  /** Among them marks that were not forgotten; those before that place in all items were. */
  #marks = 0
  #forgotten = 0
  /** The first half of a cut sample. */
  #half: { readonly byte: number; readonly sound: AudioFormat } | null = null
  /** Frames still taken by keys or a pause. */
  #blocked = 0
  #dry = UNDERRUN_FRAMES + 1
  #reached: Marker[] = []
  readonly #resamplers = new Map<AudioFormat, Resampler>()
  readonly #scratch = new Int16Array(MOST_RATE / 50)
  /** The beginning of what was left out, to fade from. */
  readonly #fade = new Int16Array((MOST_RATE / 1000) * FADE_MS)
  #sounding = false
  #fadeSamples = 0
  #fadeSound: AudioFormat | null = null
  /** The sound whose last samples are still in its filter. */
  #tail: AudioFormat | null = null

  constructor(rate: SessionRate) {
    this.#rate = rate
    this.#frameSamples = rate / 50
  }

  get queuedMs(): number {
    return this.#ticks / TICKS_PER_MS
  }

  /** The last beat found nothing. */
  get dry(): boolean {
    return this.#dry > 0
  }

  /** The last beat was full of sound, and the next one would not be: there should be more by now. */
  get starved(): boolean {
    const full = this.arrivedMs !== Number.POSITIVE_INFINITY
    return full && this.#markers === 0 && this.#blocked === 0 && this.#ticks < FRAME_MS * TICKS_PER_MS
  }

  /** Nothing waits to be played or done. */
  get idle(): boolean {
    return this.#head === this.#items.length && this.#blocked === 0
  }

  /** Adds sound that came just now, kept without a copy; false, and nothing is taken, when it does not fit. */
  enqueue(bytes: Uint8Array, sound: AudioFormat, nowMs = 0): boolean {
    const ticks = (bytes.length / sound.bytesPerSample) * (48_000 / sound.rate)
    if (this.#items.length - this.#head >= MAX_ITEMS) return false
    if (this.#ticks + ticks > CAPACITY_MS * TICKS_PER_MS) return false
    const whole = sound.bytesPerSample === 1 ? bytes : this.#samplesOf(bytes, sound)
    if (whole.length === 0) return true
    if (this.#dry > 0) {
      if (this.#dry <= UNDERRUN_FRAMES) this.underruns++
      this.#dry = 0
    }
    this.#items.push({ bytes: whole, sound, atMs: nowMs, offset: 0 })
    this.#ticks += (whole.length / sound.bytesPerSample) * (48_000 / sound.rate)
    return true
  }

  /** False when too many wait. */
  addMarker(marker: Marker): boolean {
    if (this.#markers >= MAX_MARKERS || this.#items.length - this.#head >= MAX_ITEMS) return false
    const name = nameLength(marker)
    if (this.#names + name > MAX_NAMES) return false
    this.#names += name
    this.#markers++
    if (marker.kind === 'mark') this.#marks++
    this.#items.push(marker)
    if (this.#head === this.#items.length - 1) this.#pass()
    return true
  }

  /** Drops all sound and keys; what was to be told is handed back, in order. */
  clear(): { readonly droppedMs: number; readonly marks: readonly Marker[] } {
    const droppedMs = Math.round(this.queuedMs)
    const marks: Marker[] = []
    for (let i = this.#head; i < this.#items.length; i++) {
      const item = this.#items[i] as Item
      if (isChunk(item) || (item.kind === 'mark' && this.#gone + i < this.#forgotten)) continue
      if (item.kind === 'mark' || item.kind === 'played') marks.push(item)
    }
    this.#gone += this.#items.length
    this.#items = []
    this.#head = 0
    this.#ticks = 0
    this.#markers = 0
    this.#names = 0
    this.#marks = 0
    this.#half = null
    this.#blocked = 0
    this.#fadeSamples = 0
    this.#endTail(null)
    this.#dry = UNDERRUN_FRAMES + 1
    return { droppedMs, marks }
  }

  /** Forgets the marks that wait; sound stays. */
  forgetMarks(): void {
    this.#forgotten = this.#gone + this.#items.length
    this.#markers -= this.#marks
    this.#marks = 0
  }

  /**
   * Leaves out the oldest sound, faded over into what follows; markers on the way are reached. Returns the
   * ms left out.
   */
  skip(ms: number): number {
    const before = this.#ticks
    this.#keepFade()
    let left = ms * TICKS_PER_MS
    while (left > 0 && this.#blocked === 0) {
      this.#pass()
      const chunk = this.#items[this.#head]
      if (chunk === undefined || !isChunk(chunk)) break
      const { sound } = chunk
      const perSample = 48_000 / sound.rate
      const ready = (chunk.bytes.length - chunk.offset) / sound.bytesPerSample
      const samples = Math.min(ready, Math.floor(left / perSample))
      if (samples === 0) break
      left -= samples * perSample
      this.#consume(chunk, samples)
    }
    this.#pass()
    return (before - this.#ticks) / TICKS_PER_MS
  }

  /** Fills `into` with the next 20 ms; false when there is no sound for it. */
  pull(into: Int16Array): boolean {
    this.arrivedMs = Number.NEGATIVE_INFINITY
    const sounding = this.#pull(into)
    this.#sounding = sounding
    if (!sounding) this.arrivedMs = Number.POSITIVE_INFINITY
    return sounding
  }

  #pull(into: Int16Array): boolean {
    if (this.#blocked > 0) {
      this.#blocked--
      if (this.#blocked === 0) this.#pass()
      return this.#endTail(into)
    }
    const first = this.#items[this.#head]
    if (first === undefined || !isChunk(first)) {
      if (this.#dry <= UNDERRUN_FRAMES) this.#dry++
      return this.#endTail(into)
    }
    const { sound } = first
    if (sound !== this.#tail) this.#endTail(null)
    if (sound.rate === this.#rate) {
      const filled = this.#read(sound, into, this.#frameSamples)
      if (filled < into.length) this.#pad(into, filled)
    } else {
      const samples = Math.round(sound.rate / 50)
      const filled = this.#read(sound, this.#scratch, samples)
      if (filled < samples) this.#pad(this.#scratch, filled)
      const frame = this.#resampler(sound).process(this.#scratch.subarray(0, samples))
      into.set(frame.length > into.length ? frame.subarray(0, into.length) : frame)
      this.#tail = sound
    }
    return true
  }

  /**
   * Converting delays: what is still in the filter when its sound is over is played now, or with null
   * forgotten, so that it is not the beginning of what is said next. True when there was some to play.
   */
  #endTail(into: Int16Array | null): boolean {
    const sound = this.#tail
    if (sound === null) return false
    this.#tail = null
    const samples = Math.round(sound.rate / 50)
    const frame = this.#resampler(sound).process(this.#scratch.fill(0, 0, samples).subarray(0, samples))
    if (into === null) return false
    into.set(frame.length > into.length ? frame.subarray(0, into.length) : frame)
    this.arrivedMs = Number.POSITIVE_INFINITY
    return true
  }

  get hasReached(): boolean {
    return this.#reached.length > 0
  }

  /** What was reached since the last call, in order; null when nothing was. */
  takeReached(): readonly Marker[] | null {
    if (this.#reached.length === 0) return null
    const takeReached = this.#reached
    this.#reached = []
    return takeReached
  }

  /** Reads up to `samples` samples of one kind of sound; returns how many there were. */
  #read(sound: AudioFormat, into: Int16Array, samples: number): number {
    let filled = 0
    while (filled < samples && this.#blocked === 0) {
      const chunk = this.#items[this.#head]
      if (chunk === undefined || !isChunk(chunk) || chunk.sound !== sound) break
      const ready = (chunk.bytes.length - chunk.offset) / sound.bytesPerSample
      const take = Math.min(ready, samples - filled)
      decodeAudio(sound, chunk.bytes, chunk.offset, take, into, filled)
      filled += take
      const arrivedMs = chunk.atMs + (chunk.offset / sound.bytesPerSample / sound.rate) * 1000
      if (arrivedMs > this.arrivedMs) this.arrivedMs = arrivedMs
      this.#consume(chunk, take)
      this.#pass()
    }
    if (this.#fadeSamples > 0) this.#fadeInto(sound, into, filled)
    return filled
  }

  #pad(into: Int16Array, from: number): void {
    into.fill(0, from)
    this.arrivedMs = Number.POSITIVE_INFINITY
  }

  #keepFade(): void {
    const chunk = this.#items[this.#head]
    // Two pieces in one beat: the first began where sound was played last.
    if (!this.#sounding || this.#fadeSamples > 0 || chunk === undefined || !isChunk(chunk)) return
    const { sound } = chunk
    const ready = (chunk.bytes.length - chunk.offset) / sound.bytesPerSample
    this.#fadeSamples = Math.min(ready, Math.floor((sound.rate / 1000) * FADE_MS))
    this.#fadeSound = sound
    decodeAudio(sound, chunk.bytes, chunk.offset, this.#fadeSamples, this.#fade, 0)
  }

  #fadeInto(sound: AudioFormat, into: Int16Array, filled: number): void {
    const length = Math.min(this.#fadeSamples, filled)
    this.#fadeSamples = 0
    if (sound !== this.#fadeSound) return
    for (let i = 0; i < length; i++) {
      const share = (i + 1) / (length + 1)
      into[i] = Math.round((this.#fade[i] as number) * (1 - share) + (into[i] as number) * share)
    }
  }

  #consume(chunk: Chunk, samples: number): void {
    chunk.offset += samples * chunk.sound.bytesPerSample
    this.#ticks -= samples * (48_000 / chunk.sound.rate)
    if (chunk.offset === chunk.bytes.length) this.#advance()
  }

  /** Reaches the markers at the head, until sound or the pause one of them makes. */
  #pass(): void {
    while (this.#blocked === 0) {
      const item = this.#items[this.#head]
      if (item === undefined || isChunk(item)) return
      const forgotten = item.kind === 'mark' && this.#gone + this.#head < this.#forgotten
      this.#advance()
      this.#names -= nameLength(item)
      if (forgotten) continue
      this.#markers--
      if (item.kind === 'mark') this.#marks--
      if (item.kind === 'key') {
        const { timing } = item
        this.#blocked = (timing === undefined ? KEY_MS : timing.toneMs + timing.gapMs) / FRAME_MS
      }
      if (item.kind === 'pause') this.#blocked = PAUSE_FRAMES
      else this.#reached.push(item)
    }
  }

  #advance(): void {
    this.#head++
    if (this.#head === this.#items.length) {
      this.#gone += this.#head
      this.#items.length = 0
      this.#head = 0
      // Against the rounding of 22050 and 44100 Hz.
      this.#ticks = 0
    } else if (this.#head >= 256 && this.#head * 2 >= this.#items.length) {
      this.#items.splice(0, this.#head)
      this.#gone += this.#head
      this.#head = 0
    }
  }

  /** Whole samples of two bytes, beginning with the half one that was left. */
  #samplesOf(bytes: Uint8Array, sound: AudioFormat): Uint8Array {
    const half = this.#half
    this.#half = null
    let all = bytes
    if (half !== null && half.sound === sound) {
      all = new Uint8Array(bytes.length + 1)
      all[0] = half.byte
      all.set(bytes, 1)
    }
    if (all.length % 2 === 0) return all
    this.#half = { byte: all[all.length - 1] as number, sound }
    return all.subarray(0, all.length - 1)
  }

  #resampler(sound: AudioFormat): Resampler {
    const known = this.#resamplers.get(sound)
    if (known !== undefined) return known
    const made = openResampler(sound.rate, this.#rate)
    this.#resamplers.set(sound, made)
    return made
  }
}
