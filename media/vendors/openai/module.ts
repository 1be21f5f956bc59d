import { catalogueFile } from '../shared/catalogue-file.js'
import { OPENAI, OPENAI_REALTIME } from '../vendor-ids.js'
import type { Offer, SettingsReader, VendorModule } from '../vendor-module.js'
import { openAiLanguageModel } from './llm.js'
import { openAiSpeechToSpeech } from './realtime.js'
import type { Endpoint, OpenAiSettings } from './settings.js'
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
    {
      name: 'PARLEY_OPENAI_CHAT_MODEL',
      default: 'gpt-6-luna',
      description: 'Chat completions model, or none',
    },
    {
      name: 'PARLEY_OPENAI_CHAT_EXTRA',
      default: '{}',
      description: 'JSON object of fields for every chat request, for example {"temperature":0.3}',
    },
    {
      name: 'PARLEY_OPENAI_CHAT_ORDER',
      default: 'free',
      description:
        'strict: one system message first, then user and assistant in turn; free learns it from a refusal',
    },
    {
      name: 'PARLEY_OPENAI_CHAT_DEADLINE_MS',
      default: 'learnt from 1800',
      description: 'Longest wait for the first token of a reply; at most 1200 when another model can answer',
    },
    {
      name: 'PARLEY_OPENAI_CHAT_WINDOW',
      default: '',
      description: 'Context window of the chat model in tokens; by default derived from its name, else 32768',
    },
    {
      name: 'PARLEY_OPENAI_TRANSCRIPTION_MODEL',
      default: 'gpt-transcribe',
      description: 'Transcription model, or none',
    },
    {
      name: 'PARLEY_OPENAI_TRANSCRIPTION_BASE_URL',
      default: 'PARLEY_OPENAI_BASE_URL',
      description: 'Endpoint of transcription when it is another server',
    },
    {
      name: 'PARLEY_OPENAI_TRANSCRIPTION_API_KEY',
      default: '',
      description: 'API key of that server',
      secret: true,
    },
    {
      name: 'PARLEY_OPENAI_TRANSCRIPTION_SERVER',
      default: 'upload',
      description: 'Server whose realtime socket transcribes: openai, speaches, together or vllm',
    },
    {
      name: 'PARLEY_OPENAI_TRANSCRIPTION_DEADLINE_MS',
      default: 'learnt from 1500',
      description: 'Longest wait for the text of an utterance; then the agent asks to repeat it',
    },
    {
      name: 'PARLEY_OPENAI_SPEECH_MODEL',
      default: '',
      description: 'TTS model of the endpoint, or none; OpenAI itself has none from 6 January 2027',
    },
    {
      name: 'PARLEY_OPENAI_SPEECH_BASE_URL',
      default: 'PARLEY_OPENAI_BASE_URL',
      description: 'Endpoint of speech when it is another server',
    },
    {
      name: 'PARLEY_OPENAI_SPEECH_API_KEY',
      default: '',
      description: 'API key of that server',
      secret: true,
    },
    {
      name: 'PARLEY_OPENAI_SPEECH_DEADLINE_MS',
      default: 'learnt from 1500',
      description: 'Longest wait for the first audio of a sentence; then another voice speaks it',
    },
    { name: 'PARLEY_OPENAI_SPEECH_VOICE', default: 'alloy', description: 'Voice of the TTS model' },
    {
      name: 'PARLEY_OPENAI_SPEECH_RATE',
      default: '24000',
      description: 'Sample rate of the raw PCM: 8000, 16000, 24000 or 48000',
    },
    {
      name: 'PARLEY_OPENAI_REALTIME_MODELS',
      default: 'gpt-realtime-2.1,gpt-realtime-2.1-mini with OpenAI itself',
      description: 'Speech-to-speech models of the endpoint, comma-separated, or none',
    },
    {
      name: 'PARLEY_OPENAI_REALTIME_TURNS',
      default: 'semantic',
      description: 'Endpointing with these models: semantic, server (by silence) or ours (our detector)',
    },
    {
      name: 'PARLEY_OPENAI_REALTIME_EFFORT',
      default: 'default',
      description: 'How long these models think before they speak: minimal, low, medium, high or xhigh',
    },
  ],
  requires: ['PARLEY_OPENAI_BASE_URL', 'PARLEY_OPENAI_API_KEY'],
  readSettings,
  catalogue: catalogueFile('openai'),
  offers: (settings) => [
    {
      vendor: OPENAI,
      recognitionModels: listOf(settings.transcriptionModel),
      languageModels: listOf(settings.chatModel),
      windowTokens: settings.chatWindowTokens ?? null,
      speechModels: listOf(settings.speechModel),
      voices: [settings.speechVoice],
      hosts: {
        languageModels: hostOf(settings),
        recognitionModels: hostOf(settings.transcriptionEndpoint ?? settings),
        speechModels: hostOf(settings.speechEndpoint ?? settings),
      },
    },
    ...realtimeOffer(settings),
  ],
  open: (settings, deps) => ({
    [OPENAI]: {
      ...(settings.transcriptionModel === null
        ? {}
        : { speechToText: openAiSpeechToText({ ...settings, ...settings.transcriptionEndpoint }, deps) }),
      ...(settings.speechModel === null
        ? {}
        : { textToSpeech: openAiTextToSpeech({ ...settings, ...settings.speechEndpoint }, deps) }),
      ...(settings.chatModel === null ? {} : { languageModel: openAiLanguageModel(settings, deps) }),
    },
    ...(settings.realtime
      ? { [OPENAI_REALTIME]: { speechToSpeech: openAiSpeechToSpeech(settings, settings.realtime, deps) } }
      : {}),
  }),
} as const satisfies VendorModule<typeof OPENAI, OpenAiSettings>

