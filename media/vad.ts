import createFvad, { type Fvad } from '@echogarden/fvad-wasm'
import { EngineError } from './base/errors.js'
import { FRAME_MS, type SessionRate } from './frame.js'

/*
 * The constants were chosen on the tuning set of fixtures/speech (clean, car at 12 dB, office at 15 dB,
 * far talker) and checked on its test set: no miss and no false alarm there before speech begins.
 */

/** libfvad mode: 0 misses least, 3 has the fewest false alarms. The gate has removed most noise already. */
const FVAD_MODE = 1
/** Loudness is measured in blocks of 2.5 ms, which is the precision of onset and last voiced ms. */
const BLOCKS = 8
const BLOCK_MS = FRAME_MS / BLOCKS
/** High-pass before measuring, a pole at 250 Hz: rumble and hum are loud but not speech. */
const HIGH_PASS_HERTZ = 250
/** A frame may be speech when it is 9 dB above the tracked noise floor, as a power ratio ... */
const FRAME_RATIO = 8
/** ... and begins or ends with a block 6 dB above it ... */
const BLOCK_RATIO = 4
/** ... and -52 dBFS at all: what G.711 idle noise and comfort noise never reach. */
const GATE_MIN_POWER = 32768 ** 2 * 10 ** -5.2
/** The floor goes this share of the way to a quieter frame at once ... */
const FLOOR_FALL = 0.3
/** ... to a louder one that the detector does not take for speech ... */
const FLOOR_LEARN = 0.1
/** ... and to one it does, outside of speech and within 8 dB of the floor. */
const FLOOR_NEAR = 0.05
const NEAR_RATIO = 6
/** Under anything louder it creeps up: 0.05 dB a frame, a tenth of that during speech. */
const FLOOR_CREEP = 1.012
const FLOOR_CREEP_SPEECH = 1.001
/** Speech always has a quieter frame within 1.6 s; the quietest of it is never below the noise. */
const WINDOW_BUCKETS = 8
const BUCKET_FRAMES = 10
const FLOOR_MIN_POWER = 32768 ** 2 * 10 ** -7
const FLOOR_MAX_POWER = 32768 ** 2 * 10 ** -3
/** The first frame sets the floor, but not above -38 dBFS: the caller may be speaking already. */
const FLOOR_START_MAX_POWER = 32768 ** 2 * 10 ** -3.8
/** The detector wakes a frame or three after a soft beginning: look back no further than this. */
const LOOK_BACK_MS = 80

export interface VadOptions {
  readonly rate: SessionRate
  /** Voiced time before an onset is told. */
  readonly startMs: number
  /** Silence after the last voiced sample before an offset is told. */
  readonly stopMs: number
}

/** One listener. Feed it consecutive 20 ms frames of one party. */
export interface Vad {
  /** Exactly 20 ms; `atMs` is session time of its first sample. Allocates nothing. */
  process(pcm: Int16Array, atMs: number): 'onset' | 'offset' | null
  /** Between onset and offset. */
  readonly speaking: boolean
  /** Session ms of the first voiced sample of the latest speech, not of its detection. */
  readonly onsetMs: number
  /** Session ms just after the last voiced sample heard so far. */
  readonly lastVoicedMs: number
  /** Idempotent. */
  close(): void
}

export interface VadFactory {
  open(options: VadOptions): Vad
}

/** Loads the detector, once per thread. Throws EngineError `internal` when it cannot be loaded. */
export async function loadVad(): Promise<VadFactory> {
  let fvad: Fvad
  try {
    fvad = await createFvad()
  } catch (cause) {
    throw new EngineError('internal', 'the voice activity detector could not be loaded', { cause })
  }
  // One frame at 16 kHz; shared by all detectors, because each call fills it anew.
  const frame = fvad._malloc(320 * 2)
  return { open: (options) => new FvadListener(fvad, frame, options) }
}

/** An energy gate with an adaptive floor in front of the WebRTC detector: speech is what both hear. */
class FvadListener implements Vad {
  onsetMs = 0
  lastVoicedMs = 0
  speaking = false

  readonly #fvad: Fvad
  readonly #frame: number
  readonly #samples: number
  readonly #startMs: number
  readonly #stopMs: number
  readonly #handle: number
  #closed = false
  readonly #pole: number
  /** Last input and output of the high-pass. */
  #input = 0
  #output = 0
  /** Power of the noise; 0 before the first frame. */
  #floor = 0
  /** Quietest frame of each 200 ms; 0 until the window is full. */
  readonly #quietest = new Float64Array(WINDOW_BUCKETS)
  #bucket = 0
  #bucketFrames = 0
  #bucketMin = Number.POSITIVE_INFINITY
  /** Voiced ms collected towards an onset; unvoiced frames take it back. */
  #collectedMs = 0
  #collectedFromMs = 0
  /** Start of the unbroken run of loud blocks up to now, or -1. */
  #loudFromMs = -1

