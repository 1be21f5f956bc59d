import { EngineError } from '../base/errors.js'

/*
 * The inner loops of the resampler as a WebAssembly module with SIMD, put together here byte by byte:
 * this file is its source. One instance and one memory per thread; a call uses the work area from
 * beginning to end and leaves nothing in it, so that every resampler of the thread can share it.
 */

/** Most input samples a call takes. */
export const MAX_CHUNK = 2048
/** Longest filter row (192 kHz to 8 kHz) and highest upsampling there is room for. */
const MAX_TAPS = 768
const MAX_UP = 6

const LINE_AT = 0
const LINE_BYTES = (MAX_TAPS + MAX_CHUNK + 16) * 4
const INPUT_AT = LINE_AT + LINE_BYTES
const INPUT_BYTES = (MAX_CHUNK + 16) * 2
const OUT_AT = INPUT_AT + INPUT_BYTES
const OUT_BYTES = (MAX_CHUNK * MAX_UP + 16) * 2
const ROWS_AT = Math.ceil((OUT_AT + OUT_BYTES) / 16) * 16
/** Of 64 KiB, 2 MB: every pair of rates that exists takes less than 1 MB of rows together. */
const PAGES = 32

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

// ---- the module

const I32 = 0x7f
const F32 = 0x7d
const V128 = 0x7b
// Parameters and locals by number.
const SAMPLES = 0
const TAPS = 1
const ROWS = 2
const COUNT = 3
const INDEX = 4
const PHASE = 5
const STEP_INDEX = 6
const STEP_PHASE = 7
const UP = 8
const FROM = 9
const ROW = 10
const LEFT = 11
const OUT = 12
const SUM = 13
const EVEN = 14
const ODD = 15

const get = (local: number): number[] => [0x20, local]
const set = (local: number): number[] => [0x21, local]
const constant = (value: number): number[] => [0x41, ...signed(value)]
const real = (value: number): number[] => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)]
const loop = (...body: readonly number[][]): number[] => [0x03, 0x40, ...body.flat(), 0x0b]
const when = (...body: readonly number[][]): number[] => [0x04, 0x40, ...body.flat(), 0x0b]
const AGAIN_IF = [0x0d, 0]
const ADD = [0x6a]
const SUBTRACT = [0x6b]
const MULTIPLY = [0x6c]
const AT_LEAST = [0x4e]
const store16 = [0x3b, 1, 0]
const F_ADD = [0x92]
const vector = (opcode: number, ...immediate: readonly number[]): number[] => [
  0xfd,
  ...unsigned(opcode),
  ...immediate,
]
const loadAt = (offset: number): number[] => vector(0x00, 2, ...unsigned(offset))
const STORE = vector(0x0b, 2, 0)
const LOAD_FOUR_SAMPLES = vector(0x03, 1, 0)
const TO_REAL = vector(0xfa)
const V_ADD = vector(0xe4)
const V_MULTIPLY = vector(0xe6)
const V_ZERO = vector(0x0c, ...new Array<number>(16).fill(0))
const lane = (which: number): number[] => vector(0x1f, which)

/** `local += step` for what is on the stack by `step`. */
const grow = (local: number, step: number[]): number[] => [...get(local), ...step, ...ADD, ...set(local)]

