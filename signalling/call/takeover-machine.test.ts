import fc from 'fast-check'
import t from 'tap'
import {
  step,
  type TakeoverEffect,
  type TakeoverInput,
  type TakeoverState,
  type TakeoverTimerName,
} from './takeover-machine.js'

const states: Readonly<Record<string, TakeoverState>> = {
  idle: { kind: 'idle' },
  calling: { kind: 'calling', confirms: false },
  callingPhone: { kind: 'calling', confirms: true },
  confirming: { kind: 'confirming' },
  announcing: { kind: 'announcing' },
  taken: { kind: 'taken' },
  leaving: { kind: 'leaving' },
  parting: { kind: 'parting' },
  over: { kind: 'over' },
}

const inputs: Readonly<Record<string, TakeoverInput>> = {
  request: { type: 'request', confirms: false },
  requestPhone: { type: 'request', confirms: true },
  answered: { type: 'answered' },
  confirmed: { type: 'confirmed' },
  declined: { type: 'declined' },
  announced: { type: 'announced' },
  release: { type: 'release' },
  busy: { type: 'legEnded', outcome: 'busy' },
  legClosed: { type: 'legClosed' },
  callerGone: { type: 'callEnding', by: 'caller' },
  ended: { type: 'callEnding', by: 'other' },
  shutdown: { type: 'callEnding', by: 'shutdown' },
  parted: { type: 'parted' },
  ring: { type: 'timer', name: 'ring' },
  confirm: { type: 'timer', name: 'confirm' },
  line: { type: 'timer', name: 'line' },
  leavingTimer: { type: 'timer', name: 'leaving' },
  partingTooLong: { type: 'timer', name: 'parting' },
  tail: { type: 'timer', name: 'tail' },
}

const ENDED = 'over | cancel drop over:call_ended'
const TOLD = (by: string) => `parting | cancel over:call_ended start:parting part:${by}`
/** Rows for each cause of the end of a call. */
const AT_ANY_END = (state: string, expected: string) =>
  Object.fromEntries(['callerGone', 'ended', 'shutdown'].map((input) => [`${state} ${input}`, expected]))
const LEFT = (outcome: string) => `leaving | cancel over:${outcome} start:leaving drop`

/** Maps `state input` to `next | effects`. Unlisted pairs change nothing. */
const table: Readonly<Record<string, string>> = {
  'idle request': 'calling | start:ring dial',
  'idle requestPhone': 'calling confirms | start:ring dial',
  ...AT_ANY_END('idle', 'over |'),

  'calling answered': 'announcing | cancel start:line announce',
  'calling release': LEFT('withdrawn'),
  'calling busy': 'idle | cancel over:busy',
  'calling ring': LEFT('no_answer'),
  ...AT_ANY_END('calling', ENDED),
  'callingPhone answered': 'confirming | cancel start:confirm askForKey',
  'callingPhone release': LEFT('withdrawn'),
  'callingPhone busy': 'idle | cancel over:busy',
  'callingPhone ring': LEFT('no_answer'),
  ...AT_ANY_END('callingPhone', ENDED),

  'confirming confirmed': 'announcing | cancel start:line announce',
  'confirming declined': LEFT('declined'),
  'confirming release': LEFT('withdrawn'),
  'confirming busy': 'idle | cancel over:busy',
  'confirming confirm': LEFT('no_answer'),
  'confirming callerGone': TOLD('caller'),
  'confirming ended': TOLD('other'),
  'confirming shutdown': ENDED,

  'announcing announced': 'taken | cancel connect begun',
  'announcing line': 'taken | cancel connect begun',
  'announcing release': LEFT('withdrawn'),
  'announcing busy': 'idle | cancel over:busy',
  'announcing callerGone': TOLD('caller'),
  'announcing ended': TOLD('other'),
  'announcing shutdown': ENDED,

  'taken release': 'leaving | return over:given_back start:leaving drop',
  'taken busy': 'idle | return over:left',
  ...AT_ANY_END('taken', 'over | drop over:call_ended'),

  'leaving legClosed': 'idle | cancel',
  'leaving busy': 'idle | cancel',
  'leaving leavingTimer': 'idle | cancel',
  ...AT_ANY_END('leaving', 'over | cancel'),

  'parting parted': 'parting | start:tail',
  'parting tail': 'over | cancel drop release',
  'parting partingTooLong': 'over | cancel drop release',
  'parting busy': 'over | cancel release',
  ...AT_ANY_END('parting', 'over | cancel drop release'),
}

