import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { AzureSettings } from './settings.js'
import { azureSpeechToText } from './stt.js'

export const AZURE = {
  id: 'azure',
  variables: [
    {
      name: 'PARLEY_AZURE_API_KEY',
      default: '',
      description: 'Azure Speech resource key (STT)',
      secret: true,
    },
    {
      name: 'PARLEY_AZURE_URL',
      default: 'wss://centralindia.stt.speech.microsoft.com',
      description: 'Azure Speech URL of the region of the resource: wss://REGION.stt.speech.microsoft.com',
    },
  ],
  requires: ['PARLEY_AZURE_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_AZURE_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_AZURE_URL'),
  }),
  catalogue: catalogueFile('azure'),
  open: (settings, deps) => ({ azure: { speechToText: azureSpeechToText(settings, deps) } }),
} as const satisfies VendorModule<'azure', AzureSettings>
