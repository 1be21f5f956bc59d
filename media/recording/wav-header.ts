import type { FileHandle } from 'node:fs/promises'
import { endianness } from 'node:os'
import { EngineError } from '../base/errors.js'

export const WAV_HEADER_BYTES = 44
/** 16 bits. */
const SAMPLE_BYTES = 2

export interface WavFormat {
  readonly rate: number
  readonly channels: number
}

/** Returns the header of a WAV file of 16-bit PCM with this many bytes of samples. */
export function wavHeader({ rate, channels }: WavFormat, dataBytes: number): Uint8Array {
  const header = new Uint8Array(WAV_HEADER_BYTES)
  const view = new DataView(header.buffer)
  const frameBytes = channels * SAMPLE_BYTES
  header.set(Buffer.from('RIFF'), 0)
  view.setUint32(4, WAV_HEADER_BYTES - 8 + dataBytes, true)
  header.set(Buffer.from('WAVEfmt '), 8)
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true) // PCM
  view.setUint16(22, channels, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * frameBytes, true)
  view.setUint16(32, frameBytes, true)
  view.setUint16(34, 8 * SAMPLE_BYTES, true)
  header.set(Buffer.from('data'), 36)
  view.setUint32(40, dataBytes, true)
  return header
}

/** Parses a header written by `wavHeader`, ignoring its sizes. Returns null for any other header. */
export function readWavHeader(header: Uint8Array): WavFormat | null {
  if (header.length < WAV_HEADER_BYTES) return null
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
  const rate = view.getUint32(24, true)
  const channels = view.getUint16(22, true)
  if (rate === 0 || channels === 0) return null
  const expected = wavHeader({ rate, channels }, view.getUint32(40, true))
  return expected.every((byte, i) => (i >= 4 && i < 8 ? true : byte === header[i]))
    ? { rate, channels }
    : null
}

/** Reads the format of an open recording. Throws EngineError `internal` when the file is not a Parley recording. */
export async function readWavFormat(file: FileHandle): Promise<WavFormat> {
  const header = new Uint8Array(WAV_HEADER_BYTES)
  await file.read(header, 0, WAV_HEADER_BYTES, 0)
  const format = readWavHeader(header)
  if (format === null) throw new EngineError('internal', 'not a Parley recording')
  return format
}

/** Converts the first `length` samples to little-endian bytes or back, in place on a big-endian host. */
export function littleEndian(samples: Int16Array, length: number): Uint8Array {
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, length * SAMPLE_BYTES)
  return endianness() === 'LE' ? bytes : bytes.swap16()
}
