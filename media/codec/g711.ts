/*
 * ITU-T G.711 by table: 256 entries to decode and 65,536 to encode, built once per thread by the companding
 * rules of the Recommendation (as in the G.191 software tools). All functions write into arrays of the caller
 * and allocate nothing.
 */

/** The positive code with the smallest amplitude of each law: encoded silence. */
export const ALAW_SILENCE = 0xd5
export const ULAW_SILENCE = 0xff

const alawToLinear = new Int16Array(256)
const ulawToLinear = new Int16Array(256)
const linearToAlaw = new Uint8Array(65536)
const linearToUlaw = new Uint8Array(65536)

for (let code = 0; code < 256; code++) {
  alawToLinear[code] = expandAlaw(code)
  ulawToLinear[code] = expandUlaw(code)
}
for (let value = -32768; value < 32768; value++) {
  linearToAlaw[value & 0xffff] = compressAlaw(value)
  linearToUlaw[value & 0xffff] = compressUlaw(value)
}

/**
 * Expands `len` A-law bytes of `src` from `off` into `dst` from `dstOff`. Both arrays must be long enough.
 */
export function decodeAlaw(src: Uint8Array, off: number, len: number, dst: Int16Array, dstOff: number): void {
  for (let i = 0; i < len; i++) dst[dstOff + i] = alawToLinear[src[off + i] as number] as number
}

/**
 * Expands `len` mu-law bytes of `src` from `off` into `dst` from `dstOff`. Both arrays must be long enough.
 */
export function decodeUlaw(src: Uint8Array, off: number, len: number, dst: Int16Array, dstOff: number): void {
  for (let i = 0; i < len; i++) dst[dstOff + i] = ulawToLinear[src[off + i] as number] as number
}

/** Compresses `len` samples of `src` from `off` into `dst` from `dstOff` to A-law. */
export function encodeAlaw(src: Int16Array, off: number, len: number, dst: Uint8Array, dstOff: number): void {
  for (let i = 0; i < len; i++) {
    dst[dstOff + i] = linearToAlaw[(src[off + i] as number) & 0xffff] as number
  }
}

/** Compresses `len` samples of `src` from `off` into `dst` from `dstOff` to mu-law. */
export function encodeUlaw(src: Int16Array, off: number, len: number, dst: Uint8Array, dstOff: number): void {
  for (let i = 0; i < len; i++) {
    dst[dstOff + i] = linearToUlaw[(src[off + i] as number) & 0xffff] as number
  }
}

// Even bits are inverted in transmission (0x55). Four bits are mantissa, three are exponent. The half step
// (8, left-aligned to 16 bits) puts the value in the middle of its interval.
function expandAlaw(code: number): number {
  const bits = code ^ 0x55
  const exponent = (bits >> 4) & 7
  let magnitude = ((bits & 15) << 4) + 8
  if (exponent > 0) magnitude = (magnitude + 0x100) << (exponent - 1)
  return bits & 0x80 ? magnitude : -magnitude
}

function compressAlaw(value: number): number {
  // 12-bit magnitude; the one's complement keeps -1 in the smallest negative interval.
  let magnitude = (value < 0 ? ~value : value) >> 4
  if (magnitude > 15) {
    let exponent = 1
    while (magnitude > 31) {
      magnitude >>= 1
      exponent++
    }
    magnitude += (exponent - 1) << 4
  }
  return (value < 0 ? magnitude : magnitude | 0x80) ^ 0x55
}

// The bias of 33 (132 at 16 bits) makes every segment start at a power of two; all bits are inverted.
function expandUlaw(code: number): number {
  const bits = ~code & 0xff
  const exponent = (bits >> 4) & 7
  const magnitude = ((((bits & 15) << 3) + 132) << exponent) - 132
  return bits & 0x80 ? -magnitude : magnitude
}

function compressUlaw(value: number): number {
  let magnitude = ((value < 0 ? ~value : value) >> 2) + 33
  if (magnitude > 0x1fff) magnitude = 0x1fff
  let exponent = 0
  for (let rest = magnitude >> 6; rest !== 0; rest >>= 1) exponent++
  const mantissa = (magnitude >> (exponent + 1)) & 15
  return ~((value < 0 ? 0x80 : 0) | (exponent << 4) | mantissa) & 0xff
}
