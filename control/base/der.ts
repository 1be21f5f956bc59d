/*
 * DER (ITU-T X.690), as far as time stamps need it: tags below 31 and lengths below 2^24.
 */

export const DER = {
  boolean: 0x01,
  integer: 0x02,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  /** Constructed element [0] of a choice or an optional member. */
  first: 0xa0,
  time: 0x18,
} as const

export interface DerElement {
  /** The first byte: class, form and number. */
  readonly tag: number
  readonly content: Buffer
  /** The whole element. */
  readonly bytes: Buffer
}

export class DerError extends Error {
  override readonly name = 'DerError'
}

/** Returns the bytes of an element. Its content is the parts one after another. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = length < 0x100 ? 1 : length < 0x1_0000 ? 2 : 3
  const head = Buffer.alloc(2 + size)
  head[0] = tag
  head[1] = 0x80 | size
  head.writeUIntBE(length, 2, size)
  return Buffer.concat([head, content])
}

/** Returns an INTEGER with the value of unsigned big-endian bytes. */
export function derUnsigned(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const value = bytes.subarray(start)
  return der(DER.integer, ...((value[0] ?? 0) >= 0x80 ? [Buffer.alloc(1)] : []), value)
}

/** Returns an OBJECT IDENTIFIER. `dotted` is for example `2.5.4.3`. */
export function derOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const digits = [arc & 0x7f]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      digits.unshift((left & 0x7f) | 0x80)
    }
    return digits
  })
  return der(DER.oid, Buffer.from(bytes))
}

/** Reads one element that fills the bytes. Throws DerError. */
export function readDer(bytes: Buffer): DerElement {
  const [element, rest] = readFirst(bytes)
  if (rest.length > 0) throw new DerError('bytes follow the element')
  return element
}

/** Returns the elements inside an element. Throws DerError. */
export function membersOf({ content }: DerElement): DerElement[] {
  const members: DerElement[] = []
  for (let left = content; left.length > 0; ) {
    const [member, rest] = readFirst(left)
    members.push(member)
    left = rest
  }
  return members
}

/** Returns the element if it has the tag. Throws DerError otherwise. */
export function expectTag(element: DerElement | undefined, tag: number): DerElement {
  if (element?.tag !== tag) throw new DerError(`an element with tag ${tag} is missing`)
  return element
}

/** Returns an OBJECT IDENTIFIER with dots. Throws DerError. */
export function oidOf(element: DerElement | undefined): string {
  const { content } = expectTag(element, DER.oid)
  const arcs: number[] = []
  let arc = 0
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f)
    if (!Number.isSafeInteger(arc)) throw new DerError('an object identifier is too long')
    if (byte < 0x80) {
      arcs.push(arc)
      arc = 0
    }
  }
  const [head = 0, ...rest] = arcs
  const first = Math.min(2, Math.floor(head / 40))
  return [first, head - first * 40, ...rest].join('.')
}

/** Returns a GeneralizedTime of UTC, with an optional fraction, as Unix ms. Throws DerError. */
export function timeOf(element: DerElement | undefined): number {
  const text = expectTag(element, DER.time).content.toString('latin1')
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(text)
  const [, year, month, day, hour, minute, second, fraction = ''] = found ?? []
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}Z`)
  if (Number.isNaN(time)) throw new DerError('a time is not a GeneralizedTime of UTC')
  return time
}

function readFirst(bytes: Buffer): [DerElement, Buffer] {
  const tag = bytes[0]
  const short = bytes[1]
  if (tag === undefined || short === undefined) throw new DerError('an element is cut off')
  if ((tag & 0x1f) === 0x1f) throw new DerError('a tag is too large')
  const size = short < 0x80 ? 0 : short & 0x7f
  // 0x80 is an indefinite length, which DER does not have.
  if (short === 0x80 || size > 3) throw new DerError('a length is not in DER, or too large')
  if (bytes.length < 2 + size) throw new DerError('an element is cut off')
  const length = size === 0 ? short : bytes.readUIntBE(2, size)
  const end = 2 + size + length
  if (bytes.length < end) throw new DerError('an element is cut off')
  return [{ tag, content: bytes.subarray(2 + size, end), bytes: bytes.subarray(0, end) }, bytes.subarray(end)]
}
