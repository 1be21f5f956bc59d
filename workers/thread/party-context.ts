import type { AgentSpec, SpeakerScript } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import type { Announcement } from '../../media/agent/turn/turn-types.js'
import type { Digit, DtmfTiming } from '../../media/base/frame.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { DetectorEvent } from '../../media/detect/events.js'
import type { Endpoint } from '../../media/session/endpoint.js'
import type { SessionHost } from './session-host.js'
import type { VoiceContext } from './session-voice.js'
import type { ToolRequests } from './tool-requests.js'

/** Id of the endpoint of the party on our side. */
export const PARTY = 'party'

/** The party on our side. */
export interface HostedParty {
  readonly endpoint: Endpoint
  /** The agent that speaks; null or absent when none does. */
  readonly agent?: AgentSpec | null
  prepare(): Promise<void>
  start(sipCallId: string | null): void
  transferUpdate?(update: TransferUpdate): void
  /** Says a text to the caller; see `Conversation.say`. */
  readonly say?: ((announcement: Announcement) => Promise<SayResult>) | undefined
  /** See `Conversation.note`. */
  note?(text: string): boolean
  /** See `Conversation.setAway`. */
  setAway?(away: boolean): void
  /** Takes a detector event of the far side. */
  detected?(event: DetectorEvent): void
  /** See `FrameClockMember.ready`. */
  ready?(): boolean
}

/** The session as a party uses it. */
export interface PartyContext extends VoiceContext {
  readonly host: SessionHost
  readonly tools: ToolRequests
  /** Returns the script that the sandbox recogniser reads for a simulated caller. */
  readonly sandboxScript: () => SpeakerScript | null
  /** Sends digits to the caller. Returns false when they cannot be sent. */
  readonly sendDigits: (digits: readonly Digit[], timing?: DtmfTiming) => boolean
  /** Advances the clock phase of the session (ms). Returns false when that is not possible. */
  readonly advancePhase: (ms: number) => boolean
  /** Sends the last frame of an interrupted agent at once. */
  readonly flushEarly: () => void
  /** Tells the frame clock that a late frame has arrived. */
  readonly audioReady: () => void
  /** Stops the packets to the caller. */
  readonly stopMedia: () => void
  readonly isClosed: () => boolean
  /** Ends the session after an uncaught error. */
  readonly onFault: (error: unknown) => void
}
