const BLOCK = 64
const INIT = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0] as const

// The message schedule and the padded end of a message. A thread computes only one hash at a time, so all
// instances share them.
const w = new Int32Array(80)
const tail = new Uint8Array(2 * BLOCK)

/**
 * HMAC-SHA1 (RFC 2104) that hashes the two blocks of the key only once. A packet of 172 bytes then costs five
 * blocks and no object, while `node:crypto` creates two native objects per packet.
 */
export class HmacSha1 {
  readonly #inner = new Int32Array(5)
  readonly #outer = new Int32Array(5)
  readonly #state = new Int32Array(5)

  /** @param key at most 64 bytes */
  constructor(key: Uint8Array) {
    this.#begin(this.#inner, key, 0x36)
    this.#begin(this.#outer, key, 0x5c)
  }

  /**
   * Computes the digest of the first `length` bytes of `data`, followed by `suffix` as four bytes unless it
   * is null.
   */
  digest(data: Uint8Array, length: number, suffix: number | null, into: Uint8Array): void {
    const state = this.#state
    state.set(this.#inner)
    const whole = length - (length % BLOCK)
    for (let at = 0; at < whole; at += BLOCK) compress(state, data, at)
    let rest = length - whole
    for (let i = 0; i < rest; i++) tail[i] = data[whole + i] as number
    if (suffix !== null) {
      putInt32(tail, rest, suffix)
      rest += 4
    }
    finish(state, rest, BLOCK + whole + rest)
    for (let i = 0; i < 5; i++) putInt32(tail, i * 4, state[i] as number)
    state.set(this.#outer)
    finish(state, 20, BLOCK + 20)
    for (let i = 0; i < 5; i++) putInt32(into, i * 4, state[i] as number)
  }

  #begin(state: Int32Array, key: Uint8Array, pad: number): void {
    const block = new Uint8Array(BLOCK).fill(pad)
    for (let i = 0; i < key.length; i++) block[i] = (key[i] as number) ^ pad
    state.set(INIT)
    compress(state, block, 0)
  }
}

/** Ends a message whose last `rest` bytes are in `tail`. */
function finish(state: Int32Array, rest: number, totalBytes: number): void {
  const end = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK
  tail.fill(0, rest, end)
  tail[rest] = 0x80
  // Packets are much shorter than 2^29 bytes, so the upper word of the bit length stays zero.
  putInt32(tail, end - 4, totalBytes * 8)
  compress(state, tail, 0)
  if (end > BLOCK) compress(state, tail, BLOCK)
}

function compress(state: Int32Array, data: Uint8Array, at: number): void {
  for (let i = 0; i < 16; i++, at += 4) {
    w[i] =
      ((data[at] as number) << 24) |
      ((data[at + 1] as number) << 16) |
      ((data[at + 2] as number) << 8) |
      (data[at + 3] as number)
  }
  for (let i = 16; i < 80; i++) {
    const x = (w[i - 3] as number) ^ (w[i - 8] as number) ^ (w[i - 14] as number) ^ (w[i - 16] as number)
    w[i] = (x << 1) | (x >>> 31)
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  for (let i = 0; i < 80; i++) {
    let f: number
    if (i < 20) f = ((b & c) | (~b & d)) + 0x5a827999
    else if (i < 40) f = (b ^ c ^ d) + 0x6ed9eba1
    else if (i < 60) f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
    else f = (b ^ c ^ d) + 0xca62c1d6
    const next = (((a << 5) | (a >>> 27)) + f + e + (w[i] as number)) | 0
    e = d
    d = c
    c = (b << 30) | (b >>> 2)
    b = a
    a = next
  }
  state[0] = ((state[0] as number) + a) | 0
  state[1] = ((state[1] as number) + b) | 0
  state[2] = ((state[2] as number) + c) | 0
  state[3] = ((state[3] as number) + d) | 0
  state[4] = ((state[4] as number) + e) | 0
}

function putInt32(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 24
  into[at + 1] = (value >>> 16) & 0xff
  into[at + 2] = (value >>> 8) & 0xff
  into[at + 3] = value & 0xff
}
