/** The state of a registration; `registered` has a binding at the registrar. */
export type RegistrationState =
  | { readonly kind: 'idle' }
  /** A REGISTER is pending. */
  | {
      readonly kind: 'registering'
      readonly expires: number
      readonly failures: number
      readonly bound: boolean
    }
  /** Waits for the next refresh. */
  | { readonly kind: 'registered'; readonly expires: number }
  /** Waits after a failure. */
  | { readonly kind: 'waiting'; readonly expires: number; readonly failures: number }
  /** The REGISTER that removes the binding is pending. */
  | { readonly kind: 'unregistering' }
  | { readonly kind: 'over' }

export type RegistrationInput =
  | { readonly type: 'start' }
  | { readonly type: 'answered'; readonly response: RegistrarResponse }
  /** The REGISTER was not sent or not answered. */
  | { readonly type: 'failed' }
  | { readonly type: 'timer' }
  /** The route to the registrar changed, or its state is in doubt: register again at once. */
  | { readonly type: 'renew' }
  | { readonly type: 'stop' }

/** The relevant parts of a registrar's final response; times in seconds, null when absent. */
export interface RegistrarResponse {
  readonly status: number
  /** For our own binding: the `expires` of its Contact, else `Expires`. */
  readonly expires: number | null
  readonly minExpires: number | null
  readonly retryAfter: number | null
}

export type RegistrationEffect =
  /** Sends REGISTER; 0 seconds removes the binding. */
  | { readonly type: 'send'; readonly expires: number }
  /** Replaces the running timer. */
  | { readonly type: 'startTimer'; readonly ms: number }
  | { readonly type: 'cancelTimer' }
  | { readonly type: 'report'; readonly registered: boolean; readonly sip: number | null }
  | { readonly type: 'finish' }

export interface RegistrationRules {
  /** Requested lifetime (s). */
  readonly expires: number
  /** Returns 0 to 1; spreads the attempts of many trunks. */
  random(): number
}

/** First and longest wait after failures (ms), in the manner of RFC 5626 4.5. */
export const RETRY_FIRST_MS = 5_000
export const RETRY_MAX_MS = 600_000
/** Shortest wait (ms) after refused credentials: registrars ban clients that keep trying them. */
export const REFUSED_MIN_MS = 120_000
/** Shortest refresh interval (ms), even if a registrar grants less. */
const REFRESH_MIN_MS = 10_000
/** Longest lifetime (s) a registrar may demand (RFC 3261 10.3). */
const EXPIRES_MAX = 86_400

const SAME: { readonly effects: readonly RegistrationEffect[] } = { effects: [] }

/**
 * Returns the next state of one registration at a carrier (RFC 3261 10.2): timely refresh, back-off and
 * orderly removal.
 */
export function step(
  state: RegistrationState,
  input: RegistrationInput,
  rules: RegistrationRules,
): { readonly next: RegistrationState; readonly effects: readonly RegistrationEffect[] } {
  if (input.type === 'stop') return stop(state)
  switch (state.kind) {
    case 'idle':
      return input.type === 'start' ? send(rules.expires, 0, false) : { next: state, ...SAME }
    case 'registering':
      if (input.type === 'answered') return answered(state, input.response, rules)
      if (input.type === 'failed') return failed(state, null, 0, rules)
      return { next: state, ...SAME }
    case 'registered':
      if (input.type === 'timer' || input.type === 'renew') return send(state.expires, 0, true)
      return { next: state, ...SAME }
    case 'waiting':
      if (input.type === 'timer') return send(state.expires, state.failures, false)
      // The cause of the failure may have gone with the old route.
      if (input.type === 'renew') return send(state.expires, 0, false)
      return { next: state, ...SAME }
    case 'unregistering':
      if (input.type === 'answered' || input.type === 'failed')
        return { next: { kind: 'over' }, effects: [{ type: 'finish' }] }
      return { next: state, ...SAME }
    case 'over':
      return { next: state, ...SAME }
  }
}

type Registering = Extract<RegistrationState, { kind: 'registering' }>

function send(expires: number, failures: number, bound: boolean) {
  return {
    next: { kind: 'registering', expires, failures, bound } as const,
    effects: [{ type: 'cancelTimer' }, { type: 'send', expires }] as const,
  }
}

function answered(state: Registering, answer: RegistrarResponse, rules: RegistrationRules) {
  const { status, expires, minExpires, retryAfter } = answer
  if (status >= 200 && status < 300) {
    const granted = Math.min(expires ?? state.expires, EXPIRES_MAX)
    // The registrar accepted the request but holds no binding of ours.
    if (granted <= 0) return failed(state, status, 0, rules)
    return {
      next: { kind: 'registered', expires: rules.expires } as const,
      effects: [
        { type: 'report', registered: true, sip: status },
        { type: 'startTimer', ms: refreshMs(granted, rules.random()) },
      ] as const,
    }
  }
  // 423: ask for the demanded lifetime once; a registrar that raises it again has to wait.
  if (status === 423 && minExpires !== null && minExpires > state.expires && minExpires <= EXPIRES_MAX)
    return send(minExpires, state.failures, state.bound)
  const refused = status === 401 || status === 407 || status === 403 || status === 404
  const atLeast = Math.max(refused ? REFUSED_MIN_MS : 0, (retryAfter ?? 0) * 1000)
  return failed(state, status, atLeast, rules)
}

function failed(state: Registering, sip: number | null, atLeastMs: number, rules: RegistrationRules) {
  const failures = state.failures + 1
  const upper = Math.min(RETRY_FIRST_MS * 2 ** Math.min(failures - 1, 20), RETRY_MAX_MS)
  // Between half and all of the interval, so that many trunks do not return at the same moment.
  const ms = Math.max(atLeastMs, Math.round(upper * (0.5 + rules.random() / 2)))
  return {
    next: { kind: 'waiting', expires: state.expires, failures } as const,
    effects: [
      { type: 'report', registered: false, sip },
      { type: 'startTimer', ms },
    ] as const,
  }
}

function stop(state: RegistrationState) {
  switch (state.kind) {
    case 'registered':
    case 'registering':
      return {
        next: { kind: 'unregistering' } as const,
        effects: [{ type: 'cancelTimer' }, { type: 'send', expires: 0 }] as const,
      }
    case 'unregistering':
    case 'over':
      return { next: state, ...SAME }
    default:
      return {
        next: { kind: 'over' } as const,
        effects: [{ type: 'cancelTimer' }, { type: 'finish' }] as const,
      }
  }
}

/** Returns the refresh delay (ms): 80 to 90 % of long lifetimes, with enough time left for the response. */
function refreshMs(granted: number, random: number): number {
  const ms = granted * 1000
  return Math.round(Math.max(REFRESH_MIN_MS, Math.min(ms * (0.8 + random / 10), ms - 5_000)))
}
