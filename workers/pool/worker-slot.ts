import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import { Scope } from '../../media/base/scope.js'
import type {
  FromWorker,
  SessionEvent,
  SessionId,
  WorkerLoad,
  WorkerRequest,
  WorkerResult,
  WorkerSettings,
} from '../channel/protocol.js'
import { RequestChannel } from '../channel/request-channel.js'
import { ModelHost } from '../models/model-host.js'
import { HEAP_FLAGS, YOUNG_GENERATION_MB } from './heap-flags.js'

const MEDIA_WORKER = new URL('../thread/media-worker.js', import.meta.url)

/** Time limit (ms) for a thread to load modules, VAD and synthesiser on a busy machine. */
const START_MS = 30_000
/** Interval (ms) of load requests; one that is not answered within `HUNG_MS` means a hung thread. */
const POLL_MS = 1000
const HUNG_MS = 15_000
const SHUTDOWN_MS = 8000
const BACKOFF_MIN_MS = 100
const BACKOFF_MAX_MS = 5000
/** A thread that lived this long (ms) resets the back-off. */
const HEALTHY_MS = 30_000

for (const flag of HEAP_FLAGS) setFlagsFromString(flag)

export interface WorkerSlotOptions {
  readonly settings: WorkerSettings
  /** Name of the channel on which the threads of the pool share their circuit breakers. */
  readonly circuits: string
  readonly clock: Clock
  readonly log: Log
  readonly onEvent: (session: SessionId, event: SessionEvent) => void
  readonly onLost: (session: SessionId) => void
  /** The thread died; its sessions are lost. */
  readonly onDied: () => void
}

/** One running thread with its resources. */
interface WorkerInstance {
  readonly thread: Worker
  readonly channel: RequestChannel
  readonly scope: Scope
  readonly bornMs: number
  readonly exited: Promise<void>
}

/**
 * One slot of the pool: a media thread, and its successor when it dies. Terminates a thread that hangs. The
 * delay before the next start grows while threads die early.
 */
export class WorkerSlot {
  readonly index: number
  readonly #options: WorkerSlotOptions
  readonly #scope = new Scope()
  readonly #models: ModelHost
  #instance: WorkerInstance | null = null
  #ready = false
  #refreshing = false
  #load: WorkerLoad | null = null
  #backoffMs = BACKOFF_MIN_MS
  #closing: Promise<void> | undefined

  constructor(options: WorkerSlotOptions) {
    this.index = options.settings.index
    this.#options = options
    this.#models = new ModelHost(options.clock, options.log)
  }

  /** Accepts sessions. */
  get ready(): boolean {
    return this.#ready
  }

  /** As of the last poll; null before the first. */
  get load(): WorkerLoad | null {
    return this.#load
  }

  /** Starts the first thread; rejects when it does not start. */
  async start(): Promise<void> {
    await this.#spawn()
  }

  request<R extends WorkerRequest>(request: R, timeoutMs: number): Promise<WorkerResult<R>> {
    const instance = this.#instance
    if (instance === null) {
      return Promise.reject(new EngineError('worker_lost', 'the media worker is gone', { retryable: true }))
    }
    return instance.channel.request(request, timeoutMs)
  }

  /** Terminates the thread as a crash would; another one starts. Resolves when the old one has exited. */
  async terminate(): Promise<void> {
    const instance = this.#instance
    if (instance === null) return
    await instance.thread.terminate()
    await instance.exited
  }

  /** Asks the thread to finish, then terminates it. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    this.#ready = false
    await this.#scope.close()
    const instance = this.#instance
    if (instance !== null) {
      try {
        await instance.channel.request({ type: 'shutdown' }, SHUTDOWN_MS)
      } catch (error) {
        this.#options.log.warn({ worker: this.index, error: errorText(error) }, 'worker.shutdown_failed')
      }
      await instance.thread.terminate()
      await instance.exited
    }
    await this.#models.close()
  }

  async #spawn(): Promise<void> {
    const { settings, circuits, clock, log, onEvent, onLost } = this.#options
    const models = this.#models.open()
    const thread = new Worker(MEDIA_WORKER, {
      workerData: { settings, models, circuits },
      transferList: [models],
      execArgv: ['--enable-source-maps'],
      name: `media-${this.index}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    const channel = new RequestChannel({ port: thread, clock, log, onEvent, onLost })
    const exited = new Promise<void>((resolve) => {
      thread.once('exit', (code) => {
        this.#died(instance, code)
        resolve()
      })
    })
    const instance: WorkerInstance = {
      thread,
      channel,
      scope: this.#scope.child(),
      bornMs: clock.now(),
      exited,
    }
    this.#instance = instance
    thread.on('message', (message: FromWorker) => channel.receive(message))
    thread.on('messageerror', (error) => {
      log.error({ worker: this.index, error: errorText(error) }, 'worker.message_lost')
    })
    // 'exit' follows and does the rest.
    thread.on('error', (error) => {
      log.error({ worker: this.index, error: errorText(error), stack: stackOf(error) }, 'worker.failed')
    })
    try {
      this.#load = await channel.request({ type: 'load' }, START_MS)
    } catch (error) {
      await thread.terminate()
      await exited
      throw error
    }
    if (this.#closing) return
    this.#ready = true
    this.#poll(instance)
  }

  /** Asks the thread for its load before the next poll is due. The answer of a thread that hangs is left to the poll. */
  refresh(): void {
    const instance = this.#instance
    if (instance === null || !this.#ready || this.#refreshing) return
    this.#refreshing = true
    instance.channel
      .request({ type: 'load' }, POLL_MS)
      .then(
        (load) => {
          if (this.#instance === instance) this.#load = load
        },
        () => {},
      )
      .finally(() => {
        this.#refreshing = false
      })
  }

  #poll(instance: WorkerInstance): void {
    const { clock, log } = this.#options
    instance.scope.after(clock, POLL_MS, () => {
      instance.channel.request({ type: 'load' }, HUNG_MS).then(
        (load) => {
          this.#load = load
          this.#poll(instance)
        },
        (error: unknown) => {
          // A dead thread is replaced, and a closing one is not watched.
          if (this.#instance !== instance || this.#closing) return
          if (error instanceof EngineError && error.code === 'timeout') {
            log.error({ worker: this.index }, 'worker.hung')
            void instance.thread.terminate()
            return
          }
          log.error({ worker: this.index, error: errorText(error) }, 'worker.poll_failed')
          this.#poll(instance)
        },
      )
    })
  }

  #died(instance: WorkerInstance, code: number): void {
    this.#instance = null
    this.#ready = false
    this.#load = null
    const error = new EngineError('worker_lost', 'the media worker died', { retryable: true })
    instance.channel.close(error)
    instance.scope.close().catch((failure: unknown) => {
      this.#options.log.error({ error: errorText(failure) }, 'worker.cleanup_failed')
    })
    if (this.#closing) return
    const { clock, log } = this.#options
    if (clock.now() - instance.bornMs > HEALTHY_MS) this.#backoffMs = BACKOFF_MIN_MS
    const pauseMs = this.#backoffMs
    this.#backoffMs = Math.min(BACKOFF_MAX_MS, this.#backoffMs * 2)
    log.error({ worker: this.index, code, pauseMs }, 'worker.died')
    this.#options.onDied()
    this.#scope.after(clock, pauseMs, () => {
      this.#spawn().catch((failure: unknown) => {
        // Its exit has scheduled the next attempt.
        log.error({ worker: this.index, error: errorText(failure) }, 'worker.start_failed')
      })
    })
  }
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined
}
