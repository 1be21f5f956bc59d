/** Types of the used part of the package, which ships none. */
declare module '@echogarden/espeak-ng-emscripten' {
  export interface EspeakEvent {
    readonly type: string
    /** Position in the text (code points, from 1). */
    readonly text_position: number
    readonly word_length: number
    /** Position in the audio (ms). */
    readonly audio_position: number
  }

  export interface EspeakWorker {
    /** Returns 0 on success; otherwise the previous voice stays. */
    set_voice(name: string): number
    set_rate(wordsPerMinute: number): void
    get_samplerate(): number
    /** Blocks. A truthy return value of the callback stops the synthesis. */
    synthesize(
      text: string,
      chunk: (audio: Int16Array | null, events: readonly EspeakEvent[]) => number,
    ): void
  }

  export interface EspeakModule {
    readonly eSpeakNGWorker: new () => EspeakWorker
  }

  export default function load(): Promise<EspeakModule>
}
