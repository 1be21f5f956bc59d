import { isIPv4 } from 'node:net'

/** Returns the 4 or 16 bytes of a literal address as sockets report it, in network byte order. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  // The URL parser writes an embedded IPv4 address in hexadecimal and every group without leading zeros.
  const [literal = ''] = address.split('%')
  const text = new URL(`http://[${literal}]`).hostname.slice(1, -1)
  const [front = '', back] = text.split('::')
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const before = groups(front)
  const after = back === undefined ? [] : groups(back)
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  return Buffer.from([...before, ...zeros, ...after].flatMap((group) => [group >>> 8, group & 0xff]))
}
