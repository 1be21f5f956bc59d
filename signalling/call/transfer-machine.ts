/*
 * The transfers of one call as a pure function: the agent hands the caller to a person, in at most two attempts.
 * The call runs the effects; every timer is a named effect.
 */

/**
 * `blind`: the person is connected when the phone is answered, or on early media if the carrier never reports that. `screened`: the person hears a brief and presses a
 * key. `consult`: the agent briefs the person, who accepts.
 */
export type TransferMode = 'blind' | 'screened' | 'consult'

/** The longest sequence of attempts in one call. */
export const MAX_ATTEMPTS = 2

/** Times a person hears the brief and the request for a key. */
const SCREEN_PROMPTS = 2

/** How an attempt ended: values of the API field `outcome` (an open set). */
export type TransferOutcome =
  | 'connected'
  | 'no_answer'
  | 'busy'
  | 'declined'
  | 'caller_hung_up'
  /** The caller asked for the agent while waiting. */
  | 'caller_returned'
  | 'call_ended'
  | 'carrier_error'
  | 'destination_unavailable'

/** Why a request is refused: the values of the API field `refusal` that only the call can decide. */
export type TransferRefusal = 'transfer_in_progress' | 'attempts_exhausted' | 'call_ending'

/** Values of the API field `status` of an attempt. */
export type TransferStatus =
  | 'accepted'
  | 'ringing'
  | 'answered'
  | 'bridged'
  | 'completed'
  | 'missed'
  | 'declined'
  | 'failed'
  | 'canceled'

export interface TransferAttempt {
  /** 1 or 2. */
  readonly number: number
  readonly mode: TransferMode
  /** Key of the destination, which only the caller of the machine understands. */
  readonly destination: string
  /** Destination of the second attempt if this one fails; null returns the caller to the agent. */
  readonly fallback: string | null
}

export type TransferState =
  /** The agent has the caller; `attempts` were made. */
  | { readonly kind: 'idle'; readonly attempts: number }
  /** The person's phone is called. `announcing`: the caller still hears the line that precedes a transfer. */
  | {
      readonly kind: 'calling'
      readonly attempt: TransferAttempt
      readonly announcing: boolean
      readonly ringing: boolean
    }
  /** The person hears the brief and may press a key. */
  | {
      readonly kind: 'screening'
      readonly attempt: TransferAttempt
      readonly announcing: boolean
      readonly prompts: number
    }
  /** Agent and person talk; the caller waits. */
  | { readonly kind: 'consulting'; readonly attempt: TransferAttempt; readonly announcing: boolean }
  /** Caller and person talk; the agent left. `early`: on media before the answer of a carrier that never reports it. */
  | { readonly kind: 'bridged'; readonly attempt: TransferAttempt; readonly early?: true }
  /** The call ends, and the person who was told about the caller hears that. */
  | { readonly kind: 'parting' }
  /** The person's leg is being ended; `next` follows, or the agent has the caller already. */
  | {
      readonly kind: 'leaving'
      readonly attempts: number
      readonly next: TransferAttempt | null
      /** The caller still hears the line; always false when the agent has the caller. */
      readonly announcing: boolean
    }
  | { readonly kind: 'over' }

export type TransferTimerName = 'line' | 'ring' | 'screen' | 'consult' | 'leaving' | 'parting' | 'tail'

/**
 * The cause of the end of a call: the caller hung up, or the service stops and waits for nothing. `other`: the API or a limit
 * ended it, or its worker died.
 */
export type CallEnder = 'caller' | 'shutdown' | 'other'

export type TransferInput =
  | {
      readonly type: 'request'
      readonly mode: TransferMode
      readonly destination: string
      readonly fallback: string | null
    }
  /** The caller heard the line that precedes a transfer. */
  | { readonly type: 'announced' }
  /** The person's phone rings. */
  | { readonly type: 'ringing' }
  /** The leg has media before its answer, over a carrier that never reports answers. */
  | { readonly type: 'early' }
  /** The person answered and the media of the leg runs. */
  | { readonly type: 'answered' }
  /** The person accepts, by key or to the agent. */
  | { readonly type: 'accepted' }
  | { readonly type: 'declined' }
  /** The caller does not want to wait any longer. */
  | { readonly type: 'withdrawn' }
  /** The leg ended without our doing, or could not be made. `outcome` counts before the person was connected. */
  | { readonly type: 'legEnded'; readonly outcome: TransferOutcome }
  /** The leg that we ended is closed. */
  | { readonly type: 'legClosed' }
  | { readonly type: 'callEnding'; readonly by: CallEnder }
  /** The person was told that the call ends. */
  | { readonly type: 'parted' }
  | { readonly type: 'timer'; readonly name: TransferTimerName }

