import t from 'tap'
import { type CallInput, type CallState, step } from './call-machine.js'
import type { Ending } from './ending.js'

const bye: Ending = { by: 'caller', cause: 'caller_hangup', fault: 'none' }
const api: Ending = { by: 'operator', cause: 'api_hangup', fault: 'none' }

const states: Readonly<Record<string, CallState>> = {
  queuedIn: { kind: 'queued', direction: 'inbound' },
  queuedOut: { kind: 'queued', direction: 'outbound' },
  queuedForward: { kind: 'queued', direction: 'inbound', forwards: true },
  forwarding: { kind: 'forwarding', ringing: false },
  forwardRings: { kind: 'forwarding', ringing: true },
  forwardEarly: { kind: 'forwarding', ringing: true, early: true },
  dialing: { kind: 'dialing' },
  ringing: { kind: 'ringing' },
  answeringIn: { kind: 'answering', direction: 'inbound' },
  answeringOut: { kind: 'answering', direction: 'outbound' },
  connectingIn: { kind: 'answering', direction: 'inbound', agreed: true },
  answeringForward: { kind: 'answering', direction: 'inbound', published: true },
  connectingForward: { kind: 'answering', direction: 'inbound', agreed: true, published: true },
  connectingOut: { kind: 'answering', direction: 'outbound', agreed: true },
  live: { kind: 'live' },
  held: { kind: 'held' },
  parting: { kind: 'parting', ending: api },
  endingBoth: { kind: 'ending', ending: bye, leg: true, media: true },
  endingLeg: { kind: 'ending', ending: bye, leg: true, media: false },
  endingMedia: { kind: 'ending', ending: bye, leg: false, media: true },
  endingEarly: { kind: 'ending', ending: bye, leg: true, media: false, unacknowledged: true },
  ended: { kind: 'ended' },
}

const inputs: Readonly<Record<string, CallInput>> = {
  begin: { type: 'begin' },
  mediaOpened: { type: 'mediaOpened' },
  progress: { type: 'progress', sip: 183 },
  legAnswered: { type: 'legAnswered' },
  mediaLive: { type: 'mediaLive' },
  hold: { type: 'hold', on: true },
  resume: { type: 'hold', on: false },
  mediaLost: { type: 'mediaLost' },
  legEnded: { type: 'legEnded', ending: bye },
  finish: { type: 'finish', ending: api },
  finishWithLine: { type: 'finishWithLine', ending: api, line: 'Goodbye.' },
  lineSaid: { type: 'lineSaid' },
  agentReleased: { type: 'agentReleased' },
  agentReturned: { type: 'agentReturned' },
  personRinging: { type: 'personRinging', sip: 183 },
  personEarly: { type: 'personRinging', sip: 183, early: true },
  personAnswered: { type: 'personAnswered' },
  personEnded: { type: 'personEnded', ending: bye },
  legClosed: { type: 'legClosed' },
  mediaClosed: { type: 'mediaClosed' },
  ring: { type: 'timer', name: 'ring' },
  ack: { type: 'timer', name: 'ack' },
  guard: { type: 'timer', name: 'guard' },
  reaper: { type: 'timer', name: 'reaper' },
  partingTimer: { type: 'timer', name: 'parting' },
  closing: { type: 'timer', name: 'closing' },
}

