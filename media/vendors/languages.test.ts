import t from 'tap'
import { decodeRequest } from '../../fixtures/vendors/google-proto.js'
import {
  ASSEMBLYAI,
  AZURE,
  DEEPGRAM_FLUX,
  DEEPGRAM_LISTEN,
  GOOGLE,
  RECOGNITION_PROTOCOLS,
  type RecognitionProtocol,
  SARVAM_LEGACY,
  SARVAM_REALTIME,
  SCRIBE,
  SONIOX,
} from '../../fixtures/vendors/recognition-messages.js'
import { AssemblyAiDialect } from './assemblyai/stt.js'
import { AzureDialect } from './azure/stt.js'
import { CartesiaDialect } from './cartesia/tts.js'
import { DeepgramListenDialect } from './deepgram/stt.js'
import { DeepgramFluxDialect } from './deepgram/stt-flux.js'
import { ScribeDialect } from './elevenlabs/stt.js'
import { ElevenLabsDialect } from './elevenlabs/tts.js'
import { espeakName, VOICE_LANGUAGES } from './espeak/voices.js'
import { AccessTokens } from './google/access-token.js'
import { GoogleDialect } from './google/stt.js'
import { OpenAiTranscriptionDialect } from './openai/stt-socket.js'
import { SarvamLegacyDialect } from './sarvam/stt.js'
import { SarvamRealtimeDialect } from './sarvam/stt-realtime.js'
import { SarvamBulbulDialect } from './sarvam/tts.js'
import type { RecognitionDialect } from './shared/recognition-stream.js'
import { SonioxDialect } from './soniox/stt.js'

/* Every vendor's names of languages, and how each is asked to listen for several and tells which it heard. */

const SARVAM = { baseUrl: 'wss://s', apiKey: 'k', languageField: 'target_language_code' } as const
const DEEPGRAM = { baseUrl: 'wss://d', apiKey: 'k' }

function open(wire: RecognitionProtocol, language: string, languages: readonly string[]): RecognitionDialect {
  const stream = {
    rate: 8000,
    language,
    languages,
    model: wire.model,
    mode: 'transcribe',
    vocabulary: [],
  } as const
  if (wire === SONIOX) return new SonioxDialect(DEEPGRAM, stream)
  if (wire === ASSEMBLYAI) return new AssemblyAiDialect(DEEPGRAM, stream)
  if (wire === SCRIBE) return new ScribeDialect({ ...DEEPGRAM, voices: [] }, stream)
  if (wire === AZURE) return new AzureDialect(DEEPGRAM, stream)
  if (wire === GOOGLE) {
    const account = { project: 'p', email: 'e', keyId: 'k', privateKey: 'none' }
    const settings = { baseUrl: 'https://g', location: 'l', account }
    return new GoogleDialect(settings, new AccessTokens(account), stream)
  }
  if (wire === DEEPGRAM_LISTEN) return new DeepgramListenDialect(DEEPGRAM, stream)
  const { transcriptionServer } = wire
  if (transcriptionServer !== undefined) {
    return new OpenAiTranscriptionDialect(transcriptionServer, { baseUrl: 'https://o', apiKey: null }, stream)
  }
  if (wire === DEEPGRAM_FLUX) return new DeepgramFluxDialect(DEEPGRAM, stream)
  return wire === SARVAM_LEGACY
    ? new SarvamLegacyDialect(SARVAM, stream)
    : new SarvamRealtimeDialect(SARVAM, stream)
}

/** Values of the language parameter of the request. */
function asked(dialect: RecognitionDialect): readonly string[] {
  if (dialect instanceof GoogleDialect) {
    const [setup] = dialect.utteranceMessages()
    const { streamingConfig } = decodeRequest(setup ?? new Uint8Array(0))
    return (streamingConfig as { config: { languageCodes: string[] } }).config.languageCodes
  }
  if (dialect instanceof AzureDialect) {
    const [context = ''] = dialect.utteranceMessages()
    const { languageId, phraseDetection } = JSON.parse(String(context).split('\r\n\r\n')[1] ?? '{}')
    return languageId?.languages ?? [phraseDetection.language]
  }
  const { searchParams } = new URL(dialect.url)
  const { language_hints: hints } = JSON.parse(dialect.openMessage?.() ?? '{}')
  if (hints !== undefined) return hints
  const names = ['language', 'language_hint', 'language-code', 'language_code']
  return names.flatMap((name) => searchParams.getAll(name))
}

/** Returns the texts that come of the vendor's literal messages, with the language told. */
function read(
  dialect: RecognitionDialect,
  messages: readonly string[],
  {
    parse = (message: string) => JSON.parse(message),
    utterancesOnly = false,
  }: Partial<RecognitionProtocol> = {},
): unknown[] {
  const told: unknown[] = []
  if (utterancesOnly) dialect.flush()
  for (const message of messages) {
    dialect.read(parse(message) ?? {}, {
      partial: (_text, language = null) => told.push(['partial', language]),
      final: (text, _words, language = null) => told.push([text, language]),
      failed: (error) => told.push(error.code),
    })
  }
  return told
}

