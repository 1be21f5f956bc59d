import { EngineError } from '../base/errors.js'
import { FIR_KERNEL_WASM } from './fir-kernel-wasm.js'

/*
 * The inner loops of the resampler as a WebAssembly module with SIMD; its source is fir-kernel.wat. There is
 * one instance and one memory per thread. A call uses the work area from beginning to end and leaves
 * nothing in it, so all resamplers of a thread share it.
 */

/** Most input samples per call. */
export const MAX_CHUNK = 2048
/** Bounds of the work area: the longest filter row (192 kHz to 8 kHz) and the highest upsampling factor. */
const MAX_TAPS = 768
const MAX_UP = 6

// The memory layout (bytes). fir-kernel.wat contains the same addresses.
const LINE_AT = 0
const LINE_BYTES = (MAX_TAPS + MAX_CHUNK + 16) * 4
const INPUT_AT = LINE_AT + LINE_BYTES
const INPUT_BYTES = (MAX_CHUNK + 16) * 2
const OUT_AT = INPUT_AT + INPUT_BYTES
const OUT_BYTES = (MAX_CHUNK * MAX_UP + 16) * 2
const ROWS_AT = Math.ceil((OUT_AT + OUT_BYTES) / 16) * 16

type Run = (
  samples: number,
  taps: number,
  rows: number,
  count: number,
  index: number,
  phase: number,
  stepIndex: number,
  stepPhase: number,
  up: number,
) => void

/** The rows of a filter in the memory of this thread's kernel. */
export interface KernelRows {
  readonly at: number
  readonly taps: number
  readonly up: number
  readonly down: number
}

export class FirKernel {
  readonly #run: Run
  readonly #memory: ArrayBuffer
  /** History and input of the current call. */
  readonly #window: Float32Array
  readonly #input: Int16Array
  readonly #out: Int16Array
  #free = ROWS_AT

  constructor(instance: WebAssembly.Instance) {
    const { memory, run } = instance.exports as { readonly memory: WebAssembly.Memory; readonly run: Run }
    this.#run = run
    this.#memory = memory.buffer
    this.#window = new Float32Array(this.#memory, LINE_AT, LINE_BYTES / 4)
    this.#input = new Int16Array(this.#memory, INPUT_AT, INPUT_BYTES / 2)
    this.#out = new Int16Array(this.#memory, OUT_AT, OUT_BYTES / 2)
  }

  /**
   * Stores the rows of a filter permanently, oldest sample first. `taps` is a multiple of eight. Throws
   * EngineError `internal` when the memory is full: it holds the rows of all existing pairs of rates.
   */
  store(rows: Float32Array, taps: number, up: number, down: number): KernelRows {
    const at = this.#free
    if (taps % 8 !== 0 || taps > MAX_TAPS || at + rows.byteLength > this.#memory.byteLength) {
      throw new EngineError('internal', 'no room for a filter', { context: { taps, up, down } })
    }
    new Float32Array(this.#memory, at, rows.length).set(rows)
    this.#free += rows.byteLength
    return { at, taps, up, down }
  }

  /**
   * Filters at most `MAX_CHUNK` samples to `count` samples in `out` from `outAt`. The first output is at
   * `position`, in 1/up samples from the start of the input. `history` holds the `taps - 1` samples before
   * the input, and is updated to those before the next input.
   */
  filter(
    { at, taps, up, down }: KernelRows,
    history: Float32Array,
    input: Int16Array,
    position: number,
    count: number,
    out: Int16Array,
    outAt: number,
  ): void {
    const window = this.#window
    window.set(history)
    this.#input.set(input)
    const index = Math.floor(position / up)
    const stepIndex = Math.floor(down / up)
    const phase = position - index * up
    const stepPhase = down - stepIndex * up
    // The module computes at least one output.
    if (count > 0) this.#run(input.length, taps, at, count, index, phase, stepIndex, stepPhase, up)
    else for (let i = 0; i < input.length; i++) window[taps - 1 + i] = input[i] as number
    const from = this.#out
    for (let i = 0; i < count; i++) out[outAt + i] = from[i] as number
    for (let i = 0; i < history.length; i++) history[i] = window[input.length + i] as number
  }
}

/** Opens the kernel of this thread. Returns null on a processor without SIMD for WebAssembly. */
export function openFirKernel(): FirKernel | null {
  const bytes = Buffer.from(FIR_KERNEL_WASM, 'base64')
  if (!WebAssembly.validate(bytes)) return null
  return new FirKernel(new WebAssembly.Instance(new WebAssembly.Module(bytes)))
}
