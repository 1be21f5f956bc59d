import type { Ending } from './ending.js'

/*
 * The life of a call with one leg and one media session, as a pure function. The shell (`call.ts`)
 * runs the effects; every timer is an effect with a name.
 */

export type Direction = 'inbound' | 'outbound'

/**
 * `queued`: the media session is being made. `dialing`: our INVITE is out. `ringing`: the far phone
 * rings. `answering`: the 200 went (inbound, ACK awaited) or came, media is being connected.
 */
export type CallState =
  | { readonly at: 'queued'; readonly direction: Direction }
  | { readonly at: 'dialing' }
  | { readonly at: 'ringing' }
  | { readonly at: 'answering'; readonly direction: Direction }
  | { readonly at: 'live' }
  | { readonly at: 'held' }
  | {
      readonly at: 'ending'
      readonly ending: Ending
      /** What still has to report that it is closed. */
      readonly leg: boolean
      readonly media: boolean
    }
  | { readonly at: 'ended' }

export type TimerName = 'ring' | 'ack' | 'guard' | 'closing'

export type CallInput =
  | { readonly type: 'begin' }
  /** The media session has its port. */
  | { readonly type: 'mediaOpened' }
  /** A provisional answer from 180 on came to our INVITE. */
  | { readonly type: 'progress'; readonly sip: number }
  /** Both sides agreed on media: the 200 came (outbound), the ACK came (inbound). */
  | { readonly type: 'legAnswered' }
  /** The media session knows the far side and runs. */
  | { readonly type: 'mediaLive' }
  /** The peer holds or resumes us. */
  | { readonly type: 'hold'; readonly on: boolean }
  /** No packet from the far side for too long. */
  | { readonly type: 'mediaTimeout' }
  /** The leg is over by itself: BYE, CANCEL, refusal, loss. */
  | { readonly type: 'legEnded'; readonly ending: Ending }
  /** Anything of ours that wants the call to end. */
  | { readonly type: 'finish'; readonly ending: Ending }
  | { readonly type: 'legClosed' }
  | { readonly type: 'mediaClosed' }
  | { readonly type: 'timer'; readonly name: TimerName }

export type CallEffect =
  | { readonly do: 'openMedia' }
  /** 180 to the peer's INVITE. */
  | { readonly do: 'ring' }
  | { readonly do: 'sendInvite' }
  /** 200 to the peer's INVITE. */
  | { readonly do: 'answer' }
  | { readonly do: 'connectMedia' }
  /** CANCEL, BYE or a refusal, whatever fits; reports `legClosed`. */
  | { readonly do: 'endLeg'; readonly ending: Ending }
  /** Reports `mediaClosed`. */
  | { readonly do: 'closeMedia'; readonly ending: Ending }
  | { readonly do: 'publishDialing' }
  | { readonly do: 'publishRinging'; readonly sip: number }
  | { readonly do: 'publishAnswered' }
  | { readonly do: 'publishHeld'; readonly on: boolean }
  /** The last effect of every call. */
  | { readonly do: 'publishEnded'; readonly ending: Ending }
  | { readonly do: 'startTimer'; readonly name: TimerName }
  | { readonly do: 'cancelTimers' }

export interface Step {
  readonly next: CallState
  readonly effects: readonly CallEffect[]
}

/** An input a state does not expect changes nothing: the same state object, no effects. */
export function step(state: CallState, input: CallInput): Step {
  if (state.at === 'ended') return { next: state, effects: [] }
  if (state.at === 'ending') return stepEnding(state, input)

  // What ends a call does so in every state before the end.
  if (input.type === 'finish') return end(input.ending, true)
  if (input.type === 'legEnded') return end(input.ending, false)
  if (input.type === 'legClosed' || input.type === 'mediaClosed') return { next: state, effects: [] }
  if (input.type === 'timer' && input.name === 'guard') return end(GUARD, true)

  switch (state.at) {
    case 'queued':
      return stepQueued(state, input)
    case 'dialing':
    case 'ringing':
      return stepRinging(state, input)
    case 'answering':
      return stepAnswering(state, input)
    case 'live':
    case 'held':
      return stepLive(state, input)
  }
}

