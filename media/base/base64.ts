/*
 * Base64 (RFC 4648 section 4) between byte arrays: a string for each message would be garbage as large as the message.
 */

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const PAD = 0x3d
const INVALID = 255
const values = new Uint8Array(256).fill(INVALID)
ALPHABET.forEach((code, value) => {
  values[code] = value
})

/** Returns the length of the text for this many bytes, with padding. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3)
}

/** Writes the text of `bytes` into `into` from `at`, which has room for it. Returns the end of the text. */
export function encodeBase64(bytes: Uint8Array, into: Uint8Array, at: number): number {
  const whole = bytes.length - (bytes.length % 3)
  let end = at
  for (let i = 0; i < whole; i += 3) {
    const bits = ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number)
    into[end++] = ALPHABET[bits >> 18] as number
    into[end++] = ALPHABET[(bits >> 12) & 63] as number
    into[end++] = ALPHABET[(bits >> 6) & 63] as number
    into[end++] = ALPHABET[bits & 63] as number
  }
  const rest = bytes.length - whole
  if (rest === 0) return end
  const bits = ((bytes[whole] as number) << 16) | (rest === 2 ? (bytes[whole + 1] as number) << 8 : 0)
  into[end++] = ALPHABET[bits >> 18] as number
  into[end++] = ALPHABET[(bits >> 12) & 63] as number
  into[end++] = rest === 2 ? (ALPHABET[(bits >> 6) & 63] as number) : PAD
  into[end++] = PAD
  return end
}

/**
 * Decodes `text[from..end)`, with or without padding, into `into`, which has room for three quarters of it. Returns the
 * number of bytes, or -1 for anything but base64.
 */
export function decodeBase64(text: Uint8Array, from: number, end: number, into: Uint8Array): number {
  let last = end
  while (last > from && last > end - 2 && text[last - 1] === PAD) last--
  const rest = (last - from) % 4
  if (rest === 1 || (last < end && (end - from) % 4 !== 0)) return -1
  const whole = last - rest
  let at = 0
  let seen = 0
  for (let i = from; i < whole; i += 4) {
    const a = values[text[i] as number] as number
    const b = values[text[i + 1] as number] as number
    const c = values[text[i + 2] as number] as number
    const d = values[text[i + 3] as number] as number
    seen |= a | b | c | d
    into[at++] = (a << 2) | (b >> 4)
    into[at++] = (b << 4) | (c >> 2)
    into[at++] = (c << 6) | d
  }
  if (rest > 0) {
    const a = values[text[whole] as number] as number
    const b = values[text[whole + 1] as number] as number
    const c = rest === 3 ? (values[text[whole + 2] as number] as number) : 0
    seen |= a | b | c
    into[at++] = (a << 2) | (b >> 4)
    if (rest === 3) into[at++] = (b << 4) | (c >> 2)
  }
  // Only the mark of an invalid character has this bit.
  return (seen & 128) === 0 ? at : -1
}

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20

/** Finds the string of one field in the bytes of JSON text, which then need not become a string. */
export class Base64Field {
  readonly #name: Buffer

  constructor(name: string) {
    this.#name = Buffer.from(`"${name}"`)
  }

  /** Returns the range of the first value that is a string, without its quotes, or null. Escapes are not resolved. */
  find(data: Buffer): { readonly from: number; readonly end: number } | null {
    const name = this.#name
    // The same word may be a value before.
    for (let at = data.indexOf(name); at !== -1; at = data.indexOf(name, at + 1)) {
      let next = skipSpace(data, at + name.length)
      if (data[next] !== COLON) continue
      next = skipSpace(data, next + 1)
      if (data[next] !== QUOTE) continue
      const end = data.indexOf(QUOTE, next + 1)
      return end === -1 ? null : { from: next + 1, end }
    }
    return null
  }
}

function skipSpace(data: Buffer, from: number): number {
  let at = from
  while (data[at] === SPACE) at++
  return at
}
