import type { Timers } from './timers.js'

/*
 * The four transaction machines of RFC 3261 17, corrected by RFC 6026, as pure functions. An input that is
 * unexpected in a state changes nothing.
 */

export type TransactionTimer = 'A' | 'B' | 'C' | 'D' | 'E' | 'F' | 'G' | 'H' | 'I' | 'J' | 'K' | 'L' | 'M'

export type TransactionPhase =
  | 'calling'
  | 'trying'
  | 'proceeding'
  | 'completed'
  | 'confirmed'
  | 'accepted'
  | 'terminated'

export interface TransactionState {
  readonly phase: TransactionPhase
  /** Current interval (ms) of the doubling retransmission timer. */
  readonly interval: number
}

export type ClientInput =
  | { readonly type: 'provisional' | 'success' | 'failure' | 'unreachable' }
  | { readonly type: 'timer'; readonly timer: TransactionTimer }

export type ServerInput =
  | { readonly type: 'request' | 'provisional' | 'success' | 'failure' | 'ack' }
  | { readonly type: 'timer'; readonly timer: TransactionTimer }

export type TransactionEffect =
  /** Sends the last message again: the request, or the latest response. */
  | { readonly type: 'resend' }
  /** Sends the response of the input. */
  | { readonly type: 'respond' }
  /** Passes the response of the input to the transaction user. */
  | { readonly type: 'pass' }
  /** Acknowledges the failure response (INVITE client). */
  | { readonly type: 'acknowledge' }
  | { readonly type: 'start'; readonly timer: TransactionTimer; readonly ms: number }
  | { readonly type: 'stop'; readonly timer: TransactionTimer }
  /** Reports to the transaction user: timeout, peer unreachable, timer C, or no ACK. */
  | { readonly type: 'report'; readonly failure: 'timeout' | 'unreachable' | 'timer C' | 'no ACK' }

export interface Transition {
  readonly next: TransactionState
  readonly effects: readonly TransactionEffect[]
}

const RESEND: TransactionEffect = { type: 'resend' }
const RESPOND: TransactionEffect = { type: 'respond' }
const PASS: TransactionEffect = { type: 'pass' }
const ACKNOWLEDGE: TransactionEffect = { type: 'acknowledge' }

const start = (timer: TransactionTimer, ms: number): TransactionEffect => ({ type: 'start', timer, ms })
const stop = (timer: TransactionTimer): TransactionEffect => ({ type: 'stop', timer })
const report = (failure: 'timeout' | 'unreachable' | 'timer C' | 'no ACK'): TransactionEffect => ({
  type: 'report',
  failure,
})
const stay = (state: TransactionState, ...effects: TransactionEffect[]): Transition => ({
  next: state,
  effects,
})
const to = (phase: TransactionPhase, interval: number, ...effects: TransactionEffect[]): Transition => ({
  next: { phase, interval },
  effects,
})
const end = (...effects: TransactionEffect[]): Transition => ({
  next: { phase: 'terminated', interval: 0 },
  effects,
})

/** INVITE client: RFC 3261 17.1.1, RFC 6026 7.2 (Accepted), and timer C of RFC 3261 16.6. */
export function startInviteClient(timers: Timers, reliable: boolean): Transition {
  const b = start('B', timers.transactionTimeout)
  return reliable ? to('calling', 0, RESEND, b) : to('calling', timers.T1, RESEND, b, start('A', timers.T1))
}

export function stepInviteClient(
  state: TransactionState,
  input: ClientInput,
  timers: Timers,
  reliable: boolean,
): Transition {
  const on = input.type === 'timer' ? input.timer : input.type
  switch (state.phase) {
    case 'calling':
    case 'proceeding': {
      const quiet = state.phase === 'calling' ? [stop('A'), stop('B')] : [stop('C')]
      if (on === 'provisional') return to('proceeding', 0, ...quiet, PASS, start('C', timers.C))
      if (on === 'success') return to('accepted', 0, ...quiet, PASS, start('M', timers.transactionTimeout))
      if (on === 'failure') {
        const d = reliable ? 0 : timers.D
        return to('completed', 0, ...quiet, ACKNOWLEDGE, PASS, start('D', d))
      }
      if (state.phase === 'proceeding') return on === 'C' ? stay(state, report('timer C')) : stay(state)
      if (on === 'A') return to('calling', state.interval * 2, RESEND, start('A', state.interval * 2))
      if (on === 'B') return end(stop('A'), report('timeout'))
      if (on === 'unreachable') return end(stop('A'), stop('B'), report('unreachable'))
      return stay(state)
    }
    case 'completed':
      if (on === 'failure') return stay(state, ACKNOWLEDGE)
      return on === 'D' ? end() : stay(state)
    case 'accepted':
      if (on === 'success') return stay(state, PASS)
      return on === 'M' ? end() : stay(state)
    default:
      return stay(state)
  }
}

