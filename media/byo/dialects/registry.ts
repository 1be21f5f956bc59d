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

const DIALECTS: Readonly<Record<BotType, (facts: StreamInfo) => Dialect>> = {
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

/** The wire format of one bot's socket. */
export function openDialect(facts: StreamInfo): Dialect {
  return DIALECTS[facts.spec.type](facts)
}
