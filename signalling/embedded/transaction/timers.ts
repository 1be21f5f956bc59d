/** The three base values of RFC 3261 17; every other timer follows from them. Milliseconds. */
export interface BaseTimers {
  readonly T1: number
  readonly T2: number
  readonly T4: number
}

/**
 * All timers of the server, in milliseconds. Derived from the base values, so that a test with a
 * T1 of 10 ms sees the whole life of a transaction in under a second.
 */
export interface Timers extends BaseTimers {
  /** B, F, H, J, L, M and the wait for the ACK of a 2xx: 64 T1 (32 s). */
  readonly transactionTimeout: number
  /** Time an INVITE may stay in Proceeding without news: 185 s. */
  readonly C: number
  /** Retransmitted final responses are expected that long: 32 s (17.1.1.2 asks for at least that). */
  readonly D: number
  /** An application owes the first response to a new INVITE within 64 s. */
  readonly inviteFirstResponse: number
  /** Any other request is answered before timer F of the peer runs out: 30 s. */
  readonly requestFinalResponse: number
  /** Time to open a connection: 8 s. */
  readonly connect: number
  /** Time for the rest of a message once its first byte is there: 32 s. */
  readonly partialMessage: number
  /** Time an accepted connection has for its first message: 120 s. Afterwards it may be idle. */
  readonly firstMessage: number
  /** Idle time after which a connected UDP path is dropped: 64 s. */
  readonly udpFlowIdle: number
  /** Time between two keep-alives of a connection: 30 s. */
  readonly keepAlive: number
  /** How long a destination that did not answer is tried last: 60 s. */
  readonly quarantine: number
  /** Time between an application's disconnect and the BYEs of its dialogs: 5 s. */
  readonly appDisconnectGrace: number
}

export const STANDARD_TIMERS: BaseTimers = { T1: 500, T2: 4000, T4: 5000 }

export function deriveTimers(base: BaseTimers = STANDARD_TIMERS): Timers {
  const { T1, T2, T4 } = base
  return {
    T1,
    T2,
    T4,
    transactionTimeout: 64 * T1,
    C: 370 * T1,
    D: 64 * T1,
    inviteFirstResponse: 128 * T1,
    requestFinalResponse: 60 * T1,
    connect: 16 * T1,
    partialMessage: 64 * T1,
    firstMessage: 240 * T1,
    udpFlowIdle: 128 * T1,
    keepAlive: 60 * T1,
    quarantine: 120 * T1,
    appDisconnectGrace: 10 * T1,
  }
}
