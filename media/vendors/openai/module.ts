import { catalogueFile } from '../shared/catalogue-file.js'
import { OPENAI, OPENAI_REALTIME } from '../vendor-ids.js'
import type { Offer, SettingsReader, VendorModule } from '../vendor-module.js'
import { openAiLanguageModel } from './llm.js'
import { openAiSpeechToSpeech } from './realtime.js'
import type { OpenAiSettings, RealtimeSettings } from './settings.js'
import { openAiSpeechToText } from './stt.js'
import { openAiTextToSpeech } from './tts.js'

const OPENAI_URL = 'https://api.openai.com/v1'
const SPEECH_RATES = { '8000': 8000, '16000': 16_000, '24000': 24_000, '48000': 48_000 } as const

/** OpenAI, or a compatible endpoint; with speech-to-speech models where it has them. */
export const OPENAI_VENDOR = {
  id: OPENAI,
  variables: [
    {
      name: 'PARLEY_OPENAI_BASE_URL',
      default: 'https://api.openai.com/v1 when a key is set',
      description: 'Any OpenAI-compatible endpoint, local or hosted',
    },
    {
      name: 'PARLEY_OPENAI_API_KEY',
      default: '',
      description: 'API key of the endpoint; local ones may need none',
      secret: true,
    },
    { name: 'PARLEY_OPENAI_CHAT_MODEL', default: 'gpt-4o-mini', description: 'Chat completions model' },
    {
      name: 'PARLEY_OPENAI_CHAT_WINDOW',
      default: '',
      description: 'Context window of the chat model in tokens; by default derived from its name, else 32768',
    },
    {
      name: 'PARLEY_OPENAI_TRANSCRIPTION_MODEL',
      default: 'gpt-4o-mini-transcribe',
      description: 'Transcription model',
    },
    { name: 'PARLEY_OPENAI_SPEECH_MODEL', default: 'gpt-4o-mini-tts', description: 'TTS model' },
    { name: 'PARLEY_OPENAI_SPEECH_VOICE', default: 'alloy', description: 'Voice of the TTS model' },
    {
      name: 'PARLEY_OPENAI_SPEECH_RATE',
      default: '24000',
      description: 'Sample rate of the raw PCM: 8000, 16000, 24000 or 48000',
    },
    {
      name: 'PARLEY_OPENAI_REALTIME_MODELS',
      default: 'gpt-realtime,gpt-realtime-mini with OpenAI itself',
      description: 'Speech-to-speech models of the endpoint, comma-separated, or none',
    },
    {
      name: 'PARLEY_OPENAI_REALTIME_TURNS',
      default: 'semantic',
      description: 'Endpointing with these models: semantic, server (by silence) or ours (our detector)',
    },
  ],
  requires: ['PARLEY_OPENAI_BASE_URL', 'PARLEY_OPENAI_API_KEY'],
  readSettings,
  catalogue: catalogueFile('openai'),
  offers: (settings) => [
    {
      vendor: OPENAI,
      recognitionModels: [settings.transcriptionModel],
      languageModels: [settings.chatModel],
      windowTokens: settings.chatWindowTokens ?? null,
      speechModels: [settings.speechModel],
      voices: [settings.speechVoice],
    },
    ...realtimeOffer(settings.realtime),
  ],
  open: (settings, deps) => ({
    [OPENAI]: {
      speechToText: openAiSpeechToText(settings, deps),
      textToSpeech: openAiTextToSpeech(settings, deps),
      languageModel: openAiLanguageModel(settings, deps),
    },
    ...(settings.realtime
      ? { [OPENAI_REALTIME]: { speechToSpeech: openAiSpeechToSpeech(settings, settings.realtime, deps) } }
      : {}),
  }),
} as const satisfies VendorModule<typeof OPENAI, OpenAiSettings>

function realtimeOffer(realtime: RealtimeSettings | null | undefined): readonly Offer[] {
  if (!realtime || realtime.models.length === 0) return []
  const { models } = realtime
  return [
    { vendor: OPENAI_REALTIME, recognitionModels: models, languageModels: models, speechModels: models },
  ]
}

function readSettings(reader: SettingsReader): OpenAiSettings {
  const baseUrl = reader.httpUrl('PARLEY_OPENAI_BASE_URL', OPENAI_URL)
  const transcriptionModel = reader.text('PARLEY_OPENAI_TRANSCRIPTION_MODEL')
  // Few of the compatible endpoints have the realtime WebSocket.
  const models = reader.modelNames(
    'PARLEY_OPENAI_REALTIME_MODELS',
    baseUrl === OPENAI_URL ? 'gpt-realtime,gpt-realtime-mini' : 'none',
  )
  const turns = reader.choice('PARLEY_OPENAI_REALTIME_TURNS', 'semantic', 'server', 'ours')
  return {
    baseUrl,
    apiKey: reader.given('PARLEY_OPENAI_API_KEY'),
    chatModel: reader.text('PARLEY_OPENAI_CHAT_MODEL'),
    ...(reader.given('PARLEY_OPENAI_CHAT_WINDOW') === null
      ? {}
      : { chatWindowTokens: reader.integer('PARLEY_OPENAI_CHAT_WINDOW', 2048, 10_000_000) }),
    transcriptionModel,
    speechModel: reader.text('PARLEY_OPENAI_SPEECH_MODEL'),
    speechVoice: reader.text('PARLEY_OPENAI_SPEECH_VOICE'),
    speechRate: SPEECH_RATES[reader.choice('PARLEY_OPENAI_SPEECH_RATE', '8000', '16000', '24000', '48000')],
    realtime: models.length === 0 ? null : { models, transcriptionModel, turns },
  }
}
