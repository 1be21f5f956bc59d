import { openResampler } from '../../media/codec/resampler.js'
import type { Metadata, OnnxRuntime, OnnxSession, Tensor } from './onnx.js'
import type { SpeechBatch } from './speech-model-batch.js'

/** One recurrent value: its names in the model and its shape around the batch dimension. */
interface State {
  readonly input: string
  readonly output: string
  readonly dims: readonly number[]
  readonly batchAt: number
  readonly outer: number
  readonly inner: number
}

const FREE_WINDOW_MS = 32
const FREE_CONTEXT_MS = 4

/**
 * A speech model of ONNX format. Expected inputs: float samples [batch, window], named `input` or otherwise not
 * named below; optionally `sr` (sample rate, int64); optionally recurrent state, such as `state`, whose new value
 * is the output `stateN` (or `h` and `hn`), with one free dimension for the batch. The first other output is the
 * probability of speech per window. If the model leaves the window length free, it is 32 ms plus 4 ms of
 * preceding context, as in published voice detectors.
 */
export class SpeechNetwork {
  readonly #runtime: OnnxRuntime
  readonly #session: OnnxSession
  readonly #input: string
  readonly #output: string
  readonly #takesRate: boolean
  readonly #states: readonly State[]
  /** Window length fixed by the model (samples); null when free. */
  readonly #fixed: number | null
  /** State by stream: recurrent values, the end of the last window, and the upsampler. */
  readonly #memory = new Map<number, { readonly states: Float32Array[]; readonly context: Float32Array }>()
  readonly #upsamplers = new Map<number, ReturnType<typeof openResampler>>()

  /** Throws Error when inputs or outputs do not fit. */
  constructor(runtime: OnnxRuntime, session: OnnxSession) {
    this.#runtime = runtime
    this.#session = session
    const outputs = new Set(session.outputMetadata.map(({ name }) => name))
    const states: State[] = []
    let input: Metadata | null = null
    let takesRate = false
    for (const meta of session.inputMetadata) {
      const next = [`${meta.name}N`, `${meta.name}n`].find((name) => outputs.has(name))
      if (meta.name === 'sr') takesRate = true
      else if (next !== undefined) states.push(stateOf(meta, next))
      else if (input === null) input = meta
      else throw new Error(`nothing is known for its input ${meta.name}`)
    }
    const used = new Set(states.map((state) => state.output))
    const output = session.outputMetadata.find(({ name }) => !used.has(name))
    if (input === null || output === undefined) throw new Error('it has no audio input or no output')
    const [, last] = input.shape ?? []
    this.#fixed = typeof last === 'number' && last > 0 ? last : null
    this.#input = input.name
    this.#output = output.name
    this.#takesRate = takesRate
    this.#states = states
  }

  /** Returns the samples of a session of this rate that make one window. */
  window(rate: 8000 | 16000): number {
    const modelRate = this.#rate(rate)
    const own = this.#fixed ?? (modelRate / 1000) * FREE_WINDOW_MS
    return (own * rate) / modelRate
  }

  async judge({ rate, streams, windows, closed }: SpeechBatch): Promise<Float32Array> {
    for (const stream of closed) {
      this.#memory.delete(stream)
      this.#upsamplers.delete(stream)
    }
    const count = streams.length
    if (count === 0) return new Float32Array(0)
    const modelRate = this.#rate(rate)
    const windowSamples = this.window(rate)
    const fresh = (windowSamples * modelRate) / rate
    const context = this.#fixed === null ? (modelRate / 1000) * FREE_CONTEXT_MS : 0
    const length = context + fresh
    const audio = new Float32Array(count * length)
    const memories = streams.map((stream) => this.#memoryOf(stream, context))
    memories.forEach((memory, i) => {
      const window = windows.subarray(i * windowSamples, (i + 1) * windowSamples)
      audio.set(memory.context, i * length)
      audio.set(rate === modelRate ? window : this.#raised(streams[i] ?? 0, window), i * length + context)
      memory.context.set(audio.subarray((i + 1) * length - context, (i + 1) * length))
    })
    const { Tensor } = this.#runtime
    const feeds: Record<string, Tensor> = { [this.#input]: new Tensor('float32', audio, [count, length]) }
    if (this.#takesRate) feeds.sr = new Tensor('int64', BigInt64Array.of(BigInt(modelRate)), [])
    this.#states.forEach((state, s) => {
      const joined = new Float32Array(state.outer * count * state.inner)
      for (const [i, memory] of memories.entries()) copy(memory.states[s], joined, state, count, i, false)
      const dims = state.dims.map((dim, at) => (at === state.batchAt ? count : dim))
      feeds[state.input] = new Tensor('float32', joined, dims)
    })
    const results = await this.#session.run(feeds)
    this.#states.forEach((state, s) => {
      const joined = results[state.output]?.data
      for (const [i, memory] of memories.entries()) copy(memory.states[s], joined, state, count, i, true)
    })
    const judged = results[this.#output]?.data ?? new Float32Array(count)
    // One number per window, or the last of several.
    const each = judged.length / count
    return Float32Array.from({ length: count }, (_, i) => judged[(i + 1) * each - 1] ?? 0)
  }

  /** Models without a rate input expect 16 kHz. */
  #rate(rate: 8000 | 16000): 8000 | 16000 {
    return this.#takesRate ? rate : 16000
  }

  #raised(stream: number, window: Float32Array): Float32Array {
    let upsampler = this.#upsamplers.get(stream)
    if (upsampler === undefined) {
      upsampler = openResampler(8000, 16000)
      this.#upsamplers.set(stream, upsampler)
    }
    return Float32Array.from(
      upsampler.process(Int16Array.from(window, (sample) => sample * 32768)),
      (sample) => sample / 32768,
    )
  }

  #memoryOf(stream: number, context: number) {
    let memory = this.#memory.get(stream)
    if (memory === undefined) {
      memory = {
        states: this.#states.map(({ outer, inner }) => new Float32Array(outer * inner)),
        context: new Float32Array(context),
      }
      this.#memory.set(stream, memory)
    }
    return memory
  }
}

function stateOf(meta: Metadata, output: string): State {
  const shape = meta.shape ?? []
  const batchAt = shape.findIndex((dim) => typeof dim !== 'number' || dim < 0)
  if (batchAt === -1) throw new Error(`its state ${meta.name} has no free dimension for a batch`)
  const dims = shape.map((dim, at) => (at === batchAt ? 1 : Number(dim)))
  const product = (part: readonly number[]): number => part.reduce((all, dim) => all * dim, 1)
  return {
    input: meta.name,
    output,
    dims,
    batchAt,
    outer: product(dims.slice(0, batchAt)),
    inner: product(dims.slice(batchAt + 1)),
  }
}

/** Copies one stream's state into its slot of the batch, or back. */
function copy(
  own: Float32Array | undefined,
  joined: Float32Array | undefined,
  { outer, inner }: State,
  count: number,
  index: number,
  back: boolean,
): void {
  if (own === undefined || joined === undefined) return
  for (let o = 0; o < outer; o++) {
    const offset = (o * count + index) * inner
    if (back) own.set(joined.subarray(offset, offset + inner), o * inner)
    else joined.set(own.subarray(o * inner, (o + 1) * inner), offset)
  }
}
