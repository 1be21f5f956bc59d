import type { Rate, SessionRate } from '../base/frame.js'

/**
 * All codecs of Parley. The name determines encoding, clock rate and sample rate: `L16` is the wideband codec
 * (16 kHz), `L16/8000` the narrowband one.
 */
export type CodecName = 'PCMU' | 'PCMA' | 'G722' | 'OPUS' | 'L16' | 'L16/8000'

/** Packet lengths that Parley can send (ms). */
export type Ptime = 10 | 20 | 30 | 40 | 60
export const PTIMES: readonly Ptime[] = [10, 20, 30, 40, 60]

/** Wishes of the peer for the stream that it receives (its `a=fmtp`), as far as a codec supports them. */
export interface CodecParameters {
  /** The peer can use in-band forward error correction (RFC 7587, `useinbandfec`). */
  readonly fec?: boolean
  /** The peer wants no packets during silence (RFC 7587, `usedtx`). */
  readonly dtx?: boolean
  /** Highest bit rate that the peer accepts (RFC 7587, `maxaveragebitrate`). */
  readonly maxBitrate?: number
  /** Highest sample rate that the peer can play (RFC 7587, `maxplaybackrate`). */
  readonly maxPlaybackRate?: number
  /** The peer wants a constant bit rate (RFC 7587, `cbr`). */
  readonly cbr?: boolean
}

/**
 * Encodes audio to payloads. An encoder belongs to one stream. Only the underlying library may allocate per
 * call.
 */
export interface Encoder {
  /** Sample rate of its input (Hz). */
  readonly rate: Rate
  /**
   * Encodes a whole packet of `pcm` (`rate` x ptime samples) into `into` from `offset`, which has room for
   * `Codec.maxBytes`. Returns the number of bytes, 0 when the packet need not be sent (DTX).
   */
  encode(pcm: Int16Array, into: Uint8Array, offset: number): number
}

/** Decodes payloads to audio. A decoder belongs to one stream, and a stateful one needs packets in order. */
export interface Decoder {
  /** Sample rate of its output (Hz). */
  readonly rate: Rate
  /**
   * Decodes `length` bytes of `data` from `offset` into `into`. Returns the number of samples, at most
   * `into.length` (the rest is cut), and 0 for an invalid payload. Never throws.
   */
  decode(data: Uint8Array, offset: number, length: number, into: Int16Array): number
}

/** A payload format: its SDP description, its RTP clock and its encoder and decoder. */
export interface Codec {
  readonly name: CodecName
  /** Encoding name for `a=rtpmap`. Names compare case-insensitively. */
  readonly encoding: string
  /**
   * Clock rate of RTP timestamps. It differs from the sample rate: G.722 uses 8000 (RFC 3551 section 4.5.2),
   * Opus 48000 (RFC 7587 section 4.1).
   */
  readonly clockRate: 8000 | 16000 | 48000
  /** Channels for `a=rtpmap`. The audio itself is always mono. */
  readonly channels: 1 | 2
  /** Static payload type of RFC 3551 section 6; null for a dynamic one. */
  readonly staticPayloadType: number | null
  /** Payload type in offers by Parley. */
  readonly offeredPayloadType: number
  /** The codec carries more than 4 kHz of audio bandwidth, so the session should mix at 16 kHz. */
  readonly wideband: boolean
  /** The decoder adapts to the audio and needs packets in order. */
  readonly statefulDecoder: boolean
  /** Packet lengths that the encoder supports (ms). */
  readonly ptimes: readonly Ptime[]
  /** Returns the longest payload of a packet of `ptime` (bytes). */
  maxBytes(ptime: Ptime): number
  openEncoder(options: EncoderOptions): Encoder
  openDecoder(session: SessionRate): Decoder
  /** The `a=fmtp` for audio that Parley receives; null when there is none. */
  readonly fmtp: string | null
  /** Parses the peer's `a=fmtp`. Returns null for a variant that is not supported. */
  readFmtp(fmtp: string): CodecParameters | null
}

export interface EncoderOptions {
  /** Sample rate of the session (Hz). */
  readonly session: SessionRate
  readonly ptime: Ptime
  readonly parameters: CodecParameters
}