/** Returns the names to offer; null stays null, and no default is no name. */
function listOf(model: string | null | undefined): readonly string[] | null {
  return model === null ? null : model === undefined ? [] : [model]
}

function hostOf({ baseUrl }: Endpoint): string {
  return new URL(baseUrl).hostname
}

function realtimeOffer({ realtime, ...settings }: OpenAiSettings): readonly Offer[] {
  if (!realtime || realtime.models.length === 0) return []
  const { models } = realtime
  return [
    {
      vendor: OPENAI_REALTIME,
      recognitionModels: models,
      languageModels: models,
      speechModels: models,
      hosts: { languageModels: hostOf(settings) },
    },
  ]
}

/**
 * OpenAI's models that hear and speak at the same time have a protocol of their own, `v1/live/sessions`: the model decides
 * when it speaks. https://developers.openai.com/api/docs/guides/voice-websockets
 */
const GPT_LIVE = {
  pattern: /^gpt-live-(?!transcribe)/,
  why: 'GPT-Live is not served by the realtime socket; set gpt-realtime-2.1, for example',
} as const

function readSettings(reader: SettingsReader): OpenAiSettings {
  const baseUrl = reader.httpUrl('PARLEY_OPENAI_BASE_URL', OPENAI_URL)
  const apiKey = reader.given('PARLEY_OPENAI_API_KEY')
  const transcriptionModel = orNone(reader.text('PARLEY_OPENAI_TRANSCRIPTION_MODEL'))
  const speechModel = reader.given('PARLEY_OPENAI_SPEECH_MODEL')
  // Few of the compatible endpoints have the realtime WebSocket.
  const models = reader.modelNames(
    'PARLEY_OPENAI_REALTIME_MODELS',
    baseUrl === OPENAI_URL ? 'gpt-realtime-2.1,gpt-realtime-2.1-mini' : 'none',
    GPT_LIVE,
  )
  const turns = reader.choice('PARLEY_OPENAI_REALTIME_TURNS', 'semantic', 'server', 'ours')
  const effort = reader.choice(
    'PARLEY_OPENAI_REALTIME_EFFORT',
    'default',
    'minimal',
    'low',
    'medium',
    'high',
    'xhigh',
  )
  const server = reader.choice(
    'PARLEY_OPENAI_TRANSCRIPTION_SERVER',
    'upload',
    'openai',
    'speaches',
    'together',
    'vllm',
  )
  return {
    baseUrl,
    apiKey,
    chatModel: orNone(reader.text('PARLEY_OPENAI_CHAT_MODEL')),
    chatExtra: reader.jsonObject('PARLEY_OPENAI_CHAT_EXTRA'),
    firstTokenMs: deadline(reader, 'PARLEY_OPENAI_CHAT_DEADLINE_MS'),
    transcriptionMs: deadline(reader, 'PARLEY_OPENAI_TRANSCRIPTION_DEADLINE_MS'),
    speechMs: deadline(reader, 'PARLEY_OPENAI_SPEECH_DEADLINE_MS'),
    strictOrder: reader.choice('PARLEY_OPENAI_CHAT_ORDER', 'free', 'strict') === 'strict',
    ...(reader.given('PARLEY_OPENAI_CHAT_WINDOW') === null
      ? {}
      : { chatWindowTokens: reader.integer('PARLEY_OPENAI_CHAT_WINDOW', 2048, 10_000_000) }),
    transcriptionModel,
    transcriptionServer: server === 'upload' ? null : server,
    ...endpointOf(reader, 'transcriptionEndpoint', 'PARLEY_OPENAI_TRANSCRIPTION', baseUrl),
    ...(speechModel === null ? {} : { speechModel: orNone(speechModel) }),
    ...endpointOf(reader, 'speechEndpoint', 'PARLEY_OPENAI_SPEECH', baseUrl),
    speechVoice: reader.text('PARLEY_OPENAI_SPEECH_VOICE'),
    speechRate: SPEECH_RATES[reader.choice('PARLEY_OPENAI_SPEECH_RATE', '8000', '16000', '24000', '48000')],
    realtime:
      models.length === 0
        ? null
        : { models, transcriptionModel, turns, effort: effort === 'default' ? null : effort },
  }
}

/** Reads a deadline (ms), undefined when it is to be learnt. */
function deadline(reader: SettingsReader, name: string): number | undefined {
  return reader.given(name) === null ? undefined : reader.integer(name, 300, 20_000)
}

function orNone(model: string): string | null {
  return model === 'none' ? null : model
}

/**
 * Reads the endpoint of one kind of model. A key without an address is the key for the common address; an
 * address of another server never gets the common key.
 */
function endpointOf(
  reader: SettingsReader,
  field: 'transcriptionEndpoint' | 'speechEndpoint',
  prefix: string,
  common: string,
): Pick<OpenAiSettings, 'transcriptionEndpoint' | 'speechEndpoint'> {
  const apiKey = reader.given(`${prefix}_API_KEY`)
  if (reader.given(`${prefix}_BASE_URL`) === null && apiKey === null) return {}
  return { [field]: { baseUrl: reader.httpUrl(`${prefix}_BASE_URL`, common), apiKey } }
}
