import type { Socket } from 'node:net'
import { decodePayload, FrameReader } from '../embedded/app/wire-format.js'

/** A SIP message that passed between the SIP server and the application. */
export interface WireMessage {
  /** `in`: from a peer (or made by the server as if); `out`: to a peer. */
  readonly direction: 'in' | 'out'
  readonly transport: string
  /** `address:port`; empty when the server made the message itself. */
  readonly peer: string
  /** Latin-1, one character a byte. */
  readonly text: string
}

const FRAME_BYTES = 1024 * 1024

/**
 * Listens in on an application's connection to its SIP server: what it is told of the network, and the
 * echo of what was sent for it. Call in the tick the socket was made, so that nothing is missed.
 */
export function tapWire(socket: Socket, onMessage: (message: WireMessage) => void): void {
  const reader = new FrameReader(FRAME_BYTES, (payload) => {
    const { tokens, body } = decodePayload(payload)
    const message = body.length === 0 ? null : wireMessage(tokens, body)
    if (message !== null) onMessage(message)
  })
  // A stream that cannot be framed is the library's to end; here it only stops being read.
  socket.on('data', (chunk) => {
    if (Buffer.isBuffer(chunk)) reader.push(chunk)
  })
}

/** `id|sip|network|length|protocol|address|port|...` or `id|response|id|OK|application|length|...`. */
function wireMessage(tokens: readonly string[], body: Buffer): WireMessage | null {
  const kind = tokens[1]
  const at = kind === 'sip' ? 2 : kind === 'response' ? 4 : -1
  const source = tokens[at]
  if (source !== 'network' && source !== 'application') return null
  const [, transport = '', address = '', port = ''] = tokens.slice(at + 1)
  const host = address.includes(':') ? `[${address}]` : address
  return {
    direction: source === 'network' ? 'in' : 'out',
    transport,
    peer: address === '' ? '' : `${host}:${port}`,
    text: body.toString('latin1'),
  }
}
