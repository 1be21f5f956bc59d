import type { Rate, SessionRate } from '../base/frame.js'
import type { RecognitionMode, TimedWord } from './agent-spec.js'
import type { TokenCount } from './conversation/usage-meter.js'

/*
 * The four vendor ports. Everything a vendor does is cancellable by its handle, reports through
 * callbacks on the same thread, and calls none of them after `close`/`cancel` returned. Differences
 * between vendors are declared as capabilities, not discovered as special cases.
 */

/** Failures are classified where they arise; `EngineError` with a `vendor_*` code. */
export type VendorFailure = import('../base/errors.js').EngineError

// ---- speech to text

export interface SpeechToTextCapabilities {
  /** Sends text before the utterance is complete. */
  readonly partials: boolean
  /** Says by itself when an utterance is over; otherwise our VAD drives `utteranceEnd`. */
  readonly endOfUtterance: boolean
  readonly wordTimes: boolean
  /** Can recognise at all; the sandbox cannot for an unknown human caller. */
  readonly understandsSpeech: boolean
  /** Milliseconds after the end of speech by which a final text is expected (p99). */
  readonly finalDeadlineMs: number
  /** The contract's tags this stream understands at once; absent: only the one it was opened in. */
  readonly understoodLanguages?: readonly string[]
  /** Tells with its texts which of them was spoken. */
  readonly detectsLanguage?: boolean
  /** It answers for itself when a text is late: nobody else is asked beside it. */
  readonly ownFinalDeadline?: boolean
}

export interface SpeechToTextEvents {
  /** Text so far of the current utterance; replaces the previous partial. */
  partial(text: string, language?: string | null): void
  /**
   * The complete text of an utterance; empty when speech was heard but nothing understood.
   * Word times are session milliseconds. `language`: what the vendor heard, as a contract's tag; null or
   * absent when it does not tell, or was told which to expect.
   */
  final(text: string, words: readonly TimedWord[] | null, language?: string | null): void
  /**
   * Optional: the words so far may well be all (true), or were taken for that and are not (false). The final
   * text comes all the same.
   */
  eagerEndOfTurn?(complete: boolean): void
  failed(error: VendorFailure): void
}

export interface SpeechToTextStream {
  readonly capabilities: SpeechToTextCapabilities
  /** Caller audio at the session rate, in order. Borrowed; `atMs` is session time of its first sample. */
  write(pcm: Int16Array, atMs: number): void
  /** Our VAD heard speech begin, at session ms (already corrected back to the first voiced sample). */
  utteranceStart(atMs: number): void
  /** Our VAD heard speech end; asks for a final as soon as possible. */
  utteranceEnd(atMs: number): void
  /** Absent: nothing. What it took for said, and has neither words for nor an answer to. */
  untranscribed?(): { readonly startMs: number; readonly endMs: number } | null
  close(): void
}

export interface SpeechToText {
  readonly id: string
  open(
    options: {
      readonly rate: SessionRate
      /** What is spoken at first; all that is understood where a vendor takes one language at a time. */
      readonly language: string
      /** All that may be spoken; absent: only `language`. */
      readonly languages?: readonly string[]
      readonly model: string | null
      /** One that the catalogue offers for the model. */
      readonly mode: RecognitionMode
    },
    events: SpeechToTextEvents,
  ): SpeechToTextStream
}

// ---- text to speech

export interface SpeakRequest {
  readonly text: string
  readonly voice: string
  readonly model: string | null
  /** Language tag as the contract writes them, for example `hi-IN`. */
  readonly language: string
  /** 1 is the vendor's normal speed. */
  readonly pace: number
  /** The rate wanted; the vendor may deliver another one and says so with each chunk. */
  readonly rate: SessionRate
}

export interface SpeakEvents {
  /** Mono PCM, owned by the receiver. */
  audio(pcm: Int16Array, rate: Rate): void
  /** Optional: `textOffset` (UTF-16 units in the request text) is spoken from `atMs` of this audio. */
  word(textOffset: number, length: number, atMs: number): void
  done(): void
  failed(error: VendorFailure): void
}

export interface Cancellable {
  /** Idempotent; no callback follows. */
  cancel(): void
}

export interface TextToSpeech {
  readonly id: string
  /** First useful audio is expected within this many ms, else the conversation falls back. */
  readonly firstAudioDeadlineMs: number
  speak(request: SpeakRequest, events: SpeakEvents): Cancellable
}

