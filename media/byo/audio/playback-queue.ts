import { type Digit, type DtmfTiming, FRAME_MS, type SessionRate } from '../../base/frame.js'
import { openResampler, type Resampler } from '../../codec/resampler.js'
import { type AudioFormat, decodeAudio } from './audio-format.js'

/** Audio a bot may have queued (ms). */
export const CAPACITY_MS = 300_000
/** Marks and keys that may be queued at once. */
const MAX_MARKERS = 10_000
/** Audio chunks and markers that may be queued together: 300 s in chunks of 6 ms. */
const MAX_ITEMS = 50_000
/** The array of an empty queue may still refer to this many played items. */
const KEPT_ITEMS = 8
/** Audio that arrives within this many frames after an underrun belongs to the same speech. */
const UNDERRUN_FRAMES = 15
/** Length of a key and the pause after it (ms), unless the key has a timing of its own. */
const KEY_MS = 320
/** Length of `w` in a string of keys: 500 ms. */
const PAUSE_FRAMES = 25
/** Cross-fade (ms) from the skipped audio into what follows, so that there is no click. */
const FADE_MS = 5
/** Largest sample of silence: -48 dB, above the noise floor of mu-law. */
const QUIET_PEAK = 128
/** Lengths are counted in 1/48000 s, a whole number per sample for all rates but 22050 and 44100 Hz. */
const TICKS_PER_MS = 48
/** Highest supported sample rate (Hz). */
const MAX_RATE = 192_000
/** Total length of the names of queued markers (characters). */
const MAX_NAMES = 1024 * 1024

/** An item between two pieces of audio. */
export type Marker =
  | { readonly kind: 'mark'; readonly name: string }
  /** End of a piece of audio that has an id of its own. */
  | { readonly kind: 'played'; readonly id: string }
  | { readonly kind: 'key'; readonly digit: Digit; readonly timing?: DtmfTiming | undefined }
  | { readonly kind: 'pause' }

interface Chunk {
  readonly bytes: Uint8Array
  readonly sound: AudioFormat
  /** Arrival time (ms). */
  readonly atMs: number
  offset: number
}

type Item = Chunk | Marker

function nameLength(marker: Marker): number {
  return marker.kind === 'mark' ? marker.name.length : marker.kind === 'played' ? marker.id.length : 0
}

const isChunk = (item: Item): item is Chunk => 'bytes' in item

/**
 * Audio and markers of a bot in one order, consumed 20 ms per frame tick. Audio is decoded when it is played,
 * so that a burst costs nothing at once. Chunks may have any length; a sample split between two chunks is
 * joined. Uses no clock and no socket.
 */
export class PlaybackQueue {
  /** Times the queue ran empty in the middle of speech. */
  underruns = 0
  /**
   * Arrival time (ms) of the last sample of the last frame, had it arrived sample by sample; infinite when
   * the frame was not full.
   */
  arrivedMs = Number.POSITIVE_INFINITY
  readonly #rate: SessionRate
  readonly #frameSamples: number
  /** The queue is `#items` from `#head` to below `#end`. */
  #items: Item[] = []
  #head = 0
  #end = 0
  /** Items removed from the front of the array so far. */
  #removed = 0
  #ticks = 0
  #markers = 0
  /** Characters in the names of queued markers. */
  #names = 0
  /** Queued marks that are not forgotten; marks before item number `#forgotten` are. */
  #marks = 0
  #forgotten = 0
  /** First byte of a split sample. */
  #half: { readonly byte: number; readonly sound: AudioFormat } | null = null
  /** Frames still occupied by keys or a pause. */
  #blocked = 0
  #dry = UNDERRUN_FRAMES + 1
  #reached: Marker[] = []
  readonly #resamplers = new Map<AudioFormat, Resampler>()
  readonly #scratch = new Int16Array(MAX_RATE / 50)
  /** Beginning of the skipped audio, for the cross-fade. */
  readonly #fade = new Int16Array((MAX_RATE / 1000) * FADE_MS)
  #hasAudio = false
  #fadeSamples = 0
  #fadeSound: AudioFormat | null = null
  /** Format whose last samples are still in its resampler. */
  #tail: AudioFormat | null = null

