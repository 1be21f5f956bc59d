import type { TextToSpeech } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import { speakResponse } from '../shared/speech-response.js'
import { joinUrl, post } from '../shared/vendor-http.js'
import { OPENAI } from '../vendor-ids.js'
import type { VendorDeps } from '../vendor-module.js'
import type { Endpoint, OpenAiSettings } from './settings.js'

export type SpeechSettings = Endpoint & Pick<OpenAiSettings, 'speechModel' | 'speechRate' | 'speechMs'>

/** Limit of `input` in the API (characters). */
const MAX_INPUT = 4096
/** Over five minutes of speech at 24 kHz, more than 4096 characters can yield. */
const LIMITS = { headerMs: 6000, idleMs: 6000, totalMs: 60_000, maxBytes: 16 * 1024 * 1024 }

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
    speak: (request, events) =>
      speakResponse(request, events, {
        rate: settings.speechRate,
        log,
        ask: async (signal) => {
          if (request.text.length > MAX_INPUT) {
            throw new EngineError('vendor_rejected', 'text too long to synthesize at once', {
              context: { length: request.text.length },
            })
          }
          return await post({
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
            clock,
            connections,
            signal,
          })
        },
      }),
  }
}
