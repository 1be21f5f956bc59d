import { codecOf } from '../../codec/registry.js'
import type { BotAudio, BotFormat, BotRate } from '../bot-spec.js'
import { type AudioFormat, audioFormatOf } from './audio-format.js'

/**
 * Coder of one bot's audio in a format with state, or with another order of bytes than the queues use. Both directions are
 * linear16, little-endian, at the bot's rate.
 */
export interface FrameCoder {
  /** Longest result of `encode` (bytes). */
  readonly maxBytes: number
  /** Encodes 20 ms of audio into `into` from byte `offset`; returns the number of bytes. */
  encode(pcm: Int16Array, into: Uint8Array, offset: number): number
  /** Decodes the audio of one message; empty when it cannot be decoded. */
  decode(audio: Uint8Array): Uint8Array
}

const LONGEST_PACKET_MS = 120
/** 20 ms of G.722. */
const FRAME_BYTES = 160

/** Returns the coder of a format of RTP payloads; null for one that needs none. */
export function openFrameCoder(format: BotFormat, rate: BotRate): FrameCoder | null {
  if (format === 'linear16') return networkOrder(rate)
  if (format !== 'g722' && format !== 'opus') return null
  if (rate === 24_000) throw new TypeError(`${format} has no rate of ${rate} Hz`)
  const codec = codecOf(format === 'g722' ? 'G722' : 'OPUS')
  const encoder = codec.openEncoder({ session: rate, ptime: 20, parameters: {} })
  const decoder = codec.openDecoder(rate)
  // An Opus message is one packet of at most 120 ms (RFC 6716 section 2.1.4); G.722 has a byte for two samples.
  const piece = new Int16Array((rate / 1000) * LONGEST_PACKET_MS)
  const pieceBytes = format === 'opus' ? Number.MAX_SAFE_INTEGER : FRAME_BYTES
  return {
    maxBytes: codec.maxBytes(20),
    encode: (pcm, into, offset) => encoder.encode(pcm, into, offset),
    decode(audio) {
      const pieces: Uint8Array[] = []
      for (let at = 0; at < audio.length; at += pieceBytes) {
        const samples = decoder.decode(audio, at, Math.min(pieceBytes, audio.length - at), piece)
        pieces.push(new Uint8Array(piece.buffer, 0, samples * 2).slice())
      }
      return Buffer.concat(pieces)
    },
  }
}

/** Returns the format in which a bot's audio is queued. Throws TypeError for a pair that `BotDialect.audio` excludes. */
export function queueFormat(
  { format, sampleRate }: BotAudio,
  coder: FrameCoder | null | undefined,
): AudioFormat {
  const found = audioFormatOf(coder ? 'linear16' : format, sampleRate)
  if (found === null) throw new TypeError(`no such audio: ${format} at ${sampleRate} Hz`)
  return found
}

/** L16 of RTP: the high byte of a sample comes first (RFC 3551 section 4.5.11). */
function networkOrder(rate: BotRate): FrameCoder {
  return {
    maxBytes: (rate / 50) * 2,
    encode(pcm, into, offset) {
      for (let i = 0, to = offset; i < pcm.length; i++, to += 2) {
        const sample = pcm[i] as number
        into[to] = (sample >> 8) & 0xff
        into[to + 1] = sample & 0xff
      }
      return pcm.length * 2
    },
    decode(audio) {
      const swapped = Buffer.from(audio.subarray(0, audio.length & ~1))
      return swapped.swap16()
    },
  }
}
