import type { SpeakEvents, SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import { EngineError, errorText } from '../../base/errors.js'
import type { Rate } from '../../base/frame.js'
import { openResampler } from '../../codec/resampler.js'
import { joinUrl, post } from '../shared/vendor-http.js'
import { OPENAI } from '../vendor-ids.js'
import type { VendorDeps } from '../vendor-module.js'
import { PcmReader } from './pcm-reader.js'
import type { Endpoint, OpenAiSettings } from './settings.js'

export type SpeechSettings = Endpoint & Pick<OpenAiSettings, 'speechModel' | 'speechRate' | 'speechMs'>

/** Limit of `input` in the API (characters). */
const MAX_INPUT = 4096
/** Over five minutes of speech at 24 kHz, more than 4096 characters can yield. */
const LIMITS = { headerMs: 6000, idleMs: 6000, totalMs: 60_000, maxBytes: 16 * 1024 * 1024 }
const COMPRESSED = /^audio\/(mpeg|mp3|ogg|opus|aac|flac|webm)/
const RATES: readonly number[] = [8000, 16_000, 24_000, 48_000] satisfies readonly Rate[]
/** Rate (Hz) of many local synthesizers. No session uses it, so it is converted here. */
const CD_QUARTER = 22_050

/**
 * Opens TTS with streamed PCM. The API reports no word times.
 * https://platform.openai.com/docs/api-reference/audio/createSpeech
 */
export function openAiTextToSpeech(
  settings: SpeechSettings,
  { clock, log, connections }: Pick<VendorDeps, 'clock' | 'log' | 'connections'>,
): TextToSpeech {
  return {
    id: OPENAI,
    firstAudioDeadlineMs: settings.speechMs ?? 1500,
    deadlineSet: settings.speechMs !== undefined,
    speak(request, events) {
      const stop = new AbortController()
      const { signal } = stop
      run(settings, request, events, { clock, connections }, signal).catch((error: unknown) => {
        if (signal.aborted) return
        stop.abort()
        const failure =
          error instanceof EngineError
            ? error
            : new EngineError('vendor_failed', errorText(error), { cause: error })
        log.debug({ code: failure.code }, 'tts.failed')
        events.failed(failure)
      })
      return { cancel: () => stop.abort() }
    },
  }
}

async function run(
  settings: SpeechSettings,
  request: SpeakRequest,
  events: SpeakEvents,
  deps: Pick<VendorDeps, 'clock' | 'connections'>,
  signal: AbortSignal,
): Promise<void> {
  if (request.text.length > MAX_INPUT) {
    throw new EngineError('vendor_rejected', 'text too long to synthesize at once', {
      context: { length: request.text.length },
    })
  }
  const response = await post({
    url: joinUrl(settings.baseUrl, 'audio/speech'),
    apiKey: settings.apiKey,
    body: JSON.stringify({
      model: request.model ?? settings.speechModel,
      input: request.text,
      voice: request.voice,
      response_format: 'pcm',
      speed: Math.min(4, Math.max(0.25, request.pace)),
    }),
    limits: LIMITS,
    ...deps,
    signal,
  })
  if (COMPRESSED.test(response.contentType) || response.contentType.startsWith('application/json')) {
    response.discard()
    throw new EngineError('vendor_failed', `the vendor sent ${response.contentType} where PCM was asked for`)
  }
  const reader = new PcmReader(settings.speechRate)
  let deliver: ((pcm: Int16Array) => void) | null = null
  await response.read((bytes) => {
    const pcm = reader.push(bytes)
    if (pcm.length > 0 && !signal.aborted) {
      deliver ??= delivery(reader.rate, request, events)
      deliver(pcm)
    }
    return !signal.aborted
  })
  if (signal.aborted) return
  if (deliver === null)
    throw new EngineError('vendor_failed', 'the vendor sent no audio', { retryable: true })
  events.done()
}

/**
 * Returns a function that delivers audio at its own rate, or converted to the session's rate if no session
 * supports it.
 */
function delivery(rate: number, request: SpeakRequest, events: SpeakEvents): (pcm: Int16Array) => void {
  if (isRate(rate)) return (pcm) => events.audio(pcm, rate)
  if (rate !== CD_QUARTER) {
    throw new EngineError('vendor_failed', `the vendor sent audio at ${rate} Hz, which is not supported`)
  }
  const resampler = openResampler(CD_QUARTER, request.rate)
  return (pcm) => events.audio(resampler.process(pcm).slice(), request.rate)
}

function isRate(rate: number): rate is Rate {
  return RATES.includes(rate)
}
