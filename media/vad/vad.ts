import createFvad, { type Fvad } from '@echogarden/fvad-wasm'
import { EngineError } from '../base/errors.js'
import { FRAME_MS, type SessionRate } from '../base/frame.js'
import type { SpeechModel, SpeechModelStream } from './speech-model.js'

/*
 * The constants were tuned on the tuning set of fixtures/speech (clean, car at 12 dB, office at 15 dB,
 * distant talker) in calls full of the same noise, and checked on its test set: no miss, and no false alarm
 * before, between and after the utterances.
 */

/**
 * libfvad mode: 0 misses least, 3 has the fewest false alarms. The energy gate already removes most noise.
 */
const FVAD_MODE = 1
/** Blocks per frame. Their length of 2.5 ms is the precision of `onsetMs` and `lastVoicedMs`. */
const BLOCKS = 8
const BLOCK_MS = FRAME_MS / BLOCKS
/**
 * Power is measured behind a high-pass with a pole at 250 Hz, because rumble and hum are loud but not speech.
 */
const HIGH_PASS_HERTZ = 250
/** Speech continues in frames 9 dB above the noise floor (power ratio) ... */
const FRAME_RATIO = 8
/** ... but begins only 11 dB above it, because the loudest syllables of babble noise reach 10 dB ... */
const START_RATIO = 12
/** ... unless that is less than 10 dB below the talker: a talker hardly above the noise must be detected. */
const START_BELOW_TALKER = 0.1
/** Initial loudness of the talker: -26 dBFS, the nominal level of ITU-T P.56. */
const TALKER_START_POWER = 32768 ** 2 * 10 ** -2.6
/** The talker's loudness follows louder frames within 10 frames and softer ones within 50. */
const TALKER_RISE = 0.1
const TALKER_FALL = 0.02
/** `learnNoise` raises the gate to 8 dB above the assumed talker; it then falls by 2 dB per second. */
const LEARNED_RATIO = 6
const LEARNED_DECAY = 0.99
/** A voiced frame begins and ends with a block 6 dB above the noise floor ... */
const BLOCK_RATIO = 4
/** ... and above -52 dBFS, a level that G.711 idle noise and comfort noise never reach. */
const GATE_MIN_POWER = 32768 ** 2 * 10 ** -5.2
/**
 * The noise floor moves by this share towards a quieter frame. A faster floor would follow the dips of babble
 * noise and take its swells for speech ...
 */
const FLOOR_FALL = 0.1
/** ... but it falls faster after 100 ms at 12 dB below it, because then the noise itself has ended, ... */
const FLOOR_DROP = 0.3
const FLOOR_DROP_RATIO = 16
const FLOOR_DROP_FRAMES = 5
/** ... rises towards a louder frame that is not speech ... */
const FLOOR_LEARN = 0.1
/** ... and rises towards speech outside of an utterance when it is within 8 dB of the floor. */
const FLOOR_NEAR = 0.05
const NEAR_RATIO = 6
/** Any louder frame raises the floor by 2.6 dB per second, and by a third of that during speech. */
const FLOOR_CREEP = 1.012
const FLOOR_CREEP_SPEECH = 1.004
/**
 * Speech has a quieter frame at least every 1.6 s, so the quietest frame of 1.6 s is never below the noise.
 */
const WINDOW_BUCKETS = 8
const BUCKET_FRAMES = 10
const FLOOR_MIN_POWER = 32768 ** 2 * 10 ** -7
/**
 * Above this level the floor learns only sound that is steady for the whole window, which speech never is.
 */
const FLOOR_MAX_POWER = 32768 ** 2 * 10 ** -3
/** The first frame initialises the floor, at most at -38 dBFS, because the caller may already be speaking. */
const FLOOR_START_MAX_POWER = 32768 ** 2 * 10 ** -3.8
/**
 * libfvad detects a soft onset up to three frames late. The search for the onset goes back no further than
 * this.
 */
const LOOK_BACK_MS = 80

export interface VadOptions {
  readonly rate: SessionRate
  /** Voiced time before an onset is reported (ms). */
  readonly startMs: number
  /** Silence after the last voiced sample before an offset is reported (ms). */
  readonly stopMs: number
}

