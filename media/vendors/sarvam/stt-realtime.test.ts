import t from 'tap'
import { SarvamRealtimeDialect } from './stt-realtime.js'

function query(model: string, vocabulary: readonly string[]): URLSearchParams {
  const { url } = new SarvamRealtimeDialect(
    { baseUrl: 'wss://s', apiKey: 'k', languageField: 'target_language_code' },
    { rate: 8000, language: 'hi-IN', languages: ['hi-IN'], model, mode: 'transcribe', vocabulary },
  )
  return new URL(url).searchParams
}

t.test('key terms within the limits, for the model that takes them', async (t) => {
  const vocabulary = ['x'.repeat(65), ...Array.from({ length: 60 }, (_, n) => `term ${n}`)]
  t.same(JSON.parse(query('saaras:v4', vocabulary).get('keyterms') ?? ''), vocabulary.slice(1, 51))
  t.notOk(query('saaras:v4', []).has('keyterms'))
  t.notOk(query('saaras:v3-realtime', vocabulary).has('keyterms'))
})
