/** Number of bytes in which UTF-16 without a byte order mark is recognised. */
const LOOK = 4096

/**
 * Decodes a text file: by its byte order mark, or by the zero bytes of UTF-16, else as UTF-8. Bytes that are not
 * UTF-8 are read as windows-1252 (WHATWG Encoding Standard). Only these are, if most of the text is UTF-8 (a list
 * that two programs wrote), else all bytes.
 */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  const wide = wideEncoding(bytes)
  if (wide !== null) return new TextDecoder(wide).decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return mixedText(bytes)
  }
}

/** Recognises UTF-16 of a script with many characters below U+0100. Returns null for any other text. */
function wideEncoding(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const look = Math.min(bytes.length, LOOK) & ~1
  if (look < 4 || bytes.length % 2 !== 0) return null
  const zeros = [0, 0]
  for (let at = 0; at < look; at++) if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if (odd > look / 8 && even === 0) return 'utf-16le'
  return even > look / 8 && odd === 0 ? 'utf-16be' : null
}

/**
 * Characters of the bytes 0x80 to 0x9f in windows-1252. Node returns the value of the byte instead (nodejs/node
 * 56542).
 */
const C1 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
/** UTF-8 of the characters of the bytes 0x80 to 0xff in windows-1252. */
const WESTERN = Array.from({ length: 128 }, (_, n) =>
  new TextEncoder().encode(C1[n] ?? String.fromCharCode(0x80 + n)),
)

/** Number of bytes of UTF-8 that are decoded at once. */
const PIECE = 65_536
/** Maximum number of bytes of one character. */
const LONGEST = 4

function mixedText(bytes: Uint8Array): string {
  let characters = 0
  let stray = 0
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at)
    if (length > 1) characters++
    if (length === 0) stray++
    at += Math.max(1, length)
  }
  // Two letters of windows-1252 rarely look like one character of UTF-8.
  return characters > stray ? recoded(bytes, sequenceLength) : recoded(bytes, asciiLength)
}

/**
 * Decodes a text of two encodings. `lengthAt` returns the length of the UTF-8 sequence at a place, or 0 for a byte of
 * windows-1252.
 */
function recoded(bytes: Uint8Array, lengthAt: (bytes: Uint8Array, at: number) => number): string {
  const piece = new Uint8Array(PIECE + LONGEST)
  const decoder = new TextDecoder('utf-8')
  let text = ''
  let to = 0
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at)
    const western = length === 0 ? WESTERN[(bytes[at] ?? 0) - 0x80] : undefined
    if (western === undefined) for (let n = 0; n < length; n++) piece[to++] = bytes[at + n] ?? 0
    else for (let n = 0; n < western.length; n++) piece[to++] = western[n] ?? 0
    at += Math.max(1, length)
    if (to >= PIECE || at >= bytes.length) {
      text += decoder.decode(piece.subarray(0, to), { stream: true })
      to = 0
    }
  }
  return text
}

function asciiLength(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) < 0x80 ? 1 : 0
}

/** Returns the length of the UTF-8 sequence at a place (RFC 3629), or 0 if there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0
  if (lead < 0x80) return 1
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2
  if (lead < 0xc2 || lead > 0xf4 || at + length > bytes.length) return 0
  const second = bytes[at + 1] ?? 0
  const [low, high] =
    lead === 0xe0
      ? [0xa0, 0xbf]
      : lead === 0xed
        ? [0x80, 0x9f]
        : lead === 0xf0
          ? [0x90, 0xbf]
          : lead === 0xf4
            ? [0x80, 0x8f]
            : [0x80, 0xbf]
  if (second < low || second > high) return 0
  for (let n = 2; n < length; n++) if (((bytes[at + n] ?? 0) & 0xc0) !== 0x80) return 0
  return length
}
