import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../media/base/clock.js'
import { EngineError, errorText } from '../media/base/errors.js'
import type { Log } from '../media/base/log.js'
import { FRAME_MS, type SessionRate } from '../media/frame.js'
import type { SpeechModel, SpeechModelStats, SpeechModelStream } from '../media/speech-model.js'
import type { FromModel, ModelThreadData, ToModel } from './speech-model-batch.js'

export interface RunningSpeechModel extends SpeechModel {
  stats(): SpeechModelStats
  /** Idempotent. */
  close(): Promise<void>
}

export interface SpeechModelOptions {
  /** An ONNX file; `speech-model-thread.ts` tells what it must be. */
  readonly path: string
  readonly clock: Clock
  readonly log: Log
  readonly runtime?: string
}

const THREAD = new URL('./speech-model-thread.js', import.meta.url)
const START_MS = 20_000
/** A judgement that is older than a window and this is too late to act on. */
const DEADLINE_MS = 60
/** A batch that takes so long is a thread that hangs. */
const HUNG_MS = 3000
const RESTART_MIN_MS = 500
const RESTART_MAX_MS = 30_000
/** More calls than a media worker carries. */
const MAX_BATCH = 512
const RATES = [8000, 16000] as const

/**
 * Starts the thread and loads the model. Throws EngineError `config_invalid` with the reason when that
 * fails; later failures leave the calls to the built-in detector until a new thread is there.
 */
export async function openSpeechModel(options: SpeechModelOptions): Promise<RunningSpeechModel> {
  const model = new ThreadModel(options)
  await model.start()
  return model
}

class ThreadModel implements RunningSpeechModel {
  readonly #options: SpeechModelOptions
  readonly #streams = new Map<number, WindowStream>()
  /** Streams with a window to judge, by rate. */
  readonly #waiting: Record<SessionRate, Set<WindowStream>> = { 8000: new Set(), 16000: new Set() }
  readonly #closed: number[] = []
  #thread: Worker | null = null
  #window: Record<SessionRate, number> = { 8000: 0, 16000: 0 }
  #busy = false
  #hung: Timer | null = null
  #restart: Timer | null = null
  #pauseMs = RESTART_MIN_MS
  #next = 1
  #windows = 0
  #batches = 0
  #fallbackFrames = 0
  #restarts = 0
  #closing = false

  constructor(options: SpeechModelOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { path, runtime = 'onnxruntime-node', clock } = this.#options
    const data: ModelThreadData = { path, runtime }
    const thread = new Worker(THREAD, {
      workerData: data,
      execArgv: ['--enable-source-maps'],
      name: 'speech-model',
    })
    const ready = await new Promise<FromModel>((resolve) => {
      const limit = clock.after(START_MS, () => resolve({ kind: 'failed', message: 'it takes too long' }))
      const done = (message: FromModel): void => {
        limit.cancel()
        resolve(message)
      }
      thread.once('message', done)
      thread.once('error', (error) => done({ kind: 'failed', message: errorText(error) }))
    })
    if (ready.kind !== 'ready' || this.#closing) {
      await thread.terminate()
      if (ready.kind === 'failed') {
        throw new EngineError('config_invalid', `the speech model ${path} cannot be used: ${ready.message}`)
      }
      return
    }
    this.#window = { 8000: ready.window8k, 16000: ready.window16k }
    this.#thread = thread
    thread.on('message', (message: FromModel) => this.#heard(thread, message))
    thread.on('error', (error) => this.#lost(thread, errorText(error)))
    thread.on('exit', () => this.#lost(thread, 'it ended'))
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
      fallbackFrames: this.#fallbackFrames,
      restarts: this.#restarts,
    }
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#hung?.cancel()
    this.#restart?.cancel()
    const thread = this.#thread
    this.#thread = null
    await thread?.terminate()
  }

  #full(stream: WindowStream): void {
    this.#waiting[stream.rate].add(stream)
    this.#ask()
  }

  #forget(stream: WindowStream): void {
    this.#waiting[stream.rate].delete(stream)
    if (this.#streams.delete(stream.id) && this.#thread !== null) this.#closed.push(stream.id)
  }

  /** One batch at a time: while it is judged the next one gathers. */
  #ask(): void {
    const thread = this.#thread
    if (this.#busy || thread === null) return
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
      const message: ToModel = {
        rate,
        batch: { streams, windows, closed: this.#closed.splice(0) },
      }
      this.#busy = true
      this.#batches++
      this.#windows += streams.length
      thread.postMessage(message, [windows.buffer])
      this.#hung = this.#options.clock.after(HUNG_MS, () => this.#lost(thread, 'it hangs'))
      return
    }
  }

  #heard(thread: Worker, message: FromModel): void {
    if (thread !== this.#thread) return
    if (message.kind === 'failed') {
      this.#lost(thread, message.message)
      return
    }
    if (message.kind !== 'judged') return
    this.#busy = false
    this.#hung?.cancel()
    this.#pauseMs = RESTART_MIN_MS
    message.streams.forEach((id, i) => {
      this.#streams.get(id)?.judged(message.likely[i] ?? 0)
    })
    this.#ask()
  }

  /** Ends a thread that failed; another one follows. Until then nothing is judged. */
  #lost(thread: Worker, why: string): void {
    if (thread !== this.#thread) return
    this.#thread = null
    this.#busy = false
    this.#hung?.cancel()
    this.#closed.length = 0
    for (const rate of RATES) this.#waiting[rate].clear()
    const { log, clock } = this.#options
    log.error({ why, pauseMs: this.#pauseMs }, 'the speech model failed; the built-in detector decides')
    thread
      .terminate()
      .catch((error: unknown) => log.warn({ error: errorText(error) }, 'a thread did not end'))
    this.#again(clock)
  }

  #again(clock: Clock): void {
    if (this.#closing) return
    this.#restart = clock.after(this.#pauseMs, () => {
      this.#pauseMs = Math.min(this.#pauseMs * 2, RESTART_MAX_MS)
      this.#restarts++
      this.start().catch((error: unknown) => {
        this.#options.log.error({ error: errorText(error) }, 'the speech model did not start again')
        this.#again(clock)
      })
    })
  }
}

interface StreamEvents {
  full(): void
  late(): void
  closed(): void
}

/** Gathers frames to windows, and keeps the newest judgement while it is fresh. */
class WindowStream implements SpeechModelStream {
  readonly id: number
  readonly rate: SessionRate
  readonly #events: StreamEvents
  readonly #window: Float32Array
  /** The last full window: a newer one takes its place when nobody came for it. */
  readonly #ready: Float32Array
  #filled = 0
  #likely: number | null = null
  /** Frames since the sound of the newest judgement began to be gathered. */
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

  hear(pcm: Int16Array): number | null {
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
