import type { AgentSpec, PersonaSpec, SpeakerScript, VoiceSpec } from '../../media/agent/agent-spec.js'
import type { SayResult } from '../../media/agent/conversation/conversation.js'
import type { ConversationEvent } from '../../media/agent/conversation-events.js'
import type { HeardWords } from '../../media/agent/stt/listener.js'
import type { Digit, SessionRate } from '../../media/base/frame.js'
import type { BotEvent } from '../../media/byo/bot-event.js'
import type { BotSpec } from '../../media/byo/bot-spec.js'
import type { TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { Fingerprint } from '../../media/rtp/dtls/identity.js'
import type { RtpRemote } from '../../media/rtp/remote-description.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import type { CloseReason, SessionStats } from '../../media/session/endpoint.js'
import { LATENESS_BOUNDS_MS, type LateFrame } from '../../media/session/lateness.js'
import type { RoutingMode } from '../../media/session/routing.js'
import type { SpeechModelStats } from '../../media/vad/speech-model.js'
import type { TurnDetectorStats } from '../../media/vad/turn-detector.js'
import type { ProviderSettings } from '../../media/vendors/registry.js'

export type { ProviderSettings, SayResult }

/*
 * The messages between the main thread and a media worker: one union per direction. No message holds audio: what people
 * listen to live is in memory that both threads share.
 */

export type SessionId = string

/** A leg of a session: `CALLER_LEG`, or the id that `addLeg` named. */
export type LegId = string
/** The leg that is opened with the session. */
export const CALLER_LEG: LegId = 'caller'
/** The caller, two persons, and two people who listen. */
export const MAX_LEGS = 5

/** The sound for a leg to which no party speaks. `ringback` is the Indian ringing tone. */
export type HoldSound = 'music' | 'ringback' | 'silence'

/** How the keys of a leg are collected. */
export interface CollectOptions {
  /** From 1 to 64. */
  readonly maxDigits: number
  /** Ends the collection and is not part of it; null when no key does. */
  readonly terminator: Digit | null
  /** Time for all keys (ms), at most 120,000. */
  readonly timeoutMs: number
}

export interface CollectedDigits {
  readonly digits: string
  /** `left`: the leg was dropped, the session closed, a bridge began, or another collection took its place. */
  readonly ending: 'complete' | 'terminator' | 'timeout' | 'left'
}

/**
 * Requests about the legs of one session. A leg neither hears nor is heard until `route` names it. Errors: `closed`
 * for an unknown session or leg.
 */
export type LegRequest =
  /**
   * Opens a further leg: binds a port, kept until `dropLeg`. It sends and receives once `remote` named its far side and
   * the session is live. Errors: `overloaded` beyond `MAX_LEGS`, `internal` for an id in use, `port_unavailable`.
   */
  | { readonly type: 'addLeg'; readonly session: SessionId; readonly leg: LegId }
  /** The far side of a leg as SDP negotiated it, also after a re-INVITE. The caller's leg when `leg` is absent. */
  | {
      readonly type: 'remote'
      readonly session: SessionId
      readonly leg?: LegId
      readonly remote: RemoteMedia
    }
  /** Closes a further leg. The routes to it end, and those of the other legs stay. Answers its statistics. */
  | {
      readonly type: 'dropLeg'
      readonly session: SessionId
      readonly leg: LegId
      readonly why: CloseReason
    }
  /**
   * Decides who hears whom. `persons` are the legs in the role of the person, none to two; they hear each other. The
   * agent neither speaks nor listens in `hold` and `bridge`, and keeps its memory. The first route of a session is
   * `agent` without persons. Answered when the routes are in force.
   */
  | {
      readonly type: 'route'
      readonly session: SessionId
      readonly mode: RoutingMode
      readonly persons: readonly LegId[]
    }
  /** Lets a further leg hear the caller and all that the caller hears from now on. The leg is not heard. */
  | { readonly type: 'attend'; readonly session: SessionId; readonly leg: LegId }
  /**
   * Chooses the sound of a leg while no party speaks to it, until the next `hold` for this leg. Without a choice the
   * caller hears music in the modes `hold` and `briefing`, and every other silence is silent.
   */
  | { readonly type: 'hold'; readonly session: SessionId; readonly leg: LegId; readonly sound: HoldSound }
  /**
   * Collects DTMF keys of a leg from now on, answered when the collection ends. No other party receives these keys. A
   * second collection on the leg ends the first. Errors: `config_invalid` for values out of range.
   */
  | {
      readonly type: 'collect'
      readonly session: SessionId
      readonly leg: LegId
      readonly options: CollectOptions
    }
  /**
   * Recognises from now on what a leg says, in these languages, first the one that is expected; null ends that. Each
   * utterance is an event `heard`. `sipCallId` is that of the leg. Errors: `config_invalid` for a party other than an agent.
   */
  | {
      readonly type: 'listen'
      readonly session: SessionId
      readonly leg: LegId
      readonly languages: readonly string[] | null
      readonly sipCallId?: string
      /** The script of a simulated person; the pool adds it. */
      readonly script?: SpeakerScript | null
    }
  /**
   * Says a text to one leg, or with null to the caller and the persons. One text at a time: the next one cuts it. The
   * listeners hear it besides what the route lets them hear, and a leg on hold hears no music meanwhile. An agent that
   * speaks with the caller says it to him itself, at the end of its present clause; to others its voice says it while the
   * agent goes on. A bot keeps its own voice: the embedded one says it. `text` has 1 to 2,000 characters.
   */
  | {
      readonly type: 'say'
      readonly session: SessionId
      readonly leg: LegId | null
      readonly text: string
      /** The agent stops in the middle of its clause. */
      readonly now?: boolean
    }
  /** Tells the agent something for its next reply: 1 to 2,000 characters. Answered with false when it replies no more. */
  | { readonly type: 'note'; readonly session: SessionId; readonly text: string }
  /**
   * Ends the call with a line to all: an agent first stops at the end of its clause. Answered at once. The event
   * `finished` follows within 20 s: with `asked`, or with the agent's own reason when it was ending the call already.
   * Null says nothing.
   */
  | { readonly type: 'finish'; readonly session: SessionId; readonly line: string | null }
  /**
   * Ends the recording in progress and begins another file, or none with null: the parts of a call with a transfer.
   * The left channel holds the caller while another party hears him, the right one the audio that he hears.
   */
  | { readonly type: 'record'; readonly session: SessionId; readonly path: string | null }
  /** Masks the recording from now on with silence and a soft beep, or records again. */
  | { readonly type: 'pauseRecording'; readonly session: SessionId; readonly paused: boolean }
  /** Writes the call into this memory (`live-audio.ts`) from now on, for those who listen to it; null ends that. */
  | { readonly type: 'shareAudio'; readonly session: SessionId; readonly memory: SharedArrayBuffer | null }

/** The party that speaks on our side of the session. */
export type Party =
  | { readonly kind: 'agent'; readonly agent: AgentSpec }
  /**
   * Says what `say` and `finish` tell it, and hears nothing. With a text it says that when the session starts, and then
   * asks its SIP side to hang up: a verification call.
   */
  | {
      readonly kind: 'speaker'
      readonly voice: VoiceSpec
      readonly maxCallSeconds: number
      readonly text?: string
    }
  /** No agent: the legs talk with each other. The embedded voice says what `say` and `finish` tell. */
  | { readonly kind: 'none'; readonly maxCallSeconds: number }
  | { readonly kind: 'persona'; readonly persona: PersonaSpec }
  /** `fallback` is the agent that takes over when the bot cannot be reached or is lost. */
  | { readonly kind: 'bot'; readonly bot: BotSpec; readonly fallback?: AgentSpec }

/** The far side as negotiated by SDP. */
export type RemoteMedia = RtpRemote

/** How to open a session. */
export interface OpenSessionOptions {
  readonly party: Party
  /** Path of the stereo WAV to write from `start` on (left caller, right agent); null records nothing. */
  readonly recordTo: string | null
  /** Mixing rate (Hz): 16000 when any endpoint is or may become wideband. */
  readonly rate: SessionRate
}

export type WorkerRequest =
  /**
   * Opens a session: binds a port (kept until `close`) and prepares the party. The opening line of an agent
   * is synthesised now, the bot of an inbound call is connected. Nothing is sent before `start`.
   */
  | {
      readonly type: 'open'
      readonly session: SessionId
      readonly options: OpenSessionOptions
    }
  | LegRequest
  /** Media is live: session time 0. The party may speak. `sipCallId` is that of the leg. */
  | {
      readonly type: 'start'
      readonly session: SessionId
      readonly sipCallId: string | null
    }
  /** Sets the script that the sandbox recogniser reads for a simulated caller. Precedes `start`. */
  | { readonly type: 'sandboxScript'; readonly session: SessionId; readonly script: SpeakerScript }
  /** The far side of a leg, the caller's when absent, sent a DTMF digit outside of its media. */
  | {
      readonly type: 'digit'
      readonly session: SessionId
      readonly leg?: LegId
      readonly digit: Digit
      readonly durationMs: number
    }
  /** The answer to a `tool_request`. */
  | {
      readonly type: 'toolResult'
      readonly session: SessionId
      readonly request: number
      readonly result: string
    }
  | { readonly type: 'press'; readonly session: SessionId; readonly digits: readonly Digit[] }
  /** The progress of a transfer that the bot asked for. */
  | { readonly type: 'transfer_update'; readonly session: SessionId; readonly update: TransferUpdate }
  | { readonly type: 'close'; readonly session: SessionId; readonly why: CloseReason }
  | { readonly type: 'load' }
  | { readonly type: 'shutdown' }

/** The sockets of a leg. */
export interface OpenedSession {
  readonly address: string
  readonly port: number
  /** Port for RTCP that is not multiplexed on `port`; absent when there is none. */
  readonly rtcpPort?: number
  /** Description in SDP for a peer that makes its SRTP keys by DTLS; absent when the leg cannot. */
  readonly dtls?: LocalDtls
}

/** Our side of DTLS-SRTP. */
export interface LocalDtls {
  readonly fingerprint: Fingerprint
  /** SSRC and CNAME of the sent stream (RFC 5576). */
  readonly ssrc: number
  readonly cname: string
  /** A further address of the port, outside of a NAT. */
  readonly publicAddress?: string | null
}

export interface RecordingFile {
  readonly path: string
  readonly bytes: number
  readonly durationMs: number
  readonly sha256: string
}

/** The statistics of a leg beside the caller's. */
export interface LegStats {
  readonly leg: LegId
  readonly rtp: RtpStats
}

export interface ClosedSession {
  readonly stats: SessionStats
  /** The further legs of the whole session, in the order of their ends; the latest 16. */
  readonly legs: readonly LegStats[]
  /** The file of `recordTo`. */
  readonly recording: RecordingFile | null
  /** The files of `record`, in order. */
  readonly parts: readonly RecordingFile[]
}

/** Lateness of the frame clock, over the last 10 s and since the start. */
export interface WorkerLoad {
  readonly sessions: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** The smallest p99 of the last 5 full seconds (ms): lateness that lasts. */
  readonly sustainedMs: number
  /** Share (0..1) of a core that the thread used in the last second. */
  readonly busy: number
  /** Time (ms) taken by the frames of one clock phase: the part of lateness that the sessions cause. */
  readonly workP99Ms: number
  readonly workMaxMs: number
  /**
   * Frames since the start by lateness; upper bounds (ms) are `LATENESS_BOUNDS_MS`, the last bin is above.
   */
  readonly histogram: readonly number[]
  readonly skippedFrames: number
  /** Frames of the last 10 s that ran more than 5 ms late, oldest first, at most 512. */
  readonly lateFrames: readonly LateFrame[]
  /** Statistics of the neural voice detector; null without one. */
  readonly speechModel: SpeechModelStats | null
  /** Statistics of the turn detector; null without one. */
  readonly turnDetector: TurnDetectorStats | null
  /** Vendors and models that failed several times in a row, for as long as they rest (`breakerKey`). */
  readonly openCircuits: readonly string[]
  /** Heap and buffers of the thread (bytes), garbage included. */
  readonly heapBytes: number
}

export { LATENESS_BOUNDS_MS, type LateFrame }

export type WorkerResult<R extends WorkerRequest> = R extends { type: 'open' | 'addLeg' }
  ? OpenedSession
  : R extends { type: 'dropLeg' }
    ? RtpStats
    : R extends { type: 'say' }
      ? SayResult
      : R extends { type: 'note' }
        ? boolean
        : R extends { type: 'collect' }
          ? CollectedDigits
          : R extends { type: 'close' }
            ? ClosedSession
            : R extends { type: 'load' }
              ? WorkerLoad
              : null

/** Events that a session emits. */
export type SessionEvent =
  | ConversationEvent
  | BotEvent
  /** `finish` of a session without an agent was carried out. */
  | { readonly type: 'finished'; readonly why: 'asked' }
  /** An agent took over from a lost bot; `atMs` is session time. At most once. */
  | { readonly type: 'agent_took_over'; readonly agentVersionId: string | null; readonly atMs: number }
  /** A persona, or a speaker that said its text, asks its SIP side to hang up. */
  | { readonly type: 'hang_up' }
  /** The agent calls a tool that needs the main thread; `toolResult` answers `request`. */
  | {
      readonly type: 'tool_request'
      readonly request: number
      readonly tool: string
      readonly arguments: Readonly<Record<string, unknown>>
    }
  /** Words of a leg to which `listen` listens. `atMs` is the session time of the event. */
  | ({ readonly type: 'heard'; readonly leg: LegId; readonly atMs: number } & HeardWords)
  /**
   * No packet of the far side of a leg arrived for the configured time, or for that time again. `again` is false for the
   * first time of a silence.
   */
  | { readonly type: 'media_timeout'; readonly leg: LegId; readonly again: boolean }
  /** No packet of the far side of a leg can arrive any more: its keys could not be made. */
  | { readonly type: 'media_failed'; readonly leg: LegId }
  /** The far side of a leg closed its media for good, as browsers do when they hang up or leave the page. */
  | { readonly type: 'media_closed'; readonly leg: LegId }
  /** The recording cannot be written; the call continues. */
  | { readonly type: 'recording_failed'; readonly message: string }

/** The sending side of a thread's message port. */
export interface Port<Out> {
  postMessage(message: Out): void
}

export type ToWorker =
  | { readonly id: number; readonly request: WorkerRequest }
  /** The main thread read this number of messages; the worker holds back when too many are unread. */
  | { readonly read: number }
export type FromWorker =
  | { readonly type: 'result'; readonly id: number; readonly result: unknown }
  | { readonly type: 'error'; readonly id: number; readonly code: string; readonly message: string }
  | { readonly type: 'event'; readonly session: SessionId; readonly event: SessionEvent }
  /** One session failed by a fault of ours and was ended; the others continue. */
  | { readonly type: 'lost'; readonly session: SessionId }
  | {
      readonly type: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly fields: object
      readonly message: string
    }

export interface WorkerSettings {
  readonly index: number
  readonly rtpAddress: string
  /** Public address of the media ports, which browsers are told besides `rtpAddress`; null without a NAT. */
  readonly iceAddress?: string | null
  /** Inclusive range; each worker uses the even ports of its share. */
  readonly rtpPorts: { readonly first: number; readonly last: number }
  readonly workers: number
  /** Silence of a far side after which it is reported (ms); Infinity never reports one. */
  readonly mediaTimeoutMs: number
  /** The thread holds calls with itself before it takes others. */
  readonly warmUp: boolean
  /** Makes an Opus copy of each recording. */
  readonly compressRecordings: boolean
  /** Path of the ONNX file of a neural voice detector; null uses the built-in one alone. */
  readonly vadModel: string | null
  /** Path of the ONNX file of a turn detector; null decides by words alone. */
  readonly turnModel: string | null
  /** Agents may call their model before the end of the caller's turn is certain. */
  readonly speculate: boolean
  /** For development: bots may have private addresses and use plain `ws`. */
  readonly allowPrivateUrls: boolean
  readonly providers: ProviderSettings
}

/** The worker pool as signalling uses it. `workers/pool/media-pool.ts` implements it. */
export interface MediaPool {
  /**
   * Opens a session on the worker with the most room. Rejects with EngineError `overloaded` when none has room for half
   * a second, and with `closed` when the session is closed meanwhile.
   */
  open(
    session: SessionId,
    order: OpenSessionOptions,
    events: (event: SessionEvent) => void,
  ): Promise<OpenedSession & { readonly worker: number }>
  setRemote(session: SessionId, setRemote: RemoteMedia): Promise<void>
  /** Sends a request about the legs of a session. */
  request<R extends LegRequest>(request: R): Promise<WorkerResult<R>>
  /** Starts a session. `sipCallId` is that of the leg; bots receive it. */
  start(session: SessionId, sipCallId?: string): Promise<void>
  /** Passes a digit of a leg that arrived by INFO; one that also arrives as RTP event counts once. */
  digit(session: SessionId, digit: Digit, durationMs: number, leg?: LegId): Promise<void>
  /** Reports the progress of a transfer that a bot asked for. */
  transferUpdate(session: SessionId, update: TransferUpdate): Promise<void>
  toolResult(session: SessionId, request: number, result: string): Promise<void>
  /** Closes a session. Idempotent; resolves with empty statistics when its worker died. */
  closeSession(session: SessionId, why: CloseReason): Promise<ClosedSession>
  /** Registers a listener, called once for every session that a dead worker took along. */
  onLost(listener: (session: SessionId) => void): void
  load(): Promise<readonly WorkerLoad[]>
  close(): Promise<void>
}
