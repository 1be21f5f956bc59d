import { type Codec, type CodecName, type Decoder, type Encoder, PTIMES } from './codec.js'

/**
 * Linear PCM, 16 bits, big-endian (RFC 3551 section 4.5.11). The static payload types are for 44.1 kHz;
 * telephony uses 8 and 16 kHz with dynamic ones.
 */
export const l16 = linear('L16', 16000, 98)
export const l16Narrow = linear('L16/8000', 8000, 99)

function linear(name: CodecName, rate: 8000 | 16000, offeredPayloadType: number): Codec {
  const encoder: Encoder = {
    rate,
    encode(pcm, into, offset) {
      let at = offset
      for (let i = 0; i < pcm.length; i++) {
        const sample = pcm[i] as number
        into[at++] = sample >> 8
        into[at++] = sample
      }
      return pcm.length * 2
    },
  }
  const decoder: Decoder = {
    rate,
    decode(data, offset, length, into) {
      const samples = Math.min(length >> 1, into.length)
      let at = offset
      for (let i = 0; i < samples; i++) {
        into[i] = ((data[at] as number) << 8) | (data[at + 1] as number)
        at += 2
      }
      return samples
    },
  }
  return {
    name,
    encoding: 'L16',
    clockRate: rate,
    channels: 1,
    staticPayloadType: null,
    offeredPayloadType,
    wideband: rate === 16000,
    statefulDecoder: false,
    ptimes: PTIMES,
    fmtp: null,
    maxBytes: (ptime) => (ptime * rate * 2) / 1000,
    openEncoder: () => encoder,
    openDecoder: () => decoder,
    readFmtp: () => ({}),
  }
}
