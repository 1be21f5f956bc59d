import createFvad, { type Fvad } from '@echogarden/fvad-wasm'
import { EngineError } from './base/errors.js'
import { FRAME_MS, type SessionRate } from './frame.js'

/** libfvad's middle: 3 misses soft telephone speech, 1 takes keyboard and car noise for it. */
const FVAD_MODE = 2
/** Loudness is measured in blocks of 2.5 ms, which is the precision of onset and last voiced ms. */
const BLOCKS = 8
const BLOCK_MS = FRAME_MS / BLOCKS
/** A block is loud when it is this far above the tracked noise floor (9 dB, as a power ratio) ... */
const GATE_RATIO = 7.9
/** ... and above -50 dBFS at all: what G.711 idle noise and comfort noise never reach. */
const GATE_MIN_POWER = 32768 ** 2 * 10 ** -5
/** The floor falls to a quieter frame at once and rises by 0.1 dB a frame (5 dB a second). */
const FLOOR_RISE = 1.0233
const FLOOR_MIN_POWER = 32768 ** 2 * 10 ** -7
const FLOOR_MAX_POWER = 32768 ** 2 * 10 ** -3
/** While the detector hears speech the floor rises ten times slower. */
const FLOOR_RISE_SPEECH = 1.0023
/** The detector wakes a frame or three after a soft beginning: look back no further than this. */
const LOOK_BACK_MS = 100

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
  #floor = FLOOR_MIN_POWER * 100
  /** Voiced ms collected towards an onset; unvoiced frames take it back. */
  #collectedMs = 0
  #collectedFromMs = 0
  /** Start of the unbroken run of loud blocks up to now, or -1. */
  #loudFromMs = -1

  constructor(fvad: Fvad, frame: number, options: VadOptions) {
    this.#fvad = fvad
    this.#frame = frame
    this.#samples = (options.rate / 1000) * FRAME_MS
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
    // The gate of this frame uses the floor before it, else a burst would lift its own threshold.
    const gate = Math.max(this.#floor * GATE_RATIO, GATE_MIN_POWER)
    const blockSamples = this.#samples / BLOCKS
    let power = 0
    let firstLoud = -1
    let lastLoud = -1
    let loudFromMs = this.#loudFromMs
    for (let block = 0; block < BLOCKS; block++) {
      let sum = 0
      const end = (block + 1) * blockSamples
      for (let i = block * blockSamples; i < end; i++) {
        const sample = pcm[i] as number
        sum += sample * sample
      }
      sum /= blockSamples
      power += sum
      if (sum > gate) {
        if (firstLoud === -1) firstLoud = block
        lastLoud = block
        if (loudFromMs < 0) loudFromMs = atMs + block * BLOCK_MS
      }
    }
    power /= BLOCKS
    if (lastLoud === -1) loudFromMs = -1
    this.#loudFromMs = loudFromMs

    // The detector models noise itself, so it hears every frame, also the quiet ones.
    this.#fvad.HEAP16.set(pcm, this.#frame >> 1)
    const heard = this.#fvad._fvad_process(this.#handle, this.#frame, this.#samples) === 1
    const voiced = heard && lastLoud !== -1
    this.#trackFloor(power, heard)
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

  #trackFloor(power: number, heard: boolean): void {
    let floor = this.#floor * (heard ? FLOOR_RISE_SPEECH : FLOOR_RISE)
    if (power < floor) floor = power
    this.#floor = Math.min(FLOOR_MAX_POWER, Math.max(FLOOR_MIN_POWER, floor))
  }
}
