import type { AgentSpec, PersonaSpec, SpeakerScript } from '../../media/agent/agent-spec.js'
import type { ConversationEvent } from '../../media/agent/conversation-events.js'
import type { CartesiaSettings } from '../../media/agent/vendors/cartesia/settings.js'
import type { FallbackNames } from '../../media/agent/vendors/catalogue.js'
import type { DeepgramSettings } from '../../media/agent/vendors/deepgram/settings.js'
import type { ElevenLabsSettings } from '../../media/agent/vendors/elevenlabs/settings.js'
import type { RealtimeSettings } from '../../media/agent/vendors/openai/settings.js'
import type { SarvamSettings } from '../../media/agent/vendors/sarvam/settings.js'
import type { Digit, SessionRate } from '../../media/base/frame.js'
import type { BotEvent } from '../../media/byo/bot-event.js'
import type { BotSpec } from '../../media/byo/bot-spec.js'
import type { TransferUpdate } from '../../media/byo/dialects/dialect.js'
import type { RtpRemote } from '../../media/rtp/remote-description.js'
import type { CloseReason, SessionStats } from '../../media/session/endpoint.js'
import type { SpeechModelStats } from '../../media/vad/speech-model.js'
import type { TurnDetectorStats } from '../../media/vad/turn-detector.js'

/*
 * Everything that crosses between the main thread and a media worker, as one typed union each way.
 * PCM never does.
 */

export type SessionId = string

/** Which party speaks on our side of the session. */
export type Party =
  | { readonly kind: 'agent'; readonly agent: AgentSpec }
  | { readonly kind: 'persona'; readonly persona: PersonaSpec }
  | { readonly kind: 'bot'; readonly bot: BotSpec }

/** The far side as SDP negotiated it. */
export type RemoteMedia = RtpRemote

/** How a session is made. */
export interface OpenSessionOptions {
  readonly party: Party
  /** Stereo WAV to write from `start` on: left caller, right agent. Null records nothing. */
  readonly recordTo: string | null
  /** 16000 when any end is or may become wideband. */
  readonly rate: SessionRate
}

