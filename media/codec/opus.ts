import type { OpusEncoder as NativeOpus } from '@discordjs/opus'
import type { SessionRate } from '../base/frame.js'
import type { Codec, CodecParameters, Decoder, Encoder, EncoderOptions } from './codec.js'
import { opusLibrary } from './opus-library.js'

/*
 * Opus (RFC 6716) by the native library, always mono and at the session's rate: the decoder produces 8 or 16
 * kHz from any encoding. The library can neither conceal nor decode in-band FEC, so the jitter buffer
 * conceals losses. The library allocates a Buffer per call; this file adds no allocation.
 */

// From opus_defines.h, which the package does not export.
const SET_APPLICATION = 4000
const APPLICATION_VOIP = 2048
const SET_MAX_BANDWIDTH = 4004
const BANDWIDTH_NARROW = 1101
const BANDWIDTH_MEDIUM = 1102
const BANDWIDTH_WIDE = 1103
const SET_VBR = 4006
const SET_COMPLEXITY = 4010
const SET_INBAND_FEC = 4012
const SET_PACKET_LOSS_PERCENT = 4014
const SET_DTX = 4016
const SET_SIGNAL = 4024
const SIGNAL_VOICE = 3001

/** Half the CPU cost of the maximum of 10, with hardly audible difference at these rates. */
const COMPLEXITY = 5
/**
 * RFC 7587 section 3.1.1 recommends 8-12 kbit/s for narrowband and 16-20 kbit/s for wideband speech; the rest
 * is for FEC.
 */
const BITRATE: Readonly<Record<SessionRate, number>> = { 8000: 16_000, 16000: 24_000 }
/** The loss rate that FEC is dimensioned for. At 0 the encoder produces none. */
const EXPECTED_LOSS_PERCENT = 10
/** RFC 7587 section 6.1. */
const LOWEST_BITRATE = 6000
const HIGHEST_BITRATE = 510_000
/** A payload this short is a DTX frame (RFC 6716 section 2.1.9). */
const DTX_BYTES = 2
/** The longest frame; a packet of 60 ms contains three. */
const FRAME_BYTES = 1275

class OpusEncoder implements Encoder {
  readonly rate: SessionRate
  readonly #opus: NativeOpus
  readonly #dtx: boolean
  #pcm: Int16Array | null = null
  #bytes: Buffer = Buffer.alloc(0)

  constructor({ session, parameters }: EncoderOptions) {
    const { fec = false, dtx = false, cbr = false, maxBitrate, maxPlaybackRate } = parameters
    this.rate = session
    this.#dtx = dtx
    this.#opus = new (opusLibrary().OpusEncoder)(session, 1)
    this.#opus.applyEncoderCTL(SET_APPLICATION, APPLICATION_VOIP)
    this.#opus.applyEncoderCTL(SET_SIGNAL, SIGNAL_VOICE)
    this.#opus.applyEncoderCTL(SET_COMPLEXITY, COMPLEXITY)
    this.#opus.setBitrate(Math.max(LOWEST_BITRATE, Math.min(BITRATE[session], maxBitrate ?? HIGHEST_BITRATE)))
    this.#opus.applyEncoderCTL(SET_VBR, cbr ? 0 : 1)
    this.#opus.applyEncoderCTL(SET_DTX, dtx ? 1 : 0)
    this.#opus.applyEncoderCTL(SET_INBAND_FEC, fec ? 1 : 0)
    this.#opus.applyEncoderCTL(SET_PACKET_LOSS_PERCENT, fec ? EXPECTED_LOSS_PERCENT : 0)
    this.#opus.applyEncoderCTL(SET_MAX_BANDWIDTH, bandwidthOf(maxPlaybackRate ?? session))
  }

  encode(pcm: Int16Array, into: Uint8Array, offset: number): number {
    if (this.#pcm !== pcm) {
      this.#pcm = pcm
      this.#bytes = Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength)
    }
    const payload = this.#opus.encode(this.#bytes)
    if (this.#dtx && payload.length <= DTX_BYTES) return 0
    into.set(payload, offset)
    return payload.length
  }
}

class OpusDecoder implements Decoder {
  readonly rate: SessionRate
  readonly #opus: NativeOpus
  readonly #scratch = Buffer.alloc(2048)
  /** Views of the scratch buffer by length, because the library takes whole buffers only. */
  readonly #views: (Buffer | undefined)[] = []

  constructor(rate: SessionRate) {
    this.rate = rate
    this.#opus = new (opusLibrary().OpusEncoder)(rate, 1)
  }

  decode(data: Uint8Array, offset: number, length: number, into: Int16Array): number {
    // An empty payload or a DTX frame: silence.
    if (length <= DTX_BYTES || length > this.#scratch.length) return 0
    let view = this.#views[length]
    if (view === undefined) {
      view = this.#scratch.subarray(0, length)
      this.#views[length] = view
    }
    for (let i = 0; i < length; i++) view[i] = data[offset + i] as number
    let pcm: Buffer
    try {
      pcm = this.#opus.decode(view)
    } catch {
      // Invalid payloads count as lost.
      return 0
    }
    const samples = Math.min(pcm.length >> 1, into.length)
    for (let i = 0; i < samples; i++) {
      into[i] = (pcm[i * 2] as number) | ((pcm[i * 2 + 1] as number) << 8)
    }
    return samples
  }
}

/** Returns the audio bandwidth for a sample rate, at most the session's. */
function bandwidthOf(rate: number): number {
  return rate < 12_000 ? BANDWIDTH_NARROW : rate < 16_000 ? BANDWIDTH_MEDIUM : BANDWIDTH_WIDE
}

/** Opus in RTP (RFC 7587). */
export const opusCodec: Codec = {
  name: 'OPUS',
  encoding: 'opus',
  clockRate: 48000,
  // Always written as 2 (RFC 7587 section 7).
  channels: 2,
  staticPayloadType: null,
  offeredPayloadType: 111,
  wideband: true,
  statefulDecoder: true,
  // Opus has no frames of 30 ms.
  ptimes: [10, 20, 40, 60],
  // No `useinbandfec`, because the library cannot decode FEC.
  fmtp: 'maxplaybackrate=16000;sprop-maxcapturerate=16000;stereo=0;sprop-stereo=0;usedtx=1',
  maxBytes: (ptime) => Math.ceil(ptime / 20) * FRAME_BYTES,
  openEncoder: (options) => new OpusEncoder(options),
  openDecoder: (session) => new OpusDecoder(session),
  readFmtp: readOpusFmtp,
}

function readOpusFmtp(fmtp: string): CodecParameters {
  const values = new Map<string, string>()
  for (const part of fmtp.split(';')) {
    const [name = '', value = ''] = part.split('=')
    values.set(name.trim().toLowerCase(), value.trim())
  }
  // Invalid values are ignored, because all of these parameters are only advice (RFC 7587 section 6.1).
  const number = (name: string, least: number, most: number) => {
    const value = values.get(name) ?? ''
    const read = /^\d{1,7}$/.test(value) ? Number(value) : Number.NaN
    return read >= least && read <= most ? read : null
  }
  const maxBitrate = number('maxaveragebitrate', LOWEST_BITRATE, HIGHEST_BITRATE)
  const maxPlaybackRate = number('maxplaybackrate', 8000, 48_000)
  return {
    ...(values.get('useinbandfec') === '1' && { fec: true }),
    ...(values.get('usedtx') === '1' && { dtx: true }),
    ...(values.get('cbr') === '1' && { cbr: true }),
    ...(maxBitrate !== null && { maxBitrate }),
    ...(maxPlaybackRate !== null && { maxPlaybackRate }),
  }
}
