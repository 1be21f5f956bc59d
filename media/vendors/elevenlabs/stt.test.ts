import t from 'tap'
import { readDialect } from '../../../fixtures/vendors/read-dialect.js'
import { ScribeDialect } from './stt.js'

function dialect(vocabulary: readonly string[] = []): ScribeDialect {
  return new ScribeDialect(
    { baseUrl: 'wss://e', apiKey: 'k', voices: [] },
    {
      rate: 16_000,
      language: 'hi-IN',
      languages: ['hi-IN', 'en-IN'],
      model: 'scribe_v2_realtime',
      vocabulary,
    },
  )
}

t.test('several languages and key terms within the limits', async (t) => {
  const vocabulary = ['a term that is too long', ...Array.from({ length: 60 }, (_, n) => `term ${n}`)]
  const { searchParams } = new URL(dialect(vocabulary).url)
  t.same(searchParams.getAll('keyterms'), vocabulary.slice(1, 51))
  t.equal(searchParams.get('include_language_detection'), 'true')
  t.equal(searchParams.get('audio_format'), 'pcm_16000')
})

t.test('a commit that the vendor finds too short ends the utterance with what was heard', async (t) => {
  const scribe = dialect()
  const throttled = '{"message_type":"commit_throttled","error":"too little audio"}'
  t.same(readDialect(scribe, ['{"message_type":"partial_transcript","text":"haan"}', throttled, throttled]), [
    ['partial', 'haan', null],
    ['final', 'haan', null, null],
    ['final', '', null, null],
  ])
})

t.test('errors', async (t) => {
  for (const [type, ...failure] of [
    ['auth_error', 'vendor_rejected', false],
    ['quota_exceeded', 'vendor_rejected', false],
    ['input_error', 'vendor_rejected', false],
    ['rate_limited', 'vendor_rate_limited', true],
    ['resource_exhausted', 'vendor_rate_limited', true],
    ['queue_overflow', 'vendor_failed', true],
    ['session_time_limit_exceeded', 'vendor_failed', true],
  ] as const) {
    t.same(readDialect(dialect(), [`{"message_type":"${type}","error":"no"}`]), [failure], type)
  }
})
