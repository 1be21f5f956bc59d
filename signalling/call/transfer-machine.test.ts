import fc from 'fast-check'
import t from 'tap'
import {
  MAX_ATTEMPTS,
  step,
  type TransferAttempt,
  type TransferEffect,
  type TransferInput,
  type TransferMode,
  type TransferOutcome,
  type TransferState,
  type TransferTimerName,
} from './transfer-machine.js'

const first = (mode: TransferMode, fallback: string | null = null): TransferAttempt => ({
  number: 1,
  mode,
  destination: 'sales',
  fallback,
})
const second: TransferAttempt = { number: 2, mode: 'screened', destination: 'office', fallback: null }

const states: Readonly<Record<string, TransferState>> = {
  idle: { kind: 'idle', attempts: 0 },
  spent: { kind: 'idle', attempts: MAX_ATTEMPTS },
  calling: { kind: 'calling', attempt: first('blind'), announcing: true, ringing: false },
  blindRinging: { kind: 'calling', attempt: first('blind'), announcing: false, ringing: true },
  ringing: { kind: 'calling', attempt: first('screened', 'office'), announcing: false, ringing: true },
  quickMiss: { kind: 'calling', attempt: first('screened', 'office'), announcing: true, ringing: false },
  callingWarm: { kind: 'calling', attempt: first('consult'), announcing: true, ringing: true },
  screening: { kind: 'screening', attempt: first('screened', 'office'), announcing: true, prompts: 1 },
  lastPrompt: { kind: 'screening', attempt: second, announcing: false, prompts: 2 },
  consulting: { kind: 'consulting', attempt: first('consult'), announcing: false },
  bridged: { kind: 'bridged', attempt: first('blind') },
  early: { kind: 'bridged', attempt: first('blind'), early: true },
  leavingAgent: { kind: 'leaving', attempts: 1, next: null, announcing: false },
  leavingNext: { kind: 'leaving', attempts: 1, next: second, announcing: false },
  leavingLine: { kind: 'leaving', attempts: 1, next: second, announcing: true },
  parting: { kind: 'parting' },
  over: { kind: 'over' },
}

const inputs: Readonly<Record<string, TransferInput>> = {
  request: { type: 'request', mode: 'screened', destination: 'sales', fallback: 'office' },
  announced: { type: 'announced' },
  rings: { type: 'ringing' },
  answers: { type: 'answered' },
  early: { type: 'early' },
  accepts: { type: 'accepted' },
  declines: { type: 'declined' },
  withdraws: { type: 'withdrawn' },
  busy: { type: 'legEnded', outcome: 'busy' },
  legClosed: { type: 'legClosed' },
  callerGone: { type: 'callEnding', by: 'caller' },
  workerGone: { type: 'callEnding', by: 'other' },
  shutdown: { type: 'callEnding', by: 'shutdown' },
  parted: { type: 'parted' },
  line: { type: 'timer', name: 'line' },
  ring: { type: 'timer', name: 'ring' },
  screen: { type: 'timer', name: 'screen' },
  consult: { type: 'timer', name: 'consult' },
  leaving: { type: 'timer', name: 'leaving' },
  partingTooLong: { type: 'timer', name: 'parting' },
  tail: { type: 'timer', name: 'tail' },
}

const toAgent = (outcome: string) => `route:agent return:${outcome}`
const FALLBACK = 'publish:2:accepted start:ring dial:office'
const RETURNED = toAgent('caller_returned')
const BRIDGE = 'cancel route:bridged'

