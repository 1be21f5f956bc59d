import t from 'tap'
import { initialCallerTurn } from './initial-state.js'
import { type SpeculationInput, stepSpeculation } from './speculation.js'
import type { CallerTurn, Speculation } from './turn-types.js'

const POLICY = {
  speculates: true,
  openness: (text: string) => (/ and\s*$/.test(text) ? ('open' as const) : ('closed' as const)),
}

function caller(text: string, id = 1): CallerTurn {
  return { ...initialCallerTurn(id, 0), text }
}

const input = (
  type: 'consider' | 'check' | 'decide',
  text = 'Are you open?',
  undecided = true,
  id = 1,
): SpeculationInput => ({ type, caller: caller(text, id), undecided })

const LIVE: Speculation = { caller: 1, words: 'are you open', live: true, requests: 1 }
const OVER: Speculation = { ...LIVE, live: false }
const SECOND: Speculation = { ...LIVE, words: 'are you open on sunday', requests: 2 }
const SPENT: Speculation = { ...SECOND, live: false }

const INPUTS: Readonly<Record<string, SpeculationInput>> = {
  consider: input('consider'),
  'consider decided': input('consider', 'Are you open?', false),
  'consider nothing': input('consider', ''),
  'consider other words': input('consider', 'Are you open today?'),
  'consider incomplete': input('consider', 'Are you open and'),
  'consider next turn': input('consider', 'Thanks.', true, 3),
  'consider no caller': { type: 'consider', caller: null, undecided: true },
  'check same': input('check', 'are you open'),
  'check other words': input('check', 'Are you open today?'),
  'check decided': input('check', 'Are you open?', false),
  'check no caller': { type: 'check', caller: null, undecided: true },
  'decide same': input('decide'),
  'decide other words': input('decide', 'Are you closed?'),
  drop: { type: 'drop' },
}

/** State x input: the order, and whether a request is live afterwards. Absent: no order, same state. */
const TABLE: Readonly<Record<string, Readonly<Record<string, readonly [string, boolean]>>>> = {
  none: {
    consider: ['begin', true],
    'consider other words': ['begin', true],
    'consider next turn': ['begin', true],
  },
  live: {
    'consider other words': ['renew', true],
    'consider next turn': ['begin', true],
    'check other words': ['drop', false],
    'check decided': ['drop', false],
    'check no caller': ['drop', false],
    'decide same': ['keep', false],
    drop: ['drop', false],
  },
  over: { 'consider other words': ['begin', true], 'consider next turn': ['begin', true] },
  second: {
    'consider next turn': ['begin', true],
    'check same': ['drop', false],
    'check other words': ['drop', false],
    'check decided': ['drop', false],
    'check no caller': ['drop', false],
    drop: ['drop', false],
  },
  spent: { 'consider next turn': ['begin', true] },
}

t.test('every state and every input', async (t) => {
  const states: Readonly<Record<string, Speculation | null>> = {
    none: null,
    live: LIVE,
    over: OVER,
    second: SECOND,
    spent: SPENT,
  }
  for (const [stateName, state] of Object.entries(states)) {
    for (const [inputName, input] of Object.entries(INPUTS)) {
      const { next, order } = stepSpeculation(state, input, POLICY)
      const expected = TABLE[stateName]?.[inputName]
      const name = `${stateName} x ${inputName}`
      if (expected === undefined) {
        t.equal(order, null, name)
        t.equal(next, state, `${name} changes nothing`)
      } else t.same([order, next?.live], expected, name)
    }
  }
})

t.test('without the setting there is no speculative request', async (t) => {
  const { next, order } = stepSpeculation(null, input('consider'), { ...POLICY, speculates: false })
  t.same([next, order], [null, null])
})

t.test('the words of a partial text count', async (t) => {
  const partial: CallerTurn = { ...caller('Are you'), partial: 'open?' }
  const { next } = stepSpeculation(null, { type: 'consider', caller: partial, undecided: true }, POLICY)
  t.same(next, LIVE)
})
