/*
 * A customer's bot as a media worker is told of it. Plain data: it crosses a thread.
 */

/** Which wire format the bot speaks. `static` is the native one; Vobiz speaks Plivo's with small changes. */
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

/** What carries the messages: a WebSocket, or a plain stream of bytes. */
export type BotTransport = 'websocket' | 'tcp'

export function transportOf(type: BotType): BotTransport {
  return type === 'audiosocket' ? 'tcp' : 'websocket'
}

/** How addresses begin: encrypted, and as they may where the operator allows it. */
export const URL_SCHEMES: Readonly<Record<BotTransport, readonly [string, string]>> = {
  websocket: ['wss:', 'ws:'],
  tcp: ['tls:', 'tcp:'],
}

export const BOT_FORMATS = ['linear16', 'mulaw', 'alaw'] as const
export type BotFormat = (typeof BOT_FORMATS)[number]
export type BotRate = 8000 | 16000 | 24000

/** How the audio on a bot's socket is written; mono, linear16 little-endian. */
export interface BotAudio {
  readonly format: BotFormat
  readonly sampleRate: BotRate
}

export interface BotSpec extends BotAudio {
  readonly type: BotType
  /** Of one of the `SCHEMES` of its transport. */
  readonly url: string
  /** What the type makes of it: a bearer token, `user:password`, or the key of a signature. Never logged. */
  readonly secret: string | null
  readonly customParameters: Readonly<Record<string, string>>
  /** UUIDs: strict bots refuse anything else. */
  readonly callId: string
  readonly accountId: string
  readonly direction: 'inbound' | 'outbound'
  readonly from: string
  readonly to: string
  readonly maxCallSeconds: number
}

const WIDE: readonly BotRate[] = [8000, 16000, 24000]
const NARROW: readonly BotRate[] = [8000]

/** What each type carries; the first format and rate are what a number without them gets. */
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

/** Whether bots of the type can be given that audio. */
export function supportsAudio(type: BotType, audio: BotAudio): boolean {
  return BOT_AUDIO[type].some(
    ([format, rates]) => format === audio.format && rates.includes(audio.sampleRate),
  )
}
