/*
 * Loads a model, recognises test audio and reports what it took. A process of its own, because the runtime ends the
 * process for a file that it cannot use.
 */
import { errorText } from '../../media/base/errors.js'
import { RECOGNISER_RATE } from './recogniser.js'
import { openSherpa } from './sherpa.js'

export interface ProbeOrder {
  readonly folder: string
  readonly threads: number
  /** 16 kHz, 16 bits. */
  readonly audio: Int16Array
}

export type ProbeReport =
  | {
      readonly kind: 'fits'
      readonly model: string
      readonly what: string
      readonly streaming: boolean
      readonly loadMs: number
      /** Resident memory (bytes) with the model in use, and without it. */
      readonly memory: number
      readonly memoryBefore: number
      /** Processing time of the audio divided by its length; the audio's last part counts until the text is out. */
      readonly realTimeFactor: number
      /** Time (ms) from the end of the audio to its text. */
      readonly textAfterMs: number
      readonly text: string
    }
  | { readonly kind: 'failed'; readonly message: string }

/** Audio per piece (ms), as in a call. */
const PIECE_MS = 40

async function probe({ folder, threads, audio }: ProbeOrder): Promise<ProbeReport> {
  const memoryBefore = process.memoryUsage.rss()
  const startMs = performance.now()
  const recogniser = await openSherpa(folder, threads)
  const loadMs = performance.now() - startMs
  const samples = Float32Array.from(audio, (sample) => sample / 32768)
  const piece = (RECOGNISER_RATE * PIECE_MS) / 1000
  const recognise = async () => {
    const utterance = recogniser.begin()
    const fromMs = performance.now()
    for (let at = 0; at < samples.length; at += piece) utterance.write(samples.subarray(at, at + piece))
    const endMs = performance.now()
    const text = await utterance.end()
    return { text, totalMs: performance.now() - fromMs, textAfterMs: performance.now() - endMs }
  }
  // The first run compiles and allocates.
  await recognise()
  const { text, totalMs, textAfterMs } = await recognise()
  return {
    kind: 'fits',
    model: recogniser.model,
    what: recogniser.kind,
    streaming: recogniser.streaming,
    loadMs,
    memory: process.memoryUsage.rss(),
    memoryBefore,
    realTimeFactor: totalMs / ((1000 * samples.length) / RECOGNISER_RATE),
    textAfterMs,
    text,
  }
}

process.once('message', (order: ProbeOrder) => {
  probe(order)
    .catch((error: unknown): ProbeReport => ({ kind: 'failed', message: errorText(error) }))
    .then((report) => process.send?.(report, () => process.exit()))
})
