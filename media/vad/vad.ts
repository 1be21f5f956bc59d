import createFvad, { type Fvad } from '@echogarden/fvad-wasm'
import { EngineError } from '../base/errors.js'
import { FRAME_MS, type SessionRate } from '../base/frame.js'
import type { SpeechModel, SpeechModelStream } from './speech-model.js'

/*
 * The constants were chosen on the tuning set of fixtures/speech (clean, car at 12 dB, office at 15 dB,
 * far talker), said into calls full of the same noise, and checked on its test set: no miss, and no
 * false alarm before, between and after the utterances.
 */

/** libfvad mode: 0 misses least, 3 has the fewest false alarms. The gate has removed most noise already. */
const FVAD_MODE = 1
/** Loudness is measured in blocks of 2.5 ms, which is the precision of onset and last voiced ms. */
const BLOCKS = 8
const BLOCK_MS = FRAME_MS / BLOCKS
/** High-pass before measuring, a pole at 250 Hz: rumble and hum are loud but not speech. */
const HIGH_PASS_HERTZ = 250
/** Speech goes on in frames 9 dB above the tracked noise floor, as a power ratio ... */
const FRAME_RATIO = 8
/** ... but begins only 11 dB above it: the loudest syllables of a babble come to 10 dB ... */
const START_RATIO = 12
/** ... unless that is less than 10 dB below the talker: one who is hardly above the noise is let in. */
const START_BELOW_TALKER = 0.1
/** Loudness of a talker before one was heard: -26 dBFS, the nominal level of ITU-T P.56. */
const TALKER_START_POWER = 32768 ** 2 * 10 ** -2.6
/** The talker's loudness follows voiced frames: louder ones in 10 frames, softer ones in 50. */
const TALKER_RISE = 0.1
const TALKER_FALL = 0.02
/** Noise by order: 8 dB above what was taken for the talker, and 2 dB a second less from then on. */
const LEARNED_RATIO = 6
const LEARNED_DECAY = 0.99
/** A voiced frame begins or ends with a block 6 dB above the floor ... */
const BLOCK_RATIO = 4
/** ... and -52 dBFS at all: what G.711 idle noise and comfort noise never reach. */
const GATE_MIN_POWER = 32768 ** 2 * 10 ** -5.2
/**
 * The floor goes this share of the way to a quieter frame: slowly, else it lies in the dips of a babble
 * and the babble's swells look like speech ...
 */
const FLOOR_FALL = 0.1
/** ... and faster when 100 ms in a row were 12 dB below it: then the noise itself is gone, ... */
const FLOOR_DROP = 0.3
const FLOOR_DROP_RATIO = 16
const FLOOR_DROP_FRAMES = 5
/** ... to a louder one that the detector does not take for speech ... */
const FLOOR_LEARN = 0.1
/** ... and to one it does, outside of speech and within 8 dB of the floor. */
const FLOOR_NEAR = 0.05
const NEAR_RATIO = 6
/** Under anything louder it creeps up: 2.6 dB a second, a third of that during speech. */
const FLOOR_CREEP = 1.012
const FLOOR_CREEP_SPEECH = 1.004
/** Speech always has a quieter frame within 1.6 s; the quietest of it is never below the noise. */
const WINDOW_BUCKETS = 8
const BUCKET_FRAMES = 10
const FLOOR_MIN_POWER = 32768 ** 2 * 10 ** -7
/** Above this only what stands still for the whole window is learned: a talker never does. */
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
  /**
   * Exactly 20 ms; `atMs` is session time of its first sample. Sound up to `explained` (a mean square,
   * above 250 Hz) is known to be something else, our own echo. Allocates nothing.
   */
  process(pcm: Int16Array, atMs: number, explained?: number): 'onset' | 'offset' | null
  /** Between onset and offset. */
  readonly speaking: boolean
  /** Session ms of the first voiced sample of the latest speech, not of its detection. */
  readonly onsetMs: number
  /** Session ms just after the last voiced sample heard so far. */
  readonly lastVoicedMs: number
  /** Voiced time of the latest speech, its gaps left out: the bursts of a cough are mostly gaps. */
  readonly voicedMs: number
  /**
   * What is heard now turned out not to be a talker: from here on sound as loud as it is noise. The
   * offset follows when nothing louder does.
   */
  learnNoise(): void
  /** Idempotent. */
  close(): void
}

export interface VadFactory {
  open(options: VadOptions): Vad
}

/** A model calls it speech from here on, and goes on doing so down to there. */
const MODEL_BEGINS = 0.5
const MODEL_GOES_ON = 0.35

/**
 * Loads the detector, once per thread. Throws EngineError `internal` when it cannot be loaded. With a
 * `model` its judgement takes the place of the WebRTC detector's whenever it comes in time.
 */
