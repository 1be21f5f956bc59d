import t from 'tap'
import { takeoverReport } from './takeover-report.js'
import { transferReport } from './transfer-report.js'

t.test('the agent learns who said what, for how long, and the message', (t) => {
  const report = takeoverReport({
    seconds: 42,
    lines: [
      { by: 'caller', text: 'Where is my order?' },
      { by: 'person', text: 'It leaves today.' },
    ],
    message: 'Offer a refund.',
  })
  t.equal(
    report,
    'A human colleague talked with the caller for 42 seconds while you were away. You have the caller again.\n' +
      'What they said:\nCaller: Where is my order?\nColleague: It leaves today.\n' +
      'The colleague wants you to know: Offer a refund.',
  )
  t.equal(
    takeoverReport({ seconds: 1, lines: [], message: null }).split('\n').length,
    1,
    'nothing is known of the talk',
  )
  t.end()
})

t.test('a long talk keeps its end, and the whole fits into a note', (t) => {
  const lines = Array.from(
    { length: 200 },
    (_, i) => ({ by: 'caller', text: `Line ${i} of a long talk.` }) as const,
  )
  const report = takeoverReport({ seconds: 600, lines, message: 'x'.repeat(1_000) })
  t.ok(report.length <= 2_000, `${report.length} characters`)
  t.match(report, 'Line 199 of a long talk.')
  t.notMatch(report, 'Line 0 of')
  const one = [{ by: 'person', text: 'y'.repeat(5_000) }] as const
  t.notMatch(takeoverReport({ seconds: 1, lines: one, message: null }), 'yyy')
  t.end()
})

t.test('the agent learns why nobody took a call, and what the caller said meanwhile', (t) => {
  const labels: Readonly<Record<string, string>> = { a: 'Desk', b: 'Owner' }
  const labelOf = (destination: string) => labels[destination] ?? ''
  const attempts = [
    { destination: 'a', outcome: 'busy' },
    { destination: 'b', outcome: 'no_answer' },
  ] as const
  const begin = 'Your transfer of the caller to a person did not succeed. You have the caller again.\n'
  t.equal(
    transferReport({ attempts, said: ['It is about my bill.', 'Hello?'] }, labelOf),
    `${begin}Desk: the line was busy.\nOwner: nobody answered or took the call.\n` +
      'What the caller said while waiting:\nIt is about my bill.\nHello?',
  )
  t.equal(
    transferReport({ attempts: [{ destination: 'a', outcome: 'declined' }], said: [] }, labelOf),
    `${begin}Desk: the person declined the call.`,
  )
  const said = Array.from({ length: 50 }, (_, i) => `${i} ${'x'.repeat(100)}`)
  t.ok(transferReport({ attempts, said }, labelOf).length <= 2_000)
  t.end()
})
