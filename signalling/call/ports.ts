import type { ToolSpec } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import type { SessionRate } from '../../media/base/frame.js'
import type { TransferRequest, TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { CodecName } from '../../media/codec/codec.js'
import type { Party } from '../../workers/channel/protocol.js'
import type { SrtpPolicy } from '../sdp/sdp-crypto.js'
import type { Permit } from '../sip/dial-gate.js'
import type { Cidr } from '../trunk/cidr.js'
import type { DigestAlgorithm } from '../trunk/digest.js'
import type { Credentials } from '../trunk/digest-client.js'
import type { CallerIdPolicy, NumberFormat } from '../trunk/number-format.js'
import type { RegisteredContact } from '../trunk/registrar-rules.js'
import type { TrunkLimits } from '../trunk/trunk-limiter.js'
import type { AttemptDetails, CallEvent, CallId } from './call-events.js'
import type { TalkLine } from './consult-talk.js'
import type { Cause, Ending } from './ending.js'
import type { TransferMode, TransferOutcome, TransferRefusal } from './transfer-machine.js'

/* Ports of signalling to the control plane. Signalling knows calls and legs, not customers. */

/** The destination of an outbound INVITE. */
export interface Gateway {
  readonly host: string
  /** 0 when no port is configured: DNS decides (RFC 3263). */
  readonly port: number
  readonly transport: 'udp' | 'tcp' | 'tls'
  /** In order of preference. */
  readonly codecs: readonly CodecName[]
  /**
   * Defaults to `off`. With `optional`, SRTP is offered only over TLS, because the keys are part of the SDP.
   */
  readonly srtp?: SrtpPolicy
  /** True for a host that a customer named: only its public addresses are used. */
  readonly publicOnly?: boolean
  /**
   * False for a carrier that never reports the answer: a blind transfer connects on early media, and the carrier's record
   * tells whether a person answered. Defaults to true.
   */
  readonly reportsAnswer?: boolean
  /** The registered contact of the telephone system, which is called there instead of at the host. */
  readonly contact?: RegisteredContact
  /** The trunk's settings; absent for the sandbox carrier. */
  readonly trunk?: OutboundTrunk
}

/** How to place calls over one trunk, and its limits. */
export interface OutboundTrunk {
  readonly trunkId: string
  readonly limits: TrunkLimits
  readonly numberFormat: NumberFormat
  readonly callerIdPolicy: CallerIdPolicy
  /** The trunk's own number or account name, used by the policy `trunk_default`. */
  readonly callerId: string | null
  /** Host part of From; null uses our own address. */
  readonly fromDomain: string | null
  /** Extra `X-*` headers of every INVITE. */
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: Credentials | null
}

/** The party that speaks on our side of a call; `none` in a call that is forwarded. */
export type CallParty = Extract<Party, { readonly kind: 'agent' | 'bot' | 'speaker' | 'none' }>

export interface OutboundCallSpec {
  readonly party: CallParty
  readonly gateway: Gateway
  readonly ringTimeoutMs: number
  readonly recordTo: string | null
}

export interface InboundInvite {
  readonly sipCallId: string
  /** User part of the Request-URI as received; `from` is that of From. */
  readonly to: string
  readonly from: string
  readonly sourceAddress: string
  readonly sourcePort: number
  readonly transport: string
  /** Bearer token of the caller (RFC 8898); null without. Such a caller is no trunk. */
  readonly ticket: string | null
  /** The trunk that the caller authenticated as; null without authentication. */
  readonly trunkId: string | null
  /**
   * Other candidates for the called number, best first: some carriers address a registered account by its own
   * name and put the number into another header.
   */
  readonly alternateTo: readonly string[]
  /**
   * The first identity that the network asserts (RFC 3325) and that is a telephone number, else the first one; null
   * when there is none.
   */
  readonly assertedIdentity: string | null
  /**
   * True when the caller asked for privacy (RFC 3323). A call to a number of the service then does not take the
   * asserted identity as its caller.
   */
  readonly isPrivate: boolean
}

export type AdmissionDecision =
  | {
      readonly admit: true
      readonly callId: CallId
      readonly party: CallParty
      /** Preferred first; null when not configured: the caller's preference then applies. */
      readonly codecs: readonly CodecName[] | null
      /** Defaults to `optional`. */
      readonly srtp?: SrtpPolicy
      readonly recordTo: string | null
      /** Connects the caller with another leg, which rings and answers for us; with the party `none`. */
      readonly forward?: ForwardPlan
    }
  | {
      readonly admit: 'joins'
      /** A call that runs already. */
      readonly callId: CallId
      /** The caller takes the running call over, or listens to it. */
      readonly joins: JoinPlan
      readonly codecs: readonly CodecName[]
      readonly srtp: SrtpPolicy
    }
  | {
      readonly admit: false
      readonly sip: 402 | 403 | 404 | 482 | 486 | 500 | 503
      readonly reason: string
      readonly cause?: Cause
      /** The call that was stored although it was refused. */
      readonly callId?: CallId
      /** Headers of the response, for example `X-Svc-Code`. */
      readonly headers?: Readonly<Record<string, string>>
      /** Credentials could change the decision: the caller is challenged instead of refused. */
      readonly challenge?: true
    }

/** The wish of a caller to join a running call. */
export type JoinPlan =
  | { readonly kind: 'takeover'; readonly plan: TakeoverPlan }
  | {
      readonly kind: 'listen'
      readonly id: string
      readonly by: string
      /** Tells whether the caller may still listen. Asked from time to time. */
      mayListen(): Promise<boolean>
    }

export interface AdmissionControl {
  /** Decides on an inbound INVITE. An admitted call is already stored. */
  admit(invite: InboundInvite): Promise<AdmissionDecision>
}

/** Admission control whose decision on one INVITE can be awaited. */
export interface AwaitedAdmission extends AdmissionControl {
  /**
   * Runs `place`, which sends the INVITE with this Call-ID. Resolves with the decision on it, or with null if it
   * does not arrive within `ms`. Rejects if `place` does.
   */
  decisionOn(sipCallId: string, ms: number, place: () => Promise<void>): Promise<AdmissionDecision | null>
}

/** Data to authenticate the callers of a trunk. */
export interface InboundTrunk {
  readonly id: string
  readonly inboundAuth: 'ip_acl' | 'digest' | 'both'
  readonly ranges: readonly Cidr[]
  readonly realm: string
  /** Used for the challenges of this realm. */
  readonly algorithm: DigestAlgorithm
  readonly username: string | null
  readonly password: string | null
  readonly limits: TrunkLimits
  /** Our account at this carrier: some carriers challenge our requests inside their calls. */
  readonly credentials: Credentials | null
}

/** The trunks that may call in. Read for every INVITE, so that a change takes effect at once. */
export interface TrunkDirectory {
  /**
   * Returns the trunk whose address list covers `address`: the one that hosts `dialled` first, then the
   * narrowest range. Returns null when there is none.
   */
  byAddress(address: string, dialled: string): Promise<InboundTrunk | null>
  byUsername(username: string): Promise<InboundTrunk | null>
  /** Returns the digest algorithm of a realm; null when no trunk has that realm. */
  realm(realm: string): Promise<DigestAlgorithm | null>
  /**
   * Records that a call with the password of a trunk came from `address`: it answered a challenge that was sent
   * there.
   */
  proved(trunk: InboundTrunk, address: string): Promise<void>
}

/** Transfers live calls to people. */
export interface TransferHandler {
  /**
   * Starts a transfer that a bot, or a PBX by REFER, asked for. `report` receives every step; the first is `accepted` or
   * `rejected`.
   */
  request(callId: CallId, request: TransferRequest, report: (update: TransferUpdate) => void): void
}

/** Runs the tools of agents against other systems. */
export interface AgentTools {
  /**
   * Resolves with the result text for the model, also after a failure. Bounded by the tool's own time limit.
   */
  run(callId: CallId, tool: ToolSpec, given: Readonly<Record<string, unknown>>): Promise<string>
}

/** The right to dial a further leg of a call, and where. The permit is that of the call. */
export interface LegClearance {
  readonly permit: Permit
  readonly gateway: Gateway
  /** Gives back what was reserved for the leg. Called once: when the leg has ended, or is not dialled. */
  release?(): void
}

/** Continuation of an inbound call at another destination. */
export interface ForwardPlan {
  readonly ringTimeoutMs: number
  /** Allows the dial, at the time of the dial. Resolves with null when it is not allowed. */
  clear(callId: CallId): Promise<LegClearance | null>
}

/** How the person, and the caller while the agent is away, are understood. */
export interface TransferListening {
  /** The languages of the caller, first the one that is expected. */
  readonly caller: readonly string[]
  /** Keeps in the transcript what caller and person say to each other. */
  readonly keep: boolean
  /** Returns the languages of the person at a destination. */
  person(destination: string): readonly string[]
  /**
   * Answers the last line of the talk in which the agent presents the caller to the person. Resolves with null when no
   * model can.
   */
  answer(destination: string, talk: readonly TalkLine[]): Promise<string | null>
}

/** The reason why no person took a call, and the words of the caller meanwhile. */
export interface MissedTransfer {
  /** The attempts in order. */
  readonly attempts: readonly { readonly destination: string; readonly outcome: TransferOutcome }[]
  readonly said: readonly string[]
}

/** A transfer that the control plane allowed. Destinations are names that only its functions understand. */
export interface TransferPlan {
  readonly mode: TransferMode
  readonly destination: string
  /** Called when no person takes the call at the first destination; null returns the caller to the agent. */
  readonly fallback: string | null
  readonly ringTimeoutMs: number
  /** Said to the caller first; null says nothing. */
  readonly announcement: string | null
  /** Said to the caller every 20 seconds while a phone rings; null says nothing. */
  readonly waitLine: string | null
  /** Said to the caller when no person took the call. */
  readonly missLine: string | null
  /** Said to a caller who ended the wait. */
  readonly returnLine: string | null
  /** Returns what the agent is told when it has the caller again. Null tells it nothing. */
  readonly report: ((missed: MissedTransfer) => string) | null
  /** How the parties besides the agent are understood; with null they are not understood. */
  readonly listening: TransferListening | null
  /** Returns the details of the attempt at a destination, which its first event carries. */
  describe(destination: string): AttemptDetails
  /**
   * Returns what the person who answered is told about the call, and how to decide: the key 1 takes the call, 2 declines
   * it.
   */
  brief(destination: string): { readonly text: string; readonly keys: string }
  /**
   * Returns what a person who was told about the call hears when the caller hung up, or when the call ends otherwise. Null
   * says nothing.
   */
  partingLine(destination: string, by: 'caller' | 'other'): string | null
  /**
   * Returns the files that record a bridged person, and the agent after an attempt without success. A null path
   * records nothing. Null when the call is not recorded.
   */
  readonly recordTo:
    | ((destination: string) => { readonly human: string | null; readonly back: string })
    | null
  /** Allows one dial, at the time of the dial. Resolves with null when the destination takes no calls now. */
  clear(destination: string): Promise<LegClearance | null>
}

/** A listener of a live call. */
export interface CallListener {
  /** Names the listening in the events of the call. */
  readonly id: string
  readonly by: string
  /** The call ended, before or after its audio arrived. Once, unless the listener left before. */
  ended(): void
}

/** The audio of a call for one listener: frames of 20 ms, caller and what the caller hears interleaved. */
export interface LiveAudio {
  readonly rate: SessionRate
  /** Audio (ms) that was not read within a second, and is lost. */
  readonly lostMs: number
  /** Returns the audio since the last call, or null without any. */
  read(): Int16Array | null
  /** Leaves. Idempotent. */
  close(): void
}

/** A line that was said while a person had the call. */
export interface SaidLine {
  readonly by: 'caller' | 'person'
  readonly text: string
}

/** A takeover that the control plane allowed: a person takes the caller over from the agent, and may give it back. */
export interface TakeoverPlan {
  /** Names the takeover in the events of the call. */
  readonly id: string
  readonly by: string
  readonly ringTimeoutMs: number
  /** Said to the person who answers, who then takes the call with the key 1 or declines with 2. Null connects at once. */
  readonly prompt: string | null
  /** Said to the caller before the person comes; null says nothing. */
  readonly announcement: string | null
  /** Said to the caller when the agent is back; null says nothing. */
  readonly returnLine: string | null
  /** Said to the person who answered and does not have the caller yet, when the call ends; null says nothing. */
  readonly partingLine: Readonly<Record<'caller' | 'other', string>> | null
  /**
   * The languages in which caller and person are understood, for the transcript and the agent. With null they are not
   * understood.
   */
  readonly languages: readonly string[] | null
  /** False masks the recording while the person has the call. */
  readonly records: boolean
  /** Returns what the agent is told when it is back. */
  report(talk: {
    readonly seconds: number
    readonly lines: readonly SaidLine[]
    /** Message of the person for the agent. */
    readonly message: string | null
  }): string
  /**
   * Allows the dial, at the time of the dial. Resolves with null when it is not allowed. Not used for a person who called
   * us.
   */
  clear(): Promise<LegClearance | null>
}

/** Why a takeover is refused. */
export type TakeoverRefusal = 'call_ending' | 'transfer_in_progress' | 'taken_over'

export interface EventSink {
  /** Takes the event in order and at once; the sink queues its storage. */
  publish(event: CallEvent): void
}

/** Live calls, as the control plane controls them. Outcomes arrive as CallEvents. */
export interface CallControl {
  /** Starts dialling at once. Throws EngineError `permit_invalid` without a genuine permit. */
  dial(permit: Permit, plan: OutboundCallSpec): void
  /** Ends a call. Returns false when there is no such live call. */
  hangUp(callId: CallId, by: 'operator' | 'engine'): boolean
  /**
   * Ends a call with last words to all of its parties: an agent first stops at the end of its clause. Null says the
   * hang-up line of the agent, if it has one. Returns false when there is no such live call.
   */
  finish(callId: CallId, line: string | null, ending: Ending): boolean
  /** Returns how long (ms) `finish` may take to say the hang-up line of a call. 0 if it has none. */
  lastWordsMs(callId: CallId): number
  /**
   * Says a text to all parties of a call, in the voice of its agent: after the agent's present clause, or `now`. Resolves
   * when it was said to the end, was cut or could not be said, or with null when there is no such call with media.
   */
  say(callId: CallId, text: string, now: boolean): Promise<SayResult | null>
  /** Tells the agent of a call something for its next reply. Resolves with false when no agent will reply. */
  note(callId: CallId, text: string): Promise<boolean>
  /**
   * Lets a listener hear a call. Resolves with null when there is no such call with media. Rejects when the media
   * session does not answer.
   */
  listen(callId: CallId, listener: CallListener): Promise<LiveAudio | null>
  /** Hands a call to a person. Returns why that is refused, or null; the steps follow as events. */
  transfer(callId: CallId, plan: TransferPlan): TransferRefusal | null
  /** Lets a person take a call over. Returns why that is refused, or null; the steps follow as events. */
  takeOver(callId: CallId, plan: TakeoverPlan): TakeoverRefusal | null
  /**
   * Gives a call that a person has, or is about to have, back to its agent, with a message of the person. Returns false
   * when there is no such call.
   */
  giveBack(callId: CallId, message: string | null): boolean
  readonly live: number
  /** Ids of the calls that have not ended. */
  liveCalls(): Iterable<CallId>
  /** True when new calls are refused. */
  readonly draining: boolean
  /** True while the SIP server is connected. Without it no call can begin. */
  readonly connected: boolean
  /**
   * Refuses new calls (INVITEs get 503 with Retry-After). Resolves when all calls ended; after `ms` it ends
   * the rest.
   */
  drain(ms: number): Promise<void>
}

/** Places calls from the simulated carrier, for the sandbox operation. */
export interface SandboxCaller {
  /** Calls one of our test numbers as a simulated person. Resolves when the INVITE was sent. */
  callIn(call: SandboxInboundCall): Promise<void>
}

export interface SandboxInboundCall {
  readonly from: string
  readonly to: string
  readonly persona: string
  /** Call-ID of the INVITE. */
  readonly sipCallId: string
}
