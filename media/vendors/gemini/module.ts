import { catalogueFile } from '../shared/catalogue-file.js'
import { GEMINI_LIVE } from '../vendor-ids.js'
import type { VendorModule } from '../vendor-module.js'
import { geminiSpeechToSpeech } from './live.js'
import type { GeminiSettings } from './settings.js'

export const GEMINI = {
  id: 'gemini',
  variables: [
    {
      name: 'PARLEY_GEMINI_API_KEY',
      default: '',
      description: 'Gemini API key (speech-to-speech)',
      secret: true,
    },
    {
      name: 'PARLEY_GEMINI_URL',
      default: 'wss://generativelanguage.googleapis.com',
      description: 'Gemini API URL',
    },
    {
      name: 'PARLEY_GEMINI_LIVE_MODELS',
      default: 'gemini-3.8-live',
      description: 'Live models, comma-separated, or none',
    },
  ],
  requires: ['PARLEY_GEMINI_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_GEMINI_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_GEMINI_URL'),
    models: reader.modelNames('PARLEY_GEMINI_LIVE_MODELS'),
  }),
  catalogue: catalogueFile('gemini'),
  offers: ({ models }) =>
    models.length === 0
      ? []
      : [{ vendor: GEMINI_LIVE, recognitionModels: models, languageModels: models, speechModels: models }],
  open: (settings, deps) => ({ [GEMINI_LIVE]: { speechToSpeech: geminiSpeechToSpeech(settings, deps) } }),
} as const satisfies VendorModule<'gemini', GeminiSettings>
