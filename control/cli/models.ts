import { join } from 'node:path'
import { systemClock } from '../../media/base/clock.js'
import { projectRoot } from '../../media/base/project-root.js'
import { resample } from '../../media/codec/resampler.js'
import { openPocketSphinx, POCKETSPHINX } from '../../workers/recognition/pocketsphinx.js'
import { type Fitting, probeModel } from '../../workers/recognition/probe.js'
import { RECOGNISER_RATE, type Recogniser } from '../../workers/recognition/recogniser.js'
import { serveRecogniser } from '../../workers/recognition/recognition-server.js'
import { openSherpa } from '../../workers/recognition/sherpa.js'
import { openLog } from '../observe/log.js'
import { parseOptions, Signals, UsageError } from './options.js'
import { readRecording } from './talk/sound-files.js'

const DEFAULT_PORT = '8001'
const DEFAULT_THREADS = '2'
/** A clip of the sandbox: what a caller says, 8 kHz. */
const CLIP = join(projectRoot, 'signalling', 'sandbox', 'clips', 'book-tomorrow.wav')
/** A text that comes later than this after the caller's last sound (ms) is felt as silence. */
const SLOW_TEXT_MS = 700
const MIB = 1024 * 1024

/** Runs `parley models check DIR` or `parley models serve DIR`. Returns the exit status. */
export async function modelsCommand([command, ...args]: readonly string[]): Promise<number> {
  if (command !== 'check' && command !== 'serve') {
    throw new UsageError('parley models check DIR, or parley models serve DIR')
  }
  const [folder, ...rest] = args
  if (folder === undefined || folder.startsWith('-'))
    throw new UsageError(`parley models ${command} needs DIR`)
  const { values } = parseOptions(rest, {
    threads: { type: 'string', default: DEFAULT_THREADS },
    audio: { type: 'string' },
    port: { type: 'string' },
  })
  if (command === 'check' && values.port !== undefined)
    throw new UsageError('--port is for parley models serve')
  if (command === 'check' && folder === POCKETSPHINX) {
    throw new UsageError(
      'parley models check takes a folder; parley models serve pocketsphinx needs no check',
    )
  }
  const threads = number('--threads', values.threads, 1, 64)
  const { pcm, rate } = readRecording(values.audio ?? CLIP)
  const audio = resample(pcm, rate, RECOGNISER_RATE)
  if (folder !== POCKETSPHINX) {
    const fitting = await probeModel({ folder, threads, audio }, systemClock)
    process.stdout.write(describe(fitting, threads))
  }
  if (command === 'check') return 0
  const port = number('--port', values.port ?? DEFAULT_PORT, 1, 65_535)
  return serve(folder === POCKETSPHINX ? openPocketSphinx() : await openSherpa(folder, threads), port)
}

async function serve(recogniser: Recogniser, port: number): Promise<number> {
  const log = openLog('info')
  const signals = new Signals()
  try {
    const server = await serveRecogniser(recogniser, { port, log })
    process.stdout.write(settingsText(server.url, recogniser))
    await signals.first
    await server.close()
    return 0
  } finally {
    signals.close()
    log.flush()
  }
}

/** The settings with which the service uses the server. */
function settingsText(url: string, { model, streaming }: Recogniser): string {
  return [
    `Serving ${model}. Start the service with:`,
    `  PARLEY_OPENAI_TRANSCRIPTION_BASE_URL=${url}`,
    `  PARLEY_OPENAI_TRANSCRIPTION_MODEL=${model}`,
    ...(streaming
      ? ['  PARLEY_OPENAI_TRANSCRIPTION_SERVER=together   (the wire of the realtime socket)']
      : []),
    '',
  ].join('\n')
}

function describe(fitting: Fitting, threads: number): string {
  const { what, streaming, loadMs, memory, memoryBefore, realTimeFactor, textAfterMs, text } = fitting
  const calls = Math.max(0, Math.floor(0.7 / realTimeFactor))
  const lines = [
    `${fitting.model}: ${what}`,
    `  texts       ${streaming ? 'while the caller speaks' : 'after the end of an utterance'}`,
    `  audio       ${RECOGNISER_RATE} Hz; calls of 8 kHz are resampled`,
    `  loaded in   ${Math.round(loadMs)} ms`,
    `  memory      ${Math.round((memory - memoryBefore) / MIB)} MiB beside the ${Math.round(memoryBefore / MIB)} MiB of the program`,
    `  speed       ${realTimeFactor.toFixed(3)} of real time with ${threads} threads: about ${calls} callers who speak at once`,
    `  text after  ${Math.round(textAfterMs)} ms from the last sound`,
    `  heard       ${text === '' ? '(no words)' : text}`,
  ]
  if (realTimeFactor > 0.7)
    lines.push('  Too slow    It does not keep up with one caller. Take a smaller model or a faster host.')
  else if (textAfterMs > SLOW_TEXT_MS) {
    lines.push(
      `  Slow        A caller notices more than ${SLOW_TEXT_MS} ms. Take a smaller or a streaming model.`,
    )
  }
  return `${lines.join('\n')}\n`
}

function number(option: string, text: string | undefined, min: number, max: number): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new UsageError(`${option} must be a whole number from ${min} to ${max}`)
  }
  return value
}