  constructor(rate: SessionRate) {
    this.#rate = rate
    this.#frameSamples = rate / 50
  }

  get queuedMs(): number {
    return this.#ticks / TICKS_PER_MS
  }

  /** True when the last tick found no audio. */
  get dry(): boolean {
    return this.#dry > 0
  }

  /** True when the last tick was full of audio and the next one would not be: more should have arrived. */
  get starved(): boolean {
    const full = this.arrivedMs !== Number.POSITIVE_INFINITY
    return full && this.#markers === 0 && this.#blocked === 0 && this.#ticks < FRAME_MS * TICKS_PER_MS
  }

  /** True when nothing is left to be played or done. */
  get idle(): boolean {
    return this.#head === this.#end && this.#blocked === 0
  }

  /** Adds audio that just arrived, without a copy. Returns false and takes nothing when it does not fit. */
  enqueue(bytes: Uint8Array, sound: AudioFormat, nowMs = 0): boolean {
    const ticks = (bytes.length / sound.bytesPerSample) * (48_000 / sound.rate)
    if (this.#end - this.#head >= MAX_ITEMS) return false
    if (this.#ticks + ticks > CAPACITY_MS * TICKS_PER_MS) return false
    const whole = sound.bytesPerSample === 1 ? bytes : this.#samplesOf(bytes, sound)
    if (whole.length === 0) return true
    if (this.#dry > 0) {
      if (this.#dry <= UNDERRUN_FRAMES) this.underruns++
      this.#dry = 0
    }
    this.#items[this.#end++] = { bytes: whole, sound, atMs: nowMs, offset: 0 }
    this.#ticks += (whole.length / sound.bytesPerSample) * (48_000 / sound.rate)
    return true
  }

  /** Adds a marker; returns false when too many are queued. */
  addMarker(marker: Marker): boolean {
    if (this.#markers >= MAX_MARKERS || this.#end - this.#head >= MAX_ITEMS) return false
    const name = nameLength(marker)
    if (this.#names + name > MAX_NAMES) return false
    this.#names += name
    this.#markers++
    if (marker.kind === 'mark') this.#marks++
    this.#items[this.#end++] = marker
    if (this.#head === this.#end - 1) this.#reachMarkers()
    return true
  }

  /** Drops all audio and keys; returns the markers that have to be acknowledged, in order. */
  clear(): { readonly droppedMs: number; readonly marks: readonly Marker[] } {
    const droppedMs = Math.round(this.queuedMs)
    const marks: Marker[] = []
    for (let i = this.#head; i < this.#end; i++) {
      const item = this.#items[i] as Item
      if (isChunk(item) || (item.kind === 'mark' && this.#removed + i < this.#forgotten)) continue
      if (item.kind === 'mark' || item.kind === 'played') marks.push(item)
    }
    this.#removed += this.#end
    this.#items = []
    this.#head = 0
    this.#end = 0
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

  /** Forgets the queued marks and keeps the audio. */
  forgetMarks(): void {
    this.#forgotten = this.#removed + this.#end
    this.#markers -= this.#marks
    this.#marks = 0
  }

  /**
   * Skips the oldest audio with a cross-fade into what follows; markers on the way are reached. Returns the
   * length skipped (ms).
   */
  skip(ms: number): number {
    const before = this.#ticks
    this.#keepFade()
    let left = ms * TICKS_PER_MS
    while (left > 0 && this.#blocked === 0) {
      this.#reachMarkers()
      const chunk = this.#first
      if (chunk === undefined || !isChunk(chunk)) break
      const { sound } = chunk
      const perSample = 48_000 / sound.rate
      const ready = (chunk.bytes.length - chunk.offset) / sound.bytesPerSample
      const samples = Math.min(ready, Math.floor(left / perSample))
      if (samples === 0) break
      left -= samples * perSample
      this.#consume(chunk, samples)
    }
    this.#reachMarkers()
    return (before - this.#ticks) / TICKS_PER_MS
  }

  /** Returns whether the next `ms` of audio (at most 20) are queued and silent. */
  quietFor(ms: number): boolean {
    let left = ms * TICKS_PER_MS
    for (let i = this.#head; left > 0; i++) {
      if (i >= this.#end) return false
      const item = this.#items[i] as Item
      if (!isChunk(item)) continue
      const { sound, bytes, offset } = item
      const perSample = 48_000 / sound.rate
      const samples = Math.min((bytes.length - offset) / sound.bytesPerSample, Math.floor(left / perSample))
      if (samples === 0) return true
      decodeAudio(sound, bytes, offset, samples, this.#scratch, 0)
      for (let at = 0; at < samples; at++) {
        if (Math.abs(this.#scratch[at] as number) > QUIET_PEAK) return false
      }
      left -= samples * perSample
    }
    return true
  }

  /** Writes the next 20 ms into `into`; returns false when there is no audio. */
  pull(into: Int16Array): boolean {
    this.arrivedMs = Number.NEGATIVE_INFINITY
    const hasAudio = this.#pull(into)
    this.#hasAudio = hasAudio
    if (!hasAudio) this.arrivedMs = Number.POSITIVE_INFINITY
    return hasAudio
  }

  #pull(into: Int16Array): boolean {
    if (this.#blocked > 0) {
      this.#blocked--
      if (this.#blocked === 0) this.#reachMarkers()
      return this.#endTail(into)
    }
    const first = this.#first
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
   * Plays the samples a resampler still holds when its audio ends, or discards them when `into` is null, so
   * that they do not precede the next audio. Returns true when there were some.
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

  /** The oldest item; undefined when the queue is empty. */
  get #first(): Item | undefined {
    return this.#head < this.#end ? this.#items[this.#head] : undefined
  }

  get hasReached(): boolean {
    return this.#reached.length > 0
  }

  /** Returns the markers reached since the last call, in order, or null when there are none. */
  takeReached(): readonly Marker[] | null {
    if (this.#reached.length === 0) return null
    const takeReached = this.#reached
    this.#reached = []
    return takeReached
  }

  /** Reads up to `samples` samples of one format; returns how many there were. */
  #read(sound: AudioFormat, into: Int16Array, samples: number): number {
    let filled = 0
    while (filled < samples && this.#blocked === 0) {
      const chunk = this.#first
      if (chunk === undefined || !isChunk(chunk) || chunk.sound !== sound) break
      const ready = (chunk.bytes.length - chunk.offset) / sound.bytesPerSample
      const take = Math.min(ready, samples - filled)
      decodeAudio(sound, chunk.bytes, chunk.offset, take, into, filled)
      filled += take
      const arrivedMs = chunk.atMs + (chunk.offset / sound.bytesPerSample / sound.rate) * 1000
      if (arrivedMs > this.arrivedMs) this.arrivedMs = arrivedMs
      this.#consume(chunk, take)
      this.#reachMarkers()
    }
    if (this.#fadeSamples > 0) this.#fadeInto(sound, into, filled)
    return filled
  }

  #pad(into: Int16Array, from: number): void {
    into.fill(0, from)
    this.arrivedMs = Number.POSITIVE_INFINITY
  }

  #keepFade(): void {
    const chunk = this.#first
    // After two skips in one tick, the first one began where audio was last played.
    if (!this.#hasAudio || this.#fadeSamples > 0 || chunk === undefined || !isChunk(chunk)) return
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

  /** Reaches the markers at the head, up to the next audio or pause. */
  #reachMarkers(): void {
    while (this.#blocked === 0) {
      const item = this.#first
      if (item === undefined || isChunk(item)) return
      const forgotten = item.kind === 'mark' && this.#removed + this.#head < this.#forgotten
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
    if (this.#head === this.#end) {
      this.#removed += this.#head
      // A short array is filled again from the start, because most of a bot's messages find the queue empty.
      if (this.#end > KEPT_ITEMS) this.#items = []
      this.#head = 0
      this.#end = 0
      // Removes the rounding error of 22050 and 44100 Hz.
      this.#ticks = 0
    } else if (this.#head >= 256 && this.#head * 2 >= this.#end) {
      this.#items = this.#items.slice(this.#head, this.#end)
      this.#removed += this.#head
      this.#end -= this.#head
      this.#head = 0
    }
  }

  /** Returns whole 16-bit samples, starting with the byte left over from the chunk before. */
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
