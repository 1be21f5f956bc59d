import t from 'tap'
import { TEST_POLICY as POLICY } from '../../../fixtures/turns/policy.js'
import { initialTurnState, step } from './turn-machine.js'
import { CALL, type Phase, type TurnEffect, type TurnInput, type TurnState } from './turn-types.js'

/** Applies inputs in order. Each input holds its time. */
function walk(
  inputs: readonly TurnInput[],
  policy = POLICY,
): { state: TurnState; effects: readonly TurnEffect[] } {
  let state = initialTurnState
  let effects: readonly TurnEffect[] = []
  for (const input of inputs) {
    const result = step(state, input, policy)
    state = result.next
    effects = result.effects
  }
  return { state, effects }
}

const START: TurnInput = { type: 'start', opening: false, atMs: 0 }
const ONSET: TurnInput = { type: 'onset', fromMs: 1000, atMs: 1060 }
const OFFSET: TurnInput = { type: 'offset', lastVoicedMs: 2000, atMs: 2300 }
const FINAL: TurnInput = { type: 'final', text: 'Are you open?', words: null, atMs: 2400 }
const HEARD: readonly TurnInput[] = [START, ONSET, OFFSET, FINAL]

/** Inputs that lead to each phase. The caller's first turn has id 1, the reply to it id 2. */
const WAYS: Readonly<Record<Phase, readonly TurnInput[]>> = {
  opening: [],
  listening: [START],
  callerSpeaking: [START, ONSET],
  waitingFinal: [START, ONSET, OFFSET],
  thinking: HEARD,
  speaking: [
    ...HEARD,
    { type: 'sentence', turn: 2, atMs: 2700 },
    { type: 'firstSample', turn: 2, atMs: 2800 },
  ],
  paused: [
    ...HEARD,
    { type: 'sentence', turn: 2, atMs: 2700 },
    { type: 'firstSample', turn: 2, atMs: 2800 },
    { type: 'onset', fromMs: 3000, atMs: 3060 },
  ],
  away: [START, { type: 'leave', atMs: 500 }, { type: 'say', text: 'Hello.', last: false, atMs: 600 }],
  ending: [START, { type: 'timer', turn: CALL, name: 'callLimit', atMs: 120_000 }],
  ended: [START, { type: 'close', atMs: 500 }],
}