/** Maps `state input` to `next | effects`. Unlisted pairs change nothing. */
const table: Readonly<Record<string, string>> = {
  'idle request':
    'calling 1 line | publish:1:accepted route:waiting start:line announce start:ring dial:sales',
  'idle callerGone': 'over |',
  'idle workerGone': 'over |',
  'idle shutdown': 'over |',
  'spent request': 'idle 2 | refuse:attempts_exhausted',
  'spent callerGone': 'over |',
  'spent workerGone': 'over |',
  'spent shutdown': 'over |',

  'calling announced': 'calling 1 | play:ringback',
  'calling line': 'calling 1 | play:ringback',
  'calling rings': 'calling 1 line ringing | publish:1:ringing',
  'calling early': `bridged 1 early | ${BRIDGE} publish:1:ringing publish:1:bridged:connected:early releaseAgent`,
  'blindRinging early': `bridged 1 early | ${BRIDGE} publish:1:bridged:connected:early releaseAgent`,
  'blindRinging answers': `bridged 1 | ${BRIDGE} publish:1:answered publish:1:bridged:connected releaseAgent`,
  'blindRinging busy': `idle 1 | cancel publish:1:missed:busy ${toAgent('busy')}`,
  'blindRinging ring': `leaving 1 | cancel publish:1:missed:no_answer ${toAgent('no_answer')} start:leaving drop`,
  'calling answers': `bridged 1 | ${BRIDGE} publish:1:answered publish:1:bridged:connected releaseAgent`,
  'calling busy': `idle 1 | cancel publish:1:missed:busy ${toAgent('busy')}`,
  'calling ring': `leaving 1 | cancel publish:1:missed:no_answer ${toAgent('no_answer')} start:leaving drop`,

  'ringing answers': 'screening 1 x1 | cancel publish:1:answered route:screening start:screen screen',
  'ringing busy': `calling 2 | cancel publish:1:missed:busy ${FALLBACK}`,
  'ringing ring': 'leaving 1 to 2 | cancel publish:1:missed:no_answer start:leaving drop',

  'quickMiss announced': 'calling 1 | play:music',
  'quickMiss line': 'calling 1 | play:music',
  'quickMiss early': 'calling 1 line ringing | publish:1:ringing',
  'quickMiss rings': 'calling 1 line ringing | publish:1:ringing',
  'quickMiss answers':
    'screening 1 line x1 | cancel start:line publish:1:answered route:screening start:screen screen',
  'quickMiss busy': `calling 2 line | cancel publish:1:missed:busy start:line ${FALLBACK}`,
  'quickMiss ring': 'leaving 1 line to 2 | cancel publish:1:missed:no_answer start:line start:leaving drop',

  'callingWarm announced': 'calling 1 ringing | play:music',
  'callingWarm line': 'calling 1 ringing | play:music',
  'callingWarm answers':
    'consulting 1 line | cancel start:line publish:1:answered route:consulting start:consult brief',
  'callingWarm busy': `idle 1 | cancel publish:1:missed:busy ${toAgent('busy')}`,
  'callingWarm ring': `leaving 1 | cancel publish:1:missed:no_answer ${toAgent('no_answer')} start:leaving drop`,

  'screening announced': 'screening 1 x1 | play:music',
  'screening line': 'screening 1 x1 | play:music',
  'screening accepts': `bridged 1 | ${BRIDGE} publish:1:bridged:connected releaseAgent`,
  'screening declines':
    'leaving 1 line to 2 | cancel publish:1:declined:declined start:line route:waiting start:leaving drop',
  'screening busy': `calling 2 line | cancel publish:1:missed:busy start:line route:waiting ${FALLBACK}`,
  'screening screen': 'screening 1 line x2 | start:screen screen',

  'lastPrompt accepts': `bridged 2 | ${BRIDGE} publish:2:bridged:connected releaseAgent`,
  'lastPrompt declines': `leaving 2 | cancel publish:2:declined:declined ${toAgent('declined')} start:leaving drop`,
  'lastPrompt busy': `idle 2 | cancel publish:2:missed:busy ${toAgent('busy')}`,
  'lastPrompt screen': `leaving 2 | cancel publish:2:missed:no_answer ${toAgent('no_answer')} start:leaving drop`,

  'consulting accepts': `bridged 1 | ${BRIDGE} publish:1:bridged:connected releaseAgent`,
  'consulting declines': `leaving 1 | cancel publish:1:declined:declined ${toAgent('declined')} start:leaving drop`,
  'consulting busy': `idle 1 | cancel publish:1:missed:busy ${toAgent('busy')}`,
  'consulting consult': `leaving 1 | cancel publish:1:missed:no_answer ${toAgent('no_answer')} start:leaving drop`,

  'bridged busy': 'over | publish:1:completed:connected endCall',
  'bridged callerGone': 'over | drop publish:1:completed:connected',
  'bridged workerGone': 'over | drop publish:1:completed:connected',
  'bridged shutdown': 'over | drop publish:1:completed:connected',
  // The carrier reports the answer after all.
  'early answers': 'bridged 1 | publish:1:answered',
  'early busy': 'over | publish:1:completed:connected endCall',
  'early callerGone': 'over | drop publish:1:completed:connected',
  'early workerGone': 'over | drop publish:1:completed:connected',
  'early shutdown': 'over | drop publish:1:completed:connected',

  'leavingAgent busy': 'idle 1 | cancel',
  'leavingAgent legClosed': 'idle 1 | cancel',
  'leavingAgent leaving': 'idle 1 | cancel',
  'leavingNext busy': `calling 2 | cancel ${FALLBACK}`,
  'leavingNext legClosed': `calling 2 | cancel ${FALLBACK}`,
  'leavingNext leaving': `calling 2 | cancel ${FALLBACK}`,
  'leavingLine announced': 'leaving 1 to 2 | play:music',
  'leavingLine line': 'leaving 1 to 2 | play:music',
  'leavingLine busy': `calling 2 line | cancel start:line ${FALLBACK}`,
  'leavingLine legClosed': `calling 2 line | cancel start:line ${FALLBACK}`,
  'leavingLine leaving': `calling 2 line | cancel start:line ${FALLBACK}`,
  'leavingNext withdraws': `leaving 1 | cancel ${RETURNED} start:leaving`,
  'leavingLine withdraws': `leaving 1 | cancel ${RETURNED} start:leaving`,
  'over request': 'over | refuse:call_ending',

  'parting request': 'parting | refuse:call_ending',
  'parting parted': 'parting | start:tail',
  'parting tail': 'over | cancel drop releaseSession',
  'parting partingTooLong': 'over | cancel drop releaseSession',
  'parting busy': 'over | cancel releaseSession',
  'parting callerGone': 'over | cancel drop releaseSession',
  'parting workerGone': 'over | cancel drop releaseSession',
  'parting shutdown': 'over | cancel drop releaseSession',
  ...Object.fromEntries(
    ['leavingAgent', 'leavingNext', 'leavingLine'].flatMap((state) => [
      [`${state} callerGone`, 'over | cancel'],
      [`${state} workerGone`, 'over | cancel'],
      [`${state} shutdown`, 'over | cancel'],
    ]),
  ),
  ...Object.fromEntries(
    [
      'calling',
      'blindRinging',
      'ringing',
      'quickMiss',
      'callingWarm',
      'screening',
      'lastPrompt',
      'consulting',
    ].flatMap((state) => {
      const number = state === 'lastPrompt' ? 2 : 1
      const answered = ['screening', 'lastPrompt', 'consulting'].includes(state)
      // A person who was told about the caller is told that the call ends, unless the service stops.
      const ends = (outcome: string, by: string) => {
        const canceled = `publish:${number}:canceled:${outcome}`
        return answered && by !== 'shutdown'
          ? `parting | cancel ${canceled} route:parting start:parting part:${by}`
          : `over | cancel drop ${canceled}`
      }
      return [
        [`${state} callerGone`, ends('caller_hung_up', 'caller')],
        [`${state} workerGone`, ends('call_ended', 'other')],
        [`${state} shutdown`, ends('call_ended', 'shutdown')],
        // The fallback is not called: the caller wants no person.
        [
          `${state} withdraws`,
          `leaving ${number} | cancel publish:${number}:canceled:caller_returned ${RETURNED} start:leaving drop`,
        ],
      ]
    }),
  ),
  ...Object.fromEntries(
    Object.entries(states)
      .filter(([, { kind }]) => kind !== 'idle' && kind !== 'over' && kind !== 'parting')
      .map(([name, state]) => [`${name} request`, `${describe(state)} | refuse:transfer_in_progress`]),
  ),
}

