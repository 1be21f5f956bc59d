import { type Ending, RING_OUT } from './ending.js'

/*
 * The life of a call and its media session as a pure function: with one leg, or forwarded to a second one. Transfers have
 * a machine of their own (`transfer-machine.ts`). `call.ts` runs the effects;
 * every timer is a named effect.
 */

export type CallDirection = 'inbound' | 'outbound'

/**
 * `queued`: the media session is being opened. `dialing`: our INVITE was sent. `ringing`: the callee rings.
 * `answering`: the 200 was sent (inbound, ACK pending) or received, and media is being connected.
 */
export type CallState =
  | { readonly kind: 'queued'; readonly direction: CallDirection; readonly forwards?: true }
  /** An inbound call that another person is to answer: that leg is dialled, the caller waits. */
  | {
      readonly kind: 'forwarding'
      readonly ringing: boolean
      /** He hears what that leg has before its answer. */
      readonly early?: true
    }
  | { readonly kind: 'dialing' }
  | { readonly kind: 'ringing' }
  | {
      readonly kind: 'answering'
      readonly direction: CallDirection
      /** The answer is agreed (ACK sent or received), so the call counts as answered even if it ends now. */
      readonly agreed?: true
      /**
       * True if the call was published as answered when the person answered: the leg of the person costs from then
       * on.
       */
      readonly published?: true
    }
  | { readonly kind: 'live' }
  | { readonly kind: 'held' }
  /** The last words are being said; the first ending counts. */
  | { readonly kind: 'parting'; readonly ending: Ending }
  | {
      readonly kind: 'ending'
      readonly ending: Ending
      /** The leg still has to report that it is closed; `media` likewise. */
      readonly leg: boolean
      readonly media: boolean
      /** Our 200 was sent, and its ACK has not arrived yet. */
      readonly unacknowledged?: true
    }
  | { readonly kind: 'ended' }

/** `guard` bounds the agent's part of a call, `reaper` the whole call. */
export type CallTimerName = 'ring' | 'ack' | 'guard' | 'reaper' | 'parting' | 'closing'

export type CallInput =
  | { readonly type: 'begin' }
  /** The media session has its RTP port. */
  | { readonly type: 'mediaOpened' }
  /** A provisional response of 180 or above arrived for our INVITE. */
  | { readonly type: 'progress'; readonly sip: number }
  /** Both sides agreed on media: the 200 arrived (outbound) or the ACK arrived (inbound). */
  | { readonly type: 'legAnswered' }
  /** The media session has the remote address and runs. */
  | { readonly type: 'mediaLive' }
  /** The peer puts us on hold or resumes. */
  | { readonly type: 'hold'; readonly on: boolean }
  /** The far side sends no media and is gone, or can send none any more. */
  | { readonly type: 'mediaLost' }
  /** The leg ended without our doing: BYE, CANCEL, refusal or loss of the connection. */
  | { readonly type: 'legEnded'; readonly ending: Ending }
  /** Parley ends the call. */
  | { readonly type: 'finish'; readonly ending: Ending }
  /** Parley ends the call with last words; at once when no party would hear them. */
  | { readonly type: 'finishWithLine'; readonly ending: Ending; readonly line: string }
  /** The last words were said. */
  | { readonly type: 'lineSaid' }
  /** The agent left the call to a person. */
  | { readonly type: 'agentReleased' }
  /** The agent has the call again. */
  | { readonly type: 'agentReturned' }
  /** The leg of the person to whom the call is forwarded. */
  | { readonly type: 'personRinging'; readonly sip: number; readonly early?: true }
  | { readonly type: 'personAnswered' }
  | { readonly type: 'personEnded'; readonly ending: Ending }
  | { readonly type: 'legClosed' }
  | { readonly type: 'mediaClosed' }
  | { readonly type: 'timer'; readonly name: CallTimerName }

export type CallEffect =
  | { readonly type: 'openMedia' }
  /** Sends 180 to the peer's INVITE. */
  | { readonly type: 'ring' }
  /** Sends 183 to the peer's INVITE and connects it with the early media of the person. */
  | { readonly type: 'ringEarly' }
  | { readonly type: 'sendInvite' }
  /** Dials the person to whom the call is forwarded. */
  | { readonly type: 'dialPerson' }
  /** Sends 200 to the peer's INVITE. */
  | { readonly type: 'answer' }
  | { readonly type: 'connectMedia' }
  /** Sends CANCEL, BYE or a refusal, depending on the state of the leg; reports `legClosed`. */
  | { readonly type: 'endLeg'; readonly ending: Ending }
  /** Says the last words to all; reports `lineSaid`. */
  | { readonly type: 'sayLine'; readonly line: string }
  /** Closes the media session; reports `mediaClosed`. */
  | { readonly type: 'closeMedia'; readonly ending: Ending }
  | { readonly type: 'publishDialing' }
  | { readonly type: 'publishRinging'; readonly sip: number }
  | { readonly type: 'publishAnswered' }
  | { readonly type: 'publishHeld'; readonly on: boolean }
  /** Publishes the end; the last effect of every call. */
  | { readonly type: 'publishEnded'; readonly ending: Ending }
  | { readonly type: 'startTimer'; readonly name: CallTimerName }
  | { readonly type: 'cancelTimer'; readonly name: CallTimerName }
  | { readonly type: 'cancelTimers' }

