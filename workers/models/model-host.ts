import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Clock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import type { Log } from '../../media/base/log.js'
import type { ModelThreadData } from './onnx.js'

/** Entry files of the threads that run models. */
const ENTRIES = {
  'speech model': new URL('./speech-model-thread.js', import.meta.url),
  'turn model': new URL('./turn-detector-thread.js', import.meta.url),
} as const
/** Time limit (ms); a model that still runs is abandoned, and its thread ends when the run ends. */
const END_MS = 5000

export interface ModelSpec {
  readonly name: keyof typeof ENTRIES
  readonly data: ModelThreadData
}

/**
 * Starts a thread that loads the model and communicates over the port. The thread ends when the port closes.
 */
export type StartModel = (order: ModelSpec, port: MessagePort) => StartedModel

export interface StartedModel {
  /** Resolves with the reason when the thread has ended. */
  readonly exited: Promise<string>
  /** Lets the process exit without waiting for the thread. */
  abandon(): void
}

/**
 * Starts the model as a child of this thread, which must then not be terminated by force: see `ModelHost`.
 */
export const startModel: StartModel = ({ name, data }, port) => {
  const thread = new Worker(ENTRIES[name], {
    workerData: { ...data, port },
    transferList: [port],
    execArgv: ['--enable-source-maps'],
    name: name.replaceAll(' ', '-'),
  })
  let why = 'it ended'
  thread.once('error', (error) => {
    why = errorText(error)
  })
  return {
    exited: new Promise((resolve) => thread.once('exit', () => resolve(why))),
    abandon: () => thread.unref(),
  }
}

/**
 * Starts models for media threads, as children of the main thread. Children of a media thread would be
 * terminated by force together with it, and the runtime of a model that is running at that moment would end
 * the process. With this host they only lose their port, and end after their current run.
 */
export class ModelHost {
  readonly #clock: Clock
  readonly #log: Log
  readonly #running = new Set<StartedModel>()

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** Returns the port over which one media thread starts its models; it closes when that thread ends. */
  open(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    port1.on('message', ({ order, port }: { readonly order: ModelSpec; readonly port: MessagePort }) => {
      const started = startModel(order, port)
      this.#running.add(started)
      void started.exited.then(() => this.#running.delete(started))
    })
    return port2
  }

  /** Resolves when the models have ended or were abandoned. Call it when no media thread is left. */
  async close(): Promise<void> {
    const gone = Promise.all([...this.#running].map((started) => started.exited)).then(() => true)
    const late = new Promise<boolean>((resolve) => {
      const limit = this.#clock.after(END_MS, () => resolve(false))
      void gone.then(() => limit.cancel())
    })
    if (await Promise.race([gone, late])) return
    this.#log.warn({ models: this.#running.size }, 'model.abandoned')
    for (const started of this.#running) started.abandon()
  }
}

/** Returns a starter for media threads, which starts models through the main thread. */
export function remoteModelStarter(orders: MessagePort): StartModel {
  return (order, port) => {
    orders.postMessage({ order, port }, [port])
    return { exited: Promise.resolve('it ended'), abandon() {} }
  }
}
