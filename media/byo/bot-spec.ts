/* Description of a customer's bot. Plain data, because it crosses a thread boundary. */

/** Carrier of the messages: a WebSocket or a plain TCP stream. */
export type BotTransport = 'websocket' | 'tcp'

/** URL schemes of each transport: encrypted, and plain where the operator allows it. */
export const URL_SCHEMES: Readonly<Record<BotTransport, readonly [string, string]>> = {
  websocket: ['wss:', 'ws:'],
  tcp: ['tls:', 'tcp:'],
}

export const BOT_FORMATS = ['linear16', 'mulaw', 'alaw', 'g722', 'opus'] as const
export type BotFormat = (typeof BOT_FORMATS)[number]
export const BOT_RATES = [8000, 16000, 24000] as const
export type BotRate = (typeof BOT_RATES)[number]

/** Audio on a bot's connection: mono; linear16 is little-endian. */
export interface BotAudio {
  readonly format: BotFormat
  readonly sampleRate: BotRate
}

export interface BotSpec extends BotAudio {
  /** Type of a dialect in `dialects/registry.ts`. */
  readonly type: string
  /** URL with one of the schemes in `URL_SCHEMES` for its transport. */
  readonly url: string
  /**
   * Credential whose meaning depends on the type: a bearer token, `user:password`, or a signing key. Never
   * logged.
   */
  readonly secret: string | null
  readonly customParameters: Readonly<Record<string, string>>
  /** A UUID, because strict bots refuse anything else. */
  readonly callId: string
  readonly accountId: string
  readonly direction: 'inbound' | 'outbound'
  readonly from: string
  readonly to: string
  readonly maxCallSeconds: number
  /** Token by which a bot that is dialled again finds the call. Absent the first time. */
  readonly resumeToken?: string
}