const BODY: readonly number[] = [
  // The input as real numbers behind the history: line[taps - 1 ...].
  ...[...constant(INPUT_AT), ...set(FROM)],
  ...[...get(TAPS), ...constant(1), ...SUBTRACT, ...constant(4), ...MULTIPLY, ...constant(LINE_AT), ...ADD],
  ...set(OUT),
  ...get(SAMPLES),
  ...set(LEFT),
  ...loop(
    get(OUT),
    get(FROM),
    LOAD_FOUR_SAMPLES,
    TO_REAL,
    STORE,
    grow(OUT, constant(16)),
    grow(FROM, constant(8)),
    [...get(LEFT), ...constant(4), ...SUBTRACT, 0x22, LEFT],
    [...constant(1), ...AT_LEAST],
    AGAIN_IF,
  ),
  // One output after the other: the row of its phase times the line from its index on.
  ...constant(OUT_AT),
  ...set(OUT),
  ...loop(
    [...get(INDEX), ...constant(4), ...MULTIPLY, ...constant(LINE_AT), ...ADD, ...set(FROM)],
    [
      ...get(PHASE),
      ...get(TAPS),
      ...MULTIPLY,
      ...constant(4),
      ...MULTIPLY,
      ...get(ROWS),
      ...ADD,
      ...set(ROW),
    ],
    [...V_ZERO, ...set(EVEN), ...V_ZERO, ...set(ODD)],
    [...get(TAPS), ...set(LEFT)],
    loop(
      [...get(EVEN), ...get(FROM), ...loadAt(0), ...get(ROW), ...loadAt(0), ...V_MULTIPLY, ...V_ADD],
      set(EVEN),
      [...get(ODD), ...get(FROM), ...loadAt(16), ...get(ROW), ...loadAt(16), ...V_MULTIPLY, ...V_ADD],
      set(ODD),
      grow(FROM, constant(32)),
      grow(ROW, constant(32)),
      [...get(LEFT), ...constant(8), ...SUBTRACT, 0x22, LEFT],
      AGAIN_IF,
    ),
    [...get(EVEN), ...get(ODD), ...V_ADD, ...set(EVEN)],
    [...get(EVEN), ...lane(0), ...get(EVEN), ...lane(1), ...F_ADD],
    [...get(EVEN), ...lane(2), ...get(EVEN), ...lane(3), ...F_ADD, ...F_ADD],
    // Clamped (f32.min, f32.max), then to the nearest whole number.
    [...real(32_767), 0x96, ...real(-32_768), 0x97, 0x90, ...set(SUM)],
    [...get(OUT), ...get(SUM), 0xa8, ...store16],
    grow(OUT, constant(2)),
    grow(INDEX, get(STEP_INDEX)),
    grow(PHASE, get(STEP_PHASE)),
    [...get(PHASE), ...get(UP), ...AT_LEAST],
    when([...get(PHASE), ...get(UP), ...SUBTRACT, ...set(PHASE)], grow(INDEX, constant(1))),
    [...get(COUNT), ...constant(1), ...SUBTRACT, 0x22, COUNT],
    AGAIN_IF,
  ),
]

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const section = (id: number, ...content: readonly number[]) => [id, ...unsigned(content.length), ...content]
  const name = (text: string) => [text.length, ...Buffer.from(text)]
  const locals = [3, 4, I32, 1, F32, 2, V128]
  const code = [...locals, ...BODY, 0x0b]
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, 1, 0x60, 9, ...new Array<number>(9).fill(I32), 0),
    ...section(3, 1, 0),
    ...section(5, 1, 0, PAGES),
    ...section(7, 2, ...name('memory'), 2, 0, ...name('run'), 0, 0),
    ...section(10, 1, ...unsigned(code.length), ...code),
  ])
}

/** LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128)
  return [...bytes, rest]
}

function signed(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest > 63 || rest < -64) {
    bytes.push((rest & 127) | 128)
    rest >>= 7
  }
  return [...bytes, rest & 127]
}

// ---- its use

/** Rows of a filter in the memory of this thread's kernel. */
export interface KernelRows {
  readonly at: number
  readonly taps: number
  readonly up: number
  readonly down: number
}

export class FirKernel {
  readonly #run: Run
  readonly #memory: ArrayBuffer
  readonly #line: Float32Array
  readonly #input: Int16Array
  readonly #out: Int16Array
  #free = ROWS_AT

  constructor(instance: WebAssembly.Instance) {
    const { memory, run } = instance.exports as { readonly memory: WebAssembly.Memory; readonly run: Run }
    this.#run = run
    this.#memory = memory.buffer
    this.#line = new Float32Array(this.#memory, LINE_AT, LINE_BYTES / 4)
    this.#input = new Int16Array(this.#memory, INPUT_AT, INPUT_BYTES / 2)
    this.#out = new Int16Array(this.#memory, OUT_AT, OUT_BYTES / 2)
  }

  /**
   * Keeps the rows of a filter, oldest sample first, for good. `taps` is a multiple of eight. Throws
   * EngineError `internal` when there is no room.
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
   * Filters a piece of at most `MAX_PIECE` samples into `out` from `outAt`: `count` outputs, the first at
   * `position` in 1/up samples from the start of the piece. `history` holds the `taps - 1` samples before
   * it, and afterwards those before the next piece.
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
    const line = this.#line
    line.set(history)
    this.#input.set(input)
    const index = Math.floor(position / up)
    const stepIndex = Math.floor(down / up)
    const phase = position - index * up
    const stepPhase = down - stepIndex * up
    // The module's loops are entered before they are asked.
    if (count > 0) this.#run(input.length, taps, at, count, index, phase, stepIndex, stepPhase, up)
    else for (let i = 0; i < input.length; i++) line[taps - 1 + i] = input[i] as number
    const from = this.#out
    for (let i = 0; i < count; i++) out[outAt + i] = from[i] as number
    for (let i = 0; i < history.length; i++) history[i] = line[input.length + i] as number
  }
}

/** The kernel of this thread; null where the processor has no SIMD that WebAssembly can use. */
export function openFirKernel(): FirKernel | null {
  const bytes = moduleBytes()
  if (!WebAssembly.validate(bytes)) return null
  return new FirKernel(new WebAssembly.Instance(new WebAssembly.Module(bytes)))
}
