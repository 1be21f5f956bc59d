/*
 * The entry file of the thread that runs an ONNX turn detector. Its one input are floats for the last seconds
 * of a caller's turn at 16 kHz, right-aligned after silence: samples of full scale 1 as [1, samples], or
 * their Whisper features as [1, 80, frames]. The first output is one number: the probability that the caller
 * has finished. docs/turn-taking.md describes it in full.
 */
import { workerData } from 'node:worker_threads'
import { resample } from '../../media/codec/resampler.js'
import { TURN_DETECTOR_MS } from '../../media/vad/turn-detector.js'
import { LogMel, MEL_BANDS, MEL_HOP } from './log-mel.js'
import { loadOnnx, type OnnxRuntime, type OnnxSession, serveModel } from './onnx.js'
import type { TurnDetectorReady, TurnDetectorRequest, TurnDetectorResult } from './turn-detector-request.js'

const MODEL_RATE = 16_000
const LONGEST = (TURN_DETECTOR_MS / 1000) * MODEL_RATE
/** Shorter audio would not contain a word. */
const SHORTEST = MODEL_RATE / 2
/** The first runs compile the model. */
const WARM_UPS = 3
/** Timed runs; their median is reported. */
const TIMED_RUNS = 5
/** A turn is judged while few calls pause at the same moment, so a question may use two cores. */
const THREADS = 2

class Model {
  readonly #ort: OnnxRuntime
  readonly #session: OnnxSession
  readonly #input: string
  readonly #output: string
  /** Length of the model's audio (samples at 16 kHz). */
  readonly #samples: number
  readonly #mel: LogMel | null

  /** Throws Error when inputs or outputs do not fit. */
  constructor(ort: OnnxRuntime, session: OnnxSession) {
    this.#ort = ort
    this.#session = session
    const [input, ...more] = session.inputMetadata
    const [output] = session.outputMetadata
    if (input === undefined || output === undefined) throw new Error('it has no input or no output')
    const unknown = more[0]
    if (unknown !== undefined) throw new Error(`nothing is known for its input ${unknown.name}`)
    this.#input = input.name
    this.#output = output.name
    const [batch, ...rest] = input.shape ?? []
    if (typeof batch === 'number' && batch > 1) throw new Error(`it takes ${batch} sounds at once`)
    const bands = rest.length === 2 ? rest[0] : null
    const last = rest.at(-1)
    if (
      rest.length === 0 ||
      rest.length > 2 ||
      (typeof bands === 'number' && bands > 0 && bands !== MEL_BANDS)
    ) {
      throw new Error(`its input must be [1, samples] or [1, ${MEL_BANDS}, frames], not [${input.shape}]`)
    }
    const each = bands === null ? 1 : MEL_HOP
    this.#samples = typeof last === 'number' && last > 0 ? last * each : LONGEST
    if (this.#samples < SHORTEST || this.#samples > LONGEST) {
      throw new Error(
        `it hears ${this.#samples / MODEL_RATE} s: it must be 0.5 to ${TURN_DETECTOR_MS / 1000} s`,
      )
    }
    this.#mel = bands === null ? null : new LogMel(this.#samples)
  }

  /** Throws Error when the output is not a probability. */
  async answer({ id, rate, ring, end, samples }: TurnDetectorRequest): Promise<TurnDetectorResult> {
    // Copied at once, before newer audio overwrites it.
    const own = new Int16Array(samples)
    const from = (end - samples + ring.length) % ring.length
    const head = ring.subarray(from, Math.min(ring.length, from + samples))
    own.set(head)
    own.set(ring.subarray(0, samples - head.length), head.length)
    return { id, probability: await this.judge(resample(own, rate, MODEL_RATE)) }
  }

  async judge(pcm: Int16Array): Promise<number> {
    const length = this.#samples
    const audible = pcm.subarray(Math.max(0, pcm.length - length))
    const silent = length - audible.length
    const audio = new Float32Array(length)
    for (let i = 0; i < audible.length; i++) audio[silent + i] = (audible[i] as number) / 32768
    const mel = this.#mel
    const { Tensor } = this.#ort
    const input =
      mel === null
        ? new Tensor('float32', audio, [1, length])
        : new Tensor('float32', mel.compute(audio, silent), [1, MEL_BANDS, mel.frames])
    const results = await this.#session.run({ [this.#input]: input })
    const [likely, ...more] = results[this.#output]?.data ?? []
    if (likely === undefined || more.length > 0 || !(likely >= 0 && likely <= 1)) {
      throw new Error(`its output is no probability: ${[likely, ...more].slice(0, 4).join(', ')}`)
    }
    return likely
  }
}

serveModel<TurnDetectorReady, TurnDetectorRequest, TurnDetectorResult>(async () => {
  const { ort, session } = await loadOnnx(workerData, THREADS)
  const model = new Model(ort, session)
  // Audio that is not silent, so that its features are not constant.
  const tick = Int16Array.from({ length: MODEL_RATE }, (_, i) => (i % 80) * 20)
  for (let run = 0; run < WARM_UPS; run++) await model.judge(tick)
  const times: number[] = []
  for (let run = 0; run < TIMED_RUNS; run++) {
    const fromMs = performance.now()
    await model.judge(tick)
    times.push(performance.now() - fromMs)
  }
  times.sort((a, b) => a - b)
  return { ready: { ms: times[TIMED_RUNS >> 1] ?? 0 }, answer: (question) => model.answer(question) }
})
