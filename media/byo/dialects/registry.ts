import { AUDIOSOCKET } from './audiosocket.js'
import type { BotDialect } from './bot-dialect.js'
import { CHAN_WEBSOCKET, CHAN_WEBSOCKET_JSON } from './chan-websocket.js'
import { EXOTEL } from './exotel.js'
import { JAMBONZ } from './jambonz.js'
import { NATIVE } from './native.js'
import { PLIVO, VOBIZ } from './plivo.js'
import { TELNYX } from './telnyx.js'
import { TWILIO } from './twilio.js'
import { VONAGE } from './vonage.js'
import type { StreamInfo, WireFormat } from './wire-format.js'

/** Every type of bot, in the order of the API. */
export const BOT_DIALECTS = [
  NATIVE,
  TWILIO,
  PLIVO,
  VOBIZ,
  EXOTEL,
  TELNYX,
  VONAGE,
  JAMBONZ,
  AUDIOSOCKET,
  CHAN_WEBSOCKET,
  CHAN_WEBSOCKET_JSON,
] as const satisfies readonly BotDialect[]

export type BotType = (typeof BOT_DIALECTS)[number]['type']

export const BOT_TYPES: readonly BotType[] = BOT_DIALECTS.map(({ type }) => type)

/** Returns the dialect of a bot. Throws TypeError for an unknown type. */
export function dialectOf(type: string): BotDialect {
  const dialect = BOT_DIALECTS.find((candidate) => candidate.type === type)
  if (dialect === undefined) throw new TypeError(`no such type of bot: ${type}`)
  return dialect
}

/** Opens the wire format of one bot's stream. */
export function openDialect(stream: StreamInfo): WireFormat {
  return dialectOf(stream.spec.type).open(stream)
}
