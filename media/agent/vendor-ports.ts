import type { Rate, SessionRate } from '../base/frame.js'
import type { Scope } from '../base/scope.js'
import type { RecognitionMode, TimedWord } from './agent-spec.js'
import type { TokenCount } from './conversation/usage-meter.js'
import type { MannersOf } from './learnt-manners.js'

/*
 * The four vendor ports. Each operation can be cancelled by its handle and reports through callbacks on the
 * same thread, never after `close` or `cancel` returned. Vendors declare their differences as capabilities.
 */

/** An `EngineError` with a `vendor_*` code. The vendor adapter classifies each failure. */
export type VendorFailure = import('../base/errors.js').EngineError

// ---- speech to text

export interface SpeechToTextCapabilities {
  /** Sends text before the utterance is complete. */
  readonly partials: boolean
  /** Detects the end of an utterance. Without this, our VAD calls `utteranceEnd`. */
  readonly endOfUtterance: boolean
  readonly wordTimes: boolean
  /** Can recognise speech at all. The sandbox cannot for an unknown human caller. */
  readonly understandsSpeech: boolean
  /** Time (ms) from the end of speech to the final text (p99). */
  readonly finalDeadlineMs: number
  /** The operator set the deadline. Absent: it is where learning begins. */
  readonly deadlineSet?: boolean
  /** Language tags that this stream understands. Absent means only the language with which it was opened. */
  readonly understoodLanguages?: readonly string[]
  /** Reports the spoken language with each text. */
  readonly detectsLanguage?: boolean
  /** Handles a late final text by itself. No second recogniser is asked. */
  readonly ownFinalDeadline?: boolean
}

export interface SpeechToTextEvents {
  /** Reports the text of the current utterance so far. Replaces the previous partial. */
  partial(text: string, language?: string | null): void
  /**
   * Reports the complete text of an utterance. The text is empty when there was speech but no words. Word
   * times are session ms. `language` is the detected language tag, null or absent when the vendor does not
   * report one.
   */
  final(text: string, words: readonly TimedWord[] | null, language?: string | null): void
  /**
   * Reports that the words so far may be complete (true), or no longer are (false). The final text follows in
   * both cases. Optional.
   */
  eagerEndOfTurn?(complete: boolean): void
  failed(error: VendorFailure): void
}

export interface SpeechToTextStream {
  readonly capabilities: SpeechToTextCapabilities
  /**
   * Writes caller audio at the session rate, in order. `pcm` is borrowed; `atMs` is the session time of its
   * first sample.
   */
  write(pcm: Int16Array, atMs: number): void
  /**
   * Reports that our VAD detected speech from this session time (ms), already corrected to the first voiced
   * sample.
   */
  utteranceStart(atMs: number): void
  /** Reports that our VAD detected the end of speech. Requests a final text as soon as possible. */
  utteranceEnd(atMs: number): void
  /**
   * Reports whether the agent asked for a number, whose digits people say with pauses. Absent when the vendor takes no
   * hint of it.
   */
  expectNumber?(expected: boolean): void
  /** Returns the speech that has neither a text nor a reply yet, or null. Absent means never any. */
  untranscribed?(): { readonly startMs: number; readonly endMs: number } | null
  close(): void
}

export interface SpeechToText {
  readonly id: string
  open(
    options: {
      readonly rate: SessionRate
      /** Language at the start, and the only one for a vendor that takes one language at a time. */
      readonly language: string
      /** All languages that may be spoken. Absent means only `language`. */
      readonly languages?: readonly string[]
      readonly model: string | null
      /** A mode that the catalogue offers for the model. */
      readonly mode: RecognitionMode
      /** Names and terms that the caller may use. A vendor without hints ignores them. */
      readonly vocabulary?: readonly string[]
    },
    events: SpeechToTextEvents,
  ): SpeechToTextStream
}

// ---- text to speech

export interface SpeakRequest {
  readonly text: string
  readonly voice: string
  readonly model: string | null
  /** Language tag, for example `hi-IN`. */
  readonly language: string
  /** Speaking rate. 1 is the vendor's normal speed. */
  readonly pace: number
  /** The preferred rate. The vendor may deliver another one and states it with each chunk. */
  readonly rate: SessionRate
  /** The call, closed at its end. A vendor may keep connections for it. Absent: the text belongs to none. */
  readonly call?: Scope
  /**
   * The reply that the text is a part of, closed when no further text follows. A vendor with continuations
   * speaks its texts with one intonation. Absent: the text stands alone.
   */
  readonly reply?: Scope
}

export interface SpeakEvents {
  /** Delivers mono PCM, owned by the receiver. */
  audio(pcm: Int16Array, rate: Rate): void
  /** Reports that the text at `textOffset` (UTF-16 units) starts at `atMs` of this audio. Optional. */
  word(textOffset: number, length: number, atMs: number): void
  done(): void
  failed(error: VendorFailure): void
}

export interface Cancellable {
  /** Cancels the job. No callback follows. Idempotent. */
  cancel(): void
}

export interface TextToSpeech {
  readonly id: string
  /** Time (ms) to the first audible audio, after which the conversation falls back. */
  readonly firstAudioDeadlineMs: number
  /** The operator set the deadline. Absent: it is where learning begins. */
  readonly deadlineSet?: boolean
  /** The next text of a reply continues the intonation only when it follows the audio of the last one at once. */
  readonly followsAtOnce?: boolean
  speak(request: SpeakRequest, events: SpeakEvents): Cancellable
}

