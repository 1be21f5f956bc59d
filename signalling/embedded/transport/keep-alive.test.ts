import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import t from 'tap'
import type { WebSocket } from 'ws'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { silentLog } from '../../../media/base/log.js'
import { DEFAULT_LIMITS } from '../limits.js'
import { deriveTimers } from '../transaction/timers.js'
import type { ConnectionSettings } from './connection.js'
import { StreamConnection } from './stream-connection.js'
import { StreamFramer } from './stream-framer.js'
import type { Transport } from './transport.js'
import { WsConnection } from './ws-connection.js'

/* Keep-alives of RFC 5626 from peers that read the answers, and from peers that do not. */

const PING = '\r\n\r\n'
const REMOTE = { address: '192.0.2.1', port: 5060 }
/** The connections only pass the transport on. */
const TRANSPORT = {} as Transport

function settingsWith(admitted: () => boolean): ConnectionSettings {
  const events = {
    admitConnection: () => true,
    onMessage() {},
    admitKeepAlive: admitted,
    onBadStream() {},
  }
  const timers = deriveTimers()
  return { events, clock: new VirtualClock(), timers, limits: DEFAULT_LIMITS, log: silentLog }
}

function openStream(admitted: () => boolean) {
  const written: string[] = []
  let readNext: (() => void) | null = null
  const socket = new Duplex({
    read() {},
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString('latin1'))
      readNext = done
    },
  })
  const settings = settingsWith(admitted)
  new StreamConnection(TRANSPORT, 'tcp', settings, socket as Socket, REMOTE, null, () => {})
  return {
    written,
    receive: (text: string) => void socket.emit('data', Buffer.from(text, 'latin1')),
    /** The peer reads what was sent to it. */
    read: () => readNext?.(),
    close: () => void socket.destroy(),
  }
}

function openWebSocket(admitted: () => boolean) {
  const written: string[] = []
  const socket = Object.assign(new EventEmitter(), {
    readyState: 1,
    OPEN: 1,
    CONNECTING: 0,
    bufferedAmount: 0,
    send: (bytes: Buffer) => {
      written.push(bytes.toString('latin1'))
      socket.bufferedAmount += bytes.length
    },
  })
  const settings = settingsWith(admitted)
  new WsConnection(TRANSPORT, 'ws', settings, socket as unknown as WebSocket, REMOTE, () => {})
  return {
    written,
    receive: (text: string) => void socket.emit('message', Buffer.from(text, 'latin1')),
    read: () => {
      socket.bufferedAmount = 0
    },
    close: () => void socket.emit('close'),
  }
}

for (const [name, open] of [
  ['TCP', openStream],
  ['WebSocket', openWebSocket],
] as const) {
  t.test(`${name}: a peer that does not read gets one answer`, async (t) => {
    const peer = open(() => true)
    for (let n = 0; n < 1000; n++) peer.receive(PING)
    t.same(peer.written, ['\r\n'])
    peer.read()
    peer.receive(PING)
    t.same(peer.written, ['\r\n', '\r\n'], 'the next one when nothing waits any more')
    peer.close()
  })

  t.test(`${name}: a source over its limit gets no answer`, async (t) => {
    const peer = open(() => false)
    peer.receive(PING)
    t.same(peer.written, [])
    peer.close()
  })
}

t.test('keep-alives are found however the stream is cut; those of one segment count once', async (t) => {
  const framed = (chunks: readonly string[]) => {
    const seen: string[] = []
    const framer = new StreamFramer(DEFAULT_LIMITS, {
      onMessage: (bytes) => seen.push(bytes.toString('latin1').slice(0, 7)),
      onKeepAlive: () => seen.push('ping'),
      onError: (status) => seen.push(String(status)),
    })
    for (const chunk of chunks) framer.push(Buffer.from(chunk, 'latin1'))
    return seen
  }
  const message = 'OPTIONS sip:x SIP/2.0\r\nContent-Length: 0\r\n\r\n'
  t.same(framed([PING]), ['ping'])
  t.same(framed(['\r', '\n', '\r', '\n']), ['ping'])
  t.same(framed(['\r\n\r', `\n${message}`]), ['ping', 'OPTIONS'])
  t.same(framed([`${PING.repeat(5000)}${message}`]), ['ping', 'OPTIONS'])
  t.same(framed([`\r\n${message}${PING}`]), ['OPTIONS', 'ping'])
  t.same(framed([`${message}\r\n`, message]), ['OPTIONS', 'OPTIONS'])
  t.same(framed([PING, PING, `${PING}\r\n`, '\r\n']), ['ping', 'ping', 'ping', 'ping'])
})
