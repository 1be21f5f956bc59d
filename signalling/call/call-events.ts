import type { ConversationEvent, FailureEvent } from '../../media/agent/conversation-events.js'
import type { BotStats } from '../../media/byo/bot-event.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import type { LegStats, RecordingFile } from '../../workers/channel/protocol.js'
import type { Ending } from './ending.js'
import type { TakeoverOutcome } from './takeover-machine.js'
import type { TransferMode, TransferOutcome, TransferStatus } from './transfer-machine.js'

export type CallId = string

/** Details of an attempt, for the control plane to store. */
export type AttemptDetails = Readonly<Record<string, string | number | null>>

/** A step of an attempt to hand the call to a person; `destination` is the name that the transfer plan gave. */
export interface TransferEvent {
  readonly type: 'transfer'
  /** 1 or 2. */
  readonly attempt: number
  readonly mode: TransferMode
  readonly destination: string
  readonly status: TransferStatus
  readonly outcome: TransferOutcome | null
  /** With `accepted`: what the transfer plan describes. */
  readonly details?: AttemptDetails
  /** With `answered` in the modes with a brief: what the person is told. */
  readonly brief?: string
  /** With `answered`, and with `bridged` if unconfirmed: Call-ID of the leg to the person. */
  readonly sipCallId?: string
  /** With `bridged`: on early media of a carrier that never reports answers. `answered` follows if it does. */
  readonly unconfirmed?: true
}

/** A person listens to the call, or takes it over from the agent. */
export interface MonitorEvent {
  readonly type: 'monitored'
  /** Id of the listening or the takeover. */
  readonly id: string
  /** Id of the person, given by the control plane. */
  readonly by: string
  readonly mode: 'listen' | 'takeover'
  readonly status: 'begun' | 'over'
  /** Why it is over: a listener left, or how the takeover ended. Null with `begun`. */
  readonly outcome: TakeoverOutcome | null
}

/**
 * The events of a call, in order. `seq` increases by one per call; `at` is Unix time (ms). The control plane
 * stores each event with the state change it causes, in one transaction.
 */
export type CallEvent = { readonly callId: CallId; readonly seq: number; readonly at: number } & (
  | { readonly type: 'dialing'; readonly sipCallId: string }
  | { readonly type: 'ringing'; readonly sip: number }
  | { readonly type: 'answered' }
  /** Events of the agent's conversation; its failures are among those of all parts. */
  | Exclude<ConversationEvent, { readonly type: 'finished' | 'trouble' }>
  | FailureEvent<'speech_to_text' | 'text_to_speech' | 'language_model' | 'recording' | 'media' | 'bot'>
  /** Statistics of the customer's bot; once, before `ended`. */
  | { readonly type: 'bot_stats'; readonly stats: BotStats }
  /** An agent took the call over from a lost bot; `atMs` is session time. At most once. */
  | { readonly type: 'agent_took_over'; readonly agentVersionId: string | null; readonly atMs: number }
  | { readonly type: 'held'; readonly on: boolean }
  | TransferEvent
  | MonitorEvent
  /** The last event of every call, exactly once. */
  | {
      readonly type: 'ended'
      readonly ending: Ending
      /** Unix time (ms) at which the caller's part ended, if the call lasted on to tell that to a person. */
      readonly callerLeftAt?: number
      /** Of the caller's leg. */
      readonly rtp: RtpStats | null
      /** Of the further legs: the persons of transfers and takeovers. Absent means none. */
      readonly legs?: readonly LegStats[]
      readonly recording: RecordingFile | null
      /** True if a recording could not be written to its end, for example on a full disk. Absent means false. */
      readonly recordingCut?: boolean
      /** The recordings of the parts of a call with transfers, in order. Absent means none. */
      readonly parts?: readonly RecordingFile[]
    }
)

/** Returns the only event of a call that ended before it began; `at` is Unix time (ms). */
export function callNeverBegan(
  callId: CallId,
  ending: Ending,
  at: number,
): CallEvent & { readonly type: 'ended' } {
  return { callId, seq: 1, at, type: 'ended', ending, rtp: null, recording: null }
}