/**
 * Audio between the parties of a call. `agent`: caller and agent. `waiting`: the caller hears the wait, the agent is
 * silent. `screening`: as `waiting`, and the person hears the brief. `consulting`: agent and person; the caller hears the
 * wait. `bridged`: caller and person; it cuts what either of them hears. `parting`: no party hears another one, and no
 * recogniser hears any. A wait that plays goes on over the next route, except `agent` and `bridged`.
 */
export type TransferRoute = 'agent' | 'waiting' | 'screening' | 'consulting' | 'bridged' | 'parting'

export type TransferEffect =
  | { readonly type: 'refuse'; readonly refusal: TransferRefusal }
  /** Reports a step of an attempt. The first is `accepted`. */
  | {
      readonly type: 'publish'
      readonly attempt: TransferAttempt
      readonly status: TransferStatus
      readonly outcome: TransferOutcome | null
      /** With `bridged`: no answer of the person is reported yet. */
      readonly early?: true
    }
  | { readonly type: 'route'; readonly route: TransferRoute }
  /** Says the line that precedes a transfer; reports `announced`. */
  | { readonly type: 'announce' }
  /** Plays what the caller hears while waiting, until `agent` or `bridged`. */
  | { readonly type: 'playWait'; readonly sound: 'ringback' | 'music' }
  /** Calls the destination on a leg of its own; reports `legEnded` when it is not allowed. */
  | { readonly type: 'dial'; readonly attempt: TransferAttempt }
  /** Says the brief to the person and reads one key; reports `accepted` or `declined`. */
  | { readonly type: 'screen' }
  /** Asks the agent to brief the person. */
  | { readonly type: 'brief' }
  /** Tells the person that the call ends; reports `parted`. The call keeps its media session meanwhile. */
  | { readonly type: 'part'; readonly by: 'caller' | 'other' }
  /** The media session of the call is not needed any longer. */
  | { readonly type: 'releaseSession' }
  /** Sends CANCEL or BYE to the person; reports `legClosed`. */
  | { readonly type: 'dropLeg' }
  /** Gives the caller back to the agent, which says why. */
  | { readonly type: 'returnToAgent'; readonly outcome: TransferOutcome }
  /** Ends the agent's part: from now on its limits do not count. */
  | { readonly type: 'releaseAgent' }
  /** Ends the call because the person hung up. */
  | { readonly type: 'endCall' }
  | { readonly type: 'startTimer'; readonly name: TransferTimerName }
  | { readonly type: 'cancelTimers' }

export interface TransferStep {
  readonly next: TransferState
  readonly effects: readonly TransferEffect[]
}

/** An attempt with an open leg whose person is not connected yet. */
type Pending = Extract<TransferState, { kind: 'calling' | 'screening' | 'consulting' }>

const CANCEL: TransferEffect = { type: 'cancelTimers' }
const DROP: TransferEffect = { type: 'dropLeg' }

/** Returns the next state and its effects. An unexpected input returns the same state object and no effects. */
export function step(state: TransferState, input: TransferInput): TransferStep {
  if (input.type === 'request') return requested(state, input)
  switch (state.kind) {
    case 'over':
      return same(state)
    case 'idle':
      return input.type === 'callEnding' ? over([]) : same(state)
    case 'leaving':
      return stepLeaving(state, input)
    case 'bridged':
      return stepBridged(state, input)
    case 'parting':
      return stepParting(state, input)
    default:
      return stepPending(state, input)
  }
}

function same(state: TransferState): TransferStep {
  return { next: state, effects: [] }
}

function over(effects: readonly TransferEffect[]): TransferStep {
  return { next: { kind: 'over' }, effects }
}

function timer(name: TransferTimerName): TransferEffect {
  return { type: 'startTimer', name }
}

function publish(
  attempt: TransferAttempt,
  status: TransferStatus,
  outcome: TransferOutcome | null = null,
): TransferEffect & { readonly type: 'publish' } {
  return { type: 'publish', attempt, status, outcome }
}

function requested(state: TransferState, input: TransferInput & { readonly type: 'request' }): TransferStep {
  const refuse = (refusal: TransferRefusal): TransferStep => ({
    next: state,
    effects: [{ type: 'refuse', refusal }],
  })
  if (state.kind === 'over' || state.kind === 'parting') return refuse('call_ending')
  if (state.kind !== 'idle') return refuse('transfer_in_progress')
  if (state.attempts >= MAX_ATTEMPTS) return refuse('attempts_exhausted')
  const { mode, destination, fallback } = input
  const attempt = { number: state.attempts + 1, mode, destination, fallback }
  return {
    next: { kind: 'calling', attempt, announcing: true, ringing: false },
    effects: [
      publish(attempt, 'accepted'),
      { type: 'route', route: 'waiting' },
      timer('line'),
      { type: 'announce' },
      timer('ring'),
      { type: 'dial', attempt },
    ],
  }
}