export interface CallStep {
  readonly next: CallState
  readonly effects: readonly CallEffect[]
}

/**
 * Returns the next state and its effects. An unexpected input returns the same state object and no effects.
 */
export function step(state: CallState, input: CallInput): CallStep {
  if (state.kind === 'ended') return { next: state, effects: [] }
  if (state.kind === 'ending') return stepEnding(state, input)
  if (state.kind === 'parting') return stepParting(state, input)

  if (state.kind === 'answering') return stepAnswering(state, input)
  return endingStep(input) ?? stepOther(state, input)
}

/** Returns the step for an input that ends the call in every state, or null. */
function endingStep(input: CallInput): CallStep | null {
  if (input.type === 'finish') return end(input.ending, true)
  if (input.type === 'legEnded') return end(input.ending, false)
  if (input.type === 'personEnded') return end(input.ending, true)
  if (input.type === 'timer' && (input.name === 'guard' || input.name === 'reaper')) return end(GUARD, true)
  return null
}

function stepOther(
  state: CallState & { kind: 'queued' | 'forwarding' | 'dialing' | 'ringing' | 'live' | 'held' },
  input: CallInput,
): CallStep {
  if (input.type === 'legClosed' || input.type === 'mediaClosed') return { next: state, effects: [] }
  if (input.type === 'finishWithLine' && state.kind !== 'live') return end(input.ending, true)
  switch (state.kind) {
    case 'queued':
      return stepQueued(state, input)
    case 'forwarding':
      return stepForwarding(state, input)
    case 'dialing':
    case 'ringing':
      return stepRinging(state, input)
    case 'live':
    case 'held':
      return stepLive(state, input)
  }
}

const GUARD: Ending = { by: 'engine', cause: 'internal', fault: 'ours', note: 'call outlived its limit' }
const NO_ACK: Ending = { by: 'engine', cause: 'carrier_error', fault: 'carrier', note: 'ACK timeout' }
const NO_MEDIA: Ending = {
  by: 'engine',
  cause: 'carrier_error',
  fault: 'carrier',
  note: 'media timeout',
  closeReason: 'media_timeout',
}

/** Sends BYE before it closes media, so that the peer does not hear cut-off audio before the BYE. */
function end(ending: Ending, legOpen: boolean): CallStep {
  const effects: CallEffect[] = [{ type: 'cancelTimers' }, { type: 'startTimer', name: 'closing' }]
  if (legOpen) effects.push({ type: 'endLeg', ending })
  effects.push({ type: 'closeMedia', ending })
  return { next: { kind: 'ending', ending, leg: legOpen, media: true }, effects }
}

function stepQueued(state: CallState & { kind: 'queued' }, input: CallInput): CallStep {
  if (input.type === 'begin') {
    const effects: CallEffect[] = [{ type: 'startTimer', name: 'guard' }]
    if (state.direction === 'inbound' && state.forwards === undefined)
      effects.push({ type: 'ring' }, { type: 'publishRinging', sip: 180 })
    effects.push({ type: 'openMedia' })
    return { next: state, effects }
  }
  if (input.type === 'mediaOpened') {
    if (state.forwards) {
      return {
        next: { kind: 'forwarding', ringing: false },
        effects: [{ type: 'startTimer', name: 'ring' }, { type: 'dialPerson' }],
      }
    }
    return state.direction === 'inbound'
      ? {
          next: { kind: 'answering', direction: 'inbound' },
          effects: [{ type: 'startTimer', name: 'ack' }, { type: 'answer' }],
        }
      : {
          next: { kind: 'dialing' },
          effects: [{ type: 'startTimer', name: 'ring' }, { type: 'publishDialing' }, { type: 'sendInvite' }],
        }
  }
  return { next: state, effects: [] }
}

/** The caller gets what happens at the person: ringing, the answer, or a refusal. */
function stepForwarding(state: CallState & { kind: 'forwarding' }, input: CallInput): CallStep {
  if (input.type === 'personRinging') {
    const effects: CallEffect[] = []
    if (input.early && !state.early) effects.push({ type: 'ringEarly' })
    else if (!state.ringing) effects.push({ type: 'ring' })
    if (!state.ringing) effects.push({ type: 'publishRinging', sip: input.sip })
    if (effects.length === 0) return { next: state, effects }
    const early = input.early || state.early ? ({ early: true } as const) : {}
    return { next: { kind: 'forwarding', ringing: true, ...early }, effects }
  }
  if (input.type === 'personAnswered') {
    return {
      next: { kind: 'answering', direction: 'inbound', published: true },
      effects: [
        { type: 'cancelTimer', name: 'ring' },
        { type: 'startTimer', name: 'ack' },
        { type: 'publishAnswered' },
        { type: 'answer' },
      ],
    }
  }
  if (input.type === 'timer' && input.name === 'ring') return end(RING_OUT, true)
  return { next: state, effects: [] }
}

