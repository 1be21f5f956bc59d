/*
 * DNS messages (RFC 1035 4) as far as finding SIP servers needs them. Owns no socket.
 */

/** Record types asked for; CNAME comes along in answers. */
export const RECORD_TYPES = { A: 1, CNAME: 5, AAAA: 28, SRV: 33, NAPTR: 35 } as const
export type RecordType = Exclude<keyof typeof RECORD_TYPES, 'CNAME'>

const CLASS_IN = 1
const OPT = 41
/** What fits through every path without fragments (DNS flag day 2020). */
const PAYLOAD_BYTES = 1232
const MAX_NAME_BYTES = 255
/** More answers than any sane domain has are not read. */
const MAX_ANSWERS = 128
/** Pointers followed in one name: each must go backwards, so that this is no loop. */
const MAX_POINTERS = 32

export interface ResourceRecord {
  readonly type: number
  readonly ttlS: number
  /** Where its data lies in the message, which names may point into. */
  readonly start: number
  readonly end: number
}

export interface DnsMessage {
  readonly rcode: number
  /** Cut: the whole answer has to be asked for by TCP. */
  readonly truncated: boolean
  readonly answers: readonly ResourceRecord[]
}

/** A question with recursion desired and EDNS. Null for what is no domain name. */
export function encodeQuery(id: number, name: string, type: RecordType): Buffer | null {
  const labels = name.replace(/\.$/, '').split('.')
  if (labels.some((label) => label === '' || label.length > 63) || name.length > MAX_NAME_BYTES - 2)
    return null
  const head = Buffer.alloc(12)
  head.writeUInt16BE(id, 0)
  head.writeUInt16BE(0x0100, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(1, 10)
  const parts = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')])
  const tail = Buffer.alloc(5)
  tail.writeUInt16BE(RECORD_TYPES[type], 1)
  tail.writeUInt16BE(CLASS_IN, 3)
  const edns = Buffer.alloc(11)
  edns.writeUInt16BE(OPT, 1)
  edns.writeUInt16BE(PAYLOAD_BYTES, 3)
  return Buffer.concat([head, ...parts, tail, edns])
}

/** The reply to that question; null when it is none, or cannot be read. Never throws. */
export function decodeReply(asked: Buffer, bytes: Buffer): DnsMessage | null {
  const end = asked.length - 11
  if (bytes.length < end || bytes.readUInt16BE(0) !== asked.readUInt16BE(0)) return null
  const flags = bytes.readUInt16BE(2)
  const echoed =
    bytes.toString('latin1', 12, end).toLowerCase() === asked.toString('latin1', 12, end).toLowerCase()
  if ((flags & 0x8000) === 0 || bytes.readUInt16BE(4) !== 1 || !echoed) return null
  const answers: ResourceRecord[] = []
  const count = Math.min(bytes.readUInt16BE(6), MAX_ANSWERS)
  const truncated = (flags & 0x0200) !== 0
  let at = end
  for (let n = 0; n < count; n++) {
    const name = readName(bytes, at)
    if (name === null || name.end + 10 > bytes.length)
      return truncated ? { rcode: 0, truncated, answers: [] } : null
    const start = name.end + 10
    const length = bytes.readUInt16BE(name.end + 8)
    if (start + length > bytes.length) return truncated ? { rcode: 0, truncated, answers: [] } : null
    const type = bytes.readUInt16BE(name.end)
    // RFC 2181 8: a TTL with the highest bit set is none.
    const ttl = bytes.readUInt32BE(name.end + 4)
    if (bytes.readUInt16BE(name.end + 2) === CLASS_IN) {
      answers.push({ type, ttlS: ttl > 0x7fff_ffff ? 0 : ttl, start, end: start + length })
    }
    at = start + length
  }
  return { rcode: flags & 0xf, truncated, answers }
}

/** A name that may end in a pointer (RFC 1035 4.1.4), and the first byte after it here. */
export function readName(
  bytes: Buffer,
  from: number,
): { readonly name: string; readonly end: number } | null {
  const labels: string[] = []
  let at = from
  let end = -1
  let size = 0
  for (let pointers = 0; ; ) {
    const length = bytes[at]
    if (length === undefined) return null
    if ((length & 0xc0) === 0xc0) {
      const low = bytes[at + 1]
      const to = ((length & 0x3f) << 8) | (low ?? 0)
      pointers += 1
      if (low === undefined || to >= at || pointers > MAX_POINTERS) return null
      if (end < 0) end = at + 2
      at = to
      continue
    }
    if (length > 63) return null
    if (length === 0) return { name: labels.join('.'), end: end < 0 ? at + 1 : end }
    size += length + 1
    if (size > MAX_NAME_BYTES || at + 1 + length > bytes.length) return null
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
}

/** `<length><characters>`; null when it goes beyond `limit`. */
export function readCharacterString(
  bytes: Buffer,
  from: number,
  limit: number,
): { readonly text: string; readonly end: number } | null {
  const length = bytes[from]
  if (length === undefined || from + 1 + length > limit) return null
  return { text: bytes.toString('latin1', from + 1, from + 1 + length), end: from + 1 + length }
}
