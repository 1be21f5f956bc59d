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

t.test('key terms end before the limit beyond which the vendor is silent', (t) => {
  t.same(keyTerms(['Meera Nair', 'आयुष्मान']), ['Meera Nair', 'आयुष्मान'])
  const many = Array.from({ length: 100 }, (_, n) => `Kaveri Hospital ${n}`)
  const sent = keyTerms(many)
  t.same(sent, many.slice(0, sent.length))
  t.ok(sent.length > 40 && sent.length < 100, `${sent.length} terms`)
  t.end()
})
