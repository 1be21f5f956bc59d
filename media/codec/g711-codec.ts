import { type Codec, type Decoder, type Encoder, PTIMES } from './codec.js'
import { decodeAlaw, decodeUlaw, encodeAlaw, encodeUlaw } from './g711.js'

type Expand = typeof decodeAlaw
type Compress = typeof encodeAlaw

/** G.711 in RTP: one byte per sample, 8 kHz (RFC 3551 section 4.5.14). */
export const pcma = g711('PCMA', 8, decodeAlaw, encodeAlaw)
export const pcmu = g711('PCMU', 0, decodeUlaw, encodeUlaw)

function g711(name: 'PCMA' | 'PCMU', payloadType: number, expand: Expand, compress: Compress): Codec {
  // Stateless, so all streams share them.
  const encoder: Encoder = {
    rate: 8000,
    encode(pcm, into, offset) {
      compress(pcm, 0, pcm.length, into, offset)
      return pcm.length
    },
  }
  const decoder: Decoder = {
    rate: 8000,
    decode(data, offset, length, into) {
      const samples = Math.min(length, into.length)
      expand(data, offset, samples, into, 0)
      return samples
    },
  }
  return {
    name,
    encoding: name,
    clockRate: 8000,
    channels: 1,
    staticPayloadType: payloadType,
    offeredPayloadType: payloadType,
    wideband: false,
    statefulDecoder: false,
    ptimes: PTIMES,
    fmtp: null,
    maxBytes: (ptime) => ptime * 8,
    openEncoder: () => encoder,
    openDecoder: () => decoder,
    readFmtp: () => ({}),
  }
}
