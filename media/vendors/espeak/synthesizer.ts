/*
 * The only file that loads eSpeak NG (GPL-3.0, WebAssembly). It runs in the synthesis thread, never in a
 * media worker, because a sentence takes tens of milliseconds. https://github.com/espeak-ng/espeak-ng
 */
import type { EspeakEvent } from '@echogarden/espeak-ng-emscripten'
import { EngineError } from '../../base/errors.js'
import { resample } from '../../codec/resampler.js'
import { ESPEAK_PACKAGE } from './installed.js'
import type { Synthesis, SynthesisRequest } from './synthesis-port.js'
import { espeakName, espeakRate } from './voices.js'
import { alignWords, plainText, type WordMark } from './word-timing.js'

/** eSpeak NG's output rate (Hz). */
const ESPEAK_RATE = 22_050

/** About three minutes of speech, longer than any sentence of a conversation (characters). */
export const MAX_TEXT_LENGTH = 4000

export interface EspeakSynthesizer {
  /**
   * Synthesizes the text; blocks until it is done. Throws EngineError `vendor_rejected` for an unknown voice
   * or a text over `MAX_TEXT_LENGTH`, `vendor_stalled` when `limitMs` passed.
   */
  synthesize(request: SynthesisRequest, limitMs: number): Synthesis
}

type EspeakPackage = typeof import('@echogarden/espeak-ng-emscripten')

/**
 * Loads the synthesizer; takes about 0.3 s, so once per thread. Throws EngineError `config_invalid` when the
 * optional package is not installed.
 */
export async function openEspeak(
  load: () => Promise<EspeakPackage> = () => import('@echogarden/espeak-ng-emscripten'),
): Promise<EspeakSynthesizer> {
  const module = await (await installed(load)).default()
  const espeak = new module.eSpeakNGWorker()
  let voice = ''
  let rate = 0

  const configure = (request: SynthesisRequest): void => {
    const name = espeakName(request.voice, request.language)
    if (name === null) {
      throw new EngineError('vendor_rejected', 'the embedded synthesizer has no such voice', {
        context: { voice: request.voice, language: request.language },
      })
    }
    if (name !== voice) {
      if (espeak.set_voice(name) !== 0) {
        voice = ''
        throw new EngineError('vendor_failed', 'eSpeak NG could not load its voice', { context: { name } })
      }
      voice = name
    }
    const wanted = espeakRate(request.pace)
    if (wanted !== rate) {
      espeak.set_rate(wanted)
      rate = wanted
    }
  }

  return {
    synthesize(request, limitMs) {
      if (request.text.length > MAX_TEXT_LENGTH) {
        throw new EngineError('vendor_rejected', 'text too long to synthesize at once', {
          context: { length: request.text.length },
        })
      }
      configure(request)
      const until = performance.now() + limitMs
      const chunks: Int16Array[] = []
      const marks: WordMark[] = []
      let samples = 0
      let late = false
      espeak.synthesize(plainText(request.text), (audio, events) => {
        if (audio !== null && audio.length > 0) {
          chunks.push(audio)
          samples += audio.length
        }
        for (const event of events) collect(event, marks)
        late = performance.now() > until
        return late ? 1 : 0
      })
      if (late) throw new EngineError('vendor_stalled', 'synthesis took too long', { retryable: true })
      return {
        pcm: resample(join(chunks, samples), ESPEAK_RATE, request.rate),
        words: alignWords(request.text, marks),
      }
    },
  }
}

async function installed(load: () => Promise<EspeakPackage>): Promise<EspeakPackage> {
  try {
    return await load()
  } catch (cause) {
    throw new EngineError('config_invalid', `the embedded voices need: npm install ${ESPEAK_PACKAGE}`, {
      cause,
    })
  }
}

function collect(event: EspeakEvent, marks: WordMark[]): void {
  if (event.type === 'word') marks.push({ position: event.text_position, atMs: event.audio_position })
}

function join(chunks: readonly Int16Array[], samples: number): Int16Array {
  const whole = new Int16Array(samples)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
