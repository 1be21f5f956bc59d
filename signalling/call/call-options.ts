import type { Clock } from '../../media/base/clock.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { Log } from '../../media/base/log.js'
import type { MediaPool, Party } from '../../workers/channel/protocol.js'
import type { CallId } from './call-events.js'
import type { CallDirection, CallTimerName } from './call-machine.js'
import type { TransferDeps } from './call-transfer.js'
import type { Ending } from './ending.js'
import type { AgentTools, EventSink, ForwardPlan, TransferHandler } from './ports.js'

export interface CallDeps {
  readonly pool: MediaPool
  readonly events: EventSink
  /** Runs the agent's tools. Without it every tool call fails with a message to the model. */
  readonly tools?: AgentTools
  readonly clock: Clock
  readonly log: Log
  readonly transfers?: TransferHandler
  /** Dials further legs. Without it a call cannot be transferred. */
  readonly dialLeg?: TransferDeps['dialLeg']
}

export interface CallOptions {
  readonly callId: CallId
  readonly direction: CallDirection
  readonly party: Party
  readonly recordTo: string | null
  /** Mixing rate of the session (Hz): 16000 when the leg is or may become wideband. */
  readonly rate: SessionRate
  readonly timers: Readonly<Record<CallTimerName, number>>
  /** Connects an inbound call with another leg. */
  readonly forward?: ForwardPlan
  /** Runs once, after the `ended` event. */
  onEnded(ending: Ending): void
}

/** ACK timeout (ms): slightly longer than the SIP server's 64*T1, so that the server's BYE comes first. */
const ACK_MS = 35_000
/**
 * Upper bound (ms) for last words to a person, the BYE and the recording to finish. The words are bound by 6 s, and the pool
 * gives up after 15 s.
 */
const CLOSING_MS = 26_000
/** Bound (ms) for the last words; the media session gives up after 20 s. */
const PARTING_MS = 22_000
/** Longest call (ms), also between persons. */
const REAPER_MS = 2 * 3600 * 1000
/** Margin (ms) of the maximum-duration timer over the agent's own limit. */
const GUARD_MARGIN_MS = 120_000

export function callTimers(
  ringTimeoutMs: number,
  maxCallSeconds: number,
): Readonly<Record<CallTimerName, number>> {
  return {
    ring: ringTimeoutMs,
    ack: ACK_MS,
    guard: maxCallSeconds * 1000 + GUARD_MARGIN_MS,
    reaper: REAPER_MS,
    parting: PARTING_MS,
    closing: CLOSING_MS,
  }
}
