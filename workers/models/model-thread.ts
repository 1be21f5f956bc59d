import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Clock, Timer } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { type ModelSpec, type StartedModel, type StartModel, startModel } from './model-host.js'
import { END, type FromModelThread } from './onnx.js'

const START_MS = 20_000
/** Time (ms) after which an unanswered question means that the thread hangs. */
const HUNG_MS = 3000
const RESTART_MIN_MS = 500
const RESTART_MAX_MS = 30_000
/** Time limit (ms); a thread that has not ended by then is abandoned, and ends when its run ends. */
const END_MS = 3000

export interface OnnxModelOptions {
  /** Path of an ONNX file; the entry file of the model's thread describes its format. */
  readonly path: string
  readonly clock: Clock
  readonly log: Log
  /** The package that runs the model. Default: onnxruntime-node. */
  readonly runtime?: string
  /** Starts the model's thread; by default as a child of this thread. */
  readonly start?: StartModel
}

/** The differences between models. */
export interface ModelUse<Answer> {
  readonly name: ModelSpec['name']
  /** The setting that names the file, for error messages. */
  readonly setting: string
  /** Log text: what replaces the model meanwhile. */
  readonly withoutModel: string
  onAnswer(answer: Answer): void
  /** The thread failed: pending questions will not be answered, and its state is lost. */
  onLost(): void
}

/** One thread, and this side of its port. */
interface Thread {
  readonly port: MessagePort
  readonly started: StartedModel
  /** Resolves with the reason when the thread has ended and its port is closed. */
  readonly ended: Promise<string>
}

/**
 * A thread that runs a model beside a media thread: loads it once, answers one question at a time, is
 * replaced when it hangs or fails, with an increasing delay.
 */
export class ModelThread<Ready, Question, Answer> {
  readonly #options: OnnxModelOptions
  readonly #use: ModelUse<Answer>
  #thread: Thread | null = null
  #busy = false
  #hung: Timer | null = null
  #restart: Timer | null = null
  #pauseMs = RESTART_MIN_MS
  #restarts = 0
  #closing = false

  constructor(options: OnnxModelOptions, use: ModelUse<Answer>) {
    this.#options = options
    this.#use = use
  }

  get restarts(): number {
    return this.#restarts
  }

  /** True while a thread exists. */
  get running(): boolean {
    return this.#thread !== null
  }

  /** True while the thread waits for a question. */
  get free(): boolean {
    return this.#thread !== null && !this.#busy
  }

  /**
   * Loads the model. Resolves with its description, or with null when closed meanwhile. Throws EngineError
   * `config_invalid` with the reason.
   */
  async start(): Promise<Ready | null> {
    const { path, runtime = 'onnxruntime-node', start = startModel, clock } = this.#options
    const { name, setting } = this.#use
    const { port1: port, port2 } = new MessageChannel()
    const closed = new Promise<void>((resolve) => port.once('close', resolve))
    const started = start({ name, data: { path, runtime, setting } }, port2)
    const ended = Promise.all([started.exited, closed]).then(([why]) => why)
    const thread: Thread = { port, started, ended }
    const first = await new Promise<FromModelThread<Ready, Answer>>((resolve) => {
      const limit = clock.after(START_MS, () => resolve({ type: 'failed', message: 'loading took too long' }))
      const done = (message: FromModelThread<Ready, Answer>): void => {
        limit.cancel()
        resolve(message)
      }
      port.once('message', done)
      void ended.then((why) => done({ type: 'failed', message: why }))
    })
    if (first.type !== 'ready' || this.#closing) {
      await this.#end(thread)
      if (first.type === 'failed') {
        throw new EngineError('config_invalid', `the ${name} ${path} cannot be used: ${first.message}`)
      }
      return null
    }
    this.#thread = thread
    port.on('message', (message: FromModelThread<Ready, Answer>) => this.#received(thread, message))
    void ended.then((why) => this.#lost(thread, why))
    return first.ready
  }

  /** Sends a question. Call it only while the thread is free. */
  ask(question: Question, transfer: readonly ArrayBuffer[] = []): void {
    const thread = this.#thread
    if (thread === null || this.#busy) return
    this.#busy = true
    thread.port.postMessage(question, transfer)
    this.#hung = this.#options.clock.after(HUNG_MS, () => this.#lost(thread, 'it does not answer'))
  }

  /** Ends the thread. Idempotent; no answer follows. */
  async close(): Promise<void> {
    this.#closing = true
    this.#hung?.cancel()
    this.#restart?.cancel()
    const thread = this.#thread
    this.#thread = null
    if (thread !== null) await this.#end(thread)
  }

  /** Resolves when the thread has ended or was abandoned. */
  async #end({ port, started, ended }: Thread): Promise<void> {
    const { clock, log } = this.#options
    port.postMessage(END)
    const late = new Promise<null>((resolve) => {
      const limit = clock.after(END_MS, () => resolve(null))
      void ended.then(() => limit.cancel())
    })
    if ((await Promise.race([ended, late])) !== null) return
    log.warn({ model: this.#use.name }, 'model.abandoned')
    port.close()
    started.abandon()
  }

  #received(thread: Thread, message: FromModelThread<Ready, Answer>): void {
    if (thread !== this.#thread) return
    if (message.type === 'failed') {
      this.#lost(thread, message.message)
      return
    }
    if (message.type !== 'answered') return
    this.#busy = false
    this.#hung?.cancel()
    this.#pauseMs = RESTART_MIN_MS
    this.#use.onAnswer(message.answer)
  }

  /** Ends a failed thread; another one follows. */
  #lost(thread: Thread, why: string): void {
    if (thread !== this.#thread) return
    const { log } = this.#options
    const { name: model, withoutModel } = this.#use
    this.#thread = null
    this.#busy = false
    this.#hung?.cancel()
    this.#use.onLost()
    log.error({ model, why, withoutModel, pauseMs: this.#pauseMs }, 'model.failed')
    this.#end(thread).catch((error: unknown) =>
      log.warn({ error: errorText(error) }, 'model.thread_not_ended'),
    )
    this.#again()
  }

  #again(): void {
    if (this.#closing) return
    const { clock, log } = this.#options
    this.#restart = clock.after(this.#pauseMs, () => {
      this.#pauseMs = Math.min(this.#pauseMs * 2, RESTART_MAX_MS)
      this.#restarts++
      this.start().catch((error: unknown) => {
        log.error({ model: this.#use.name, error: errorText(error) }, 'model.restart_failed')
        this.#again()
      })
    })
  }
}
