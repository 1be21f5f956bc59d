import t from 'tap'
import { type FallbackNames, findLanguageModel, findRecognitionModel, findVoice } from './catalogue.js'
import { fallbacksOf } from './fallbacks.js'

const OPENAI = {
  baseUrl: 'http://127.0.0.1:1/v1',
  chatModel: 'gpt',
  transcriptionModel: 'whisper-1',
  speechModel: 'tts-1',
  speechVoice: 'alloy',
}
const ALL = {
  openai: OPENAI,
  deepgram: {},
  sarvam: {},
  elevenlabs: { voices: [{ name: 'asha' }, { name: 'ravi' }] },
  anthropic: null,
  assemblyai: null,
  cartesia: null,
  soniox: null,
}

function fallbacks(
  providers: Parameters<typeof fallbacksOf>[1],
  {
    voice = ['bulbul:v2', 'karun'],
    stt = 'nova-3',
    llm = 'gpt',
    languages = ['en-IN', 'hi-IN'],
    pace = 1,
  }: {
    readonly voice?: readonly [string, string]
    readonly stt?: string
    readonly llm?: string
    readonly languages?: readonly string[]
    readonly pace?: number
  } = {},
) {
  const row = findVoice(voice[0], voice[1], providers)
  const recognition = findRecognitionModel(stt, providers)
  const model = findLanguageModel(llm, providers)
  if (!row || !recognition || !model) throw new Error('not in the catalogue')
  const found = fallbacksOf(
    { voice: row, pace, languages, recognition, mode: 'transcribe', model },
    providers,
  )
  return {
    stt: found.speechToText.map(({ vendor, model }) => `${vendor} ${model}`),
    llm: found.languageModel.map(({ vendor, model }) => `${vendor} ${model}`),
    tts: found.textToSpeech.map(({ vendor, model, voice }) => `${vendor} ${model} ${voice}`),
    paces: found.textToSpeech.map(({ pace }) => pace),
  }
}

t.test('one of each other vendor, in catalogue order', async (t) => {
  const { stt, llm, tts } = fallbacks(ALL)
  t.same(stt, ['openai whisper-1', 'sarvam saaras:v3-realtime', 'elevenlabs scribe_v2_realtime'])
  t.same(llm, ['sarvam sarvam-105b-conversations'])
  t.same(tts, ['openai tts-1 alloy', 'elevenlabs eleven_flash_v2_5 asha'])
})

t.test(
  'a key that is not enabled for partial texts: the other socket of the same vendor first',
  async (t) => {
    t.same(fallbacks(ALL, { stt: 'saaras:v3-realtime' }).stt, [
      'sarvam saaras:v3',
      'openai whisper-1',
      'deepgram nova-3',
      'elevenlabs scribe_v2_realtime',
    ])
  },
)

t.test('only models that support a language of the agent', async (t) => {
  const { stt, tts } = fallbacks(ALL, { voice: ['tts-1', 'alloy'], stt: 'saaras:v3', languages: ['od-IN'] })
  t.same(stt, ['openai whisper-1', 'elevenlabs scribe_v2_realtime'], 'no Odia with Deepgram')
  t.same(tts, ['sarvam bulbul:v3 shubh'], 'nor with ElevenLabs')
})

t.test('a voice that lacks a language: one of its own model first', async (t) => {
  const providers = { ...ALL, sarvam: null }
  const voice = findVoice('eleven_flash_v2_5', 'asha', providers)
  t.notOk(voice?.languages.includes('od-IN'))
  const { tts } = fallbacks(providers, {
    voice: ['eleven_flash_v2_5', 'asha'],
    languages: ['en-IN', 'od-IN'],
  })
  t.same(tts, ['openai tts-1 alloy'], 'none of its own vendor speaks it')
})

t.test('paces are mapped to those of the other voice', async (t) => {
  t.same(fallbacks(ALL, { pace: 3 }).paces, [3, 1.2])
})

t.test('embedded vendors have no fallback and are not a fallback', async (t) => {
  const embedded = { voice: ['espeak-ng', 'asha'], stt: 'parley-sandbox', llm: 'parley-rules-1' } as const
  t.match(fallbacks(ALL, embedded), { stt: [], llm: [], tts: [] })
  const alone = { openai: OPENAI }
  const own = { voice: ['tts-1', 'alloy'], stt: 'whisper-1' } as const
  t.match(fallbacks(alone, own), { stt: [], llm: [], tts: [] })
})

t.test('a speech-to-speech model falls back to a complete pipeline or to nothing', async (t) => {
  const realtime = { ...OPENAI, realtime: { models: ['gpt-realtime'] } }
  const own = { voice: ['gpt-realtime', 'marin'], stt: 'gpt-realtime', llm: 'gpt-realtime' } as const
  t.match(fallbacks({ ...ALL, openai: realtime }, own), {
    stt: [
      'openai whisper-1',
      'deepgram nova-3',
      'sarvam saaras:v3-realtime',
      'elevenlabs scribe_v2_realtime',
    ],
    llm: ['openai gpt', 'sarvam sarvam-105b-conversations'],
    tts: ['openai tts-1 alloy', 'sarvam bulbul:v3 shubh', 'elevenlabs eleven_flash_v2_5 asha'],
  })
  const none = { stt: [], llm: [], tts: [] }
  t.match(fallbacks({ ...ALL, openai: realtime, fallbacks: { stt: null, llm: [], tts: null } }, own), none)
  t.match(fallbacks({ ...ALL, openai: realtime, fallbacks: { stt: [], llm: null, tts: null } }, own), none)
})

t.test("the operator's list decides", async (t) => {
  const names: FallbackNames = {
    stt: ['saaras:v3', 'nova-3'],
    llm: ['gpt-other', 'sarvam-105b-conversations'],
    tts: ['eleven_flash_v2_5/ravi', 'bulbul:v3', 'bulbul:v2'],
  }
  const { stt, llm, tts } = fallbacks({ ...ALL, fallbacks: names })
  t.same(stt, ['sarvam saaras:v3'], "not the agent's own")
  t.same(llm, ['openai gpt-other', 'sarvam sarvam-105b-conversations'])
  t.same(tts, ['elevenlabs eleven_flash_v2_5 ravi', 'sarvam bulbul:v3 shubh', 'sarvam bulbul:v2 abhilash'])
  const none = fallbacks({ ...ALL, fallbacks: { stt: [], llm: [], tts: [] } })
  t.match(none, { stt: [], llm: [], tts: [] })
})

t.test('a second endpoint may use the model of the first', async (t) => {
  const names: FallbackNames = { stt: null, llm: ['gpt'], tts: null }
  const { llm } = fallbacks(
    { ...ALL, sarvam: null, elevenlabs: null, secondChat: { model: 'gpt' }, fallbacks: names },
    {
      voice: ['tts-1', 'alloy'],
    },
  )
  t.same(llm, ['openai-second gpt'])
})
