import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { AssemblyAiSettings } from './settings.js'
import { assemblyAiSpeechToText } from './stt.js'

export const ASSEMBLYAI = {
  id: 'assemblyai',
  variables: [
    { name: 'PARLEY_ASSEMBLYAI_API_KEY', default: '', description: 'AssemblyAI API key (STT)', secret: true },
    {
      name: 'PARLEY_ASSEMBLYAI_URL',
      default: 'wss://streaming.assemblyai.com',
      description: 'AssemblyAI URL; wss://streaming.eu.assemblyai.com is the region Europe',
    },
  ],
  requires: ['PARLEY_ASSEMBLYAI_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_ASSEMBLYAI_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_ASSEMBLYAI_URL'),
  }),
  catalogue: catalogueFile('assemblyai'),
  open: (settings, deps) => ({ assemblyai: { speechToText: assemblyAiSpeechToText(settings, deps) } }),
} as const satisfies VendorModule<'assemblyai', AssemblyAiSettings>
