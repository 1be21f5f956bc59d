import type { CallEnder, TransferOutcome } from './transfer-machine.js'

/*
 * The takeovers of one call as a pure function: a person takes the caller over from the agent and may give the caller back.
 * The agent talks on until the person has the caller. The call runs the effects; every timer is a named effect.
 */

/** How a takeover ended: values of the API field `outcome` (an open set). */
export type TakeoverOutcome =
  | Exclude<TransferOutcome, 'connected' | 'caller_hung_up' | 'caller_returned'>
  /** The person gave the caller back to the agent. */
  | 'given_back'
  /** The person hung up, or was lost, and the agent has the caller again. */
  | 'left'
  /** Given up before the person had the caller. */
  | 'withdrawn'

export type TakeoverState =
  | { readonly kind: 'idle' }
  /** The person's phone is called. `confirms`: a key is asked for, because a mailbox presses none. */
  | { readonly kind: 'calling'; readonly confirms: boolean }
  /** The person answered and is asked for a key. */
  | { readonly kind: 'confirming' }
  /** The caller hears that a person comes. */
  | { readonly kind: 'announcing' }
  /** Caller and person talk; the agent is away. */
  | { readonly kind: 'taken' }
  /** The agent has the caller; the person's leg is being ended. */
  | { readonly kind: 'leaving' }
  /** The call ends, and the person who was asked for a key hears that. */
  | { readonly kind: 'parting' }
  | { readonly kind: 'over' }

export type TakeoverTimerName = 'ring' | 'confirm' | 'line' | 'leaving' | 'parting' | 'tail'

export type TakeoverInput =
  | { readonly type: 'request'; readonly confirms: boolean }
  /** The person answered and the media of the leg runs. */
  | { readonly type: 'answered' }
  /** The person pressed the key. */
  | { readonly type: 'confirmed' }
  | { readonly type: 'declined' }
  /** The caller heard that a person comes. */
  | { readonly type: 'announced' }
  /** The caller is to have the agent again. */
  | { readonly type: 'release' }
  /** The leg ended without our doing, or could not be made. `outcome` counts before the person had the caller. */
  | { readonly type: 'legEnded'; readonly outcome: TakeoverOutcome }
  /** The leg that we ended is closed. */
  | { readonly type: 'legClosed' }
  | { readonly type: 'callEnding'; readonly by: CallEnder }
  /** The person was told that the call ends. */
  | { readonly type: 'parted' }
  | { readonly type: 'timer'; readonly name: TakeoverTimerName }

export type TakeoverEffect =
  /** Calls the person on a leg of its own; reports `legEnded` when it is not allowed. */
  | { readonly type: 'dial' }
  /** Asks the person for a key; reports `confirmed` or `declined`. */
  | { readonly type: 'askForKey' }
  /** Tells the caller that a person comes; reports `announced`. */
  | { readonly type: 'announce' }
  /** Connects caller and person; the agent is away from now on. */
  | { readonly type: 'connect' }
  /** Gives the caller back to the agent, and tells the agent what happened. */
  | { readonly type: 'returnToAgent' }
  /** Tells the person that the call ends; reports `parted`. The call keeps its media session meanwhile. */
  | { readonly type: 'part'; readonly by: 'caller' | 'other' }
  /** The media session of the call is not needed any longer. */
  | { readonly type: 'releaseSession' }
  /** Sends CANCEL or BYE to the person; reports `legClosed`. */
  | { readonly type: 'dropLeg' }
  | { readonly type: 'publishBegun' }
  | { readonly type: 'publishOver'; readonly outcome: TakeoverOutcome }
  | { readonly type: 'startTimer'; readonly name: TakeoverTimerName }
  | { readonly type: 'cancelTimers' }

export interface TakeoverStep {
  readonly next: TakeoverState
  readonly effects: readonly TakeoverEffect[]
}

const CANCEL: TakeoverEffect = { type: 'cancelTimers' }
const DROP: TakeoverEffect = { type: 'dropLeg' }

/** Returns the next state and its effects. An unexpected input returns the same state object and no effects. */
export function step(state: TakeoverState, input: TakeoverInput): TakeoverStep {
  switch (state.kind) {
    case 'over':
      return same(state)
    case 'idle':
      return stepIdle(state, input)
    case 'taken':
      return stepTaken(state, input)
    case 'leaving':
      return stepLeaving(state, input)
    case 'parting':
      return stepParting(state, input)
    default:
      return stepComing(state, input)
  }
}

function same(state: TakeoverState): TakeoverStep {
  return { next: state, effects: [] }
}

function timer(name: TakeoverTimerName): TakeoverEffect {
  return { type: 'startTimer', name }
}

