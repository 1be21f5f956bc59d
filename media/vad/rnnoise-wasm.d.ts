declare module '@echogarden/rnnoise-wasm' {
  /** RNNoise as an Emscripten module. The weights of its network are part of it. */
  export interface Rnnoise {
    /** Replaced when the heap grows: read it anew for every access. */
    readonly HEAPF32: Float32Array
    _malloc(bytes: number): number
    _free(pointer: number): void
    /** 0 as `model` means the weights inside; 0 as result that memory is exhausted. */
    _rnnoise_create(model: number): number
    _rnnoise_destroy(state: number): void
    /** Samples of a frame at 48 kHz: 480. */
    _rnnoise_get_frame_size(): number
    /** Floats in the range of 16 bits; `output` may be `input`. Returns the probability of a voice. */
    _rnnoise_process_frame(state: number, output: number, input: number): number
  }
  const create: () => Promise<Rnnoise>
  export default create
}
