import type { BotAudio, BotFormat, BotRate, BotTransport } from '../bot-spec.js'
import type { StreamInfo, WireFormat } from './wire-format.js'

/** Everything the service knows of one type of bot. To add one, add such a value to `registry.ts`. */
export interface BotDialect<Type extends string = string> {
  /** Value of `mediaEndpoint.type` in the API. */
  readonly type: Type
  readonly transport: BotTransport
  /** Audio formats and their rates; the first ones are the default. */
  readonly audio: readonly (readonly [BotFormat, readonly BotRate[]])[]
  /**
   * Custom parameters: not supported, as `name=value;name=value` in one line (which excludes `;`, and `=` in
   * names), or as a map.
   */
  readonly parameters: 'none' | 'inline' | 'map'
  /** Returns the request headers that carry the secret; null when the protocol has none. */
  readonly authenticate: Authenticate | null
  /** False when the bot's URL must not have a query; true unless set. */
  readonly query?: boolean
  /** Query parameter that tells the bot the sample rate; absent when there is none. */
  readonly rateParameter?: string
  /** WebSocket subprotocols to offer, one list per connection attempt; one empty list is the default. */
  readonly subprotocols?: readonly (readonly string[])[]
  /** The vendor's REST request that ends a call; null when its bots use none. */
  readonly hangUp: HangUpRoute | null
  /** Opens the wire format of one stream. */
  readonly open: (stream: StreamInfo) => WireFormat
}

/** `nonce` is random text for signatures. */
export type Authenticate = (
  secret: string,
  request: { readonly url: string; readonly nonce: string },
) => Readonly<Record<string, string>>

/** A vendor's REST request to end a call, with responses in the vendor's format. */
export interface HangUpRoute {
  readonly method: 'post' | 'delete'
  /** Paths with the parameters `:account` and `:call`. */
  readonly paths: readonly string[]
  /** Returns the UUID of the call that the path names. */
  uuid(call: string): string
  /** Returns whether the body asks to end the call. */
  ends(body: string): boolean
  /** Returns the response to a request that ended the call. */
  done(names: { readonly account: string; readonly call: string }): {
    readonly status: number
    readonly body?: object
  }
  /** Returns the body of a refusal. */
  refused(refusal: HangUpRefusal): object
}

export interface HangUpRefusal {
  readonly status: number
  readonly code: string
  /** Short description of the error code. */
  readonly title: string
  readonly message: string
  readonly requestId: string
  /** Documentation of the error code. */
  readonly url: string
}

/** Returns the sample rate (Hz) that the bot's URL names, or null when it names none. NaN is not a number. */
export function namedRate({ rateParameter }: BotDialect, url: string): number | null {
  const named = rateParameter === undefined ? null : new URL(url).searchParams.get(rateParameter)
  return named === null ? null : Number(named)
}

/** Returns true when bots of the dialect support the audio. */
export function supportsAudio(dialect: BotDialect, audio: BotAudio): boolean {
  return dialect.audio.some(([format, rates]) => format === audio.format && rates.includes(audio.sampleRate))
}

export const WIDEBAND: readonly BotRate[] = [8000, 16_000, 24_000]
export const NARROWBAND: readonly BotRate[] = [8000]
