import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { DeepgramSettings } from './settings.js'
import { deepgramSpeechToText } from './stt.js'

export const DEEPGRAM = {
  id: 'deepgram',
  variables: [
    { name: 'PARLEY_DEEPGRAM_API_KEY', default: '', description: 'Deepgram API key (STT)', secret: true },
    {
      name: 'PARLEY_DEEPGRAM_URL',
      default: 'wss://api.deepgram.com',
      description: 'Deepgram URL; wss://api.in.deepgram.com is the region India',
    },
  ],
  requires: ['PARLEY_DEEPGRAM_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_DEEPGRAM_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_DEEPGRAM_URL'),
  }),
  catalogue: catalogueFile('deepgram'),
  open: (settings, deps) => ({ deepgram: { speechToText: deepgramSpeechToText(settings, deps) } }),
} as const satisfies VendorModule<'deepgram', DeepgramSettings>
