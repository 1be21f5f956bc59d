import type { BotType } from '../bot-spec.js'
import { openAudioSocket } from './audiosocket.js'
import type { Dialect, StreamInfo } from './dialect.js'
import { openExotel } from './exotel.js'
import { openJambonz } from './jambonz.js'
import { openNative } from './native.js'
import { openPlivo } from './plivo.js'
import { openTelnyx } from './telnyx.js'
import { openTwilio } from './twilio.js'
import { openVonage } from './vonage.js'

const DIALECTS: Readonly<Record<BotType, (stream: StreamInfo) => Dialect>> = {
  static: openNative,
  twilio: openTwilio,
  plivo: openPlivo,
  vobiz: openPlivo,
  exotel: openExotel,
  telnyx: openTelnyx,
  vonage: openVonage,
  jambonz: openJambonz,
  audiosocket: openAudioSocket,
}

/** Opens the wire format of one bot's connection. */
export function openDialect(stream: StreamInfo): Dialect {
  return DIALECTS[stream.spec.type](stream)
}
