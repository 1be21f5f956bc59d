import { decodeAlaw, decodeUlaw, encodeAlaw, encodeUlaw } from '../../codec/g711.js'
import type { InputRate } from '../../codec/resampler.js'
import type { BotFormat } from '../bot-spec.js'

/** Encoding and rate of a bot's audio bytes. Interned: equal formats are the same object. */
export interface AudioFormat {
  readonly encoding: BotFormat
  readonly rate: InputRate
  readonly bytesPerSample: 1 | 2
  /** Bytes in 20 ms of audio. */
  readonly frameBytes: number
}

/**
 * Sample rates (Hz) a bot may send, whatever was agreed: AudioSocket defines nine, jambonz goes up to 64000,
 * a WAV header can name any.
 */
const RATES: readonly InputRate[] = [
  8000, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 96000, 192000,
]
const sounds = new Map<string, AudioFormat>()
for (const format of ['linear16', 'mulaw', 'alaw'] as const) {
  for (const rate of RATES) {
    const bytesPerSample = format === 'linear16' ? 2 : 1
    sounds.set(`${format} ${rate}`, {
      encoding: format,
      rate,
      bytesPerSample,
      frameBytes: (rate / 50) * bytesPerSample,
    })
  }
}

/** Returns the interned format, or null for a rate that no resampler supports and for a format that needs a coder. */
export function audioFormatOf(format: BotFormat, rate: number): AudioFormat | null {
  return sounds.get(`${format} ${rate}`) ?? null
}

/** Decodes `samples` samples of `bytes`, starting at byte `offset`, into `into` from index `at`. */
export function decodeAudio(
  sound: AudioFormat,
  bytes: Uint8Array,
  offset: number,
  samples: number,
  into: Int16Array,
  at: number,
): void {
  if (sound.encoding === 'mulaw') {
    decodeUlaw(bytes, offset, samples, into, at)
  } else if (sound.encoding === 'alaw') {
    decodeAlaw(bytes, offset, samples, into, at)
  } else {
    for (let i = 0, from = offset; i < samples; i++, from += 2) {
      into[at + i] = (bytes[from] as number) | ((bytes[from + 1] as number) << 8)
    }
  }
}

/** Encodes all of `pcm` into `into` from byte `offset`; returns the number of bytes written. */
export function encodeAudio(format: BotFormat, pcm: Int16Array, into: Uint8Array, offset: number): number {
  if (format === 'mulaw') {
    encodeUlaw(pcm, 0, pcm.length, into, offset)
    return pcm.length
  }
  if (format === 'alaw') {
    encodeAlaw(pcm, 0, pcm.length, into, offset)
    return pcm.length
  }
  for (let i = 0, to = offset; i < pcm.length; i++, to += 2) {
    const sample = pcm[i] as number
    into[to] = sample & 0xff
    into[to + 1] = (sample >> 8) & 0xff
  }
  return pcm.length * 2
}

/** Encoded samples and their format. */
export interface EncodedAudio {
  readonly format: AudioFormat
  readonly bytes: Uint8Array
}

const TAGS: Readonly<Record<number, BotFormat>> = { 1: 'linear16', 6: 'alaw', 7: 'mulaw' }

export function isWav(bytes: Uint8Array): boolean {
  // This runs for every piece of audio; the first byte nearly always decides.
  return bytes[0] === 0x52 && bytes.length >= 12 && ascii(bytes, 0) === 'RIFF' && ascii(bytes, 8) === 'WAVE'
}

/** Reads a RIFF WAVE file. Returns null unless it is mono with a supported encoding and rate. */
export function readWavAudio(bytes: Uint8Array): EncodedAudio | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let sound: AudioFormat | null = null
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = view.getUint32(at + 4, true)
    const name = ascii(bytes, at)
    if (name === 'fmt ' && at + 24 <= bytes.length) {
      const format = TAGS[view.getUint16(at + 8, true)]
      const bits = view.getUint16(at + 22, true)
      const fits = view.getUint16(at + 10, true) === 1 && bits === (format === 'linear16' ? 16 : 8)
      sound = format === undefined || !fits ? null : audioFormatOf(format, view.getUint32(at + 12, true))
    } else if (name === 'data') {
      // A streaming writer puts 0 or the largest number into the size field.
      const end = size === 0 ? bytes.length : Math.min(bytes.length, at + 8 + size)
      return sound === null ? null : { format: sound, bytes: bytes.subarray(at + 8, end) }
    }
    at += 8 + size + (size % 2)
  }
  return null
}

/** Format that a message states for its own audio; null stands for the agreed value. */
export interface NamedFormat {
  readonly rate: number | null
  readonly format?: BotFormat
}

/**
 * Determines the format of a bot's audio: the agreed format, the encoding and rate its message names, or its
 * own WAV header. Returns a text with the reason when it cannot be played.
 */
export function readAudio(agreed: AudioFormat, audio: Uint8Array, named: NamedFormat): EncodedAudio | string {
  if (isWav(audio)) return readWavAudio(audio) ?? 'a WAV must be mono, in linear16, mulaw or alaw'
  const { rate, format = agreed.encoding } = named
  const same = format === agreed.encoding && (rate === null || rate === agreed.rate)
  const sound = same ? agreed : audioFormatOf(format, rate ?? agreed.rate)
  return sound === null ? `sound of ${rate} Hz cannot be played` : { format: sound, bytes: audio }
}

export function durationMs({ format: sound, bytes: body }: EncodedAudio): number {
  return (body.length / sound.bytesPerSample / sound.rate) * 1000
}

function ascii(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4))
}