/** Non-INVITE client: RFC 3261 17.1.2. */
export function startClient(timers: Timers, reliable: boolean): Transition {
  const f = start('F', timers.transactionTimeout)
  return reliable ? to('trying', 0, RESEND, f) : to('trying', timers.T1, RESEND, f, start('E', timers.T1))
}

export function stepClient(
  state: TransactionState,
  input: ClientInput,
  timers: Timers,
  reliable: boolean,
): Transition {
  const on = input.type === 'timer' ? input.timer : input.type
  switch (state.phase) {
    case 'trying':
    case 'proceeding':
      if (on === 'provisional') {
        if (reliable || state.phase === 'proceeding')
          return { next: { ...state, phase: 'proceeding' }, effects: [PASS] }
        return to('proceeding', timers.T2, PASS)
      }
      if (on === 'success' || on === 'failure') {
        return to('completed', 0, stop('E'), stop('F'), PASS, start('K', reliable ? 0 : timers.T4))
      }
      if (on === 'E') {
        const interval = state.phase === 'proceeding' ? timers.T2 : Math.min(state.interval * 2, timers.T2)
        return to(state.phase, interval, RESEND, start('E', interval))
      }
      if (on === 'F') return end(stop('E'), report('timeout'))
      if (on === 'unreachable' && state.phase === 'trying')
        return end(stop('E'), stop('F'), report('unreachable'))
      return stay(state)
    case 'completed':
      return on === 'K' ? end() : stay(state)
    default:
      return stay(state)
  }
}

/** INVITE server: RFC 3261 17.2.1, RFC 6026 7.1. Starts in Proceeding; the user sends the 100 itself. */
export function stepInviteServer(
  state: TransactionState,
  input: ServerInput,
  timers: Timers,
  reliable: boolean,
): Transition {
  const on = input.type === 'timer' ? input.timer : input.type
  switch (state.phase) {
    case 'proceeding':
      if (on === 'request') return stay(state, RESEND)
      if (on === 'provisional') return stay(state, RESPOND)
      // The dialog retransmits the 2xx until its ACK, end to end (13.3.1.4).
      if (on === 'success') return to('accepted', 0, RESPOND, start('L', timers.transactionTimeout))
      if (on === 'failure') {
        const h = start('H', timers.transactionTimeout)
        return reliable
          ? to('completed', 0, RESPOND, h)
          : to('completed', timers.T1, RESPOND, h, start('G', timers.T1))
      }
      return stay(state)
    case 'completed':
      if (on === 'request') return stay(state, RESEND)
      if (on === 'G') {
        const interval = Math.min(state.interval * 2, timers.T2)
        return to('completed', interval, RESEND, start('G', interval))
      }
      if (on === 'H') return end(stop('G'), report('no ACK'))
      if (on === 'ack') {
        return to('confirmed', 0, stop('G'), stop('H'), start('I', reliable ? 0 : timers.T4))
      }
      return stay(state)
    case 'confirmed':
      return on === 'I' ? end() : stay(state)
    case 'accepted':
      return on === 'L' ? end() : stay(state)
    default:
      return stay(state)
  }
}

/** Non-INVITE server: RFC 3261 17.2.2. */
export function stepServer(
  state: TransactionState,
  input: ServerInput,
  timers: Timers,
  reliable: boolean,
): Transition {
  const on = input.type === 'timer' ? input.timer : input.type
  switch (state.phase) {
    case 'trying':
    case 'proceeding':
      if (on === 'request') return state.phase === 'proceeding' ? stay(state, RESEND) : stay(state)
      if (on === 'provisional') return to('proceeding', 0, RESPOND)
      if (on === 'success' || on === 'failure') {
        return to('completed', 0, RESPOND, start('J', reliable ? 0 : timers.transactionTimeout))
      }
      return stay(state)
    case 'completed':
      if (on === 'request') return stay(state, RESEND)
      return on === 'J' ? end() : stay(state)
    default:
      return stay(state)
  }
}
