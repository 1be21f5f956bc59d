import t from 'tap'
import { endpointingDelayMs } from './endpointing-wait.js'

const POLICY = {
  openness: (text: string) => (/ and$/.test(text) ? ('open' as const) : ('closed' as const)),
  waitMs: {
    closed: { ifFinished: 0, usual: 0, maxFromPauses: 500, ifContinuing: 1600 },
    open: { ifFinished: 500, usual: 1000, maxFromPauses: 2000, ifContinuing: 2000 },
    spelling: { ifFinished: 700, usual: 1800, maxFromPauses: 2000, ifContinuing: 2000 },
  },
}
const NO_PAUSES = { earlyAnswerPauseMs: 0, pauseMs: null, asked: '' }

/** Words, pauses of the caller, probability of the turn detector: the delay. */
const CASES: readonly (readonly [
  string,
  { earlyAnswerPauseMs: number; pauseMs: number | null },
  number | null,
  number,
])[] = [
  ['yes', NO_PAUSES, null, 0],
  ['yes and', NO_PAUSES, null, 1000],
  ['yes', { earlyAnswerPauseMs: 300, pauseMs: 900 }, null, 300],
  ['yes', { earlyAnswerPauseMs: 900, pauseMs: 900 }, null, 500],
  ['yes and', { earlyAnswerPauseMs: 300, pauseMs: 900 }, null, 1350],
  ['yes and', { earlyAnswerPauseMs: 300, pauseMs: 1900 }, null, 2000],
  ['yes', NO_PAUSES, 1, 0],
  ['yes', NO_PAUSES, 0, 1600],
  ['yes', NO_PAUSES, 0.25, 800],
  ['yes and', NO_PAUSES, 1, 500],
  ['yes and', NO_PAUSES, 0.75, 750],
  ['yes and', NO_PAUSES, 0.5, 1000],
]

t.test('words, pauses and the turn detector decide the delay', async (t) => {
  for (const [text, pauses, probability, expected] of CASES) {
    const turnEstimate = probability === null ? null : { endMs: 2000, probability }
    const delay = endpointingDelayMs({ endMs: 2000, turnEstimate }, text, { ...NO_PAUSES, ...pauses }, POLICY)
    t.equal(delay, expected, `${text} ${JSON.stringify(pauses)} ${probability}`)
  }
})

t.test('an estimate for an earlier pause is ignored', async (t) => {
  const turnEstimate = { endMs: 1000, probability: 0 }
  t.equal(endpointingDelayMs({ endMs: 2000, turnEstimate }, 'yes', NO_PAUSES, POLICY), 0)
})
