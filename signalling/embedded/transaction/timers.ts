/** The three base values (ms) of RFC 3261 17, from which every other timer is derived. */
export interface BaseTimers {
  readonly T1: number
  readonly T2: number
  readonly T4: number
}

/**
 * All timers of the server (ms). They are derived from the base values, so that a test with a T1 of 10 ms
 * sees the whole life of a transaction in less than a second.
 */
export interface Timers extends BaseTimers {
  /** Timers B, F, H, J, L, M, and the wait for the ACK of a 2xx: 64 T1 (32 s). */
  readonly transactionTimeout: number
  /** Maximum time of an INVITE in Proceeding without a further response: 185 s. */
  readonly C: number
  /** Time to absorb retransmitted final responses: 32 s (minimum of RFC 3261 17.1.1.2). */
  readonly D: number
  /** Maximum time until the first response of an application to a new INVITE: 64 s. */
  readonly inviteFirstResponse: number
  /** Maximum time until the final response to any other request, just below timer F of the peer: 30 s. */
  readonly requestFinalResponse: number
  /** Maximum time to open a connection: 8 s. */
  readonly connect: number
  /** Maximum time from the first byte of a message to its last one: 32 s. */
  readonly partialMessage: number
  /** Maximum time of an accepted connection until its first message: 120 s. After that it may be idle. */
  readonly firstMessage: number
  /** Idle time after which a connected UDP socket is closed: 64 s. */
  readonly udpFlowIdle: number
  /** Interval between two keep-alives of a connection: 30 s. */
  readonly keepAlive: number
  /** Time during which a destination that did not answer is tried last: 60 s. */
  readonly quarantine: number
  /** Time in which a peer must answer an INVITE that goes over TCP because of its size, before UDP is tried: 3 s. */
  readonly tcpTrial: number
  /** Time for which a peer that did not answer over TCP gets large requests over UDP: 10 minutes. */
  readonly silentTcp: number
  /** Time from the disconnect of an application to the BYEs of its dialogs: 5 s. */
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
    tcpTrial: 6 * T1,
    silentTcp: 1_200 * T1,
    appDisconnectGrace: 10 * T1,
  }
}
