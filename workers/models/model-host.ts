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
/** A model that still runs by then is left behind: its thread ends when it comes back. */
const END_MS = 5000

export interface ModelSpec {
  readonly name: keyof typeof ENTRIES
  readonly data: ModelThreadData
}

/** Starts a thread that loads the model and talks over the port. It ends when the port does. */
export type StartModel = (order: ModelSpec, port: MessagePort) => StartedModel

export interface StartedModel {
  /** Resolves with the reason when the thread is gone. */
  readonly exited: Promise<string>
  /** The process need not wait for it. */
  abandon(): void
}

/** As a thread of this one, which must not be ended by force while it has such threads: see `ModelHost`. */
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
 * Starts models for media threads, as threads of the main one. Threads of a media thread would be ended by
 * force together with it, when it hangs or dies, and the runtime of a model that runs at that moment cannot
 * hand over its result and ends the process. So they only lose their port, and end after what they do.
 */
export class ModelHost {
  readonly #clock: Clock
  readonly #log: Log
  readonly #running = new Set<StartedModel>()

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** The port for one media thread to order its models over; closes when that thread is gone. */
  open(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    port1.on('message', ({ order, port }: { readonly order: ModelSpec; readonly port: MessagePort }) => {
      const started = startModel(order, port)
      this.#running.add(started)
      void started.exited.then(() => this.#running.delete(started))
    })
    return port2
  }

  /** Once no media thread is left: resolves when the models are gone, or are not waited for any longer. */
  async close(): Promise<void> {
    const gone = Promise.all([...this.#running].map((started) => started.exited)).then(() => true)
    const late = new Promise<boolean>((resolve) => {
      const limit = this.#clock.after(END_MS, () => resolve(false))
      void gone.then(() => limit.cancel())
    })
    if (await Promise.race([gone, late])) return
    this.#log.warn({ models: this.#running.size }, 'models that still run are left behind')
    for (const started of this.#running) started.abandon()
  }
}

/** On a media thread: by way of the main one. */
export function remoteModelStarter(orders: MessagePort): StartModel {
  return (order, port) => {
    orders.postMessage({ order, port }, [port])
    return { exited: Promise.resolve('it ended'), abandon() {} }
  }
}