const NAMES: Readonly<Record<TakeoverEffect['type'], string>> = {
  dial: 'dial',
  askForKey: 'askForKey',
  announce: 'announce',
  connect: 'connect',
  returnToAgent: 'return',
  part: 'part',
  releaseSession: 'release',
  dropLeg: 'drop',
  publishBegun: 'begun',
  publishOver: 'over',
  startTimer: 'start',
  cancelTimers: 'cancel',
}

function written(effect: TakeoverEffect): string {
  const detail =
    'outcome' in effect ? effect.outcome : 'name' in effect ? effect.name : 'by' in effect ? effect.by : null
  return detail === null ? NAMES[effect.type] : `${NAMES[effect.type]}:${detail}`
}

t.test('every input in every state', (t) => {
  const listed = new Set(Object.keys(table))
  for (const [from, state] of Object.entries(states)) {
    for (const [name, input] of Object.entries(inputs)) {
      const key = `${from} ${name}`
      const { next, effects } = step(state, input)
      const expected = table[key]
      listed.delete(key)
      if (expected === undefined) {
        t.equal(next, state, `${key} changes nothing`)
        t.same(effects, [])
        continue
      }
      const kind = `${next.kind}${next.kind === 'calling' && next.confirms ? ' confirms' : ''}`
      t.equal(`${kind} | ${effects.map(written).join(' ')}`.trim(), expected, key)
    }
  }
  t.same([...listed], [], 'every row is used')
  t.end()
})

t.test('random courses: each takeover is over once, and no leg or timer stays', (t) => {
  const known = Object.values(inputs)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: known.length - 1 }), { maxLength: 60 }), (picks) => {
      let state: TakeoverState = { kind: 'idle' }
      let open = 0
      let leg = false
      let taken = false
      let isTelling = false
      const timers = new Set<TakeoverTimerName>()
      const course = [
        ...picks.map((pick) => known[pick] as TakeoverInput),
        { type: 'callEnding', by: 'other' } as const,
        { type: 'timer', name: 'parting' } as const,
      ]
      for (const input of course) {
        if (input.type === 'timer' && !timers.delete(input.name)) continue
        const { next, effects } = step(state, input)
        if (input.type === 'legEnded' && next !== state) leg = false
        state = next
        for (const effect of effects) {
          if (effect.type === 'dial') {
            if (open !== 0 || leg) throw new Error('two takeovers at once')
            open++
            leg = true
          }
          if (effect.type === 'publishOver') open--
          if (effect.type === 'dropLeg') leg = false
          if (effect.type === 'part') {
            if (!leg || isTelling) throw new Error('nobody is there to be told')
            isTelling = true
          }
          if (effect.type === 'releaseSession') {
            if (leg || !isTelling) throw new Error('the session closes too soon')
            isTelling = false
          }
          if (effect.type === 'connect') taken = true
          if (effect.type === 'returnToAgent') taken = false
          if (effect.type === 'startTimer') timers.add(effect.name)
          if (effect.type === 'cancelTimers') timers.clear()
        }
        if (taken !== (state.kind === 'taken') && state.kind !== 'over')
          throw new Error('who has the caller?')
      }
      return open === 0 && !leg && !isTelling && timers.size === 0 && state.kind === 'over'
    }),
    { numRuns: 2_000 },
  )
  t.end()
})
