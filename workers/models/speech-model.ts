import { FRAME_MS, type SessionRate } from '../../media/base/frame.js'
import type { SpeechModel, SpeechModelStats, SpeechModelStream } from '../../media/vad/speech-model.js'
import { ModelThread, type OnnxModelOptions } from './model-thread.js'
import type { SpeechBatch, SpeechScores, SpeechWindowSizes } from './speech-model-batch.js'

/** Age (ms), beyond one window, after which a judgement is too old to use. */
const DEADLINE_MS = 60
/** More calls than a media worker carries. */
const MAX_BATCH = 512
const RATES = [8000, 16000] as const

/**
 * Starts the thread and loads the model. Throws EngineError `config_invalid` with the reason when that fails.
 * After later failures the built-in detector decides until a new thread is ready.
 */
export async function openSpeechModel(options: OnnxModelOptions): Promise<OnnxSpeechModel> {
  const model = new OnnxSpeechModel(options)
  await model.start()
  return model
}

/** A VAD model of ONNX format in a thread of its own. */
export class OnnxSpeechModel implements SpeechModel {
  readonly #thread: ModelThread<SpeechWindowSizes, SpeechBatch, SpeechScores>
  readonly #streams = new Map<number, WindowStream>()
  /** Streams with a full window, by rate. */
  readonly #waiting: Record<SessionRate, Set<WindowStream>> = { 8000: new Set(), 16000: new Set() }
  readonly #closed: number[] = []
  #window: SpeechWindowSizes = { 8000: 0, 16000: 0 }
  #next = 1
  #windows = 0
  #batches = 0
  #judged = 0
  #fallbackFrames = 0

  constructor(options: OnnxModelOptions) {
    this.#thread = new ModelThread(options, {
      name: 'speech model',
      setting: 'PARLEY_VAD_MODEL',
      withoutModel: 'the built-in detector decides',
      onAnswer: ({ streams, probabilities: likely }) => {
        this.#judged += streams.length
        streams.forEach((id, i) => {
          this.#streams.get(id)?.judged(likely[i] ?? 0)
        })
        this.#ask()
      },
      onLost: () => {
        this.#closed.length = 0
        for (const rate of RATES) this.#waiting[rate].clear()
      },
    })
  }

  async start(): Promise<void> {
    this.#window = (await this.#thread.start()) ?? this.#window
  }

  open(rate: SessionRate): SpeechModelStream {
    const stream: WindowStream = new WindowStream(this.#next++, rate, this.#window[rate], {
      full: () => this.#full(stream),
      late: () => {
        this.#fallbackFrames++
      },
      closed: () => this.#forget(stream),
    })
    this.#streams.set(stream.id, stream)
    return stream
  }

  stats(): SpeechModelStats {
    return {
      windows: this.#windows,
      batches: this.#batches,
      judged: this.#judged,
      fallbackFrames: this.#fallbackFrames,
      restarts: this.#thread.restarts,
    }
  }

  /** Ends the thread. Idempotent. */
  close(): Promise<void> {
    return this.#thread.close()
  }

  #full(stream: WindowStream): void {
    this.#waiting[stream.rate].add(stream)
    this.#ask()
  }

  #forget(stream: WindowStream): void {
    this.#waiting[stream.rate].delete(stream)
    if (this.#streams.delete(stream.id) && this.#thread.running) this.#closed.push(stream.id)
  }

  /** Sends one batch at a time; the next one gathers meanwhile. */
  #ask(): void {
    if (!this.#thread.free) return
    for (const rate of RATES) {
      const waiting = this.#waiting[rate]
      if (waiting.size === 0) continue
      const window = this.#window[rate]
      const streams: number[] = []
      const windows = new Float32Array(Math.min(waiting.size, MAX_BATCH) * window)
      for (const stream of waiting) {
        if (streams.length === MAX_BATCH) break
        windows.set(stream.take(), streams.length * window)
        streams.push(stream.id)
        waiting.delete(stream)
      }
      this.#batches++
      this.#windows += streams.length
      this.#thread.ask({ rate, streams, windows, closed: this.#closed.splice(0) }, [windows.buffer])
      return
    }
  }
}

interface StreamEvents {
  full(): void
  late(): void
  closed(): void
}

/** Gathers frames into windows and keeps the newest judgement while it is fresh. */
class WindowStream implements SpeechModelStream {
  readonly id: number
  readonly rate: SessionRate
  readonly #events: StreamEvents
  readonly #window: Float32Array
  /** The last full window; a newer one overwrites it when it was not taken. */
  readonly #ready: Float32Array
  #filled = 0
  #likely: number | null = null
  /** Frames since the audio of the newest judgement began. */
  #age = 0
  readonly #maxAge: number
  #closed = false

  constructor(id: number, rate: SessionRate, window: number, events: StreamEvents) {
    this.id = id
    this.rate = rate
    this.#window = new Float32Array(window)
    this.#ready = new Float32Array(window)
    this.#maxAge = Math.ceil(((window * 1000) / rate + DEADLINE_MS) / FRAME_MS)
    this.#events = events
  }

  process(pcm: Int16Array): number | null {
    if (this.#closed) return null
    const window = this.#window
    let filled = this.#filled
    for (let i = 0; i < pcm.length; i++) {
      window[filled++] = (pcm[i] as number) / 32768
      if (filled < window.length) continue
      filled = 0
      this.#ready.set(window)
      this.#events.full()
    }
    this.#filled = filled
    if (++this.#age > this.#maxAge) this.#likely = null
    if (this.#likely === null) this.#events.late()
    return this.#likely
  }

  take(): Float32Array {
    return this.#ready
  }

  judged(likely: number): void {
    this.#likely = likely
    this.#age = 0
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#events.closed()
  }
}