// ---- language model

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Parsed JSON object; `{}` when the model sent nothing. */
  readonly arguments: Readonly<Record<string, unknown>>
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
  text(delta: string): void
  /** All calls of one answer, after its text. */
  toolCalls(calls: readonly ToolCall[]): void
  /** Null: the vendor does not tell. */
  done(usage: TokenCount | null): void
  failed(error: VendorFailure): void
}

/**
 * `context.reason` of a `vendor_rejected`: the prompt has more tokens than the model takes. Asking again with
 * a shorter one may work.
 */
export const PROMPT_TOO_LONG = 'prompt_too_long'

export interface LanguageModel {
  readonly id: string
  /** First token is expected within this many ms, else the conversation falls back. */
  readonly firstTokenDeadlineMs: number
  generate(request: GenerateRequest, events: GenerateEvents): Cancellable
}

// ---- speech to speech: one model that hears and speaks by itself

export interface SpeechToSpeechCapabilities {
  /** Says by itself when the caller's turn is over (`committed`); otherwise `commit` does. */
  readonly turnEnd: boolean
  /** The first sound of a reply is expected within this many ms of `respond`. */
  readonly firstAudioDeadlineMs: number
  /** A connection lives no longer than this; null: as long as the call. */
  readonly maxConnectionMs: number | null
}

export interface SpeechToSpeechOptions {
  readonly rate: SessionRate
  readonly model: string
  readonly voice: string
  /** 1 is the vendor's normal speed. */
  readonly pace: number
  /** What is spoken, for the transcription beside the model; null: one of several. */
  readonly language: string | null
  readonly instructions: string
  readonly tools: readonly ToolDeclaration[]
  /** The conversation so far, without the instructions: after a lost connection. */
  readonly history: readonly ChatMessage[]
}

export interface SpeechToSpeechEvents {
  /** The vendor's own detector. Only with `turnEnd`. */
  callerStarted(): void
  callerStopped(): void
  /** What the caller said since the last time is part of the conversation now, under this id. */
  committed(item: string): void
  /** The words of an item; null when they cannot be had. May come long after the reply began. */
  transcript(item: string, text: string | null): void
  /** The connection is gone; after this each reply that was under way fails, and nothing follows. */
  failed(error: VendorFailure): void
}

export interface SpokenReplyEvents {
  /**
   * Sound of the item, in order and faster than it is heard. Mono PCM, owned by the receiver. A reply
   * may have several items, one after the other.
   */
  audio(item: string, pcm: Int16Array, rate: Rate): void
  /** Words of the item, a piece at a time, before, with or after their sound. */
  words(item: string, piece: string): void
  /** Something is being made that is no sound, a tool call for one. */
  progress(): void
  /** Everything came. */
  done(calls: readonly ToolCall[], usage: TokenCount | null): void
  failed(error: VendorFailure): void
}

export interface SpeechToSpeechStream {
  /** Caller audio at the session rate, in order. Borrowed. What comes before the vendor is ready is kept. */
  write(pcm: Int16Array): void
  /** What was written since the last commit is the caller's turn; `committed` follows. */
  commit(): void
  /** Answers the conversation as it is, after a reply that is still under way has ended. */
  respond(options: { readonly mayUseTools: boolean }, events: SpokenReplyEvents): Cancellable
  /** Says these words beside the conversation, of which they do not become a part. */
  say(text: string, events: SpokenReplyEvents): Cancellable
  /** Only the first `audioMs` of the item's sound was heard. */
  truncate(item: string, audioMs: number): void
  /** The item was never heard, or was no speech. */
  deleteItem(item: string): void
  /** Adds written words to the conversation. */
  addMessage(role: 'user' | 'assistant' | 'system', text: string): void
  toolResult(callId: string, output: string): void
  /** Idempotent. */
  close(): void
}

export interface SpeechToSpeech {
  readonly id: string
  readonly capabilities: SpeechToSpeechCapabilities
  /** Connects at once; what fails then is told by `failed`. */
  open(options: SpeechToSpeechOptions, events: SpeechToSpeechEvents): SpeechToSpeechStream
}

/**
 * What a media thread offers a conversation: vendors by id (`embedded`, `openai`). Adding a vendor is
 * one file and one line of `vendors/registry.ts`.
 */
export interface Vendors {
  speechToText(id: string): SpeechToText
  textToSpeech(id: string): TextToSpeech
  languageModel(id: string): LanguageModel
  /** One model in the place of all three. */
  speechToSpeech(id: string): SpeechToSpeech
}
