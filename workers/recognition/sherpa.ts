import { basename, resolve } from 'node:path'
import { EngineError, errorText } from '../../media/base/errors.js'
import { readModelFolder } from './model-folder.js'
import { RECOGNISER_RATE, type Recogniser, type Utterance } from './recogniser.js'

/** The used part of sherpa-onnx-node, an optional package. */
interface Waveform {
  readonly samples: Float32Array
  readonly sampleRate: number
}
interface Stream {
  acceptWaveform(audio: Waveform): void
  inputFinished?(): void
}
interface Online {
  createStream(): Stream
  isReady(stream: Stream): boolean
  decode(stream: Stream): void
  getResult(stream: Stream): { readonly text: string }
}
interface Offline {
  createStream(): Stream
  /** On a thread of its own; several streams may be decoded at once. */
  decodeAsync(stream: Stream): Promise<{ readonly text: string }>
}
interface Sherpa {
  readonly OnlineRecognizer: new (config: object) => Online
  readonly OfflineRecognizer: new (config: object) => Offline
}

/** Silence after an utterance: streaming models give the last words only when more audio follows. */
const TAIL_SECONDS = 0.5

/**
 * Loads the model of a folder into this process. Throws EngineError `config_invalid` when files or the package are
 * missing. The runtime ends the process for a file that it cannot use: check a folder in a process of its own first.
 */
export async function openSherpa(
  folder: string,
  threads: number,
  packageName = 'sherpa-onnx-node',
): Promise<Recogniser> {
  const path = resolve(folder)
  const { kind, streaming, modelConfig } = readModelFolder(path)
  let sherpa: Sherpa
  try {
    const loaded: { readonly default?: unknown } = await import(packageName)
    sherpa = (loaded.default ?? loaded) as Sherpa
  } catch (error) {
    throw new EngineError(
      'config_invalid',
      `${packageName} cannot be loaded (${errorText(error)}): npm install ${packageName}`,
    )
  }
  const config = {
    featConfig: { sampleRate: RECOGNISER_RATE, featureDim: 80 },
    modelConfig: { ...modelConfig, numThreads: threads, provider: 'cpu', debug: 0 },
    decodingMethod: 'greedy_search',
  }
  const model = basename(path)
  if (streaming) {
    const online = new sherpa.OnlineRecognizer(config)
    return { model, kind, streaming, begin: () => new OnlineUtterance(online) }
  }
  const offline = new sherpa.OfflineRecognizer(config)
  return { model, kind, streaming, begin: () => offlineUtterance(offline) }
}

class OnlineUtterance implements Utterance {
  readonly #recogniser: Online
  readonly #stream: Stream

  constructor(recogniser: Online) {
    this.#recogniser = recogniser
    this.#stream = recogniser.createStream()
  }

  write(audio: Float32Array): void {
    this.#stream.acceptWaveform({ samples: audio, sampleRate: RECOGNISER_RATE })
    while (this.#recogniser.isReady(this.#stream)) this.#recogniser.decode(this.#stream)
  }

  partial(): string {
    return this.#recogniser.getResult(this.#stream).text.trim()
  }

  async end(): Promise<string> {
    this.write(new Float32Array(TAIL_SECONDS * RECOGNISER_RATE))
    this.#stream.inputFinished?.()
    while (this.#recogniser.isReady(this.#stream)) this.#recogniser.decode(this.#stream)
    return this.partial()
  }
}

function offlineUtterance(recogniser: Offline): Utterance {
  const pieces: Float32Array[] = []
  return {
    write: (audio) => pieces.push(audio.slice()),
    partial: () => null,
    async end() {
      const samples = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
      let at = 0
      for (const piece of pieces) {
        samples.set(piece, at)
        at += piece.length
      }
      const stream = recogniser.createStream()
      stream.acceptWaveform({ samples, sampleRate: RECOGNISER_RATE })
      return (await recogniser.decodeAsync(stream)).text.trim()
    },
  }
}
