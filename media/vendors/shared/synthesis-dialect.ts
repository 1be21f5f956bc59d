import type { SpeakRequest } from '../../agent/vendor-ports.js'
import type { EngineError } from '../../base/errors.js'
import type { FailureClass } from './vendor-socket.js'

/** Receives the contents of a vendor's messages; a null `context` is the connection's only one. */
export interface SynthesisReader {
  /** Takes 16-bit little-endian PCM at the requested rate, borrowed; a chunk may end within a sample. */
  audio(context: string | null, bytes: Uint8Array): void
  /** Receives the next word of the text, as written there, and its time in the text's audio (ms). */
  word(context: string | null, word: string, atMs: number): void
  /** Receives a word like `word`, with its time in the audio of the context, which may have had other texts. */
  wordInContext(context: string, word: string, atMs: number): void
  /** Returns the audio of the text received so far (ms), because some vendors count times from each message. */
  receivedMs(context: string | null): number
  /** Reports that audio of this many more characters of the text has come, white space not counted. */
  spoken(context: string, characters: number): void
  /** Reports the end of the text; the context stays open for the next one. */
  textDone(context: string): void
  /** Reports the end of the context. */
  done(context: string | null): void
  /** Fails one context, or with `context` undefined the connection and all its contexts. */
  failed(context: string | null | undefined, error: EngineError): void
}

/** One vendor's wire format for TTS over a WebSocket. Encodes and decodes messages; owns no socket. */
export interface SynthesisDialect {
  readonly vendor: string
  readonly firstAudioDeadlineMs: number
  /** Returns the URL; requests with equal URLs may share a connection. */
  url(request: SpeakRequest): string
  readonly headers: Readonly<Record<string, string>>
  /** Texts that one connection can synthesize at the same time. */
  readonly maxContexts: number
  /** A cancelled text counts against `maxContexts` until the vendor reports it done. */
  readonly countsCancelled?: boolean
  /** Each call has its own connections. */
  readonly connectionPerCall?: boolean
  /** Returns the reason why the vendor would reject the request, or null. */
  validate(request: SpeakRequest): string | null
  /** Returns the messages for a context with one text. */
  begin(context: string, request: SpeakRequest): readonly string[]
  /** How a context speaks the texts of a reply, one after the other. Absent: each text has its own context. */
  readonly continuation?: Continuation
  /** Returns the message that cancels one context, or null when only closing the connection does. */
  cancel(context: string): string | null
  /** Keep-alive of an idle connection, or null when the protocol has none. */
  readonly keepAlive: { readonly afterMs: number; readonly message: string } | null
  /** Time (ms) after which an unused connection is closed. */
  readonly idleMs: number
  classify(code: number, reason: string): FailureClass
  /** Name of the field that holds the audio of a message as base64. */
  readonly audioField: string
  /** `audio` holds the bytes of that field, unless they are left in it. */
  read(message: Readonly<Record<string, unknown>>, reader: SynthesisReader, audio: Uint8Array | null): void
}

export interface Continuation {
  /** Time (ms) after the audio of a text after which the vendor has dropped the context. */
  readonly expiresMs: number
  /** Returns the messages that open the context and speak its first text. */
  begin(context: string, request: SpeakRequest): readonly string[]
  /** Returns the messages that speak a further text with the same voice, language and speed. */
  next(context: string, request: SpeakRequest): readonly string[]
  /** Returns the message that ends the context after its texts so far; the vendor then reports `done`. */
  finish(context: string, request: SpeakRequest): string
}
