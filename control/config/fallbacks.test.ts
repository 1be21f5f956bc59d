import t from 'tap'
import { readSettings } from './settings.js'

const FOLDER = '/nowhere'
const KEYS = { PARLEY_SARVAM_API_KEY: 's', PARLEY_OPENAI_API_KEY: 'o', PARLEY_DEEPGRAM_API_KEY: 'd' }

t.test('without settings no fallback is named', async (t) => {
  const { providers } = readSettings(KEYS, FOLDER)
  t.notOk('fallbacks' in providers || 'secondChat' in providers)
})

t.test('fallbacks are named as in the catalogue', async (t) => {
  const { providers } = readSettings(
    {
      ...KEYS,
      PARLEY_OPENAI_SPEECH_MODEL: 'gpt-4o-mini-tts',
      PARLEY_STT_FALLBACK: 'saaras:v3, nova-3',
      PARLEY_TTS_FALLBACK: 'bulbul:v2/anushka,gpt-4o-mini-tts',
      PARLEY_LLM_FALLBACK: 'llama-3.3-70b',
      PARLEY_LLM_FALLBACK_URL: 'https://api.groq.com/openai/v1/',
      PARLEY_LLM_FALLBACK_API_KEY: 'g',
    },
    FOLDER,
  )
  t.same(providers.fallbacks, {
    stt: ['saaras:v3', 'nova-3'],
    llm: ['llama-3.3-70b'],
    tts: ['bulbul:v2/anushka', 'gpt-4o-mini-tts'],
  })
  t.match(providers.secondChat, { apiKey: 'g', model: 'llama-3.3-70b' })
  t.match(providers.secondChat?.baseUrl, /^https:\/\/api\.groq\.com\/openai\/v1/)
  const none = readSettings({ ...KEYS, PARLEY_TTS_FALLBACK: 'none' }, FOLDER)
  t.same(none.providers.fallbacks, { stt: null, llm: null, tts: [] })
})

const WRONG: readonly (readonly [variables: Record<string, string>, fix: RegExp])[] = [
  [{ PARLEY_STT_FALLBACK: 'saaras:v9' }, /PARLEY_STT_FALLBACK.*saaras:v9 is not offered/],
  [{ PARLEY_TTS_FALLBACK: 'bulbul:v3/anushka' }, /bulbul:v3\/anushka is not offered/],
  [{ PARLEY_TTS_FALLBACK: 'bulbul:v3,bulbul:v3' }, /name each once/],
  [{ PARLEY_TTS_FALLBACK: 'bulbul:v3,' }, /an empty name/],
  [{ PARLEY_LLM_FALLBACK_URL: 'https://x.example/v1' }, /also set PARLEY_LLM_FALLBACK/],
  [{ PARLEY_LLM_FALLBACK_URL: 'ftp://x', PARLEY_LLM_FALLBACK: 'm' }, /http/],
  [{ PARLEY_LLM_FALLBACK_API_KEY: 'k' }, /also set PARLEY_LLM_FALLBACK_URL/],
]

t.test('a fallback that no vendor offers stops the start', async (t) => {
  for (const [variables, fix] of WRONG) {
    t.throws(() => readSettings({ ...KEYS, ...variables }, FOLDER), { code: 'config_invalid', message: fix })
  }
})