const INPUTS: Readonly<Record<string, (at: number) => TurnInput>> = {
  start: (at) => ({ type: 'start', opening: true, atMs: at }),
  onset: (at) => ({ type: 'onset', fromMs: at - 60, atMs: at }),
  'voice:short': (at) => ({ type: 'voice', voicedMs: 200, quietMs: 20, atMs: at }),
  'voice:long': (at) => ({ type: 'voice', voicedMs: 560, quietMs: 0, atMs: at }),
  'voice:quiet': (at) => ({ type: 'voice', voicedMs: 200, quietMs: 280, atMs: at }),
  offset: (at) => ({ type: 'offset', lastVoicedMs: at - 300, atMs: at }),
  turnEstimate: (at) => ({ type: 'turnEstimate', lastVoicedMs: at - 200, probability: 0.1, atMs: at }),
  'partial:words': (at) => ({ type: 'partial', text: 'wait a', atMs: at }),
  'partial:mm': (at) => ({ type: 'partial', text: 'mm-hmm', atMs: at }),
  eagerEndOfTurn: (at) => ({ type: 'eagerEndOfTurn', complete: true, atMs: at }),
  'eagerEndOfTurn:not': (at) => ({ type: 'eagerEndOfTurn', complete: false, atMs: at }),
  contextChanged: (at) => ({ type: 'contextChanged', atMs: at }),
  speculationFailed: (at) => ({ type: 'speculationFailed', atMs: at }),
  'final:words': (at) => ({ type: 'final', text: 'Wait a moment.', words: null, atMs: at }),
  'final:mm': (at) => ({ type: 'final', text: 'Haan.', words: null, atMs: at }),
  'final:empty': (at) => ({ type: 'final', text: '', words: null, atMs: at }),
  recognitionFailed: (at) => ({ type: 'recognitionFailed', code: 'vendor_failed', message: 'x', atMs: at }),
  digit: (at) => ({ type: 'digit', digit: '4', atMs: at }),
  'digit:#': (at) => ({ type: 'digit', digit: '#', atMs: at }),
  token: (at) => ({ type: 'token', turn: 2, atMs: at }),
  progress: (at) => ({ type: 'progress', turn: 2, atMs: at }),
  sentence: (at) => ({ type: 'sentence', turn: 2, atMs: at }),
  modelDone: (at) => ({ type: 'modelDone', turn: 2, next: 'nothing', atMs: at }),
  'modelDone:again': (at) => ({ type: 'modelDone', turn: 2, next: 'again', atMs: at }),
  'modelDone:end': (at) => ({ type: 'modelDone', turn: 2, next: 'end', atMs: at }),
  toolsRun: (at) => ({ type: 'toolsRun', turn: 2, fillerSpoken: false, atMs: at }),
  'timer:tools': (at) => ({ type: 'timer', turn: 2, name: 'tools', atMs: at }),
  modelFailed: (at) => ({ type: 'modelFailed', turn: 2, code: 'vendor_failed', message: 'x', atMs: at }),
  firstSample: (at) => ({ type: 'firstSample', turn: 2, atMs: at }),
  'audioFlow:dry': (at) => ({ type: 'audioFlow', turn: 2, flowing: false, atMs: at }),
  drained: (at) => ({ type: 'drained', turn: 2, atMs: at }),
  synthesisFailed: (at) => ({ type: 'synthesisFailed', turn: 2, atMs: at }),
  'timer:final': (at) => ({ type: 'timer', turn: 1, name: 'final', atMs: at }),
  'timer:wordless': (at) => ({ type: 'timer', turn: 1, name: 'wordless', atMs: at }),
  'timer:nudge': (at) => ({ type: 'timer', turn: 1, name: 'nudge', atMs: at }),
  'timer:modelFirst': (at) => ({ type: 'timer', turn: 2, name: 'modelFirst', atMs: at }),
  'timer:modelStall': (at) => ({ type: 'timer', turn: 2, name: 'modelStall', atMs: at }),
  'timer:agentSilence': (at) => ({ type: 'timer', turn: 2, name: 'agentSilence', atMs: at }),
  'timer:pause': (at) => ({ type: 'timer', turn: 2, name: 'pause', atMs: at }),
  'timer:resume': (at) => ({ type: 'timer', turn: 2, name: 'resume', atMs: at }),
  'timer:ending': (at) => ({ type: 'timer', turn: 2, name: 'ending', atMs: at }),
  'timer:callLimit': (at) => ({ type: 'timer', turn: CALL, name: 'callLimit', atMs: at }),
  'timer:callEnd': (at) => ({ type: 'timer', turn: CALL, name: 'callEnd', atMs: at }),
  'timer:stale': (at) => ({ type: 'timer', turn: 99, name: 'final', atMs: at }),
  'timer:clause': (at) => ({ type: 'timer', turn: 2, name: 'clause', atMs: at }),
  say: (at) => ({ type: 'say', text: 'One moment.', last: false, atMs: at }),
  'say:last': (at) => ({ type: 'say', text: 'Goodbye.', last: true, atMs: at }),
  'say:end': (at) => ({ type: 'say', text: null, last: true, atMs: at }),
  leave: (at) => ({ type: 'leave', atMs: at }),
  return: (at) => ({ type: 'return', atMs: at }),
  'answeredBy:human': (at) => ({ type: 'answeredBy', by: 'human', atMs: at }),
  'answeredBy:voicemail': (at) => ({ type: 'answeredBy', by: 'voicemail', atMs: at }),
  recording: (at) => ({ type: 'recording', atMs: at }),
  optOut: (at) => ({ type: 'optOut', atMs: at }),
  close: (at) => ({ type: 'close', atMs: at }),
}

/**
 * The next phase for every phase x input. `-`: unexpected, only the count changes. `=`: expected, the phase
 * stays.
 */