const SEVERAL: readonly (readonly [
  RecognitionProtocol,
  string,
  readonly string[],
  readonly string[],
  readonly string[],
])[] = [
  // wire, to begin with, all, what is asked for, what is heard at once
  [DEEPGRAM_LISTEN, 'hi-IN', ['en-IN', 'hi-IN'], ['multi', 'hi', 'en'], ['hi-IN', 'en-IN']],
  [DEEPGRAM_LISTEN, 'ta-IN', ['en-IN', 'ta-IN'], ['multi', 'ta', 'en'], ['ta-IN', 'en-IN']],
  [DEEPGRAM_LISTEN, 'pa-IN', ['pa-IN', 'hi-IN'], ['pa'], ['pa-IN']],
  [DEEPGRAM_LISTEN, 'hi-IN', ['hi-IN', 'ml-IN'], ['hi'], ['hi-IN']],
  [DEEPGRAM_FLUX, 'en-IN', ['en-IN', 'hi-IN', 'ta-IN'], ['en', 'hi'], ['en-IN', 'hi-IN']],
  [SARVAM_LEGACY, 'od-IN', ['en-IN', 'od-IN'], ['unknown'], ['od-IN', 'en-IN']],
  [SARVAM_REALTIME, 'od-IN', ['en-IN', 'od-IN'], ['auto'], ['od-IN', 'en-IN']],
  [SARVAM_REALTIME, 'od-IN', ['od-IN'], ['or-IN'], ['od-IN']],
  [SARVAM_LEGACY, 'od-IN', ['od-IN'], ['od-IN'], ['od-IN']],
  [SONIOX, 'ta-IN', ['en-IN', 'ta-IN', 'hi-IN'], ['ta', 'en', 'hi'], ['ta-IN', 'en-IN', 'hi-IN']],
  [SONIOX, 'bn-IN', ['bn-IN', 'od-IN'], ['bn'], ['bn-IN']],
  [ASSEMBLYAI, 'hi-IN', ['en-IN', 'hi-IN'], [], ['hi-IN', 'en-IN']],
  [SCRIBE, 'od-IN', ['od-IN'], ['or'], ['od-IN']],
  [GOOGLE, 'ta-IN', ['en-IN', 'ta-IN', 'od-IN'], ['ta-IN', 'en-IN'], ['ta-IN', 'en-IN']],
  [GOOGLE, 'hi-IN', ['hi-IN'], ['hi-IN'], ['hi-IN']],
  [AZURE, 'od-IN', ['od-IN'], ['or-IN'], ['od-IN']],
  [AZURE, 'od-IN', ['en-IN', 'od-IN'], ['or-IN', 'en-IN'], ['od-IN', 'en-IN']],
  [SCRIBE, 'od-IN', ['en-IN', 'od-IN'], [], ['od-IN', 'en-IN']],
]

t.test('several languages: the multilingual mode if the model has one', async (t) => {
  for (const [wire, language, languages, query, hears] of SEVERAL) {
    const dialect = open(wire, language, languages)
    t.same(asked(dialect), query, `${wire.name} ${languages}`)
    t.same(dialect.capabilities.understoodLanguages, hears)
    t.equal(dialect.capabilities.detectsLanguage, hears.length > 1)
  }
})

t.test('the detected language is reported unless it was given', async (t) => {
  for (const wire of RECOGNITION_PROTOCOLS) {
    const several = read(open(wire, 'en-IN', ['en-IN', 'hi-IN']), wire.final('नमस्ते जी'), wire)
    t.same(several.at(-1), ['नमस्ते जी', wire.namesLanguage ? 'hi-IN' : null], wire.name)
    const one = read(open(wire, 'hi-IN', ['hi-IN']), wire.final('नमस्ते जी'), wire)
    t.same(one.at(-1), ['नमस्ते जी', null], `${wire.name}, one language`)
  }
  const odia = '{"event":"transcript.final","utterance_idx":0,"text":"ହଁ","language":"or-IN"}'
  t.same(read(open(SARVAM_REALTIME, 'en-IN', ['en-IN', 'od-IN']), [odia]), [['ହଁ', 'od-IN']])
})

t.test('the longest piece of an utterance decides its language', async (t) => {
  const piece = (text: string, language: string, last: boolean) =>
    JSON.stringify({
      type: 'Results',
      is_final: true,
      speech_final: last,
      channel: { alternatives: [{ transcript: text, languages: [language], words: [] }] },
    })
  const dialect = open(DEEPGRAM_LISTEN, 'en-IN', ['en-IN', 'hi-IN'])
  const told = read(dialect, [piece('मुझे कल आना है', 'hi', false), piece('okay', 'en', true)])
  t.same(told.at(-1), ['मुझे कल आना है okay', 'hi-IN'])
  t.same(read(dialect, [piece('thanks', 'en', true)]), [['thanks', 'en-IN']], 'each utterance for itself')
})

t.test('tags of every synthesis', async (t) => {
  const request = (language: string) => ({
    text: 'x',
    voice: 'anushka',
    model: null,
    language,
    pace: 1,
    rate: 8000 as const,
  })
  const cartesia = new CartesiaDialect({ baseUrl: 'wss://c', apiKey: 'k', version: '1', voices: [] })
  const elevenlabs = new ElevenLabsDialect({ baseUrl: 'wss://e', apiKey: 'k', voices: [] })
  const bulbul = new SarvamBulbulDialect(SARVAM)
  for (const language of [...VOICE_LANGUAGES, 'or-IN']) {
    const own = language === 'or-IN' ? 'od-IN' : language
    const iso = own === 'od-IN' ? 'or' : own.slice(0, 2)
    t.equal(JSON.parse(cartesia.begin('c', request(language))[0] ?? '').language, iso)
    t.equal(new URL(elevenlabs.url(request(language))).searchParams.get('language_code'), iso)
    t.equal(JSON.parse(bulbul.begin('c', request(language))[0] ?? '').data.target_language_code, own)
    t.equal(espeakName('asha', language), `${iso}+f3`)
  }
})
