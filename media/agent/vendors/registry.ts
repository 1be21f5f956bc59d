import type { Clock } from '../../base/clock.js'
import { EngineError } from '../../base/errors.js'
import type { Log } from '../../base/log.js'
import type { LanguageModel, SpeechToText, TextToSpeech, Vendors } from '../ports.js'
import { EMBEDDED, OPENAI } from './catalogue.js'
import type { SynthesisPort } from './espeak/port.js'
import { espeakTextToSpeech } from './espeak/tts.js'
import { openAiLanguageModel } from './openai/chat.js'
import type { OpenAiSettings } from './openai/settings.js'
import { openAiTextToSpeech } from './openai/speech.js'
import { openAiSpeechToText } from './openai/transcriptions.js'
import { rulesLanguageModel } from './sandbox/model.js'
import { sandboxSpeechToText } from './sandbox/recogniser.js'

interface Vendor {
  readonly speechToText: SpeechToText
  readonly textToSpeech: TextToSpeech
  readonly languageModel: LanguageModel
}

/**
 * The vendors of one media thread. Adding one is a folder and a line here. Asking for a vendor that
 * is not configured throws EngineError `config_invalid`.
 */
export function openVendors(options: {
  readonly providers: { readonly openai: OpenAiSettings | null }
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
  }
  const find = (id: string): Vendor => {
    const vendor = vendors.get(id)
    if (vendor === undefined) {
      throw new EngineError('config_invalid', `vendor ${id} is not configured`, { context: { vendor: id } })
    }
    return vendor
  }
  return {
    speechToText: (id) => find(id).speechToText,
    textToSpeech: (id) => find(id).textToSpeech,
    languageModel: (id) => find(id).languageModel,
  }
}
