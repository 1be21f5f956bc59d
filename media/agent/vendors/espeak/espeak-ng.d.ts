/** The part of the package's surface that is used; it ships no types. */
declare module '@echogarden/espeak-ng-emscripten' {
  export interface EspeakEvent {
    readonly type: string
    /** 1-based, in code points of the text. */
    readonly text_position: number
    readonly word_length: number
    /** Milliseconds of audio. */
    readonly audio_position: number
  }

  export interface EspeakWorker {
    /** 0 when found; otherwise the former voice stays. */
    set_voice(name: string): number
    set_rate(wordsPerMinute: number): void
    get_samplerate(): number
    /** Blocks; a truthy return of the callback stops it. */
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
