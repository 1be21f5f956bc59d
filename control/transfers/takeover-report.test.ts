import t from 'tap'
import { takeoverReport } from './takeover-report.js'

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
