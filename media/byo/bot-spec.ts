/* Description of a customer's bot. Plain data, because it crosses a thread boundary. */

/** Wire format of the bot. `static` is the native one; Vobiz uses Plivo's with small changes. */
export const BOT_TYPES = [
  'static',
  'twilio',
  'plivo',
  'vobiz',
  'exotel',
  'telnyx',
  'vonage',
  'jambonz',
  'audiosocket',
] as const
export type BotType = (typeof BOT_TYPES)[number]

/** Carrier of the messages: a WebSocket or a plain TCP stream. */
export type BotTransport = 'websocket' | 'tcp'

export function transportOf(type: BotType): BotTransport {
  return type === 'audiosocket' ? 'tcp' : 'websocket'
}

/** URL schemes of each transport: encrypted, and plain where the operator allows it. */
export const URL_SCHEMES: Readonly<Record<BotTransport, readonly [string, string]>> = {
  websocket: ['wss:', 'ws:'],
  tcp: ['tls:', 'tcp:'],
}

export const BOT_FORMATS = ['linear16', 'mulaw', 'alaw'] as const
export type BotFormat = (typeof BOT_FORMATS)[number]
export type BotRate = 8000 | 16000 | 24000

/** Audio on a bot's connection: mono; linear16 is little-endian. */
export interface BotAudio {
  readonly format: BotFormat
  readonly sampleRate: BotRate
}

export interface BotSpec extends BotAudio {
  readonly type: BotType
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
}

const WIDE: readonly BotRate[] = [8000, 16000, 24000]
const NARROW: readonly BotRate[] = [8000]

/** Formats and rates of each type; the first ones are the default of a number. */
export const BOT_AUDIO: Readonly<Record<BotType, readonly (readonly [BotFormat, readonly BotRate[]])[]>> = {
  static: [
    ['linear16', WIDE],
    ['mulaw', NARROW],
    ['alaw', NARROW],
  ],
  twilio: [['mulaw', NARROW]],
  plivo: [
    ['mulaw', NARROW],
    ['linear16', [8000, 16000]],
  ],
  vobiz: [
    ['mulaw', NARROW],
    ['linear16', WIDE],
  ],
  exotel: [['linear16', WIDE]],
  telnyx: [
    ['mulaw', NARROW],
    ['alaw', NARROW],
  ],
  vonage: [['linear16', WIDE]],
  jambonz: [['linear16', WIDE]],
  audiosocket: [['linear16', WIDE]],
}

/** Returns true when bots of the type support the audio. */
export function supportsAudio(type: BotType, audio: BotAudio): boolean {
  return BOT_AUDIO[type].some(
    ([format, rates]) => format === audio.format && rates.includes(audio.sampleRate),
  )
}