function over(outcome: TakeoverOutcome): TakeoverEffect {
  return { type: 'publishOver', outcome }
}

function stepIdle(state: TakeoverState, input: TakeoverInput): TakeoverStep {
  if (input.type === 'callEnding') return { next: { kind: 'over' }, effects: [] }
  if (input.type !== 'request') return same(state)
  return { next: { kind: 'calling', confirms: input.confirms }, effects: [timer('ring'), { type: 'dial' }] }
}

/** The agent still has the caller. */
function stepComing(
  state: TakeoverState & { kind: 'calling' | 'confirming' | 'announcing' },
  input: TakeoverInput,
): TakeoverStep {
  switch (input.type) {
    case 'callEnding':
      return canceled(state, input.by)
    case 'legEnded':
      return { next: { kind: 'idle' }, effects: [CANCEL, over(input.outcome)] }
    case 'release':
      return dropped('withdrawn')
    case 'declined':
      return state.kind === 'confirming' ? dropped('declined') : same(state)
    case 'answered':
      if (state.kind !== 'calling') return same(state)
      return state.confirms ? confirm() : announce()
    case 'confirmed':
      return state.kind === 'confirming' ? announce() : same(state)
    case 'announced':
      return state.kind === 'announcing' ? connect() : same(state)
    case 'timer':
      if (input.name === 'line') return state.kind === 'announcing' ? connect() : same(state)
      if (input.name === 'ring') return state.kind === 'calling' ? dropped('no_answer') : same(state)
      if (input.name === 'confirm') return state.kind === 'confirming' ? dropped('no_answer') : same(state)
      return same(state)
    default:
      return same(state)
  }
}

/** A person who was asked for a key is told that the call ends. Any other leg ends at once. */
function canceled(
  { kind }: TakeoverState & { kind: 'calling' | 'confirming' | 'announcing' },
  by: CallEnder,
): TakeoverStep {
  if (kind === 'calling' || by === 'shutdown')
    return { next: { kind: 'over' }, effects: [CANCEL, DROP, over('call_ended')] }
  return {
    next: { kind: 'parting' },
    effects: [CANCEL, over('call_ended'), timer('parting'), { type: 'part', by }],
  }
}

function confirm(): TakeoverStep {
  return { next: { kind: 'confirming' }, effects: [CANCEL, timer('confirm'), { type: 'askForKey' }] }
}

function announce(): TakeoverStep {
  return { next: { kind: 'announcing' }, effects: [CANCEL, timer('line'), { type: 'announce' }] }
}

function connect(): TakeoverStep {
  return { next: { kind: 'taken' }, effects: [CANCEL, { type: 'connect' }, { type: 'publishBegun' }] }
}

/** Ends a leg whose person never had the caller. */
function dropped(outcome: TakeoverOutcome): TakeoverStep {
  return { next: { kind: 'leaving' }, effects: [CANCEL, over(outcome), timer('leaving'), DROP] }
}

function stepTaken(state: TakeoverState, input: TakeoverInput): TakeoverStep {
  switch (input.type) {
    case 'callEnding':
      return { next: { kind: 'over' }, effects: [DROP, over('call_ended')] }
    case 'release':
      // The caller hears the agent before the person's leg is gone.
      return {
        next: { kind: 'leaving' },
        effects: [{ type: 'returnToAgent' }, over('given_back'), timer('leaving'), DROP],
      }
    case 'legEnded':
      return { next: { kind: 'idle' }, effects: [{ type: 'returnToAgent' }, over('left')] }
    default:
      return same(state)
  }
}

function stepLeaving(state: TakeoverState, input: TakeoverInput): TakeoverStep {
  switch (input.type) {
    case 'callEnding':
      return { next: { kind: 'over' }, effects: [CANCEL] }
    case 'legClosed':
    case 'legEnded':
      return { next: { kind: 'idle' }, effects: [CANCEL] }
    case 'timer':
      return input.name === 'leaving' ? { next: { kind: 'idle' }, effects: [CANCEL] } : same(state)
    default:
      return same(state)
  }
}

/** The BYE follows the end of the line by a moment, so that the person hears all of it. */
function stepParting(state: TakeoverState, input: TakeoverInput): TakeoverStep {
  const release: TakeoverEffect = { type: 'releaseSession' }
  const ended = { next: { kind: 'over' }, effects: [CANCEL, DROP, release] } as const
  switch (input.type) {
    case 'parted':
      return { next: state, effects: [timer('tail')] }
    case 'legEnded':
      return { next: { kind: 'over' }, effects: [CANCEL, release] }
    case 'callEnding':
      return ended
    case 'timer':
      return input.name === 'parting' || input.name === 'tail' ? ended : same(state)
    default:
      return same(state)
  }
}
