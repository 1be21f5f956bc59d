import type { Rate, SessionRate } from '../frame.js'
import type { RecognitionMode, SpeakerScript, TimedWord } from './spec.js'
import type { TokenCount } from './usage.js'

/*
 * The three vendor ports. Everything a vendor does is cancellable by its handle, reports through
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
  readonly hears?: readonly string[]
  /** Tells with its texts which of them was spoken. */
  readonly detectsLanguage?: boolean
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
      /** What a simulated speaker will say, in order; null for anyone else. Only the sandbox reads it. */
      readonly script: SpeakerScript | null
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

export interface LanguageModel {
  readonly id: string
  /** First token is expected within this many ms, else the conversation falls back. */
  readonly firstTokenDeadlineMs: number
  generate(request: GenerateRequest, events: GenerateEvents): Cancellable
}

/**
 * What a media thread offers a conversation: vendors by id (`embedded`, `openai`). Adding a vendor is
 * one file and one line of `vendors/registry.ts`.
 */
export interface Vendors {
  speechToText(id: string): SpeechToText
  textToSpeech(id: string): TextToSpeech
  languageModel(id: string): LanguageModel
}