const TABLE: Readonly<Record<Phase, Readonly<Record<string, Phase | '-' | '='>>>> = {
  opening: { start: 'thinking', close: 'ended' },
  listening: {
    contextChanged: '=',
    onset: 'callerSpeaking',
    'partial:words': '=',
    'partial:mm': '=',
    'final:words': 'thinking',
    'final:mm': 'thinking',
    'final:empty': '=',
    recognitionFailed: '=',
    digit: '=',
    'digit:#': 'thinking',
    'timer:nudge': 'thinking',
    'timer:callLimit': 'ending',
    say: 'thinking',
    'say:last': 'ending',
    'say:end': 'ending',
    leave: 'away',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  callerSpeaking: {
    contextChanged: '=',
    eagerEndOfTurn: '=',
    'eagerEndOfTurn:not': '=',
    offset: 'waitingFinal',
    turnEstimate: '=',
    'partial:words': '=',
    'partial:mm': '=',
    'final:words': '=',
    'final:mm': '=',
    'final:empty': '=',
    recognitionFailed: '=',
    digit: '=',
    'digit:#': '=',
    'timer:wordless': '=',
    'timer:callLimit': 'ending',
    say: 'thinking',
    'say:last': 'ending',
    'say:end': 'ending',
    leave: 'away',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  waitingFinal: {
    contextChanged: '=',
    eagerEndOfTurn: '=',
    'eagerEndOfTurn:not': '=',
    onset: 'callerSpeaking',
    turnEstimate: '=',
    'partial:words': '=',
    'partial:mm': '=',
    'final:words': 'thinking',
    'final:mm': 'thinking',
    'final:empty': 'listening',
    recognitionFailed: 'thinking',
    digit: '=',
    'digit:#': '=',
    'timer:final': 'thinking',
    'timer:callLimit': 'ending',
    say: 'thinking',
    'say:last': 'ending',
    'say:end': 'ending',
    leave: 'away',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  thinking: {
    contextChanged: '=',
    onset: 'paused',
    'final:words': 'thinking',
    'final:mm': 'thinking',
    'final:empty': '=',
    recognitionFailed: '=',
    digit: 'listening',
    'digit:#': 'thinking',
    token: '=',
    progress: '=',
    sentence: '=',
    modelDone: '=',
    'modelDone:again': '=',
    'modelDone:end': 'ending',
    toolsRun: '=',
    'audioFlow:dry': '=',
    modelFailed: '=',
    firstSample: 'speaking',
    synthesisFailed: 'ended',
    'timer:modelFirst': '=',
    'timer:modelStall': '=',
    'timer:agentSilence': '=',
    'timer:ending': 'ended',
    'timer:callLimit': 'ending',
    say: 'thinking',
    'say:last': 'ending',
    'say:end': 'ending',
    leave: 'away',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  speaking: {
    contextChanged: '=',
    onset: 'paused',
    'final:words': 'thinking',
    'final:mm': '=',
    'final:empty': '=',
    recognitionFailed: '=',
    digit: 'listening',
    'digit:#': 'thinking',
    token: '=',
    progress: '=',
    sentence: '=',
    modelDone: '=',
    'modelDone:again': '=',
    'modelDone:end': '=',
    toolsRun: '=',
    'audioFlow:dry': '=',
    modelFailed: '=',
    synthesisFailed: 'ended',
    'timer:modelFirst': '=',
    'timer:modelStall': '=',
    'timer:ending': 'ended',
    'timer:callLimit': 'ending',
    say: '=',
    'say:last': '=',
    'say:end': '=',
    leave: 'away',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  paused: {
    contextChanged: '=',
    onset: '=',
    'voice:long': 'callerSpeaking',
    'voice:quiet': 'speaking',
    offset: '=',
    'partial:words': 'callerSpeaking',
    'partial:mm': '=',
    'final:words': 'callerSpeaking',
    'final:mm': '=',
    'final:empty': '=',
    recognitionFailed: '=',
    digit: 'callerSpeaking',
    'digit:#': 'callerSpeaking',
    token: '=',
    progress: '=',
    sentence: '=',
    modelDone: '=',
    'modelDone:again': '=',
    'modelDone:end': '=',
    toolsRun: '=',
    'audioFlow:dry': '=',
    modelFailed: '=',
    synthesisFailed: 'ended',
    'timer:modelFirst': '=',
    'timer:modelStall': '=',
    'timer:pause': 'speaking',
    'timer:resume': 'speaking',
    'timer:ending': 'ended',
    'timer:callLimit': 'ending',
    say: 'speaking',
    'say:last': 'speaking',
    'say:end': 'speaking',
    leave: 'away',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  away: {
    firstSample: '=',
    'audioFlow:dry': '=',
    drained: '=',
    synthesisFailed: '=',
    'timer:agentSilence': '=',
    'timer:ending': 'ended',
    'timer:callLimit': 'ending',
    'timer:callEnd': 'ended',
    say: '=',
    'say:last': 'ending',
    'say:end': 'ending',
    return: 'listening',
    close: 'ended',
  },
  ending: {
    contextChanged: '=',
    onset: '=',
    'final:words': '=',
    'final:mm': '=',
    'final:empty': '=',
    recognitionFailed: '=',
    digit: '=',
    'digit:#': '=',
    firstSample: '=',
    'audioFlow:dry': '=',
    drained: '=',
    synthesisFailed: 'ended',
    'timer:agentSilence': '=',
    'timer:ending': 'ended',
    'timer:callEnd': 'ended',
    'answeredBy:human': '=',
    optOut: '=',
    'answeredBy:voicemail': 'ended',
    close: 'ended',
  },
  ended: {},
}

t.test('every state and every input', async (t) => {
  for (const [phase, way] of Object.entries(WAYS) as [Phase, readonly TurnInput[]][]) {
    const { state } = walk(way)
    t.equal(state.phase, phase, `the way into ${phase}`)
    for (const [name, make] of Object.entries(INPUTS)) {
      const at = (way.at(-1)?.atMs ?? 0) + 700
      const input = make(at)
      const { next, effects } = step(state, input, POLICY)
      const expected = TABLE[phase][name] ?? '-'
      if (expected === '-') {
        t.same({ ...next, unexpected: 0 }, { ...state, unexpected: 0 }, `${phase} x ${name} changes nothing`)
        t.same(effects, [], `${phase} x ${name} does nothing`)
        // The input of every frame is decided before anything is counted.
        if (input.type !== 'voice')
          t.equal(next.unexpected, state.unexpected + 1, `${phase} x ${name} is counted`)
      } else {
        t.equal(next.phase, expected === '=' ? phase : expected, `${phase} x ${name}`)
        t.equal(next.unexpected, state.unexpected, `${phase} x ${name} is expected`)
      }
    }
  }
})

t.test('a voicemail gets the message once it records, and only then', async (t) => {
  const policy = { ...POLICY, voicemailMessage: 'Please call us back.' }
  const found: TurnInput = { type: 'answeredBy', by: 'voicemail', atMs: 2000 }
  const waiting = walk([...WAYS.speaking, found], policy)
  t.equal(waiting.state.phase, 'ending')
  t.match(waiting.effects.slice(-3), [
    { type: 'stopSpeech', turn: 2 },
    { type: 'cancelTimers', turn: 2 },
    { type: 'startTimer', turn: CALL, name: 'recording' },
  ])
  const late = step(waiting.state, { type: 'timer', turn: CALL, name: 'recording', atMs: 42_000 }, policy)
  t.match(late.effects.at(-1), { type: 'finish', why: 'voicemail' }, 'it never records')
  const recording: TurnInput = { type: 'recording', atMs: 6000 }
  const message = step(waiting.state, recording, policy)
  t.match(message.effects, [
    { type: 'cancelTimer', turn: CALL, name: 'recording' },
    { type: 'sayPhrase', phrase: { say: 'Please call us back.' } },
  ])
  t.equal(step(message.next, recording, policy).next.unexpected, message.next.unexpected + 1, 'once')
})

t.test('an opt-out is confirmed, then the hang-up line ends the call', async (t) => {
  const optOut = { asks: (text: string) => text === 'Stop calling me.', key: '9', awaitsVerdict: false }
  const policy = { ...POLICY, optOut }
  const stop: TurnInput = { type: 'final', text: 'Stop calling me.', words: null, atMs: 2400 }
  const said = walk([...WAYS.waitingFinal, stop], policy)
  const confirmed = [
    { type: 'sayPhrase', phrase: 'optedOut' },
    { type: 'sayPhrase', phrase: 'hangup' },
    { type: 'finishSpeech' },
  ]
  const done = ({ effects }: { readonly effects: readonly TurnEffect[] }) =>
    effects.filter(({ type }) => type !== 'cancelTimers' && type !== 'cancelTimer' && type !== 'startTimer')
  t.equal(said.state.phase, 'ending')
  t.match(done(said), [{ type: 'commitCaller', caller: { text: 'Stop calling me.' } }, ...confirmed])
  t.equal(done(said).length, 4, 'the model is not asked')
  const { reply } = said.state
  t.match(reply, { interruptible: false, finishReason: 'agent_hangup' })
  const end = walk(
    [
      ...WAYS.waitingFinal,
      stop,
      { type: 'firstSample', turn: reply?.id ?? 0, atMs: 2800 },
      { type: 'onset', fromMs: 3000, atMs: 3060 },
      { type: 'offset', lastVoicedMs: 3500, atMs: 3800 },
      { type: 'final', text: 'Okay, bye.', words: null, atMs: 3900 },
      { type: 'drained', turn: reply?.id ?? 0, atMs: 5000 },
      { type: 'timer', turn: CALL, name: 'tail', atMs: 5200 },
    ],
    policy,
  )
  t.same(end.effects.at(-1), { type: 'finish', why: 'agent_hangup' }, 'the caller cannot interrupt it')

  const silent = walk([...WAYS.waitingFinal, stop], { ...policy, hangupLine: false })
  t.match(done(silent).slice(1), [{ phrase: 'optedOut' }, { type: 'finishSpeech' }])
  t.equal(walk([...WAYS.waitingFinal, stop]).state.phase, 'thinking', 'an agent that hears no opt-out')

  const over = walk([...WAYS.paused, stop], policy)
  t.equal(over.state.phase, 'callerSpeaking', 'an interruption, whose end is awaited')
  const next = step(over.state, { type: 'offset', lastVoicedMs: 3500, atMs: 3800 }, policy)
  t.equal(next.next.phase, 'ending')
})

t.test('an opt-out beside an announcement is confirmed after it', async (t) => {
  const optOut = { asks: (text: string) => text === 'Stop calling me.', key: null, awaitsVerdict: false }
  const policy = { ...POLICY, optOut }
  const before: readonly TurnInput[] = [
    START,
    { type: 'say', text: 'One moment.', last: false, atMs: 500 },
    { type: 'firstSample', turn: 2, atMs: 900 },
    ONSET,
    OFFSET,
    { type: 'final', text: 'Stop calling me.', words: null, atMs: 2400 },
  ]
  t.equal(walk(before, policy).state.phase, 'speaking')
  const { state, effects } = walk([...before, { type: 'drained', turn: 2, atMs: 3000 }], policy)
  t.equal(state.phase, 'ending')
  t.match(
    effects.filter(({ type }) => type === 'sayPhrase'),
    [{ phrase: 'optedOut' }, { phrase: 'hangup' }],
  )
})

t.test('the words of an outbound call wait until it is known who answered', async (t) => {
  const optOut = { asks: (text: string) => text === 'Stop calling me.', key: '9', awaitsVerdict: true }
  const policy = { ...POLICY, optOut }
  const stop: TurnInput = { type: 'final', text: 'Stop calling me.', words: null, atMs: 2400 }
  const answered = (by: 'human' | 'unknown' | 'screening'): TurnInput => ({
    type: 'answeredBy',
    by,
    atMs: 2500,
  })
  const waiting: readonly TurnInput[] = [...WAYS.waitingFinal, stop]
  t.equal(walk(waiting, policy).state.phase, 'thinking', 'the agent answers meanwhile')
  t.equal(walk([...waiting, answered('human')], policy).state.phase, 'ending')
  t.equal(walk([...waiting, answered('unknown')], policy).state.phase, 'ending', 'detection has given up')
  const machine = walk([...waiting, answered('screening')], policy).state
  t.equal(machine.phase, 'thinking')
  t.equal(step(machine, answered('human'), policy).next.phase, 'thinking', 'a machine asked')
  const left = walk([...waiting, { type: 'leave', atMs: 2450 }, { type: 'return', atMs: 9000 }], policy)
  t.equal(step(left.state, answered('human'), policy).next.phase, 'listening', 'a person has had the call')
  const late = walk([...WAYS.speaking, answered('human'), { type: 'optOut', atMs: 3000 }], policy)
  t.equal(late.state.phase, 'ending', 'words that came late')
})

t.test('the key opts out when it is pressed alone', async (t) => {
  const optOut = { asks: () => false, key: '9', awaitsVerdict: true }
  const policy = { ...POLICY, optOut }
  const press = (digit: string, atMs: number): TurnInput => ({ type: 'digit', digit, atMs })
  const idle: TurnInput = { type: 'timer', turn: CALL, name: 'digits', atMs: 6000 }
  const alone = walk([...WAYS.thinking, press('9', 3000), idle], policy)
  t.equal(alone.state.phase, 'ending')
  t.match(
    alone.effects.filter(({ type }) => type === 'commitCaller'),
    [{ caller: { text: 'Are you open?' } }, { caller: { text: '9' } }],
    'a turn of its own after what was said before',
  )
  const code = walk([...WAYS.speaking, press('1', 3000), press('9', 3100), idle], policy)
  t.equal(code.state.phase, 'thinking', 'a longer number is none')
  const machine: TurnInput = { type: 'answeredBy', by: 'ivr', atMs: 2900 }
  t.equal(walk([...WAYS.speaking, machine, press('9', 3000), idle], policy).state.phase, 'thinking')
})

t.test('keys wait for the rest of a number that the agent asked for and the caller heard', async (t) => {
  const asks: TurnInput = { type: 'sentence', turn: 2, text: 'Your number?', atMs: 2700 }
  const key = (atMs: number): TurnInput => ({ type: 'digit', digit: '9', atMs })
  const waitMs = (inputs: readonly TurnInput[]) =>
    walk(inputs).effects.flatMap((effect) =>
      effect.type === 'startTimer' && effect.name === 'digits' ? [effect.ms] : [],
    )
  const heard: readonly TurnInput[] = [...HEARD, asks, { type: 'firstSample', turn: 2, atMs: 2800 }]
  const said: readonly TurnInput[] = [
    ...heard,
    { type: 'modelDone', turn: 2, next: 'nothing', atMs: 2900 },
    { type: 'drained', turn: 2, atMs: 3500 },
  ]
  t.same(waitMs([...said, key(4000)]), [POLICY.digitsPartMs])
  t.same(waitMs([...heard, key(2900)]), [POLICY.digitsPartMs], 'into the question')
  t.same(waitMs([...HEARD, asks, key(2750)]), [POLICY.digitsIdleMs], 'the question was not heard')
  const { state } = walk(said)
  const nudge: TurnInput = { type: 'timer', turn: state.caller?.id ?? 0, name: 'nudge', atMs: 13_500 }
  t.equal(walk([...said, nudge]).state.reply?.kind, 'phrase')
  t.same(waitMs([...said, nudge, key(14_000)]), [POLICY.digitsPartMs], 'a nudge asks nothing else')
  const keys = Array.from({ length: 10 }, (_, n) => key(4000 + n * 100))
  t.same(waitMs([...said, ...keys]), [POLICY.digitsIdleMs], 'the number is complete')
})

t.test('recognition is told when the agent begins and ends to await a number', async (t) => {
  const says = (text: string, atMs: number): readonly TurnInput[] => [
    { type: 'sentence', turn: 2, text, atMs: 2700 },
    { type: 'firstSample', turn: 2, atMs: 2800 },
    { type: 'modelDone', turn: 2, next: 'nothing', atMs: 2900 },
    { type: 'drained', turn: 2, atMs },
  ]
  const expected = (inputs: readonly TurnInput[], from = initialTurnState) => {
    let state = from
    return inputs.flatMap((input) => {
      const { next, effects } = step(state, input, POLICY)
      state = next
      return effects.flatMap((effect) => (effect.type === 'expectNumber' ? [effect.expected] : []))
    })
  }
  const asked = [...HEARD, ...says('Your number?', 3500)]
  t.same(expected(asked), [true])
  const { state } = walk(asked)
  const nudge: TurnInput = { type: 'timer', turn: state.caller?.id ?? 0, name: 'nudge', atMs: 13_500 }
  t.same(expected([...asked, nudge]), [true], 'a nudge asks nothing else')
  t.same(expected([...HEARD, ...says('Anything else?', 3500)]), [])
  t.same(
    expected([...HEARD, ...says('Anything else?', 3500)], { ...initialTurnState, asked: 'Your number?' }),
    [false],
  )
})

t.test('the turn of a caller who is cut by the end of the call lasts until then', async (t) => {
  const { effects } = walk([
    ...WAYS.callerSpeaking,
    { type: 'partial', text: 'I would like', atMs: 1000 },
    { type: 'close', atMs: 1500 },
  ])
  t.match(
    effects.find(({ type }) => type === 'commitCaller'),
    { caller: { text: 'I would like', endMs: 1500 } },
  )
})

t.test('an announcement waits for the end of the clause, and no longer than its limit', async (t) => {
  const say: TurnInput = { type: 'say', text: 'One moment.', last: false, atMs: 3000 }
  const { state, effects } = walk([...WAYS.speaking, say])
  t.match(
    effects.map(({ type }) => type).filter((type) => type !== 'cancelTimer'),
    ['cancelModel', 'stopAtClause', 'startTimer'],
  )
  for (const input of [
    { type: 'drained', turn: 2, atMs: 3800 },
    { type: 'timer', turn: 2, name: 'clause', atMs: 5500 },
  ] as const) {
    const step3 = step(state, input, POLICY)
    t.equal(step3.next.phase, 'thinking', input.type)
    t.match(step3.effects, [
      { type: input.type === 'drained' ? 'commitAgent' : 'stopSpeech', turn: 2 },
      { type: 'cancelTimers', turn: 2 },
      { type: 'sayPhrase', turn: 3, phrase: { say: 'One moment.' } },
    ])
  }
})

t.test('an announcement that is due now stops the agent in the middle of its clause', async (t) => {
  const say: TurnInput = { type: 'say', text: 'One moment.', last: false, now: true, atMs: 3000 }
  const { state, effects } = walk([...WAYS.speaking, say])
  t.equal(state.phase, 'thinking')
  t.match(
    effects.filter(({ type }) => type !== 'cancelTimer' && type !== 'cancelModel'),
    [
      { type: 'stopSpeech', turn: 2 },
      { type: 'cancelTimers', turn: 2 },
      { type: 'sayPhrase', turn: 3, phrase: { say: 'One moment.' } },
    ],
  )
})

t.test('an announcement that no voice can say does not end the call, a reply does', async (t) => {
  const say: TurnInput = { type: 'say', text: 'One moment.', last: false, now: true, atMs: 3000 }
  const silence = { type: 'timer', turn: 3, name: 'agentSilence' } as const
  const failures: Readonly<Record<string, readonly TurnInput[]>> = {
    'it fails': [{ type: 'synthesisFailed', turn: 3, atMs: 5000 }],
    'it stays silent': [
      { ...silence, atMs: 6000 },
      { ...silence, atMs: 9000 },
    ],
  }
  for (const [name, failure] of Object.entries(failures)) {
    const { state, effects } = walk([...WAYS.speaking, say, ...failure])
    t.equal(state.phase, 'listening', name)
    t.equal(state.reply, null)
    t.match(effects.slice(0, 2), [
      { type: 'dropReply', turn: 3 },
      { type: 'cancelTimers', turn: 3 },
    ])
  }
  const reply = walk([...WAYS.speaking, { type: 'synthesisFailed', turn: 2, atMs: 5000 }])
  t.match(reply.effects.at(-1), { type: 'finish', why: 'provider_failure' })
})

t.test('the time of an absence does not count to the limit of the call', async (t) => {
  const { state, effects } = walk([
    START,
    { type: 'leave', atMs: 10_000 },
    { type: 'return', atMs: 70_000 },
    { type: 'leave', atMs: 80_000 },
    { type: 'return', atMs: 90_000 },
  ])
  t.equal(state.phase, 'listening')
  t.match(
    effects.find((effect) => effect.type === 'startTimer' && effect.name === 'callEnd'),
    { ms: POLICY.maxCallMs - 20_000 },
  )
})

t.test('a goodbye in the absence of the agent ends the call', async (t) => {
  const { effects } = walk([
    START,
    { type: 'leave', atMs: 500 },
    { type: 'say', text: 'Goodbye.', last: true, atMs: 1000 },
    { type: 'firstSample', turn: 2, atMs: 1300 },
    { type: 'drained', turn: 2, atMs: 2300 },
    { type: 'timer', turn: CALL, name: 'tail', atMs: 2500 },
  ])
  t.same(effects.at(-1), { type: 'finish', why: 'asked' })
})

t.test('an interruption cuts at the time of the pause', async (t) => {
  const { effects } = walk([...WAYS.paused, { type: 'voice', voicedMs: 560, quietMs: 0, atMs: 3560 }])
  t.same(effects[0], { type: 'interrupt', turn: 2, atMs: 3060 })
})

t.test('the deadline of the final text starts at the end of speech', async (t) => {
  const { effects } = walk(WAYS.waitingFinal)
  t.same(effects, [
    { type: 'cancelTimer', turn: 1, name: 'wordless' },
    { type: 'startTimer', turn: 1, name: 'final', ms: 2000 + 800 - 2300 },
  ])
})

t.test('after a false barge-in, sound alone no longer stops the agent until words arrive', async (t) => {
  const again: readonly TurnInput[] = [
    ...WAYS.paused,
    { type: 'voice', voicedMs: 560, quietMs: 0, atMs: 3560 },
    { type: 'offset', lastVoicedMs: 3900, atMs: 4200 },
    { type: 'final', text: '', words: null, atMs: 4300 },
  ]
  const { state, effects } = walk(again)
  t.equal(state.phase, 'thinking')
  t.ok(
    effects.some((effect) => effect.type === 'sayPhrase' && effect.phrase === 'repeat'),
    'the agent asks',
  )
  const reply = state.reply?.id ?? 0
  const over: readonly TurnInput[] = [
    ...again,
    { type: 'firstSample', turn: reply, atMs: 4400 },
    { type: 'onset', fromMs: 4500, atMs: 4560 },
  ]
  t.equal(walk(over).state.phase, 'paused', 'it is still heard out')
  t.equal(walk([...over, { type: 'voice', voicedMs: 900, quietMs: 0, atMs: 5400 }]).state.phase, 'paused')
  const proved = walk([...over, { type: 'partial', text: 'wait a moment', atMs: 5400 }])
  t.equal(proved.state.phase, 'callerSpeaking')
  t.equal(proved.state.ignoreWordlessSound, false)
})

t.test('words restart the limit for wordless sound', async (t) => {
  const speaking: readonly TurnInput[] = [
    ...WAYS.callerSpeaking,
    { type: 'partial', text: 'well', atMs: 4000 },
    { type: 'timer', turn: 1, name: 'wordless', atMs: 6060 },
  ]
  t.same(walk(speaking).effects, [{ type: 'startTimer', turn: 1, name: 'wordless', ms: 4000 + 5000 - 6060 }])
  const over = walk([...speaking, { type: 'timer', turn: 1, name: 'wordless', atMs: 9000 }])
  t.same(over.effects, [
    { type: 'learnNoise' },
    { type: 'startTimer', turn: 1, name: 'wordless', ms: POLICY.wordlessMs },
  ])
})

t.test('after complete words, lasting sound is soon treated as noise', async (t) => {
  const heard: readonly TurnInput[] = [
    ...WAYS.callerSpeaking,
    { type: 'partial', text: 'what is the price?', atMs: 4000 },
    { type: 'final', text: 'What is the price?', words: null, atMs: 4400 },
  ]
  const waiting = { type: 'startTimer', turn: 1, name: 'wordless', ms: POLICY.afterWordsMs }
  t.same(walk(heard).effects.at(-1), waiting)
  const over = walk([...heard, { type: 'timer', turn: 1, name: 'wordless', atMs: 5400 }])
  t.same(over.effects, [{ type: 'learnNoise' }, waiting])
  const more = walk([
    ...heard,
    { type: 'partial', text: 'and', atMs: 5000 },
    { type: 'timer', turn: 1, name: 'wordless', atMs: 5400 },
  ])
  t.same(
    more.effects.at(-1),
    { ...waiting, ms: 5000 + POLICY.wordlessMs - 5400 },
    'more words: it is patient again',
  )
})

t.test('a model that rejects a request is not asked again', async (t) => {
  const { state, effects } = walk([
    ...HEARD,
    { type: 'modelFailed', turn: 2, code: 'vendor_rejected', message: 'wrong key', atMs: 2500 },
  ])
  t.equal(state.phase, 'ending')
  t.ok(effects.some((effect) => effect.type === 'sayPhrase' && effect.phrase === 'goodbye'))
})

t.test('a recogniser with its own endpointing causes no extra wait', async (t) => {
  const { state } = walk([START, ONSET, { ...FINAL, atMs: 2100 }, OFFSET])
  t.equal(state.phase, 'thinking')
})

t.test('a model that shows its work is not stalled before its first token, within a bound', async (t) => {
  const firstLate = (atMs: number): TurnInput => ({ type: 'timer', turn: 2, name: 'modelFirst', atMs })
  const asked = 2400
  const lateMs = asked + POLICY.modelFirstTokenMs
  const late = walk([...HEARD, firstLate(lateMs)])
  const working = walk([...HEARD, { type: 'progress', turn: 2, atMs: lateMs - 300 }, firstLate(lateMs)])
  const given = (effects: readonly TurnEffect[]) => effects.some(({ type }) => type === 'cancelModel')
  t.ok(given(late.effects), 'the silent one is given up')
  t.notOk(given(working.effects))
  t.equal(working.state.reply?.modelBusy, true)
  t.ok(
    working.effects.some((effect) => effect.type === 'sayPhrase' && effect.phrase === 'wait'),
    'the filler is spoken meanwhile',
  )
  const endMs = asked + POLICY.modelProgressMs
  const long = walk([...HEARD, { type: 'progress', turn: 2, atMs: endMs - 1 }, firstLate(endMs)])
  t.ok(given(long.effects), 'the bound')
})

t.test('the arguments of a tool, written after words, feed the stall timer', async (t) => {
  const inputs: TurnInput[] = [...HEARD, { type: 'token', turn: 2, atMs: 2800 }]
  for (let atMs = 3100; atMs <= 6800; atMs += 300) inputs.push({ type: 'progress', turn: 2, atMs })
  const stall: TurnInput = { type: 'timer', turn: 2, name: 'modelStall', atMs: 6900 }
  t.equal(walk([...inputs, stall]).state.reply?.modelBusy, true)
})

t.test('the agent shows that it listens: to words, and not once the turn is over', async (t) => {
  const policy = { ...POLICY, backchannelAfterMs: 5000 }
  const due: TurnInput = { type: 'timer', turn: 1, name: 'backchannel', atMs: 6000 }
  const words: TurnInput = { type: 'partial', text: 'my parcel', atMs: 3000 }
  const said = (...inputs: readonly TurnInput[]) =>
    walk([START, ONSET, ...inputs], policy).effects.map((effect) =>
      effect.type === 'startTimer' ? `${effect.name} ${effect.ms}` : effect.type,
    )
  t.same(said(), ['cancelTimers', 'wordless 5000', 'backchannel 4940'])
  t.same(said(words, due), ['backchannel', 'backchannel 5000'])
  t.same(said(due), ['backchannel 5000'], 'sound without words')
  t.same(said(words, OFFSET, due), [], 'an answer follows')
  const open: TurnInput = { type: 'final', text: 'my parcel and', words: null, atMs: 2400 }
  t.same(
    said(words, OFFSET, open, due),
    ['backchannel', 'backchannel 5000'],
    'a pause of a caller who goes on',
  )
  const plain = walk([START, ONSET]).effects
  t.notOk(plain.some((effect) => effect.type === 'startTimer' && effect.name === 'backchannel'))
})
