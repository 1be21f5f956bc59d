import type {
  LanguageModel,
  SpeechToSpeech,
  SpeechToText,
  TextToSpeech,
  Vendors,
} from '../agent/vendor-ports.js'
import type { Clock } from '../base/clock.js'
import { EngineError } from '../base/errors.js'
import type { Log } from '../base/log.js'
import type { CartesiaSettings } from './cartesia/settings.js'
import { cartesiaTextToSpeech } from './cartesia/tts.js'
import {
  CARTESIA,
  DEEPGRAM,
  ELEVENLABS,
  EMBEDDED,
  OPENAI,
  OPENAI_REALTIME,
  SARVAM,
  SECOND_CHAT,
} from './catalogue.js'
import type { DeepgramSettings } from './deepgram/settings.js'
import { deepgramSpeechToText } from './deepgram/stt.js'
import type { ElevenLabsSettings } from './elevenlabs/settings.js'
import { elevenLabsTextToSpeech } from './elevenlabs/tts.js'
import { rulesLanguageModel } from './embedded/llm.js'
import { sandboxSpeechToText } from './embedded/stt.js'
import type { SynthesisPort } from './espeak/synthesis-port.js'
import { espeakTextToSpeech } from './espeak/tts.js'
import { openAiLanguageModel } from './openai/llm.js'
import { openAiSpeechToSpeech } from './openai/realtime.js'
import type { OpenAiSettings } from './openai/settings.js'
import { openAiSpeechToText } from './openai/stt.js'
import { openAiTextToSpeech } from './openai/tts.js'
import { sarvamLanguageModel } from './sarvam/llm.js'
import type { SarvamSettings } from './sarvam/settings.js'
import { sarvamSpeechToText } from './sarvam/stt.js'
import { sarvamTextToSpeech } from './sarvam/tts.js'

/** What one vendor offers. */
interface Vendor {
  readonly speechToText?: SpeechToText
  readonly textToSpeech?: TextToSpeech
  readonly languageModel?: LanguageModel
  readonly speechToSpeech?: SpeechToSpeech
}

/**
 * The vendors of one media thread. Adding one is a folder and a line here. Asking for a vendor that
 * is not configured, or for what it does not offer, throws EngineError `config_invalid`.
 */
export function openVendors(options: {
  readonly providers: {
    readonly openai: OpenAiSettings | null
    readonly deepgram?: DeepgramSettings | null
    readonly sarvam?: SarvamSettings | null
    readonly elevenlabs?: ElevenLabsSettings | null
    readonly cartesia?: CartesiaSettings | null
    readonly secondChat?: Pick<OpenAiSettings, 'baseUrl' | 'apiKey'> | null
  }
  readonly synthesis: SynthesisPort
  readonly clock: Clock
  readonly log: Log
}): Vendors {
  const { providers, synthesis, clock, log } = options
  const vendors = new Map<string, Vendor>()
  vendors.set(EMBEDDED, {
    speechToText: sandboxSpeechToText(),
    textToSpeech: espeakTextToSpeech(synthesis),
    languageModel: rulesLanguageModel(),
  })
  if (providers.openai !== null) {
    vendors.set(OPENAI, {
      speechToText: openAiSpeechToText(providers.openai, { clock, log }),
      textToSpeech: openAiTextToSpeech(providers.openai, { clock, log }),
      languageModel: openAiLanguageModel(providers.openai, { clock, log }),
    })
    const { realtime } = providers.openai
    if (realtime) {
      const speechToSpeech = openAiSpeechToSpeech(providers.openai, realtime, { clock, log })
      vendors.set(OPENAI_REALTIME, { speechToSpeech })
    }
  }
  const deps = { clock, log }
  const { deepgram, sarvam, elevenlabs, cartesia, secondChat } = providers
  if (secondChat) {
    vendors.set(SECOND_CHAT, { languageModel: openAiLanguageModel(secondChat, deps, { id: SECOND_CHAT }) })
  }
  if (deepgram) vendors.set(DEEPGRAM, { speechToText: deepgramSpeechToText(deepgram, deps) })
  if (sarvam) {
    vendors.set(SARVAM, {
      speechToText: sarvamSpeechToText(sarvam, deps),
      textToSpeech: sarvamTextToSpeech(sarvam, deps),
      languageModel: sarvamLanguageModel(sarvam, deps),
    })
  }
  if (elevenlabs) vendors.set(ELEVENLABS, { textToSpeech: elevenLabsTextToSpeech(elevenlabs, deps) })
  if (cartesia) vendors.set(CARTESIA, { textToSpeech: cartesiaTextToSpeech(cartesia, deps) })
  const find = <K extends keyof Vendor>(id: string, part: K): NonNullable<Vendor[K]> => {
    const found = vendors.get(id)?.[part]
    if (!found) {
      throw new EngineError('config_invalid', `${part} of vendor ${id} is not configured`, {
        context: { vendor: id },
      })
    }
    return found
  }
  return {
    speechToText: (id) => find(id, 'speechToText'),
    textToSpeech: (id) => find(id, 'textToSpeech'),
    languageModel: (id) => find(id, 'languageModel'),
    speechToSpeech: (id) => find(id, 'speechToSpeech'),
  }
}
