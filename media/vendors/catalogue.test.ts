import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../base/log.js'
import {
  EMBEDDED_LANGUAGE_MODEL,
  EMBEDDED_RECOGNITION_MODEL,
  EMBEDDED_SPEECH_MODEL,
  EMBEDDED_VOICE,
  findLanguageModel,
  findRecognitionModel,
  findVoice,
  languageModels,
  recognitionModels,
  retirements,
  voices,
} from './catalogue.js'
import { openVendors } from './open-vendors.js'
import { OPENAI_VENDOR } from './openai/module.js'

const NONE = { openai: null }
const OPENAI = {
  openai: {
    baseUrl: 'http://127.0.0.1:1/v1',
    apiKey: null,
    chatModel: 'local-llm',
    transcriptionModel: 'local-stt',
    speechModel: 'local-tts',
    speechVoice: 'nila',
    speechRate: 24_000,
  },
} as const

t.test('embedded entries are always present, OpenAI ones when configured', async (t) => {
  t.equal(findVoice(EMBEDDED_SPEECH_MODEL, EMBEDDED_VOICE, NONE)?.languages.length, 11)
  t.equal(findVoice(EMBEDDED_SPEECH_MODEL, 'ravi', NONE)?.gender, 'male')
  t.equal(findVoice(EMBEDDED_SPEECH_MODEL, 'nobody', NONE), null)
  t.equal(findVoice('other', EMBEDDED_VOICE, NONE), null)
  t.equal(findLanguageModel(EMBEDDED_LANGUAGE_MODEL, NONE)?.vendor, 'embedded')
  t.equal(findRecognitionModel(EMBEDDED_RECOGNITION_MODEL, NONE)?.vendor, 'embedded')
  t.equal(findLanguageModel('local-llm', NONE), null)
  t.equal(findLanguageModel('local-llm', OPENAI)?.vendor, 'openai')
  t.equal(findRecognitionModel('local-stt', OPENAI)?.vendor, 'openai')
  t.equal(findVoice('local-tts', 'nila', OPENAI)?.vendor, 'openai')
  t.equal(findVoice('local-tts', 'alloy', OPENAI), null, 'a clone has the configured voice only')
  const own = { openai: { ...OPENAI.openai, speechModel: 'gpt-4o-mini-tts', speechVoice: 'alloy' } }
  t.ok(findVoice('gpt-4o-mini-tts', 'cedar', own))
  t.equal(voices(own).filter(({ ttsVoice }) => ttsVoice === 'alloy').length, 1)
})

t.test('a listed model may have further voices of a form', async (t) => {
  const providers = { openai: null, sarvam: {} }
  t.match(findVoice('bulbul:v4-flash', 'simran_en_customer', providers), { unlisted: undefined })
  t.match(findVoice('bulbul:v4-flash', 'kavya_hi_conversational', providers), {
    vendor: 'sarvam',
    ttsVoice: 'kavya_hi_conversational',
    gender: 'neutral',
    paceMax: 2,
    unlisted: true,
  })
  t.equal(findVoice('bulbul:v4-flash', 'shubh', providers), null, 'a voice of another model')
  t.equal(findVoice('bulbul:v3', 'kavya_hi_conversational', providers), null)
})

t.test('models of ElevenLabs that the multi-context socket does not serve do not exist', async (t) => {
  const providers = { openai: null, elevenlabs: { voices: [{ name: 'asha', id: 'v1' }] } }
  t.match(findVoice('eleven_turbo_v2_5', 'asha', providers), { vendor: 'elevenlabs', unlisted: true })
  for (const model of ['eleven_v3', 'eleven_v3_conversational', 'eleven_v4_turbo']) {
    t.equal(findVoice(model, 'asha', providers), null, model)
  }
})

t.test('every vendor that the catalogue names is in the registry', async (t) => {
  const synthesis = { synthesize: () => Promise.reject(new Error('unused')) }
  const vendors = openVendors({ providers: OPENAI, synthesis, clock: new VirtualClock(), log: silentLog })
  for (const { vendor } of voices(OPENAI)) t.equal(vendors.textToSpeech(vendor).id, vendor)
  for (const { vendor } of languageModels(OPENAI)) t.equal(vendors.languageModel(vendor).id, vendor)
  for (const { vendor } of recognitionModels(OPENAI)) t.equal(vendors.speechToText(vendor).id, vendor)
  const bare = openVendors({ providers: NONE, synthesis, clock: new VirtualClock(), log: silentLog })
  t.throws(() => bare.languageModel('openai'), { code: 'config_invalid' })
  t.throws(() => bare.speechToText('nobody'), { code: 'config_invalid' })
})

t.test('models that retire, on the host that retires them', async (t) => {
  const settings = {
    baseUrl: 'https://api.openai.com/v1',
    apiKey: 'k',
    chatModel: 'gpt-4o-mini',
    transcriptionModel: 'whisper-1',
    speechModel: 'tts-1',
    speechVoice: 'alloy',
    speechRate: 24_000,
    realtime: { models: ['gpt-realtime-2.1', 'gpt-realtime'], transcriptionModel: 'w', turns: 'semantic' },
  } as const
  t.strictSame(retirements({ openai: settings }), [
    { model: 'tts-1', retiresOn: '2027-01-06' },
    { model: 'gpt-4o-mini', retiresOn: '2027-01-14', successor: 'gpt-6-luna' },
    { model: 'gpt-realtime', retiresOn: '2027-01-20', successor: 'gpt-realtime-2.1' },
    { model: 'whisper-1', retiresOn: '2027-02-26', successor: 'gpt-transcribe' },
  ])
  t.strictSame(
    retirements({ openai: { ...settings, baseUrl: 'http://127.0.0.1:8000/v1', realtime: null } }),
    [],
  )
  const mixed = {
    ...settings,
    realtime: null,
    chatModel: null,
    speechEndpoint: { baseUrl: 'http://kokoro:8880/v1', apiKey: null },
  }
  t.strictSame(
    retirements({ openai: mixed }).map(({ model }) => model),
    ['whisper-1'],
  )
  t.equal(findLanguageModel('gpt-4o-mini', { openai: mixed }), null, 'the endpoint has no chat')
})

t.test('no default of OpenAI retires', async (t) => {
  const defaults = new Map(OPENAI_VENDOR.variables.map((variable) => [variable.name, variable.default]))
  const settings = {
    baseUrl: 'https://api.openai.com/v1',
    apiKey: 'k',
    chatModel: defaults.get('PARLEY_OPENAI_CHAT_MODEL') ?? '',
    transcriptionModel: defaults.get('PARLEY_OPENAI_TRANSCRIPTION_MODEL') ?? '',
    speechVoice: 'alloy',
    speechRate: 24_000,
    realtime: {
      models: ['gpt-realtime-2.1', 'gpt-realtime-2.1-mini'],
      transcriptionModel: 'w',
      turns: 'semantic',
    },
  } as const
  t.strictSame(retirements({ openai: settings }), [])
  t.equal(defaults.get('PARLEY_OPENAI_SPEECH_MODEL'), '')
})
