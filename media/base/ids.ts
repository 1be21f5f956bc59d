import { randomBytes } from 'node:crypto'

/**
 * Resource prefixes of the contract (decisions 2.1), `req` for requests, and what the contract names
 * nothing for: `vrf` verifications of organizations, `aud` audit entries.
 */
export type IdPrefix =
  | 'org'
  | 'usr'
  | 'key'
  | 'agt'
  | 'agv'
  | 'tdst'
  | 'kb'
  | 'num'
  | 'trk'
  | 'call'
  | 'chk'
  | 'run'
  | 'evd'
  | 'evt'
  | 'whe'
  | 'whd'
  | 'sec'
  | 'cxn'
  | 'sid'
  | 'rbd'
  | 'vrf'
  | 'aud'
  | 'req'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ' // Crockford base 32, as ULID asks
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

let lastTime = 0
let lastRandom = new Uint8Array(10)

/**
 * A ULID: 48 bits of milliseconds, 80 random bits, 26 characters, sortable. Within one
 * millisecond the random part is incremented, so that ids of one process sort by creation. Six of the
 * random bits are fixed, so that the same 128 bits are a UUID of version 7 too (RFC 9562, 5.7): there
 * are readers that take no other.
 */
export function ulid(wallMs: number): string {
  if (wallMs > lastTime) {
    lastTime = wallMs
    lastRandom = drawn()
  } else if (!increment(lastRandom)) {
    lastTime++
    lastRandom = drawn()
  }
  let text = timePart(lastTime)
  let bits = 0
  let held = 0
  for (const byte of lastRandom) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET.charAt((held >> bits) & 31)
    }
  }
  return text
}

/** 80 random bits with the version and the variant of a UUID among them. */
function drawn(): Uint8Array<ArrayBuffer> {
  const random = new Uint8Array(randomBytes(10))
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f)
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f)
  return random
}

/** Adds one to what stands behind the fixed bits; false when there is no room for more. */
function increment(random: Uint8Array): boolean {
  for (let i = 9; i > 2; i--) {
    const next = ((random[i] ?? 0) + 1) & 0xff
    random[i] = next
    if (next !== 0) return true
  }
  return false
}

/** `<prefix>_<ULID>`, for example `call_01J...`. */
export function newId(prefix: IdPrefix, wallMs: number): string {
  return `${prefix}_${ulid(wallMs)}`
}

/** Sorts before every id of that kind made at `wallMs` or later, and after every earlier one. */
export function minimumId(prefix: IdPrefix, wallMs: number): string {
  return `${prefix}_${timePart(wallMs)}${'0'.repeat(16)}`
}

function timePart(wallMs: number): string {
  let text = ''
  let time = wallMs
  for (let i = 0; i < 10; i++) {
    text = ALPHABET.charAt(time % 32) + text
    time = Math.floor(time / 32)
  }
  return text
}

/** The 128 bits of an id's ULID written as a UUID, as other makers' protocols want them. */
export function uuidOf(id: string): string {
  let bits = 0n
  for (const character of id.slice(id.lastIndexOf('_') + 1)) {
    bits = (bits << 5n) | BigInt(ALPHABET.indexOf(character))
  }
  const hex = bits.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The id of that kind whose ULID a UUID is; dashes may be missing. Null for anything else. */
export function idOfUuid(prefix: IdPrefix, uuid: string): string | null {
  const hex = uuid.replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/i.test(hex)) return null
  let bits = BigInt(`0x${hex}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = ALPHABET.charAt(Number(bits & 31n)) + text
    bits >>= 5n
  }
  return `${prefix}_${text}`
}

/** Whether `text` is a well-formed id of that kind. A malformed id is answered 404, not 400. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && ULID.test(text.slice(prefix.length + 1))
}