export type WorkerRequest =
  /**
   * Makes a session: binds a port of `address` (kept until `close`) and prepares the party (the
   * opening line is synthesised now, the bot of an inbound call is dialled). Nothing is sent until
   * `start`.
   */
  | {
      readonly type: 'open'
      readonly session: SessionId
      readonly options: OpenSessionOptions
    }
  | { readonly type: 'remote'; readonly session: SessionId; readonly remote: RemoteMedia }
  /**
   * Media is live: session time 0. The party may speak. `sipCallId` is the leg's.
   */
  | {
      readonly type: 'start'
      readonly session: SessionId
      readonly sipCallId: string | null
    }
  /** The far side is a simulated person: what the sandbox recogniser will hear. Precedes `start`. */
  | { readonly type: 'sandboxScript'; readonly session: SessionId; readonly script: SpeakerScript }
  /** The far side pressed a key and told of it outside its media. */
  | {
      readonly type: 'digit'
      readonly session: SessionId
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
  /** What became of a transfer the bot asked for. */
  | { readonly type: 'transfer_update'; readonly session: SessionId; readonly update: TransferUpdate }
  | { readonly type: 'close'; readonly session: SessionId; readonly why: CloseReason }
  | { readonly type: 'load' }
  | { readonly type: 'shutdown' }

export interface OpenedSession {
  readonly address: string
  readonly port: number
  /** Takes RTCP when it does not come on `port`; absent: there is no such port. */
  readonly rtcpPort?: number
}

export interface RecordingFile {
  readonly path: string
  readonly bytes: number
  readonly durationMs: number
  readonly sha256: string
}

export interface ClosedSession {
  readonly stats: SessionStats
  readonly recording: RecordingFile | null
}

/** How late beats were, over the last 10 s and since start. */
export interface WorkerLoad {
  readonly sessions: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** What the frames of one phase of the beat took: the part of lateness that is ours. */
  readonly workP99Ms: number
  readonly workMaxMs: number
  /** Beats of the whole life by lateness: upper bounds in ms of `LATENESS_BOUNDS_MS`, last is above. */
  readonly histogram: readonly number[]
  readonly skippedFrames: number
  /** Of the neural voice detector; null without one. */
  readonly speechModel: SpeechModelStats | null
  /** Of the model of turn endings; null without one. */
  readonly turnDetector: TurnDetectorStats | null
  /** Of the thread's own heap and buffers, garbage included. */
  readonly heapBytes: number
}

export { LATENESS_BOUNDS_MS } from '../../media/session/frame-clock.js'

export type WorkerResult<R extends WorkerRequest> = R extends { type: 'open' }
  ? OpenedSession
  : R extends { type: 'close' }
    ? ClosedSession
    : R extends { type: 'load' }
      ? WorkerLoad
      : null

/** What a session tells by itself. */
export type SessionEvent =
  | ConversationEvent
  | BotEvent
  /** A persona asks its SIP side to hang up. */
  | { readonly type: 'hang_up' }
  /** The agent uses a tool of its own that needs the main thread; `toolResult` answers `request`. */
  | {
      readonly type: 'tool_request'
      readonly request: number
      readonly tool: string
      readonly arguments: Readonly<Record<string, unknown>>
    }
  /** No packet of the far side for the configured time. */
  | { readonly type: 'media_timeout' }
  /** The recording cannot be written; the call goes on. */
  | { readonly type: 'recording_failed'; readonly message: string }

/** One end of a thread's message port. */
export interface Port<Out> {
  postMessage(message: Out): void
}

export type ToWorker =
  | { readonly id: number; readonly request: WorkerRequest }
  /** So many messages of the worker were read: it stops sending when too many are not. */
  | { readonly read: number }
export type FromWorker =
  | { readonly type: 'result'; readonly id: number; readonly result: unknown }
  | { readonly type: 'error'; readonly id: number; readonly code: string; readonly message: string }
  | { readonly type: 'event'; readonly session: SessionId; readonly event: SessionEvent }
  /** One session failed by a fault of ours and is gone; the others go on. */
  | { readonly type: 'lost'; readonly session: SessionId }
  | {
      readonly type: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly fields: object
      readonly message: string
    }

/** Vendor endpoints and keys of the operator; handed to a worker once, never logged. */
export interface ProviderSettings {
  readonly openai: {
    readonly baseUrl: string
    readonly apiKey: string | null
    readonly chatModel: string
    readonly chatWindowTokens?: number | null
    readonly transcriptionModel: string
    readonly speechModel: string
    readonly speechVoice: string
    readonly speechRate: 8000 | 16000 | 24000 | 48000
    readonly realtime?: RealtimeSettings | null
  } | null
  readonly deepgram?: DeepgramSettings | null
  readonly sarvam?: SarvamSettings | null
  readonly elevenlabs?: ElevenLabsSettings | null
  readonly cartesia?: CartesiaSettings | null
  /** A second endpoint for chat completions. */
  readonly secondChat?: { readonly baseUrl: string; readonly apiKey: string | null; readonly model: string }
  readonly fallbacks?: FallbackNames
}

export interface WorkerSettings {
  readonly index: number
  readonly rtpAddress: string
  /** Inclusive range; a worker takes even ports by its share. */
  readonly rtpPorts: { readonly first: number; readonly last: number }
  readonly workers: number
  readonly mediaTimeoutMs: number
  /** Make an Opus copy beside each recording. */
  readonly compressRecordings: boolean
  /** ONNX file of a neural voice detector; null for the built-in one alone. */
  readonly vadModel: string | null
  /** ONNX file of a model of turn endings; null for the words alone. */
  readonly turnModel: string | null
  /** Agents may ask their model before the caller's turn is decided. */
  readonly speculate: boolean
  /** Development: bots may be at private addresses and speak plain `ws`. */
  readonly allowPrivateUrls: boolean
  readonly providers: ProviderSettings
}

/** What signalling needs of the worker pool; `workers/pool/media-pool.ts` is the one behind it. */
export interface MediaPool {
  /** Picks the worker with room (by beat lateness); throws EngineError `overloaded` when none has. */
  open(
    session: SessionId,
    order: OpenSessionOptions,
    events: (event: SessionEvent) => void,
  ): Promise<OpenedSession & { readonly worker: number }>
  setRemote(session: SessionId, setRemote: RemoteMedia): Promise<void>
  /** `sipCallId` is the leg's, for bots that are told it. */
  start(session: SessionId, sipCallId?: string): Promise<void>
  /** A key of the far side that came by SIP INFO; one that also comes as RTP event counts once. */
  digit(session: SessionId, digit: Digit, durationMs: number): Promise<void>
  /** What became of a transfer that a bot asked for. */
  transferUpdate(session: SessionId, update: TransferUpdate): Promise<void>
  toolResult(session: SessionId, request: number, result: string): Promise<void>
  /** Idempotent; a session whose worker died resolves with empty stats. */
  closeSession(session: SessionId, why: CloseReason): Promise<ClosedSession>
  /** Called once for every session a dead worker took along. */
  onLost(listener: (session: SessionId) => void): void
  load(): Promise<readonly WorkerLoad[]>
  close(): Promise<void>
}
