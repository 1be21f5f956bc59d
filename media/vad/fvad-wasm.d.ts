declare module '@echogarden/fvad-wasm' {
  /** libfvad (the WebRTC voice activity detector) as an Emscripten module. */
  export interface Fvad {
    /** Replaced when the heap grows: read it anew for every access. */
    readonly HEAP16: Int16Array
    _malloc(bytes: number): number
    _free(pointer: number): void
    _fvad_new(): number
    _fvad_free(vad: number): void
    _fvad_reset(vad: number): void
    /** 0 (few misses) to 3 (few false alarms); -1 when invalid. */
    _fvad_set_mode(vad: number, mode: number): number
    _fvad_set_sample_rate(vad: number, rate: number): number
    /** 1 voiced, 0 not, -1 for a wrong length (10, 20 or 30 ms are right). */
    _fvad_process(vad: number, frame: number, samples: number): number
  }
  const create: () => Promise<Fvad>
  export default create
}
