import { type MessagePort, workerData } from 'node:worker_threads'
import { errorText } from '../../media/base/errors.js'

/*
 * Shared by the entry files of model threads: loading the runtime, and the protocol with model-thread.ts.
 */

/** The used part of onnxruntime-node, an optional package without bundled types. */
export interface Tensor {
  readonly data: Float32Array
}
export interface Metadata {
  readonly name: string
  readonly isTensor: boolean
  readonly shape?: readonly (number | string)[]
}
export interface OnnxSession {
  readonly inputMetadata: readonly Metadata[]
  readonly outputMetadata: readonly Metadata[]
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>
}
export interface OnnxRuntime {
  readonly InferenceSession: { create(path: string, options: object): Promise<OnnxSession> }
  readonly Tensor: new (
    type: 'float32' | 'int64',
    data: Float32Array | BigInt64Array,
    dims: readonly number[],
  ) => Tensor
}

export interface ModelThreadData {
  readonly path: string
  /** The package that runs the model; a test names a missing one. */
  readonly runtime: string
  /** The setting that named the file, for the error message. */
  readonly setting: string
}

export type FromModelThread<Ready, Answer> =
  | { readonly type: 'ready'; readonly ready: Ready }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'answered'; readonly answer: Answer }

/** Loads runtime and model. Throws Error, with the remedy, when either fails. A run uses `threads` threads. */
export async function loadOnnx(
  { path, runtime, setting }: ModelThreadData,
  threads = 1,
): Promise<{ readonly ort: OnnxRuntime; readonly session: OnnxSession }> {
  let ort: OnnxRuntime
  try {
    const loaded: { readonly default?: unknown } = await import(runtime)
    ort = (loaded.default ?? loaded) as OnnxRuntime
  } catch (error) {
    throw new Error(
      `${runtime} cannot be loaded (${errorText(error)}): npm install ${runtime}, or unset ${setting}`,
    )
  }
  const session = await ort.InferenceSession.create(path, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
  })
  return { ort, session }
}

/**
 * Asks the thread to end after its current run. It must not be terminated during a run: the runtime's native
 * code would fail to deliver its result and end the process.
 */
export const END = 'end'

/**
 * Runs a model thread: loads the model, reports `ready`, then answers one question after the other until the
 * port closes or `END` arrives.
 */
export function serveModel<Ready, Question, Answer>(
  load: () => Promise<{ readonly ready: Ready; answer(question: Question): Promise<Answer> }>,
): void {
  const { port }: { readonly port?: MessagePort } = workerData ?? {}
  if (port === undefined) throw new Error('models run in worker threads only')
  const send = (message: FromModelThread<Ready, Answer>): void => port.postMessage(message)
  const failed = (error: unknown): void => send({ type: 'failed', message: errorText(error) })
  const loading = load()
  // Listens from the start: `END` may arrive while the model is still loading.
  port.on('message', (question: Question | typeof END) => {
    if (question === END) {
      port.close()
      return
    }
    loading
      .then((model) => model.answer(question))
      .then((answer) => send({ type: 'answered', answer }))
      .catch(failed)
  })
  loading.then((model) => send({ type: 'ready', ready: model.ready }), failed)
}
