import t from 'tap'
import { readDialect } from '../../../fixtures/vendors/read-dialect.js'
import { assemblyAiTurn } from '../../../fixtures/vendors/recognition-messages.js'
import { AssemblyAiDialect } from './stt.js'

function dialect(model: string, vocabulary: readonly string[] = []): AssemblyAiDialect {
  return new AssemblyAiDialect(
    { baseUrl: 'wss://a', apiKey: 'k' },
    { rate: 16_000, language: 'en-IN', languages: ['en-IN'], model, vocabulary },
  )
}

t.test('key terms within the limits, where the model takes them', async (t) => {
  const vocabulary = ['x'.repeat(51), ...Array.from({ length: 101 }, (_, n) => `term ${n}`)]
  const { searchParams } = new URL(dialect('u3-rt-pro', vocabulary).url)
  t.same(JSON.parse(searchParams.get('keyterms_prompt') ?? ''), vocabulary.slice(1, 101))
  t.equal(searchParams.get('language_detection'), null)
  t.notOk(new URL(dialect('whisper-rt', vocabulary).url).searchParams.has('keyterms_prompt'))
})

t.test('the words that may change belong to the text so far; a pause may be the end', async (t) => {
  const told = readDialect(dialect('universal-streaming-english'), [
    assemblyAiTurn('hi my', 'na', '"end_of_turn":false,"utterance":""'),
    assemblyAiTurn('hi my name', null, '"end_of_turn":false,"utterance":"hi my name"'),
    assemblyAiTurn('hi my name', 'is', '"end_of_turn":false,"utterance":""'),
    assemblyAiTurn('hi my name is', null, '"end_of_turn":true,"utterance":""'),
    assemblyAiTurn('', null, '"end_of_turn":true,"utterance":""'),
  ])
  t.same(told, [
    ['partial', 'hi my na', null],
    ['partial', 'hi my name', null],
    ['eager', true],
    ['partial', 'hi my name is', null],
    ['eager', false],
    [
      'final',
      'hi my name is',
      [
        { text: 'hi', startMs: 1920, endMs: 2000 },
        { text: 'my', startMs: 2320, endMs: 2400 },
        { text: 'name', startMs: 2720, endMs: 2800 },
        { text: 'is', startMs: 3120, endMs: 3200 },
      ],
      null,
    ],
    ['final', '', [], null],
  ])
})

t.test('errors', async (t) => {
  for (const [code, text, ...failure] of [
    [1008, 'Unauthorized Connection: Missing Authorization header', 'vendor_rejected', false],
    [1008, 'Unauthorized Connection: Too many concurrent sessions', 'vendor_rate_limited', true],
    [3005, 'Server error', 'vendor_failed', true],
    [3006, 'Invalid Message Type', 'vendor_rejected', false],
    [3008, 'Session Expired: Maximum session duration exceeded', 'vendor_failed', true],
    [3009, 'Too many concurrent sessions', 'vendor_rate_limited', true],
  ] as const) {
    const message = JSON.stringify({ type: 'Error', error_code: code, error: text })
    t.same(readDialect(dialect('u3-rt-pro'), [message]), [failure], text)
  }
})
