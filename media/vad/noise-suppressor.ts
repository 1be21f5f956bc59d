import type { Rnnoise } from '@echogarden/rnnoise-wasm'
import { EngineError } from '../base/errors.js'
import { FRAME_MS, type SessionRate } from '../base/frame.js'
import { openResampler, type Resampler } from '../codec/resampler.js'

const RNNOISE_RATE = 48_000
/** RNNoise works on 10 ms at 48 kHz. */
const RNNOISE_FRAME = 480
const RNNOISE_FRAMES = ((RNNOISE_RATE / 1000) * FRAME_MS) / RNNOISE_FRAME
/**
 * Frames in which RNNoise itself finds a voice less likely become silence: what it leaves of babble is bursts out of
 * nothing, which an adaptive detector takes for speech (eleven false alarms instead of none in four minutes of office).
 */
const VOICE_LIKELY = 0.4
/** RNNoise overlaps its windows by one frame of 10 ms. */
const RNNOISE_DELAY_MS = 10
/** Delay of a resampler: half its filter of 32 samples of the lower rate. */
const RESAMPLER_DELAY = 16

/** Removes noise from the audio of one party, 20 ms at a time, for detection: the result is not meant for listeners. */
export interface NoiseSuppressor {
  /** Time (ms) by which the result is later than the input. */
  readonly delayMs: number
  /** Processes exactly 20 ms. The result is scratch memory, valid until the next call. Allocates nothing. */
  process(pcm: Int16Array): Int16Array
  /** Idempotent. */
  close(): void
}

/** Noise suppression of one thread. It takes no memory until the first `load`. */
export class NoiseSuppression {
  #loading: Promise<void> | null = null
  #rnnoise: Rnnoise | null = null
  /** One frame; all suppressors share it, because each call fills it anew. */
  #frame = 0

  /** Loads RNNoise once. Throws EngineError `internal` when it cannot be loaded. */
  load(): Promise<void> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  /** Returns null before `load` has resolved. Throws EngineError `internal` when memory is exhausted. */
  open(rate: SessionRate): NoiseSuppressor | null {
    return this.#rnnoise === null ? null : new RnnoiseSuppressor(this.#rnnoise, this.#frame, rate)
  }

  async #load(): Promise<void> {
    try {
      const { default: create } = await import('@echogarden/rnnoise-wasm')
      const rnnoise = await create()
      if (rnnoise._rnnoise_get_frame_size() !== RNNOISE_FRAME) throw new Error('its frames are not 10 ms')
      this.#frame = rnnoise._malloc(RNNOISE_FRAME * Float32Array.BYTES_PER_ELEMENT)
      this.#rnnoise = rnnoise
    } catch (cause) {
      throw new EngineError('internal', 'noise suppression could not be loaded', { cause })
    }
  }
}

/** RNNoise between two resamplers. */
class RnnoiseSuppressor implements NoiseSuppressor {
  readonly delayMs: number
  readonly #rnnoise: Rnnoise
  readonly #frame: number
  readonly #state: number
  readonly #up: Resampler
  readonly #down: Resampler
  readonly #clean = new Int16Array(RNNOISE_FRAMES * RNNOISE_FRAME)
  #closed = false

  constructor(rnnoise: Rnnoise, frame: number, rate: SessionRate) {
    this.#rnnoise = rnnoise
    this.#frame = frame
    this.#up = openResampler(rate, RNNOISE_RATE)
    this.#down = openResampler(RNNOISE_RATE, rate)
    this.delayMs = RNNOISE_DELAY_MS + (2 * RESAMPLER_DELAY * 1000) / rate
    this.#state = rnnoise._rnnoise_create(0)
    if (this.#state === 0) throw new EngineError('internal', 'no memory for noise suppression')
  }

  process(pcm: Int16Array): Int16Array {
    if (this.#closed) return pcm
    const rnnoise = this.#rnnoise
    const clean = this.#clean
    const wide = this.#up.process(pcm)
    const first = this.#frame >> 2
    for (let at = 0; at < clean.length; at += RNNOISE_FRAME) {
      const before = rnnoise.HEAPF32
      for (let i = 0; i < RNNOISE_FRAME; i++) before[first + i] = wide[at + i] as number
      const likely = rnnoise._rnnoise_process_frame(this.#state, this.#frame, this.#frame)
      if (likely < VOICE_LIKELY) {
        clean.fill(0, at, at + RNNOISE_FRAME)
        continue
      }
      const after = rnnoise.HEAPF32
      for (let i = 0; i < RNNOISE_FRAME; i++) {
        const sample = after[first + i] as number
        clean[at + i] = sample >= 32767 ? 32767 : sample <= -32768 ? -32768 : Math.round(sample)
      }
    }
    return this.#down.process(clean)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#rnnoise._rnnoise_destroy(this.#state)
  }
}