const GUARD: Ending = { by: 'engine', cause: 'internal', fault: 'ours', note: 'call outlived its limit' }
const RING_OUT: Ending = { by: 'engine', cause: 'no_answer', fault: 'none', note: 'ring timeout' }
const NO_ACK: Ending = { by: 'engine', cause: 'carrier_error', fault: 'carrier', note: 'ACK timeout' }
const NO_MEDIA: Ending = { by: 'engine', cause: 'carrier_error', fault: 'carrier', note: 'media timeout' }

/** BYE before media: the peer learns of the end first, and hears nothing cut off before it. */
function end(ending: Ending, legOpen: boolean): Step {
  const effects: CallEffect[] = [{ do: 'cancelTimers' }, { do: 'startTimer', name: 'closing' }]
  if (legOpen) effects.push({ do: 'endLeg', ending })
  effects.push({ do: 'closeMedia', ending })
  return { next: { at: 'ending', ending, leg: legOpen, media: true }, effects }
}

function stepQueued(state: CallState & { at: 'queued' }, input: CallInput): Step {
  if (input.type === 'begin') {
    const effects: CallEffect[] = [{ do: 'startTimer', name: 'guard' }]
    if (state.direction === 'inbound') effects.push({ do: 'ring' }, { do: 'publishRinging', sip: 180 })
    effects.push({ do: 'openMedia' })
    return { next: state, effects }
  }
  if (input.type === 'mediaOpened') {
    return state.direction === 'inbound'
      ? {
          next: { at: 'answering', direction: 'inbound' },
          effects: [{ do: 'startTimer', name: 'ack' }, { do: 'answer' }],
        }
      : {
          next: { at: 'dialing' },
          effects: [{ do: 'startTimer', name: 'ring' }, { do: 'publishDialing' }, { do: 'sendInvite' }],
        }
  }
  return { next: state, effects: [] }
}

function stepRinging(state: CallState & { at: 'dialing' | 'ringing' }, input: CallInput): Step {
  // 183 with media is progress too: only a 2xx is an answer.
  if (input.type === 'progress' && state.at === 'dialing')
    return { next: { at: 'ringing' }, effects: [{ do: 'publishRinging', sip: input.sip }] }
  if (input.type === 'legAnswered') return connect('outbound')
  if (input.type === 'timer' && input.name === 'ring') return end(RING_OUT, true)
  return { next: state, effects: [] }
}

function connect(direction: Direction): Step {
  return {
    next: { at: 'answering', direction },
    effects: [{ do: 'cancelTimers' }, { do: 'startTimer', name: 'guard' }, { do: 'connectMedia' }],
  }
}

function stepAnswering(state: CallState & { at: 'answering' }, input: CallInput): Step {
  if (input.type === 'legAnswered' && state.direction === 'inbound') return connect('inbound')
  if (input.type === 'mediaLive') return { next: { at: 'live' }, effects: [{ do: 'publishAnswered' }] }
  if (input.type === 'timer' && input.name === 'ack') return end(NO_ACK, true)
  return { next: state, effects: [] }
}

function stepLive(state: CallState & { at: 'live' | 'held' }, input: CallInput): Step {
  if (input.type === 'hold' && input.on !== (state.at === 'held'))
    return { next: { at: input.on ? 'held' : 'live' }, effects: [{ do: 'publishHeld', on: input.on }] }
  // A peer that holds us may rightly send nothing.
  if (input.type === 'mediaTimeout' && state.at === 'live') return end(NO_MEDIA, true)
  return { next: state, effects: [] }
}

function stepEnding(state: CallState & { at: 'ending' }, input: CallInput): Step {
  // The watchdog: whatever does not close, the call is over.
  if (input.type === 'timer' && input.name === 'closing') return over(state.ending)
  const leg = state.leg && input.type !== 'legClosed' && input.type !== 'legEnded'
  const media = state.media && input.type !== 'mediaClosed'
  if (leg === state.leg && media === state.media) return { next: state, effects: [] }
  return leg || media ? { next: { ...state, leg, media }, effects: [] } : over(state.ending)
}

function over(ending: Ending): Step {
  return { next: { at: 'ended' }, effects: [{ do: 'cancelTimers' }, { do: 'publishEnded', ending }] }
}