export async function loadVad(model: SpeechModel | null = null): Promise<VadFactory> {
  let fvad: Fvad
  try {
    fvad = await createFvad()
  } catch (cause) {
    throw new EngineError('internal', 'the voice activity detector could not be loaded', { cause })
  }
  // One frame at 16 kHz; shared by all detectors, because each call fills it anew.
  const frame = fvad._malloc(320 * 2)
  return { open: (options) => new FvadDetector(fvad, frame, options, model?.open(options.rate) ?? null) }
}

/** An energy gate with an adaptive floor in front of the WebRTC detector: speech is what both hear. */
class FvadDetector implements Vad {
  onsetMs = 0
  lastVoicedMs = 0
  voicedMs = 0
  speaking = false

  readonly #fvad: Fvad
  readonly #model: SpeechModelStream | null
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
  #noiseFloor = 0
  #talkerPower = TALKER_START_POWER
  /** Sound softer than this is noise because the owner said so. */
  #learnedPower = 0
  /** Frames in a row far below the floor. */
  #farBelow = 0
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

  constructor(fvad: Fvad, frame: number, options: VadOptions, model: SpeechModelStream | null) {
    this.#model = model
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

  process(pcm: Int16Array, atMs: number, explained = 0): 'onset' | 'offset' | null {
    if (this.#closed || pcm.length !== this.#samples) return null
    // The gates of this frame use the floor before it, else a burst would lift its own threshold.
    const blockGate = Math.max(this.#noiseFloor * BLOCK_RATIO, GATE_MIN_POWER, explained)
    const frameGate = Math.max(this.#frameGate(), explained)
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
    const own = this.#fvad._fvad_process(this.#handle, this.#frame, this.#samples) === 1
    const likely = this.#model === null ? null : this.#model.process(pcm)
    const heard = likely === null ? own : likely >= (this.speaking ? MODEL_GOES_ON : MODEL_BEGINS)
    const first = this.#noiseFloor === 0
    const voiced = heard && lastLoud !== -1 && power > frameGate && !first
    if (first) this.#noiseFloor = Math.min(power, FLOOR_START_MAX_POWER)
    // An echo is not the noise of the line: it ends with our own speech.
    if (explained === 0 || power > explained || power < this.#noiseFloor)
      this.#trackNoiseFloor(power, heard, voiced)
    if (voiced && this.speaking) {
      this.#talkerPower +=
        (power > this.#talkerPower ? TALKER_RISE : TALKER_FALL) * (power - this.#talkerPower)
    }
    return voiced ? this.#voiced(atMs, firstLoud, lastLoud, loudFromMs) : this.#unvoiced(atMs + FRAME_MS)
  }

  learnNoise(): void {
    // Twice as much as before at least, so that repeated orders end what one does not.
    this.#learnedPower = Math.max(this.#talkerPower * LEARNED_RATIO, this.#learnedPower * 2)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#model?.close()
    this.#fvad._fvad_free(this.#handle)
  }

  #frameGate(): number {
    this.#learnedPower *= LEARNED_DECAY
    const going = Math.max(this.#noiseFloor * FRAME_RATIO, GATE_MIN_POWER, this.#learnedPower)
    if (this.speaking) return going
    return Math.max(going, Math.min(this.#noiseFloor * START_RATIO, this.#talkerPower * START_BELOW_TALKER))
  }

  #voiced(atMs: number, firstLoud: number, lastLoud: number, loudFromMs: number): 'onset' | null {
    const lastVoicedMs = atMs + (lastLoud + 1) * BLOCK_MS
    if (this.speaking) {
      this.lastVoicedMs = lastVoicedMs
      this.voicedMs += FRAME_MS
      return null
    }
    if (this.#collectedMs === 0) {
      const firstMs = atMs + firstLoud * BLOCK_MS
      this.#collectedFromMs = loudFromMs >= 0 ? Math.max(loudFromMs, firstMs - LOOK_BACK_MS) : firstMs
    }
    this.#collectedMs += FRAME_MS
    if (this.#collectedMs < this.#startMs) return null
    this.speaking = true
    this.voicedMs = this.#collectedMs
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

  #trackNoiseFloor(power: number, heard: boolean, voiced: boolean): void {
    let floor = this.#noiseFloor
    this.#farBelow = power * FLOOR_DROP_RATIO < floor ? this.#farBelow + 1 : 0
    if (power < floor) {
      floor += (this.#farBelow >= FLOOR_DROP_FRAMES ? FLOOR_DROP : FLOOR_FALL) * (power - floor)
    } else if (!heard) floor += FLOOR_LEARN * (power - floor)
    else if (!this.speaking && power < floor * NEAR_RATIO) floor += FLOOR_NEAR * (power - floor)
    else floor *= this.speaking || voiced ? FLOOR_CREEP_SPEECH : FLOOR_CREEP
    floor = Math.min(floor, Math.max(FLOOR_MAX_POWER, this.#noiseFloor))
    this.#noiseFloor = Math.max(FLOOR_MIN_POWER, floor, this.#windowMin(power))
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
