import type { Codec, CodecName } from './codec.js'
import { pcma, pcmu } from './g711-codec.js'
import { g722 } from './g722.js'
import { l16, l16Narrow } from './l16.js'
import { opusCodec } from './opus.js'

/** All codecs. To add one, add a file and a line here. */
const CODECS: Readonly<Record<CodecName, Codec>> = {
  PCMA: pcma,
  PCMU: pcmu,
  G722: g722,
  OPUS: opusCodec,
  L16: l16,
  'L16/8000': l16Narrow,
}

/** All names in order of preference when no other order is configured. */
export const CODEC_NAMES = Object.keys(CODECS) as readonly CodecName[]

export function codecOf(name: CodecName): Codec {
  return CODECS[name]
}

export function isCodecName(text: string): text is CodecName {
  return Object.hasOwn(CODECS, text)
}

/** Returns the codec of an rtpmap, or null for an unsupported one. */
export function findCodec(encoding: string, clockRate: number, channels: number): Codec | null {
  const upper = encoding.toUpperCase()
  for (const name of CODEC_NAMES) {
    const codec = CODECS[name]
    if (
      codec.encoding.toUpperCase() === upper &&
      codec.clockRate === clockRate &&
      codec.channels === channels
    )
      return codec
  }
  return null
}
