import type { Socket } from 'node:net'
import { decodePayload, FrameReader } from '../embedded/app/wire-format.js'

/** A SIP message that passed between the SIP server and the application. */
export interface WireMessage {
  /** `in`: received from a peer (or made by the server in its place); `out`: sent to a peer. */
  readonly direction: 'in' | 'out'
  readonly transport: string
  /** `address:port`; empty when the server made the message itself. */
  readonly peer: string
  /** Latin-1, one character per byte. */
  readonly text: string
}

const FRAME_BYTES = 1024 * 1024

/**
 * Observes an application's connection to its SIP server: messages from the network, and the echo of messages
 * sent. Call it in the tick in which the socket was created, so that no message is missed.
 */
export function tapWire(socket: Socket, onMessage: (message: WireMessage) => void): void {
  const reader = new FrameReader(FRAME_BYTES, (payload) => {
    const { tokens, body } = decodePayload(payload)
    const message = body.length === 0 ? null : wireMessage(tokens, body)
    if (message !== null) onMessage(message)
  })
  // The library ends a stream that cannot be framed; the tap only stops reading it.
  socket.on('data', (chunk) => {
    if (Buffer.isBuffer(chunk)) reader.push(chunk)
  })
}

/** Parses `id|sip|network|length|protocol|address|port|...` or `id|response|id|OK|application|length|...`. */
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
