import t from 'tap'
import { readDialect } from '../../../fixtures/vendors/read-dialect.js'
import { SONIOX_END, SONIOX_FINALIZED, sonioxToken } from '../../../fixtures/vendors/recognition-messages.js'
import { SonioxDialect } from './stt.js'

function dialect(vocabulary: readonly string[] = []): SonioxDialect {
  return new SonioxDialect(
    { baseUrl: 'wss://s', apiKey: 'k' },
    { rate: 8000, language: 'hi-IN', languages: ['hi-IN', 'en-IN'], model: 'stt-rt-v5', vocabulary },
  )
}

const tokens = (...all: readonly string[]): string => `{"tokens":[${all.join()}]}`
const timed = (text: string, final: boolean, start: number) =>
  sonioxToken(text, final, `"start_ms":${start},"end_ms":${start + 100},`)

t.test('the configuration, with as many terms as the context holds', async (t) => {
  t.same(JSON.parse(dialect().openMessage()), {
    model: 'stt-rt-v5',
    audio_format: 'pcm_s16le',
    sample_rate: 8000,
    num_channels: 1,
    language_hints: ['hi', 'en'],
    enable_language_identification: true,
    enable_endpoint_detection: true,
  })
  const many = ['Anjali', ...Array.from({ length: 100 }, (_, n) => `${n}`.padStart(100, 'x'))]
  const { context } = JSON.parse(dialect(many).openMessage())
  t.same(context.terms, many.slice(0, 80))
})

t.test('tokens join to texts and words; the open ones are replaced', async (t) => {
  const told = readDialect(dialect(), [
    tokens(timed('Na', false, 100), timed('mas', false, 200)),
    tokens(timed('Nama', true, 100), timed('ste', true, 200), timed(' j', false, 400)),
    tokens(timed(' ji', true, 400)),
    tokens(SONIOX_END),
    tokens(SONIOX_END),
  ])
  t.same(told, [
    ['partial', 'Namas', 'hi-IN'],
    ['partial', 'Namaste j', 'hi-IN'],
    ['partial', 'Namaste ji', 'hi-IN'],
    [
      'final',
      'Namaste ji',
      [
        { text: 'Namaste', startMs: 100, endMs: 300 },
        { text: 'ji', startMs: 400, endMs: 500 },
      ],
      'hi-IN',
    ],
  ])
})

t.test('the answer to a request ends the utterance, also an empty one', async (t) => {
  const asked = dialect()
  const finalized = tokens(SONIOX_FINALIZED)
  t.same(readDialect(asked, [finalized]), [], 'nobody asked')
  asked.flush()
  t.same(readDialect(asked, [finalized]), [['final', '', [], null]])
  asked.flush()
  t.same(readDialect(asked, [tokens(timed('haan', true, 0), SONIOX_FINALIZED, timed(' ji', false, 200))]), [
    ['final', 'haan', [{ text: 'haan', startMs: 0, endMs: 100 }], 'hi-IN'],
    ['partial', 'ji', 'hi-IN'],
  ])
})

t.test('errors', async (t) => {
  for (const [status, ...failure] of [
    [401, 'vendor_rejected', false],
    [402, 'vendor_rejected', false],
    [408, 'vendor_failed', true],
    [429, 'vendor_rate_limited', true],
    [503, 'vendor_failed', true],
  ] as const) {
    t.same(readDialect(dialect(), [`{"tokens":[],"error_code":${status},"error_message":"no"}`]), [failure])
  }
})