function stepPending(state: Pending, input: TransferInput): TransferStep {
  const { attempt } = state
  switch (input.type) {
    case 'callEnding':
      return canceled(state, input.by)
    case 'announced':
      return announced(state)
    case 'legEnded':
      return missed(state, input.outcome, false)
    case 'declined':
      return state.kind === 'calling' ? same(state) : missed(state, 'declined', true)
    case 'accepted':
      return state.kind === 'calling' ? same(state) : bridge(attempt, [])
    case 'withdrawn':
      return missed({ ...state, attempt: { ...attempt, fallback: null } }, 'caller_returned', true)
    case 'early':
      // A person who has to decide first has to answer first.
      if (state.kind !== 'calling' || attempt.mode !== 'blind') return step(state, { type: 'ringing' })
      return bridge(attempt, state.ringing ? [] : [publish(attempt, 'ringing')], true)
    case 'ringing':
      if (state.kind !== 'calling' || state.ringing) return same(state)
      return { next: { ...state, ringing: true }, effects: [publish(attempt, 'ringing')] }
    case 'answered':
      return state.kind === 'calling' ? answered(state) : same(state)
    case 'timer':
      return timedOut(state, input.name)
    default:
      return same(state)
  }
}

/** A person who was told about the caller is told that the call ends. Any other attempt ends at once. */
function canceled({ kind, attempt }: Pending, by: CallEnder): TransferStep {
  const report = publish(attempt, 'canceled', by === 'caller' ? 'caller_hung_up' : 'call_ended')
  if (kind === 'calling' || by === 'shutdown') return over([CANCEL, DROP, report])
  return {
    next: { kind: 'parting' },
    effects: [CANCEL, report, { type: 'route', route: 'parting' }, timer('parting'), { type: 'part', by }],
  }
}

/** Returns the effect that the caller hears after the line, as long as no person is connected. */
function playWait({ mode }: TransferAttempt): TransferEffect {
  return { type: 'playWait', sound: mode === 'blind' ? 'ringback' : 'music' }
}

function announced(state: Pending): TransferStep {
  if (!state.announcing) return same(state)
  return { next: { ...state, announcing: false }, effects: [playWait(state.attempt)] }
}

function answered({ attempt, announcing }: Pending): TransferStep {
  // The line to the caller goes on, so its timer does too.
  const begin: TransferEffect[] = [CANCEL, ...(announcing ? [timer('line')] : [])]
  switch (attempt.mode) {
    case 'blind':
      return bridge(attempt, [publish(attempt, 'answered')])
    case 'screened':
      return {
        next: { kind: 'screening', attempt, announcing, prompts: 1 },
        effects: [
          ...begin,
          publish(attempt, 'answered'),
          { type: 'route', route: 'screening' },
          timer('screen'),
          { type: 'screen' },
        ],
      }
    case 'consult':
      return {
        next: { kind: 'consulting', attempt, announcing },
        effects: [
          ...begin,
          publish(attempt, 'answered'),
          { type: 'route', route: 'consulting' },
          timer('consult'),
          { type: 'brief' },
        ],
      }
  }
}

function bridge(attempt: TransferAttempt, before: readonly TransferEffect[], isEarly = false): TransferStep {
  const early = isEarly ? ({ early: true } as const) : {}
  return {
    next: { kind: 'bridged', attempt, ...early },
    effects: [
      CANCEL,
      // The caller hears the person first; everything else can wait.
      { type: 'route', route: 'bridged' },
      ...before,
      { ...publish(attempt, 'bridged', 'connected'), ...early },
      { type: 'releaseAgent' },
    ],
  }
}

function timedOut(state: Pending, name: TransferTimerName): TransferStep {
  switch (name) {
    case 'line':
      return announced(state)
    case 'ring':
      return state.kind === 'calling' ? missed(state, 'no_answer', true) : same(state)
    case 'screen':
      if (state.kind !== 'screening') return same(state)
      // A mailbox presses no key, so it never gets the caller.
      if (state.prompts >= SCREEN_PROMPTS) return missed(state, 'no_answer', true)
      return {
        next: { ...state, prompts: state.prompts + 1 },
        effects: [timer('screen'), { type: 'screen' }],
      }
    case 'consult':
      return state.kind === 'consulting' ? missed(state, 'no_answer', true) : same(state)
    case 'leaving':
    case 'parting':
    case 'tail':
      return same(state)
  }
}

