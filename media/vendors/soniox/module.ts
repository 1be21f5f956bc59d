import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { SonioxSettings } from './settings.js'
import { sonioxSpeechToText } from './stt.js'

export const SONIOX = {
  id: 'soniox',
  variables: [
    { name: 'PARLEY_SONIOX_API_KEY', default: '', description: 'Soniox API key (STT)', secret: true },
    { name: 'PARLEY_SONIOX_URL', default: 'wss://stt-rt.soniox.com', description: 'Soniox URL' },
  ],
  requires: ['PARLEY_SONIOX_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_SONIOX_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_SONIOX_URL'),
  }),
  catalogue: catalogueFile('soniox'),
  open: (settings, deps) => ({ soniox: { speechToText: sonioxSpeechToText(settings, deps) } }),
} as const satisfies VendorModule<'soniox', SonioxSettings>