  constructor(fvad: Fvad, frame: number, options: VadOptions) {
    this.#fvad = fvad
    this.#frame = frame
    this.#samples = (options.rate / 1000) * FRAME_MS
    this.#pole = Math.exp((-2 * Math.PI * HIGH_PASS_HERTZ) / options.rate)
    this.#startMs = options.startMs
    this.#stopMs = options.stopMs
    this.#handle = fvad._fvad_new()
    if (
      this.#handle === 0 ||
      fvad._fvad_set_mode(this.#handle, FVAD_MODE) !== 0 ||
      fvad._fvad_set_sample_rate(this.#handle, options.rate) !== 0
    ) {
      throw new EngineError('internal', 'the voice activity detector refused its settings')
    }
  }

  process(pcm: Int16Array, atMs: number): 'onset' | 'offset' | null {
    if (this.#closed || pcm.length !== this.#samples) return null
    // The gates of this frame use the floor before it, else a burst would lift its own threshold.
    const blockGate = Math.max(this.#floor * BLOCK_RATIO, GATE_MIN_POWER)
    const frameGate = Math.max(this.#floor * FRAME_RATIO, GATE_MIN_POWER)
    const blockSamples = this.#samples / BLOCKS
    let power = 0
    let firstLoud = -1
    let lastLoud = -1
    let loudFromMs = this.#loudFromMs
    let input = this.#input
    let output = this.#output
    for (let block = 0; block < BLOCKS; block++) {
      let sum = 0
      const end = (block + 1) * blockSamples
      for (let i = block * blockSamples; i < end; i++) {
        const sample = pcm[i] as number
        output = sample - input + this.#pole * output
        input = sample
        sum += output * output
      }
      sum /= blockSamples
      power += sum
      if (sum > blockGate) {
        if (firstLoud === -1) firstLoud = block
        lastLoud = block
        if (loudFromMs < 0) loudFromMs = atMs + block * BLOCK_MS
      }
    }
    power /= BLOCKS
    this.#input = input
    this.#output = output
    if (lastLoud === -1) loudFromMs = -1
    this.#loudFromMs = loudFromMs

    // The detector models noise itself, so it hears every frame, also the quiet ones.
    this.#fvad.HEAP16.set(pcm, this.#frame >> 1)
    const heard = this.#fvad._fvad_process(this.#handle, this.#frame, this.#samples) === 1
    const first = this.#floor === 0
    const voiced = heard && lastLoud !== -1 && power > frameGate && !first
    if (first) this.#floor = Math.min(power, FLOOR_START_MAX_POWER)
    this.#trackFloor(power, heard, voiced)
    return voiced ? this.#voiced(atMs, firstLoud, lastLoud, loudFromMs) : this.#unvoiced(atMs + FRAME_MS)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#fvad._fvad_free(this.#handle)
  }

  #voiced(atMs: number, firstLoud: number, lastLoud: number, loudFromMs: number): 'onset' | null {
    const lastVoicedMs = atMs + (lastLoud + 1) * BLOCK_MS
    if (this.speaking) {
      this.lastVoicedMs = lastVoicedMs
      return null
    }
    if (this.#collectedMs === 0) {
      const firstMs = atMs + firstLoud * BLOCK_MS
      this.#collectedFromMs = loudFromMs >= 0 ? Math.max(loudFromMs, firstMs - LOOK_BACK_MS) : firstMs
    }
    this.#collectedMs += FRAME_MS
    if (this.#collectedMs < this.#startMs) return null
    this.speaking = true
    this.#collectedMs = 0
    this.onsetMs = this.#collectedFromMs
    this.lastVoicedMs = lastVoicedMs
    return 'onset'
  }

  #unvoiced(endMs: number): 'offset' | null {
    if (!this.speaking) {
      this.#collectedMs = Math.max(0, this.#collectedMs - FRAME_MS)
      return null
    }
    if (endMs - this.lastVoicedMs < this.#stopMs) return null
    this.speaking = false
    this.#collectedMs = 0
    return 'offset'
  }

  #trackFloor(power: number, heard: boolean, voiced: boolean): void {
    let floor = this.#floor
    if (power < floor) floor += FLOOR_FALL * (power - floor)
    else if (!heard) floor += FLOOR_LEARN * (power - floor)
    else if (!this.speaking && power < floor * NEAR_RATIO) floor += FLOOR_NEAR * (power - floor)
    else floor *= this.speaking || voiced ? FLOOR_CREEP_SPEECH : FLOOR_CREEP
    floor = Math.max(floor, this.#windowMin(power))
    this.#floor = Math.min(FLOOR_MAX_POWER, Math.max(FLOOR_MIN_POWER, floor))
  }

  /** Minimum of the last 1.6 s: a steady noise that set in during speech is learned after that. */
  #windowMin(power: number): number {
    if (power < this.#bucketMin) this.#bucketMin = power
    if (++this.#bucketFrames === BUCKET_FRAMES) {
      this.#quietest[this.#bucket] = this.#bucketMin
      this.#bucket = (this.#bucket + 1) % WINDOW_BUCKETS
      this.#bucketFrames = 0
      this.#bucketMin = Number.POSITIVE_INFINITY
    }
    let quietest = Number.POSITIVE_INFINITY
    for (let i = 0; i < WINDOW_BUCKETS; i++) {
      const candidate = this.#quietest[i] as number
      if (candidate < quietest) quietest = candidate
    }
    return quietest
  }
}