/** Maps `state input` to `next | effects`. Unlisted pairs change nothing. */
const table: Readonly<Record<string, string>> = {
  'queuedIn begin': 'queued inbound | startTimer:guard ring publishRinging:180 openMedia',
  'queuedOut begin': 'queued outbound | startTimer:guard openMedia',
  'queuedForward begin': 'queued inbound | startTimer:guard openMedia',
  'queuedForward mediaOpened': 'forwarding | startTimer:ring dialPerson',
  'forwarding personRinging': 'forwarding rings | ring publishRinging:183',
  'forwarding personEarly': 'forwarding early | ringEarly publishRinging:183',
  'forwardRings personEarly': 'forwarding early | ringEarly',
  'forwarding personAnswered':
    'answering inbound published | cancelTimer:ring startTimer:ack publishAnswered answer',
  'forwardEarly personAnswered':
    'answering inbound published | cancelTimer:ring startTimer:ack publishAnswered answer',
  'forwardEarly ring': 'ending no_answer leg media | cancelTimers startTimer:closing endLeg closeMedia',
  'forwardRings personAnswered':
    'answering inbound published | cancelTimer:ring startTimer:ack publishAnswered answer',
  'forwarding ring': 'ending no_answer leg media | cancelTimers startTimer:closing endLeg closeMedia',
  'forwardRings ring': 'ending no_answer leg media | cancelTimers startTimer:closing endLeg closeMedia',
  'queuedIn mediaOpened': 'answering inbound | startTimer:ack answer',
  'queuedOut mediaOpened': 'dialing | startTimer:ring publishDialing sendInvite',
  'dialing progress': 'ringing | publishRinging:183',
  'dialing legAnswered':
    'answering outbound agreed | cancelTimers startTimer:guard startTimer:reaper connectMedia',
  'ringing legAnswered':
    'answering outbound agreed | cancelTimers startTimer:guard startTimer:reaper connectMedia',
  'dialing ring': 'ending no_answer leg media | cancelTimers startTimer:closing endLeg closeMedia',
  'ringing ring': 'ending no_answer leg media | cancelTimers startTimer:closing endLeg closeMedia',
  'answeringIn legAnswered':
    'answering inbound agreed | cancelTimers startTimer:guard startTimer:reaper connectMedia',
  'answeringForward legAnswered':
    'answering inbound agreed published | cancelTimers startTimer:guard startTimer:reaper connectMedia',
  'answeringForward mediaLive': 'live |',
  'connectingForward mediaLive': 'live |',
  'answeringIn mediaLive': 'live | publishAnswered',
  'answeringOut mediaLive': 'live | publishAnswered',
  'connectingIn mediaLive': 'live | publishAnswered',
  'connectingOut mediaLive': 'live | publishAnswered',
  ...Object.fromEntries(
    [
      ...['answeringIn', 'answeringOut', 'connectingIn', 'connectingOut'],
      ...['answeringForward', 'connectingForward'],
    ].flatMap((state) => {
      // A forwarded call was published when the person answered.
      const published = state.endsWith('Forward')
      const agreed = state.startsWith('connecting') && !published
      const ends = (cause: string) =>
        published
          ? `ending ${cause} leg media | cancelTimers startTimer:closing endLeg closeMedia`
          : agreed
            ? `ending ${cause} leg media | publishAnswered cancelTimers startTimer:closing endLeg closeMedia`
            : `ending ${cause} leg media unacknowledged | cancelTimers startTimer:closing endLeg closeMedia`
      const gone = agreed ? 'publishAnswered cancelTimers' : 'cancelTimers'
      return [
        [
          `${state} ack`,
          'ending carrier_error leg media | cancelTimers startTimer:closing endLeg closeMedia',
        ],
        [`${state} personEnded`, ends('caller_hangup')],
        [`${state} finish`, ends('api_hangup')],
        [`${state} finishWithLine`, ends('api_hangup')],
        [`${state} guard`, ends('internal')],
        [`${state} reaper`, ends('internal')],
        [`${state} legEnded`, `ending caller_hangup media | ${gone} startTimer:closing closeMedia`],
      ]
    }),
  ),
  'endingEarly legAnswered': 'ending caller_hangup leg | publishAnswered',
  'endingEarly legClosed': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingEarly legEnded': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingEarly closing': 'ended | cancelTimers publishEnded:caller_hangup',
  'live hold': 'held | publishHeld:true',
  'held resume': 'live | publishHeld:false',
  'held mediaLost': 'ending carrier_error leg media | cancelTimers startTimer:closing endLeg closeMedia',
  'live mediaLost': 'ending carrier_error leg media | cancelTimers startTimer:closing endLeg closeMedia',
  ...Object.fromEntries(
    [
      'queuedIn',
      'queuedOut',
      'queuedForward',
      'forwarding',
      'forwardRings',
      'forwardEarly',
      'dialing',
      'ringing',
      'live',
      'held',
    ].flatMap((state) => [
      [
        `${state} personEnded`,
        'ending caller_hangup leg media | cancelTimers startTimer:closing endLeg closeMedia',
      ],
      [`${state} finish`, 'ending api_hangup leg media | cancelTimers startTimer:closing endLeg closeMedia'],
      ...(state === 'live'
        ? []
        : [
            [
              `${state} finishWithLine`,
              'ending api_hangup leg media | cancelTimers startTimer:closing endLeg closeMedia',
            ],
          ]),
      [`${state} guard`, 'ending internal leg media | cancelTimers startTimer:closing endLeg closeMedia'],
      [`${state} reaper`, 'ending internal leg media | cancelTimers startTimer:closing endLeg closeMedia'],
      [`${state} legEnded`, 'ending caller_hangup media | cancelTimers startTimer:closing closeMedia'],
    ]),
  ),
  'live finishWithLine': 'parting api_hangup | startTimer:parting sayLine:Goodbye.',
  'live agentReleased': 'live | cancelTimer:guard',
  'held agentReleased': 'held | cancelTimer:guard',
  'live agentReturned': 'live | startTimer:guard',
  'held agentReturned': 'held | startTimer:guard',
  'parting legEnded': 'ending api_hangup media | cancelTimers startTimer:closing closeMedia',
  ...Object.fromEntries(
    [
      'personEnded',
      'lineSaid',
      'finish',
      'mediaLost',
      'ring',
      'ack',
      'guard',
      'reaper',
      'partingTimer',
      'closing',
    ].map((input) => [
      `parting ${input}`,
      'ending api_hangup leg media | cancelTimers startTimer:closing endLeg closeMedia',
    ]),
  ),
  'endingBoth legClosed': 'ending caller_hangup media |',
  'endingBoth legEnded': 'ending caller_hangup media |',
  'endingBoth mediaClosed': 'ending caller_hangup leg |',
  'endingLeg legClosed': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingLeg legEnded': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingMedia mediaClosed': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingBoth closing': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingLeg closing': 'ended | cancelTimers publishEnded:caller_hangup',
  'endingMedia closing': 'ended | cancelTimers publishEnded:caller_hangup',
}

