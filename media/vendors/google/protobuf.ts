/*
 * The part of the protobuf wire format that a recognition stream needs.
 * https://protobuf.dev/programming-guides/encoding/
 */

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** A field of a message to write: a number (varint) or bytes, a text or a message. */
export type Field = readonly [number: number, value: number | boolean | string | Uint8Array]

/** Encodes a message of these fields, in their order. */
export function encodeMessage(...fields: readonly Field[]): Uint8Array {
  return Buffer.concat(
    fields.map(([number, value]) => {
      if (typeof value === 'number' || typeof value === 'boolean') {
        return Buffer.concat([varint(number * 8 + VARINT), varint(Number(value))])
      }
      const bytes = typeof value === 'string' ? Buffer.from(value) : value
      return Buffer.concat([varint(number * 8 + BYTES), varint(bytes.length), bytes])
    }),
  )
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}

/**
 * Decodes the numbers and byte strings of a message, by field number, in their order; fixed-width fields are left out.
 * Throws RangeError when the bytes are no message.
 */
export function decodeMessage(bytes: Uint8Array): readonly (readonly [number, number | Uint8Array])[] {
  const fields: [number, number | Uint8Array][] = []
  let at = 0
  const readVarint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 2 ** 63) throw new RangeError('no protobuf message')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = readVarint()
    const number = Math.floor(tag / 8)
    const kind = tag % 8
    if (kind === VARINT) fields.push([number, readVarint()])
    else if (kind === BYTES) {
      const length = readVarint()
      if (at + length > bytes.length) throw new RangeError('no protobuf message')
      fields.push([number, bytes.subarray(at, at + length)])
      at += length
    } else if (kind === FIXED32) at += 4
    else if (kind === FIXED64) at += 8
    else throw new RangeError('no protobuf message')
  }
  return fields
}
