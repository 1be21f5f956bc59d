import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { CartesiaSettings } from './settings.js'
import { cartesiaTextToSpeech } from './tts.js'

export const CARTESIA = {
  id: 'cartesia',
  variables: [
    { name: 'PARLEY_CARTESIA_API_KEY', default: '', description: 'Cartesia API key (TTS)', secret: true },
    { name: 'PARLEY_CARTESIA_URL', default: 'wss://api.cartesia.ai', description: 'Cartesia URL' },
    { name: 'PARLEY_CARTESIA_VERSION', default: '2026-03-01', description: 'Cartesia API version' },
    {
      name: 'PARLEY_CARTESIA_VOICES',
      default: '',
      description: 'Cartesia voices by the names agents use: name=voice-id, comma-separated',
    },
  ],
  requires: ['PARLEY_CARTESIA_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_CARTESIA_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_CARTESIA_URL'),
    version: reader.text('PARLEY_CARTESIA_VERSION'),
    voices: reader.voices('PARLEY_CARTESIA_VOICES'),
  }),
  catalogue: catalogueFile('cartesia'),
  offers: ({ voices }) => [{ vendor: 'cartesia', voices: voices.map(({ name }) => name) }],
  open: (settings, deps) => ({ cartesia: { textToSpeech: cartesiaTextToSpeech(settings, deps) } }),
} as const satisfies VendorModule<'cartesia', CartesiaSettings>
