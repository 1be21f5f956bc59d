import { randomBytes } from 'node:crypto'

/**
 * Prefixes of resource ids in the API. `req` marks requests, `vrf` verifications of organizations, `invt`
 * invitations, `aud` audit entries, `upl` uploads, `pex` payment exceptions, `ers` erasures, `scr` scrub files of the
 * DND register, `fac` second factors, `mfc` requests for a proof of one, `sev` security events of accounts, `adj`
 * adjustments of wallets.
 */
export type IdPrefix =
  | 'org'
  | 'usr'
  | 'key'
  | 'agt'
  | 'agv'
  | 'tdst'
  | 'kb'
  | 'doc'
  | 'bld'
  | 'num'
  | 'trk'
  | 'sar'
  | 'call'
  | 'cbk'
  | 'xfr'
  | 'mon'
  | 'cmp'
  | 'rcp'
  | 'con'
  | 'dnc'
  | 'scr'
  | 'chk'
  | 'run'
  | 'evd'
  | 'anc'
  | 'ers'
  | 'led'
  | 'upl'
  | 'inv'
  | 'pex'
  | 'top'
  | 'evt'
  | 'whe'
  | 'whd'
  | 'sec'
  | 'cxn'
  | 'sid'
  | 'rbd'
  | 'vrf'
  | 'invt'
  | 'aud'
  | 'fac'
  | 'mfc'
  | 'sev'
  | 'adj'
  | 'led'
  | 'upl'
  | 'req'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ' // Crockford base 32, as the ULID specification requires (https://github.com/ulid/spec)
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/**
 * Largest step back of the clock (ms) that does not show in ids. After a larger one the clock was wrong before, and
 * ids have to tell the right time, from which retention counts.
 */
const LARGEST_STEP_MS = 3_600_000

let lastTime = 0
let lastRandom = new Uint8Array(10)

/**
 * Returns a ULID: 48 bits of milliseconds and 80 random bits in 26 sortable characters. Within one
 * millisecond the random part is incremented, so that ids of one process sort by creation. Six of the random
 * bits are fixed, so that the same 128 bits are also a version 7 UUID (RFC 9562 section 5.7), which some
 * protocols require.
 */
export function ulid(wallMs: number): string {
  if (wallMs > lastTime || wallMs < lastTime - LARGEST_STEP_MS) {
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

/** Returns 80 random bits with the version and the variant of a UUID in place. */
function drawn(): Uint8Array<ArrayBuffer> {
  const random = new Uint8Array(randomBytes(10))
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f)
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f)
  return random
}

/** Increments the bits behind the fixed ones. Returns false on overflow. */
function increment(random: Uint8Array): boolean {
  for (let i = 9; i > 2; i--) {
    const next = ((random[i] ?? 0) + 1) & 0xff
    random[i] = next
    if (next !== 0) return true
  }
  return false
}

/** Returns a new id `<prefix>_<ULID>`, for example `call_01J...`. */
export function newId(prefix: IdPrefix, wallMs: number): string {
  return `${prefix}_${ulid(wallMs)}`
}

/**
 * Returns an id that sorts before every id of that prefix made at `wallMs` or later, and after all earlier
 * ones.
 */
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

/** Returns the 128 bits of an id's ULID as a UUID, for protocols that require one. */
export function uuidOf(id: string): string {
  let bits = 0n
  for (const character of id.slice(id.lastIndexOf('_') + 1)) {
    bits = (bits << 5n) | BigInt(ALPHABET.indexOf(character))
  }
  const hex = bits.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/**
 * Returns the id whose ULID equals a UUID, with or without dashes. Returns null when the text is not a UUID.
 */
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

/** Returns true for a well-formed id of that prefix. The API answers a malformed id with 404, not 400. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && ULID.test(text.slice(prefix.length + 1))
}