// ---- language model

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Parsed JSON object. `{}` when the model sent nothing. */
  readonly arguments: Readonly<Record<string, unknown>>
  /** Reason why the arguments cannot be read, for the model. The tool does not run. */
  readonly unusable?: string
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string }

export interface ToolDeclaration {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments object. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface GenerateRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolDeclaration[]
}

export interface GenerateEvents {
  /** Delivers text as the model wrote it, which may hold reasoning: `generateProse` separates it. */
  text(delta: string): void
  /** Reports work without words: reasoning, or a part of a tool call. Optional. */
  progress?(): void
  /** Reports all calls of one answer, after its text. */
  toolCalls(calls: readonly ToolCall[]): void
  /**
   * Reports the end of the answer. `usage` is null when the vendor does not report it. `cut` is true if a limit of tokens
   * or a filter ended the answer before the model had finished.
   */
  done(usage: TokenCount | null, cut?: boolean): void
  failed(error: VendorFailure): void
}

/**
 * `context.reason` of a `vendor_rejected` failure: the prompt exceeds the model's window. A shorter prompt
 * may work.
 */
export const PROMPT_TOO_LONG = 'prompt_too_long'

export interface LanguageModel {
  readonly id: string
  /** Time (ms) to the first token, after which the conversation falls back. */
  readonly firstTokenDeadlineMs: number
  /** The operator set the deadline. Absent: it is where learning begins. */
  readonly deadlineSet?: boolean
  /**
   * Forms in which its models mark their reasoning, as their answers showed. Absent: they do not reason in their
   * text.
   */
  readonly reasoning?: MannersOf<'implicit' | 'plain'>
  generate(request: GenerateRequest, events: GenerateEvents): Cancellable
}

// ---- speech to speech: one model for STT, LLM and TTS

export interface SpeechToSpeechCapabilities {
  /** Detects the end of the caller's turn (`committed`). Without this, the conversation calls `commit`. */
  readonly turnEnd: boolean
  /** Time (ms) from `respond` to the first audio of a reply. */
  readonly firstAudioDeadlineMs: number
  /** Longest lifetime of a connection (ms). Null means the whole call. */
  readonly maxConnectionMs: number | null
}

export interface SpeechToSpeechOptions {
  readonly rate: SessionRate
  readonly model: string
  readonly voice: string
  /** Speaking rate. 1 is the vendor's normal speed. */
  readonly pace: number
  /** Language for the transcription. Null means one of several. */
  readonly language: string | null
  readonly instructions: string
  readonly tools: readonly ToolDeclaration[]
  /** The conversation so far without the instructions, for use after a lost connection. */
  readonly history: readonly ChatMessage[]
}

export interface SpeechToSpeechEvents {
  /** Reports speech detected by the vendor. Only with `turnEnd`. */
  callerStarted(): void
  callerStopped(): void
  /** Reports that the caller's speech since the last commit joined the conversation as `item`. */
  committed(item: string): void
  /**
   * Reports the transcript of an item, null when it is unavailable. May arrive long after the reply began.
   */
  transcript(item: string, text: string | null): void
  /** Reports that the connection is lost. The replies in progress fail right after it, and nothing else follows. */
  failed(error: VendorFailure): void
}

export interface SpokenReplyEvents {
  /**
   * Delivers audio of an item, in order and faster than real time. Mono PCM, owned by the receiver. A reply
   * may have several items, one after the other.
   */
  audio(item: string, pcm: Int16Array, rate: Rate): void
  /** Delivers words of the item piece by piece: before, with or after their audio. */
  words(item: string, piece: string): void
  /** Reports progress without audio, such as a tool call. */
  progress(): void
  /** Reports the end of the reply. */
  done(calls: readonly ToolCall[], usage: TokenCount | null): void
  failed(error: VendorFailure): void
}

export interface SpeechToSpeechStream {
  /**
   * Writes caller audio at the session rate, in order. `pcm` is borrowed. Audio is buffered until the vendor
   * is ready.
   */
  write(pcm: Int16Array): void
  /** Ends the caller's turn with the audio so far. `committed` follows. */
  commit(): void
  /** Requests a reply to the conversation, after any reply in progress has ended. */
  respond(options: { readonly mayUseTools: boolean }, events: SpokenReplyEvents): Cancellable
  /** Speaks the text outside the conversation. */
  say(text: string, events: SpokenReplyEvents): Cancellable
  /** Cuts the item at `audioMs`, the end of the part that was heard. */
  truncate(item: string, audioMs: number): void
  /** Removes an item that was never heard or was no speech. */
  deleteItem(item: string): void
  /** Adds a text message to the conversation. */
  addMessage(role: 'user' | 'assistant' | 'system', text: string): void
  toolResult(callId: string, output: string): void
  /** Closes the stream. Idempotent. */
  close(): void
}

export interface SpeechToSpeech {
  readonly id: string
  readonly capabilities: SpeechToSpeechCapabilities
  /** Starts to connect at once. Later failures arrive through `failed`. */
  open(options: SpeechToSpeechOptions, events: SpeechToSpeechEvents): SpeechToSpeechStream
}

/** The vendors of a media thread by id (`embedded`, `openai`). */
export interface Vendors {
  speechToText(id: string): SpeechToText
  textToSpeech(id: string): TextToSpeech
  languageModel(id: string): LanguageModel
  /** Returns a model that replaces the other three. */
  speechToSpeech(id: string): SpeechToSpeech
}