function describe(state: TransferState): string {
  switch (state.kind) {
    case 'over':
    case 'parting':
      return state.kind
    case 'idle':
      return `idle ${state.attempts}`
    case 'bridged':
      return words('bridged', state.attempt.number, state.early === true && 'early')
    case 'leaving':
      return words(
        'leaving',
        state.attempts,
        state.announcing && 'line',
        state.next !== null && `to ${state.next.number}`,
      )
    case 'calling':
      return words('calling', state.attempt.number, state.announcing && 'line', state.ringing && 'ringing')
    case 'screening':
      return words('screening', state.attempt.number, state.announcing && 'line', `x${state.prompts}`)
    case 'consulting':
      return words('consulting', state.attempt.number, state.announcing && 'line')
  }
}

function words(...parts: readonly (string | number | false)[]): string {
  return parts.filter((part) => part !== false).join(' ')
}

function show(effect: TransferEffect): string {
  switch (effect.type) {
    case 'refuse':
      return `refuse:${effect.refusal}`
    case 'publish':
      return ['publish', effect.attempt.number, effect.status, effect.outcome, effect.early && 'early']
        .filter(Boolean)
        .join(':')
    case 'part':
      return `part:${effect.by}`
    case 'route':
      return `route:${effect.route}`
    case 'playWait':
      return `play:${effect.sound}`
    case 'dial':
      return `dial:${effect.attempt.destination}`
    case 'dropLeg':
      return 'drop'
    case 'returnToAgent':
      return `return:${effect.outcome}`
    case 'startTimer':
      return `start:${effect.name}`
    case 'cancelTimers':
      return 'cancel'
    default:
      return effect.type
  }
}