function describe(state: CallState): string {
  switch (state.kind) {
    case 'queued':
      return `${state.kind} ${state.direction}`
    case 'answering':
      return `${state.kind} ${state.direction}${state.agreed ? ' agreed' : ''}${state.published ? ' published' : ''}`
    case 'forwarding':
      return state.early ? 'forwarding early' : state.ringing ? 'forwarding rings' : 'forwarding'
    case 'parting':
      return `${state.kind} ${state.ending.cause}`
    case 'ending':
      return [
        state.kind,
        state.ending.cause,
        state.leg && 'leg',
        state.media && 'media',
        state.unacknowledged && 'unacknowledged',
      ]
        .filter(Boolean)
        .join(' ')
    default:
      return state.kind
  }
}

t.test('every state and every input', async (t) => {
  const seen = new Set<string>()
  for (const [stateName, state] of Object.entries(states)) {
    for (const [inputName, input] of Object.entries(inputs)) {
      const key = `${stateName} ${inputName}`
      const { next, effects } = step(state, input)
      const shown = effects.map((effect) => {
        switch (effect.type) {
          case 'startTimer':
          case 'cancelTimer':
            return `${effect.type}:${effect.name}`
          case 'sayLine':
            return `sayLine:${effect.line}`
          case 'publishRinging':
            return `publishRinging:${effect.sip}`
          case 'publishHeld':
            return `publishHeld:${effect.on}`
          case 'publishEnded':
            return `publishEnded:${effect.ending.cause}`
          default:
            return effect.type
        }
      })
      const expected = table[key]
      if (expected === undefined) {
        t.equal(next, state, `${key} changes nothing`)
        t.strictSame(effects, [], `${key} does nothing`)
      } else {
        seen.add(key)
        t.equal(`${describe(next)} | ${shown.join(' ')}`.trim(), expected, key)
      }
    }
  }
  t.equal(seen.size, Object.keys(table).length, 'every row of the table was met')
})

t.test('a finished call publishes its end exactly once, last, for every sequence of inputs', async (t) => {
  const all = Object.values(inputs)
  // Every sequence of three inputs from every state, then the end.
  for (const start of Object.values(states)) {
    if (start.kind === 'ended') continue
    for (const a of all) {
      for (const b of all) {
        for (const c of all) {
          let state: CallState = start
          const effects: string[] = []
          const end: readonly CallInput[] = [
            { type: 'finish', ending: api },
            { type: 'legClosed' },
            { type: 'mediaClosed' },
          ]
          for (const input of [a, b, c, ...end]) {
            const result = step(state, input)
            state = result.next
            effects.push(...result.effects.map((effect) => effect.type))
          }
          const ends = effects.filter((effect) => effect === 'publishEnded').length
          if (state.kind !== 'ended' || ends !== 1 || effects.at(-1) !== 'publishEnded') {
            t.fail(`${describe(start)}: ${[a, b, c].map((input) => input.type).join(', ')}`)
            return
          }
        }
      }
    }
  }
  t.pass('all sequences')
})
