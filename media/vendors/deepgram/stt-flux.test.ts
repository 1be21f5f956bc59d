import t from 'tap'
import { keyTerms } from './messages.js'
import { DeepgramFluxDialect } from './stt-flux.js'

t.test('a turn that may be over, one that continues, and its end', async (t) => {
  const dialect = new DeepgramFluxDialect(
    { apiKey: 'k', baseUrl: 'wss://deepgram.test' },
    { rate: 8000, language: 'en-IN', languages: ['en-IN'], model: 'flux-general-en' },
  )
  t.equal(new URL(dialect.url).searchParams.get('eager_eot_threshold'), '0.5')
  const told: string[] = []
  const reader = {
    partial: (text: string) => told.push(`partial ${text}`),
    final: (text: string) => told.push(`final ${text}`),
    eager: (complete: boolean) => told.push(`eager ${complete}`),
    failed: () => told.push('failed'),
  }
  const events = [
    ['StartOfTurn', ''],
    ['Update', 'when are'],
    ['EagerEndOfTurn', 'When are you open?'],
    ['TurnResumed', 'When are you open?'],
    ['EagerEndOfTurn', 'When are you open today?'],
    ['EndOfTurn', 'When are you open today?'],
  ]
  for (const [event, transcript] of events)
    dialect.read({ type: 'TurnInfo', event, transcript, words: [] }, reader)
  t.same(told, [
    'partial when are',
    'partial When are you open?',
    'eager true',
    'partial When are you open?',
    'eager false',
    'partial When are you open today?',
    'eager true',
    'final When are you open today?',
  ])
})

const NUMBER = '{"type":"Configure","thresholds":{"eot_threshold":0.8,"eot_timeout_ms":2000}}'
const USUAL = '{"type":"Configure","thresholds":{"eot_threshold":0.7,"eot_timeout_ms":5000}}'
const CONFIRMED =
  '{"type":"ConfigureSuccess","request_id":"550e8400-e29b-41d4-a716-446655440000","thresholds":{"eager_eot_threshold":0.5,"eot_threshold":0.8,"eot_timeout_ms":2000},"keyterms":["Deepgram"],"language_hints":["hi"],"sequence_id":4}'
const REFUSED =
  '{"type":"ConfigureFailure","request_id":"550e8400-e29b-41d4-a716-446655440000","sequence_id":4}'
const UNKNOWN =
  '{"type":"Error","code":"UNPARSABLE_CLIENT_MESSAGE","description":"Could not deserialize last text message: unknown variant `Configure`, expected `CloseStream`"}'

function flux(manners = { takesConfigure: true }) {
  const dialect = new DeepgramFluxDialect(
    { apiKey: 'k', baseUrl: 'wss://deepgram.test' },
    { rate: 8000, language: 'en-IN', languages: ['en-IN'], model: 'flux-general-en' },
    manners,
  )
  const told: string[] = []
  const reader = {
    partial: () => told.push('partial'),
    final: () => told.push('final'),
    refused: () => told.push('refused'),
    failed: () => told.push('failed'),
  }
  const read = (frame: string) => dialect.read(JSON.parse(frame), reader)
  return { dialect, manners, told, read }
}

t.test('the vendor waits longer for the end of a number, one change at a time', async (t) => {
  const { dialect, told, read } = flux()
  t.equal(dialect.changeMessage(), null)
  dialect.expectNumber(true)
  t.equal(dialect.changeMessage(), NUMBER)
  t.equal(dialect.changeMessage(), null, 'it is told once')
  dialect.expectNumber(false)
  t.equal(dialect.changeMessage(), null, 'the vendor has not confirmed it yet')
  read(CONFIRMED)
  t.equal(dialect.changeMessage(), USUAL)
  dialect.expectNumber(true)
  dialect.expectNumber(false)
  read(CONFIRMED)
  t.equal(dialect.changeMessage(), null, 'nothing is different')
  t.same(told, [])
})

t.test('a new connection is told again, unless the last one was lost with the change', async (t) => {
  const { dialect, read } = flux()
  dialect.expectNumber(true)
  dialect.changeMessage()
  read(CONFIRMED)
  dialect.reset()
  t.equal(dialect.changeMessage(), NUMBER)
  dialect.reset()
  t.equal(dialect.changeMessage(), null)
})

t.test('a server that refuses the change gets no more of them', async (t) => {
  for (const [frame, expected] of [
    [REFUSED, ['refused']],
    [UNKNOWN, ['refused', 'failed']],
  ] as const) {
    const { dialect, manners, told, read } = flux()
    dialect.expectNumber(true)
    dialect.changeMessage()
    read(frame)
    dialect.reset()
    dialect.expectNumber(false)
    t.equal(dialect.changeMessage(), null)
    t.same(told, expected)
    const next = flux(manners)
    next.dialect.expectNumber(true)
    t.equal(next.dialect.changeMessage(), null, 'nor the next call')
  }
})

t.test('key terms end before the limit beyond which the vendor is silent', (t) => {
  t.same(keyTerms(['Meera Nair', 'आयुष्मान']), ['Meera Nair', 'आयुष्मान'])
  const many = Array.from({ length: 100 }, (_, n) => `Kaveri Hospital ${n}`)
  const sent = keyTerms(many)
  t.same(sent, many.slice(0, sent.length))
  t.ok(sent.length > 40 && sent.length < 100, `${sent.length} terms`)
  t.end()
})
