import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import type { ElevenLabsSettings } from './settings.js'
import { elevenLabsSpeechToText } from './stt.js'
import { elevenLabsTextToSpeech } from './tts.js'

export const ELEVENLABS = {
  id: 'elevenlabs',
  variables: [
    {
      name: 'PARLEY_ELEVENLABS_API_KEY',
      default: '',
      description: 'ElevenLabs API key (STT, TTS)',
      secret: true,
    },
    {
      name: 'PARLEY_ELEVENLABS_URL',
      default: 'wss://api.elevenlabs.io',
      description: 'ElevenLabs URL; wss://api.in.residency.elevenlabs.io is the region India',
    },
    {
      name: 'PARLEY_ELEVENLABS_VOICES',
      default: '',
      description: 'ElevenLabs voices by the names agents use: name=voice-id, comma-separated',
    },
  ],
  requires: ['PARLEY_ELEVENLABS_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_ELEVENLABS_API_KEY'),
    baseUrl: reader.socketUrl('PARLEY_ELEVENLABS_URL'),
    voices: reader.voices('PARLEY_ELEVENLABS_VOICES'),
  }),
  catalogue: catalogueFile('elevenlabs'),
  offers: ({ voices }) => [{ vendor: 'elevenlabs', voices: voices.map(({ name }) => name) }],
  open: (settings, deps) => ({
    elevenlabs: {
      speechToText: elevenLabsSpeechToText(settings, deps),
      textToSpeech: elevenLabsTextToSpeech(settings, deps),
    },
  }),
} as const satisfies VendorModule<'elevenlabs', ElevenLabsSettings>
