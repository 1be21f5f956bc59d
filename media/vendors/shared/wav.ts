/** Length of the canonical RIFF/WAVE header (bytes): one `fmt ` and one `data` chunk. */
const HEADER = 44
const PCM_FORMAT = 1
/** WAVE_FORMAT_EXTENSIBLE: the sub-format field starts with the real format. */
const EXTENSIBLE = 0xfffe
/** Longest header before the samples (bytes). */
const MAX_HEADER = 65_536

export interface WavFormat {
  readonly rate: number
  readonly channels: number
  /** Offset of the first sample (bytes). */
  readonly dataOffset: number
  /** Length according to the header, or null when it is unknown (0 or 0xFFFFFFFF while streaming). */
  readonly dataBytes: number | null
}

/** Writes mono 16-bit samples as a WAV file. */
export function wavFile(pcm: Int16Array, rate: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER + pcm.length * 2)
  const view = new DataView(bytes.buffer)
  writeTag(bytes, 0, 'RIFF')
  view.setUint32(4, HEADER - 8 + pcm.length * 2, true)
  writeTag(bytes, 8, 'WAVE')
  writeTag(bytes, 12, 'fmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, PCM_FORMAT, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  writeTag(bytes, 36, 'data')
  view.setUint32(40, pcm.length * 2, true)
  for (let i = 0; i < pcm.length; i++) view.setInt16(HEADER + i * 2, pcm[i] ?? 0, true)
  return bytes
}

export function looksLikeWav(bytes: Uint8Array): boolean {
  return bytes.length >= 12 && readTag(bytes, 0) === 'RIFF' && readTag(bytes, 8) === 'WAVE'
}

/**
 * Parses the first bytes of a WAV file. Returns null when more bytes are needed. Throws RangeError when it is
 * not 16-bit PCM in WAV.
 */
export function parseWav(bytes: Uint8Array): WavFormat | null {
  if (bytes.length < 12) return null
  if (!looksLikeWav(bytes)) throw new RangeError('not a WAV file')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let format: { rate: number; channels: number } | null = null
  for (let at = 12; at + 8 <= bytes.length; ) {
    const tag = readTag(bytes, at)
    const size = view.getUint32(at + 4, true)
    const body = at + 8
    if (tag === 'data') {
      if (format === null) throw new RangeError('WAV samples before their format')
      return { ...format, dataOffset: body, dataBytes: size === 0 || size === 0xffffffff ? null : size }
    }
    if (tag === 'fmt ') {
      if (size < 16) throw new RangeError('WAV format chunk too short')
      if (body + size > bytes.length) return null
      format = readFormat(view, body, size)
    }
    // Chunks are padded to even lengths.
    at = body + size + (size & 1)
    if (at > MAX_HEADER) throw new RangeError('WAV header too long')
  }
  return null
}

function readFormat(view: DataView, at: number, size: number): { rate: number; channels: number } {
  const tag = view.getUint16(at, true)
  const coding = tag === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : tag
  const channels = view.getUint16(at + 2, true)
  const bits = view.getUint16(at + 14, true)
  if (coding !== PCM_FORMAT || bits !== 16) throw new RangeError('WAV is not 16-bit PCM')
  if (channels < 1) throw new RangeError('WAV without channels')
  return { rate: view.getUint32(at + 4, true), channels }
}

function writeTag(bytes: Uint8Array, at: number, tag: string): void {
  for (let i = 0; i < tag.length; i++) bytes[at + i] = tag.charCodeAt(i)
}

function readTag(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0, bytes[at + 3] ?? 0)
}
