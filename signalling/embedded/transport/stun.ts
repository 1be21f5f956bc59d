import { isIP } from 'node:net'
import { addressKey } from '../../trunk/cidr.js'
import type { SocketAddress } from './transport.js'

/*
 * STUN keep-alive of a registration over UDP (RFC 5626 4.4.2): a client sends a binding request to the SIP
 * port and learns from the response whether its address outside a NAT has changed.
 */

const HEADER_BYTES = 20
const BINDING_REQUEST = 0x0001
const BINDING_SUCCESS = 0x0101
const MAGIC_COOKIE = 0x2112a442
const XOR_MAPPED_ADDRESS = 0x0020

/**
 * Returns whether a datagram is a STUN binding request. No SIP message begins with a zero byte (RFC 5389 6).
 */
export function isBindingRequest(bytes: Buffer): boolean {
  return (
    bytes.length >= HEADER_BYTES &&
    bytes.readUInt16BE(0) === BINDING_REQUEST &&
    bytes.readUInt32BE(4) === MAGIC_COOKIE &&
    bytes.readUInt16BE(2) === bytes.length - HEADER_BYTES
  )
}

/** Returns the success response with the address of the sender (RFC 5389 15.2). */
export function bindingResponse(request: Buffer, { address, port }: SocketAddress): Buffer {
  const key = addressKey(address.split('%')[0] ?? '') ?? ''.padStart(32, '0')
  const six = isIP(address) === 6 && !/^::ffff:/i.test(address)
  const raw = Buffer.from(six ? key : key.slice(24), 'hex')
  const response = Buffer.alloc(HEADER_BYTES + 8 + raw.length)
  response.writeUInt16BE(BINDING_SUCCESS, 0)
  response.writeUInt16BE(response.length - HEADER_BYTES, 2)
  request.copy(response, 4, 4, HEADER_BYTES)
  response.writeUInt16BE(XOR_MAPPED_ADDRESS, HEADER_BYTES)
  response.writeUInt16BE(raw.length + 4, HEADER_BYTES + 2)
  response.writeUInt8(six ? 2 : 1, HEADER_BYTES + 5)
  response.writeUInt16BE(port ^ (MAGIC_COOKIE >>> 16), HEADER_BYTES + 6)
  // Cookie and transaction id are adjacent, so one index covers the bytes of both for the XOR.
  for (const [at, byte] of raw.entries()) {
    response.writeUInt8(byte ^ (response[4 + at] ?? 0), HEADER_BYTES + 8 + at)
  }
  return response
}
