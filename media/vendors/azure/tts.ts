import type { SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import { speakResponse } from '../shared/speech-response.js'
import { joinUrl, post } from '../shared/vendor-http.js'
import type { VendorDeps } from '../vendor-module.js'
import { localeOf } from './messages.js'
import type { AzureSettings } from './settings.js'

/** Nearly three minutes of speech at 48 kHz, more than a reply has. */
const LIMITS = { headerMs: 6000, idleMs: 6000, totalMs: 60_000, maxBytes: 16 * 1024 * 1024 }

/**
 * Opens Azure's neural voices: one request for each text, whose audio is streamed. The API reports no word times.
 * https://learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech
 */
export function azureTextToSpeech(
  settings: Pick<AzureSettings, 'apiKey' | 'speechUrl'>,
  { clock, log, connections }: Pick<VendorDeps, 'clock' | 'log' | 'connections'>,
): TextToSpeech {
  const url = joinUrl(settings.speechUrl, 'cognitiveservices/v1')
  return {
    id: 'azure',
    firstAudioDeadlineMs: 1500,
    speak: (request, events) =>
      speakResponse(request, events, {
        rate: request.rate,
        log,
        ask: (signal) =>
          post({
            url,
            apiKey: settings.apiKey,
            headers: {
              'ocp-apim-subscription-key': settings.apiKey,
              'content-type': 'application/ssml+xml',
              'x-microsoft-outputformat': `raw-${request.rate / 1000}khz-16bit-mono-pcm`,
              // The vendor requires a name.
              'user-agent': 'parley',
            },
            body: ssmlOf(request),
            limits: LIMITS,
            clock,
            connections,
            signal,
          }),
      }),
  }
}

/** Returns the text as SSML. https://learn.microsoft.com/azure/ai-services/speech-service/speech-synthesis-markup-voice */
export function ssmlOf({ text, voice, language, pace }: SpeakRequest): string {
  const tag = localeOf(language)
  const percent = Math.round((pace - 1) * 100)
  const words =
    percent === 0
      ? escaped(text)
      : `<prosody rate="${percent > 0 ? '+' : ''}${percent}%">${escaped(text)}</prosody>`
  return `<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="${tag}"><voice name="${escaped(voice)}">${words}</voice></speak>`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes a text; XML forbids control characters. */
function escaped(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ').replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one)
}
