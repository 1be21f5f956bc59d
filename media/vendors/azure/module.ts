import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { AzureSettings } from './settings.js'
import { azureSpeechToText } from './stt.js'
import { azureTextToSpeech } from './tts.js'

export const AZURE = {
  id: 'azure',
  variables: [
    {
      name: 'PARLEY_AZURE_API_KEY',
      default: '',
      description: 'Azure Speech resource key (STT and TTS)',
      secret: true,
    },
    {
      name: 'PARLEY_AZURE_URL',
      default: 'wss://centralindia.stt.speech.microsoft.com',
      description: 'Azure Speech URL of the region of the resource: wss://REGION.stt.speech.microsoft.com',
    },
    {
      name: 'PARLEY_AZURE_SPEECH_URL',
      default: 'the region of PARLEY_AZURE_URL',
      description: 'URL of the voices: https://REGION.tts.speech.microsoft.com',
    },
  ],
  requires: ['PARLEY_AZURE_API_KEY'],
  readSettings: (reader) => {
    const baseUrl = reader.socketUrl('PARLEY_AZURE_URL')
    const sameRegion = baseUrl.replace(/^ws/, 'http').replace('.stt.', '.tts.')
    return {
      apiKey: reader.text('PARLEY_AZURE_API_KEY'),
      baseUrl,
      speechUrl: reader.httpUrl('PARLEY_AZURE_SPEECH_URL', sameRegion),
    }
  },
  catalogue: catalogueFile('azure'),
  open: (settings, deps) => ({
    azure: {
      speechToText: azureSpeechToText(settings, deps),
      textToSpeech: azureTextToSpeech(settings, deps),
    },
  }),
} as const satisfies VendorModule<'azure', AzureSettings>