/** Voice activity detection for one party, fed with consecutive 20 ms frames. */
export interface Vad {
  /**
   * Processes exactly 20 ms; `atMs` is the session time of the first sample. Audio up to `echoPower` (mean
   * square above 250 Hz) is known to be the echo of the agent. Allocates nothing.
   */
  process(pcm: Int16Array, atMs: number, echoPower?: number): 'onset' | 'offset' | null
  /** True between onset and offset. */
  readonly speaking: boolean
  /** Session time of the first voiced sample of the latest speech (ms), not of its detection. */
  readonly onsetMs: number
  /** Session time just after the last voiced sample (ms). */
  readonly lastVoicedMs: number
  /** Voiced time of the latest speech without its gaps (ms). The bursts of a cough are mostly gaps. */
  readonly voicedMs: number
  /**
   * Treats sound as loud as the current one as noise from now on. The offset follows unless something louder
   * does.
   */
  learnNoise(): void
  /** Idempotent. */
  close(): void
}

export interface VadFactory {
  open(options: VadOptions): Vad
}

/** The speech probability of the model that begins speech, and the one below which speech ends. */
const MODEL_BEGINS = 0.5
const MODEL_GOES_ON = 0.35

/**
 * Loads the detector, once per thread. Throws EngineError `internal` when it cannot be loaded. With a
 * `model`, its result replaces that of libfvad whenever it arrives in time.
 */
export async function loadVad(model: SpeechModel | null = null): Promise<VadFactory> {
  let fvad: Fvad
  try {
    fvad = await createFvad()
  } catch (cause) {
    throw new EngineError('internal', 'the voice activity detector could not be loaded', { cause })
  }
  // One frame at 16 kHz. All detectors share it, because each call fills it anew.
  const frame = fvad._malloc(320 * 2)
  return { open: (options) => new FvadDetector(fvad, frame, options, model?.open(options.rate) ?? null) }
}

/** An energy gate with an adaptive noise floor in front of libfvad: speech is detected when both agree. */
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
  /** Gate set by `learnNoise`. */
  #learnedPower = 0
  /** Consecutive frames far below the floor. */
  #farBelow = 0
  /** Quietest frame of each 200 ms; 0 until the window is full. */
  readonly #quietest = new Float64Array(WINDOW_BUCKETS)
  #bucket = 0
  #bucketFrames = 0
  #bucketMin = Number.POSITIVE_INFINITY
  /** Voiced time collected towards an onset (ms). Unvoiced frames reduce it. */
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

  process(pcm: Int16Array, atMs: number, echoPower = 0): 'onset' | 'offset' | null {
    if (this.#closed || pcm.length !== this.#samples) return null
    // The gates use the floor before this frame; otherwise a burst would raise its own threshold.
    const blockGate = Math.max(this.#noiseFloor * BLOCK_RATIO, GATE_MIN_POWER, echoPower)
    const frameGate = Math.max(this.#frameGate(), echoPower)
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

    // libfvad models noise by itself, so it must process every frame, including quiet ones.
    this.#fvad.HEAP16.set(pcm, this.#frame >> 1)
    const own = this.#fvad._fvad_process(this.#handle, this.#frame, this.#samples) === 1
    const likely = this.#model === null ? null : this.#model.process(pcm)
    const heard = likely === null ? own : likely >= (this.speaking ? MODEL_GOES_ON : MODEL_BEGINS)
    const first = this.#noiseFloor === 0
    const voiced = heard && lastLoud !== -1 && power > frameGate && !first
    if (first) this.#noiseFloor = Math.min(power, FLOOR_START_MAX_POWER)
    // Echo is not line noise: it ends when the agent stops speaking. A model's result is late: the floor must not
    // learn the first syllable as noise meanwhile.
    if (echoPower === 0 || power > echoPower || power < this.#noiseFloor)
      this.#trackNoiseFloor(power, own || heard, voiced)
    if (voiced && this.speaking) {
      this.#talkerPower +=
        (power > this.#talkerPower ? TALKER_RISE : TALKER_FALL) * (power - this.#talkerPower)
    }
    return voiced ? this.#voiced(atMs, firstLoud, lastLoud, loudFromMs) : this.#unvoiced(atMs + FRAME_MS)
  }

  learnNoise(): void {
    // At least twice the previous gate, so that repeated calls succeed where one does not.
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

  /**
   * Returns the minimum of the last 1.6 s, so that steady noise that began during speech is learned after
   * that time.
   */
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
