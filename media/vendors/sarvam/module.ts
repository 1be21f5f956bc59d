import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import { sarvamLanguageModel } from './llm.js'
import type { SarvamSettings } from './settings.js'
import { sarvamSpeechToText } from './stt.js'
import { sarvamTextToSpeech } from './tts.js'

export const SARVAM = {
  id: 'sarvam',
  variables: [
    {
      name: 'PARLEY_SARVAM_API_KEY',
      default: '',
      description: 'Sarvam API key (STT, LLM, TTS)',
      secret: true,
    },
    { name: 'PARLEY_SARVAM_URL', default: 'wss://api.sarvam.ai', description: 'Sarvam URL' },
    {
      name: 'PARLEY_SARVAM_LANGUAGE_FIELD',
      default: 'target_language_code',
      description: 'Name of the TTS language field: target_language_code or language_code',
    },
  ],
  requires: ['PARLEY_SARVAM_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_SARVAM_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_SARVAM_URL'),
    languageField: reader.choice('PARLEY_SARVAM_LANGUAGE_FIELD', 'target_language_code', 'language_code'),
  }),
  catalogue: catalogueFile('sarvam'),
  open: (settings, deps) => ({
    sarvam: {
      speechToText: sarvamSpeechToText(settings, deps),
      textToSpeech: sarvamTextToSpeech(settings, deps),
      languageModel: sarvamLanguageModel(settings, deps),
    },
  }),
} as const satisfies VendorModule<'sarvam', SarvamSettings>