function stepRinging(state: CallState & { kind: 'dialing' | 'ringing' }, input: CallInput): CallStep {
  // A 183 with media counts as progress; only a 2xx answers the call.
  if (input.type === 'progress' && state.kind === 'dialing')
    return { next: { kind: 'ringing' }, effects: [{ type: 'publishRinging', sip: input.sip }] }
  if (input.type === 'legAnswered') return connect('outbound')
  if (input.type === 'timer' && input.name === 'ring') return end(RING_OUT, true)
  return { next: state, effects: [] }
}

function connect(direction: CallDirection, published: { readonly published?: true } = {}): CallStep {
  return {
    next: { kind: 'answering', direction, agreed: true, ...published },
    effects: [
      { type: 'cancelTimers' },
      { type: 'startTimer', name: 'guard' },
      { type: 'startTimer', name: 'reaper' },
      { type: 'connectMedia' },
    ],
  }
}

function stepAnswering(state: CallState & { kind: 'answering' }, input: CallInput): CallStep {
  if (input.type === 'finishWithLine') return stepAnswering(state, { type: 'finish', ending: input.ending })
  const ending = endingStep(input)
  if (ending !== null) return endAnswering(state, ending)
  if (input.type === 'legAnswered' && state.direction === 'inbound' && !state.agreed)
    return connect('inbound', state.published ? { published: true } : {})
  if (input.type === 'mediaLive')
    return { next: { kind: 'live' }, effects: state.published ? [] : [{ type: 'publishAnswered' }] }
  if (input.type === 'timer' && input.name === 'ack') return end(NO_ACK, true)
  return { next: state, effects: [] }
}

/** The record of the call agrees with SIP: after an agreed answer, the call was answered. */
function endAnswering(
  { agreed, published }: CallState & { kind: 'answering' },
  { next, effects }: CallStep,
): CallStep {
  if (published) return { next, effects }
  if (agreed) return { next, effects: [{ type: 'publishAnswered' }, ...effects] }
  if (next.kind !== 'ending' || !next.leg) return { next, effects }
  return { next: { ...next, unacknowledged: true }, effects }
}

function stepLive(state: CallState & { kind: 'live' | 'held' }, input: CallInput): CallStep {
  if (input.type === 'finishWithLine') {
    return {
      next: { kind: 'parting', ending: input.ending },
      effects: [
        { type: 'startTimer', name: 'parting' },
        { type: 'sayLine', line: input.line },
      ],
    }
  }
  if (input.type === 'agentReleased')
    return { next: state, effects: [{ type: 'cancelTimer', name: 'guard' }] }
  if (input.type === 'agentReturned') return { next: state, effects: [{ type: 'startTimer', name: 'guard' }] }
  if (input.type === 'hold' && input.on !== (state.kind === 'held'))
    return { next: { kind: input.on ? 'held' : 'live' }, effects: [{ type: 'publishHeld', on: input.on }] }
  if (input.type === 'mediaLost') return end(NO_MEDIA, true)
  return { next: state, effects: [] }
}

/** Whatever happens meanwhile, the call ends as it was asked to. */
function stepParting(state: CallState & { kind: 'parting' }, input: CallInput): CallStep {
  switch (input.type) {
    case 'legEnded':
      return end(state.ending, false)
    case 'personEnded':
    case 'lineSaid':
    case 'finish':
    case 'mediaLost':
    case 'timer':
      return end(state.ending, true)
    default:
      return { next: state, effects: [] }
  }
}

function stepEnding(state: CallState & { kind: 'ending' }, input: CallInput): CallStep {
  // Watchdog: the call ends even if the leg or the media session never reports its close.
  if (input.type === 'timer' && input.name === 'closing') return over(state.ending)
  if (state.unacknowledged && input.type === 'legAnswered') {
    const { unacknowledged: _, ...next } = state
    return { next, effects: [{ type: 'publishAnswered' }] }
  }
  const leg = state.leg && input.type !== 'legClosed' && input.type !== 'legEnded'
  const media = state.media && input.type !== 'mediaClosed'
  if (leg === state.leg && media === state.media) return { next: state, effects: [] }
  return leg || media ? { next: { ...state, leg, media }, effects: [] } : over(state.ending)
}

function over(ending: Ending): CallStep {
  return { next: { kind: 'ended' }, effects: [{ type: 'cancelTimers' }, { type: 'publishEnded', ending }] }
}