t.test('every state and every input', async (t) => {
  const seen = new Set<string>()
  for (const [stateName, state] of Object.entries(states)) {
    for (const [inputName, input] of Object.entries(inputs)) {
      const key = `${stateName} ${inputName}`
      const { next, effects } = step(state, input)
      const expected = table[key]
      if (expected === undefined) {
        t.equal(next, state, `${key} changes nothing`)
        t.strictSame(effects, [], `${key} does nothing`)
      } else {
        seen.add(key)
        t.equal(`${describe(next)} | ${effects.map(show).join(' ')}`.trim(), expected, key)
      }
    }
  }
  t.strictSame(
    Object.keys(table).filter((key) => !seen.has(key)),
    [],
    'every row of the table was met',
  )
})

const outcomes: readonly TransferOutcome[] = [
  'no_answer',
  'busy',
  'declined',
  'carrier_error',
  'destination_unavailable',
]

const TIMERS: readonly TransferTimerName[] = [
  ...(['line', 'ring', 'screen', 'consult', 'leaving', 'parting', 'tail'] as const),
]

const anyInput: fc.Arbitrary<TransferInput> = fc.oneof(
  fc.record({
    type: fc.constant('request' as const),
    mode: fc.constantFrom<TransferMode>('blind', 'screened', 'consult'),
    destination: fc.constant('sales'),
    fallback: fc.constantFrom('office', null),
  }),
  fc.record({ type: fc.constant('legEnded' as const), outcome: fc.constantFrom(...outcomes) }),
  fc.constantFrom<TransferInput>(
    { type: 'announced' },
    { type: 'ringing' },
    { type: 'answered' },
    { type: 'early' },
    { type: 'accepted' },
    { type: 'declined' },
    { type: 'withdrawn' },
    { type: 'legClosed' },
    { type: 'parted' },
  ),
  fc.record({
    type: fc.constant('timer' as const),
    name: fc.constantFrom(...TIMERS),
  }),
)

/** The world that the effects act on: legs, timers, and what each party hears. */
class World {
  state: TransferState = { kind: 'idle', attempts: 0 }
  readonly timers = new Set<TransferTimerName>()
  legOpen = false
  legClosing = false
  route = 'agent'
  waitPlays = false
  lineSpoken = false
  /** The person is being told that the call ends; the call keeps its session. */
  telling = false
  readonly published = new Map<number, string[]>()

  give(input: TransferInput): void {
    if (!this.#possible(input)) return
    if (input.type === 'timer') this.timers.delete(input.name)
    if (input.type === 'legEnded' || input.type === 'legClosed') this.legOpen = this.legClosing = false
    if (input.type === 'announced') this.lineSpoken = false
    const { next, effects } = step(this.state, input)
    this.state = next
    for (const effect of effects) this.#run(effect)
    this.check()
  }

  /** Only a timer that runs can fire, and only a leg that exists can end. Late results of a person may always come. */
  #possible(input: TransferInput): boolean {
    if (input.type === 'timer') return this.timers.has(input.name)
    if (input.type === 'legEnded') return this.legOpen
    if (input.type === 'legClosed') return this.legClosing
    return true
  }

