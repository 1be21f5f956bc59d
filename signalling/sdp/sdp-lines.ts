import { isIP } from 'node:net'

/*
 * Reads the lines of a received session description leniently. Many real peers get blanks, line ends, origin and time
 * lines, and the formats of refused media wrong, and a call does not need these. sdp-parser.ts reads the attributes.
 */

/** An m-line. */
export interface MediaLine {
  /** Lower case; never empty. */
  readonly type: string
  /** Null when the line has no valid port. */
  readonly port: number | null
  /** Upper case when it is an RTP protocol; never empty. */
  readonly protocol: string
  /** In the order of the line; may be empty. */
  readonly formats: readonly string[]
}

/** Host of a `c=` line: an IP address or a host name. */
export type ConnectionHost = string

const LINE = /^[a-z]=/
const HOST_NAME = /^(?=[A-Za-z0-9.-]{1,253}$)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.?$/

/** Returns the lines of the form `x=value` without outer blanks, and leaves out all others. */
export function readableLines(text: string): string[] {
  return text
    .replaceAll('\0', '')
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line) => LINE.test(line))
    .map((line) => {
      const value = line.slice(2).trim()
      return line.startsWith('a=') ? `a=${attribute(value)}` : line.slice(0, 2) + value
    })
}

/** Returns an attribute in the form of its grammar: name in lower case, no blank around the colon, single blanks. */
function attribute(value: string): string {
  const colon = value.indexOf(':')
  if (colon < 0) return value.toLowerCase()
  const name = value.slice(0, colon).trim().toLowerCase()
  return `${name}:${value
    .slice(colon + 1)
    .split(/[ \t]+/)
    .filter((word) => word !== '')
    .join(' ')}`
}

/** Reads an m-line. Parts that cannot be read are replaced, so that a refusal can repeat the line. */
export function readMediaLine(line: string): MediaLine {
  const [type = '', port = '', protocol = '', ...formats] = line.slice(2).split(/\s+/)
  const [, digits] = /^(\d{1,5})(?:\/\d{1,5})?$/.exec(port) ?? []
  const known = /^[\w-]{1,32}$/.test(type) ? type.toLowerCase() : 'application'
  const named = /^[\w/-]{1,64}$/.test(protocol) ? protocol : 'RTP/AVP'
  return {
    type: known,
    port: digits === undefined || Number(digits) > 65_535 ? null : Number(digits),
    protocol: /rtp/i.test(named) ? named.toUpperCase() : named,
    formats: formats.filter((format) => /^[!-~]{1,64}$/.test(format)),
  }
}

/**
 * Writes the m-line of a stream that our answer refuses (RFC 3264 section 6). It names a format, as the grammar
 * demands.
 */
export function refusedMediaLine({
  type,
  protocol,
  formats,
}: {
  readonly type: string
  readonly protocol: string
  readonly formats: readonly string[]
}): string {
  const usable = isRtp(protocol) ? formats.filter((format) => payloadTypeOf(format) !== null) : formats
  return `m=${type} 0 ${protocol} ${usable.length > 0 ? usable.join(' ') : '0'}`
}

export function isRtp(protocol: string): boolean {
  return /(^|\/)RTP\//.test(protocol)
}

/** Returns the payload type that a format names; null when it names none. */
export function payloadTypeOf(format: string): number | null {
  return /^\d{1,3}$/.test(format) && Number(format) <= 127 ? Number(format) : null
}

/**
 * Reads the host of a `c=` line. The form of the address tells its family, so that the stated family is ignored.
 * Returns null without a host.
 */
export function readConnection(line: string): ConnectionHost | null {
  const [network = '', , address = ''] = line.slice(2).split(/\s+/)
  const [host = ''] = address.replace(/^\[([^\]]*)\]$/, '$1').split('/')
  if (network.toUpperCase() !== 'IN') return null
  return isIP(host) !== 0 || HOST_NAME.test(host) ? host : null
}

/** Returns the value of a `t=` line that an answer may repeat; null for any other line. */
export function readTiming(line: string): string | null {
  return /^t=(\d{1,20} \d{1,20})$/.exec(line)?.[1] ?? null
}