const MISSED: Readonly<Record<TransferOutcome, TransferStatus>> = {
  connected: 'completed',
  no_answer: 'missed',
  busy: 'missed',
  declined: 'declined',
  caller_hung_up: 'canceled',
  caller_returned: 'canceled',
  call_ended: 'canceled',
  carrier_error: 'failed',
  destination_unavailable: 'failed',
}

/** No person took the call: the fallback is called, or the agent gets the caller back. */
function missed(state: Pending, outcome: TransferOutcome, legOpen: boolean): TransferStep {
  const { attempt, announcing } = state
  const attempts = attempt.number
  const report: TransferEffect[] = [CANCEL, publish(attempt, MISSED[outcome], outcome)]
  const leave: TransferEffect[] = legOpen ? [timer('leaving'), DROP] : []
  if (attempt.fallback === null || attempts >= MAX_ATTEMPTS) {
    return {
      next: legOpen
        ? { kind: 'leaving', attempts, next: null, announcing: false }
        : { kind: 'idle', attempts },
      effects: [...report, { type: 'route', route: 'agent' }, { type: 'returnToAgent', outcome }, ...leave],
    }
  }
  const next: TransferAttempt = {
    ...attempt,
    number: attempts + 1,
    destination: attempt.fallback,
    fallback: null,
  }
  if (announcing) report.push(timer('line'))
  // A caller who heard the person hears the wait again. While it is called, the caller heard nothing else.
  if (state.kind !== 'calling') report.push({ type: 'route', route: 'waiting' })
  if (!legOpen) return dialNext(next, announcing, report)
  return { next: { kind: 'leaving', attempts, next, announcing }, effects: [...report, ...leave] }
}

/** Calls the fallback. Its leg is dialled only when the first is closed. */
function dialNext(
  attempt: TransferAttempt,
  announcing: boolean,
  before: readonly TransferEffect[],
): TransferStep {
  return {
    next: { kind: 'calling', attempt, announcing, ringing: false },
    effects: [...before, publish(attempt, 'accepted'), timer('ring'), { type: 'dial', attempt }],
  }
}

function stepLeaving(state: TransferState & { kind: 'leaving' }, input: TransferInput): TransferStep {
  const { next, announcing } = state
  switch (input.type) {
    case 'callEnding':
      return over([CANCEL])
    case 'announced':
      return next !== null && announcing ? waitOn(state, next) : same(state)
    case 'withdrawn':
      return next === null ? same(state) : withdrawn(state)
    case 'legClosed':
    case 'legEnded':
      return left(state)
    case 'timer':
      if (input.name === 'leaving') return left(state)
      return input.name === 'line' && next !== null && announcing ? waitOn(state, next) : same(state)
    default:
      return same(state)
  }
}

/** The caller has the agent again before the fallback was called. Its attempt does not begin. */
function withdrawn(state: TransferState & { kind: 'leaving' }): TransferStep {
  return {
    next: { ...state, next: null, announcing: false },
    effects: [
      CANCEL,
      { type: 'route', route: 'agent' },
      { type: 'returnToAgent', outcome: 'caller_returned' },
      timer('leaving'),
    ],
  }
}

function waitOn(state: TransferState & { kind: 'leaving' }, next: TransferAttempt): TransferStep {
  return { next: { ...state, announcing: false }, effects: [playWait(next)] }
}

function left({ attempts, next, announcing }: TransferState & { kind: 'leaving' }): TransferStep {
  if (next === null) return { next: { kind: 'idle', attempts }, effects: [CANCEL] }
  return dialNext(next, announcing, announcing ? [CANCEL, timer('line')] : [CANCEL])
}

function stepBridged(state: TransferState & { kind: 'bridged' }, input: TransferInput): TransferStep {
  const { attempt, early } = state
  // The carrier reports the answer after all.
  if (input.type === 'answered' && early)
    return { next: { kind: 'bridged', attempt }, effects: [publish(attempt, 'answered')] }
  const completed = publish(attempt, 'completed', 'connected')
  if (input.type === 'callEnding') return over([DROP, completed])
  if (input.type === 'legEnded') return over([completed, { type: 'endCall' }])
  return same(state)
}

/** The BYE follows the end of the line by a moment, so that the person hears all of it. */
function stepParting(state: TransferState & { kind: 'parting' }, input: TransferInput): TransferStep {
  const release: TransferEffect = { type: 'releaseSession' }
  switch (input.type) {
    case 'parted':
      return { next: state, effects: [timer('tail')] }
    case 'legEnded':
      return over([CANCEL, release])
    case 'callEnding':
      return over([CANCEL, DROP, release])
    case 'timer':
      return input.name === 'parting' || input.name === 'tail' ? over([CANCEL, DROP, release]) : same(state)
    default:
      return same(state)
  }
}