  #run(effect: TransferEffect): void {
    switch (effect.type) {
      case 'publish': {
        const steps = this.published.get(effect.attempt.number) ?? []
        this.published.set(effect.attempt.number, [...steps, effect.status])
        return
      }
      case 'dial':
        // The watchdog of a leg that never closes may have fired.
        if (this.legOpen && !this.legClosing) throw new Error('two attempts at once')
        this.legOpen = true
        this.legClosing = false
        return
      case 'dropLeg':
        if (!this.legOpen) throw new Error('no leg to drop')
        this.legClosing = true
        return
      case 'route':
        this.route = effect.route
        if (effect.route === 'agent' || effect.route === 'bridged') this.waitPlays = this.lineSpoken = false
        return
      case 'announce':
        this.lineSpoken = true
        return
      case 'playWait':
        this.lineSpoken = false
        this.waitPlays = true
        return
      case 'part':
        if (!this.legOpen || this.legClosing) throw new Error('nobody is there to be told')
        this.telling = true
        return
      case 'releaseSession':
        if (!this.telling || (this.legOpen && !this.legClosing))
          throw new Error('the session closes too soon')
        this.telling = false
        return
      case 'startTimer':
        this.timers.add(effect.name)
        return
      case 'cancelTimers':
        this.timers.clear()
        return
      default:
        return
    }
  }

  check(): void {
    const { kind } = this.state
    const waiting = this.route !== 'agent' && this.route !== 'bridged' && this.route !== 'parting'
    if (kind !== 'over' && waiting) {
      if (!this.lineSpoken && !this.waitPlays) throw new Error(`the caller hears nothing while ${kind}`)
      if (this.lineSpoken && !this.timers.has('line'))
        throw new Error('nothing bounds the line to the caller')
      if (![...this.timers].some((name) => name !== 'line')) throw new Error(`nothing bounds ${kind}`)
    }
    if (kind === 'idle' && (this.route !== 'agent' || this.timers.size > 0))
      throw new Error('the agent is not back')
    if (kind === 'over' && (this.timers.size > 0 || this.telling)) throw new Error('a timer survived')
    if (kind === 'parting' && !(this.telling && this.timers.has('parting')))
      throw new Error('nothing bounds the words to the person')
    if (this.published.size > MAX_ATTEMPTS) throw new Error('too many attempts')
  }
}

const anySequence = fc.array(anyInput, { maxLength: 60 })
const anyEnder = fc.constantFrom('caller' as const, 'other' as const, 'shutdown' as const)
const fewInputs = fc.array(anyInput, { maxLength: 6 })
const FINAL = new Set(['completed', 'missed', 'declined', 'failed', 'canceled'])

t.test(
  'whatever happens: one attempt at a time, no silence without a timer, every attempt ends',
  async (t) => {
    fc.assert(
      fc.property(anySequence, anyEnder, fewInputs, (sequence, by, after) => {
        const world = new World()
        for (const input of sequence) world.give(input)
        world.give({ type: 'callEnding', by })
        for (const input of after) world.give(input)
        world.give({ type: 'timer', name: 'parting' })
        if (world.state.kind !== 'over') throw new Error('the transfers survived the call')
        for (const [number, steps] of world.published) {
          const finals = steps.filter((status) => FINAL.has(status))
          if (steps[0] !== 'accepted' || finals.length !== 1 || !FINAL.has(steps.at(-1) ?? '')) {
            throw new Error(`attempt ${number}: ${steps.join(', ')}`)
          }
          if (steps.includes('bridged') !== steps.includes('completed'))
            throw new Error(`attempt ${number} bridged`)
        }
      }),
      { numRuns: 20_000 },
    )
    t.pass('20,000 sequences')
  },
)

t.test('timers alone end every transfer that nobody takes', async (t) => {
  fc.assert(
    fc.property(fc.array(anyInput, { maxLength: 30 }), (sequence) => {
      const world = new World()
      for (const input of sequence) world.give(input)
      const settled = () => world.timers.size === 0
      for (let round = 0; round < 20 && !settled(); round++) {
        for (const name of TIMERS) world.give({ type: 'timer', name })
      }
      if (!settled()) throw new Error(`timers run for ever in ${world.state.kind}`)
      if (!['idle', 'bridged', 'over'].includes(world.state.kind)) throw new Error(world.state.kind)
    }),
    { numRuns: 5_000 },
  )
  t.pass('5,000 sequences')
})
