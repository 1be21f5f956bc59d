import type { Rate, SessionRate } from '../base/frame.js'

/**
 * Every codec the engine speaks. The name decides encoding, clock and sample rate: `L16` is the
 * wideband one (16 kHz), `L16/8000` its narrowband brother.
 */
export type CodecName = 'PCMU' | 'PCMA' | 'G722' | 'OPUS' | 'L16' | 'L16/8000'

/** Lengths of packets we can send, in ms. */
export type Ptime = 10 | 20 | 30 | 40 | 60
export const PTIMES: readonly Ptime[] = [10, 20, 30, 40, 60]

/** What a peer wants of the stream we send it (its `a=fmtp`), as far as a codec of ours knows it. */
export interface CodecParameters {
  /** The peer can use in-band error correction (RFC 7587, `useinbandfec`). */
  readonly fec?: boolean
  /** The peer wants us to stop sending in silence (RFC 7587, `usedtx`). */
  readonly dtx?: boolean
  /** Highest bit rate the peer takes (RFC 7587, `maxaveragebitrate`). */
  readonly maxBitrate?: number
  /** Highest sample rate the peer can play (RFC 7587, `maxplaybackrate`). */
  readonly maxPlaybackRate?: number
  /** The peer wants a constant bit rate (RFC 7587, `cbr`). */
  readonly cbr?: boolean
}

/** Turns sound into payloads. Belongs to one stream; allocates nothing per call, but what a library does. */
export interface Encoder {
  /** Samples a second that it takes. */
  readonly rate: Rate
  /**
   * Encodes a whole packet of `pcm` (`rate` x ptime samples) into `into` from `offset`, which has room
   * for `Codec.maxBytes`. Returns the bytes written; 0 when this packet need not be sent (DTX).
   */
  encode(pcm: Int16Array, into: Uint8Array, offset: number): number
}

/** Turns payloads into sound. Belongs to one stream; a codec that adapts wants its packets in order. */
export interface Decoder {
  /** Samples a second that it gives. */
  readonly rate: Rate
  /**
   * Decodes `length` bytes of `data` from `offset` into `into`; returns the samples written, at most
   * `into.length` (the rest is cut), 0 for what is no payload of this codec. Never throws, whatever the
   * bytes.
   */
  decode(data: Uint8Array, offset: number, length: number, into: Int16Array): number
}

/** A payload format: what SDP calls it, how its timestamps count, and who codes it. */
export interface Codec {
  readonly name: CodecName
  /** Encoding name of `a=rtpmap`, as it is written; names compare without case. */
  readonly encoding: string
  /** Of RTP timestamps. Not the sample rate: G.722 counts 8000 (RFC 3551 4.5.2), Opus 48000 (RFC 7587 4.1). */
  readonly clockRate: 8000 | 16000 | 48000
  /** As written in `a=rtpmap`; what travels is always mono. */
  readonly channels: 1 | 2
  /** RFC 3551 section 6; null for a number that is agreed for each call. */
  readonly staticPayloadType: number | null
  /** Our number for it when we offer. */
  readonly offeredPayloadType: number
  /** It carries more than 4 kHz of sound: the session should mix at 16 kHz. */
  readonly wideband: boolean
  /** Its decoder learns from what it decodes, and wants packets in order. */
  readonly statefulDecoder: boolean
  /** Lengths of packets that it can make. */
  readonly ptimes: readonly Ptime[]
  /** Longest payload of a packet of `ptime`. */
  maxBytes(ptime: Ptime): number
  openEncoder(options: EncoderOptions): Encoder
  openDecoder(session: SessionRate): Decoder
  /** Our own `a=fmtp`: what we want to receive; null when there is nothing to say. */
  readonly fmtp: string | null
  /** Reads the peer's `a=fmtp`; null when it asks for a variant that we do not speak. */
  readFmtp(fmtp: string): CodecParameters | null
}

export interface EncoderOptions {
  /** Rate of the session that feeds it. */
  readonly session: SessionRate
  readonly ptime: Ptime
  readonly parameters: CodecParameters
}
