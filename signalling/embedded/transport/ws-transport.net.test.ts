import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { until } from '../../../fixtures/host/until.js'
import {
  Inbox,
  inCall,
  openRig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestDialog,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { openWsPeer } from '../../../fixtures/sip/ws-peer.js'

/* SIP over WebSocket (RFC 7118) with raw peers: framing, and clients that are only reachable over their connection. */

const WS = { listen: [{ transport: 'ws', address: '127.0.0.1', port: 0 }] } as const
const HOST = 'df7jal23ls0d.invalid'
const via = { transport: 'WS' }

/** As a SIP stack in a browser writes it: a host name that only has a meaning on its connection. */
const fromBrowser = (branch: string) => ({
  Via: `SIP/2.0/WS ${HOST};branch=z9hG4bK${branch}`,
  Contact: `<sip:alice@${HOST};transport=ws>`,
})

t.test('an inbound call over one WebSocket', async (t) => {
  const rig = await openRig(t, WS)
  const app = await rig.app()
  const peer = await openWsPeer(`ws://127.0.0.1:${rig.port}/any/path`)
  t.teardown(() => peer.close())
  t.equal(peer.socket.protocol, 'sip')
  t.equal(peer.socket.extensions, '', 'no compression')
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    t.equal(req.protocol, 'tcp', 'what drachtio-server says of WebSockets')
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, fromBrowser('a'), SDP_A, via)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  t.match(ok.header('Via'), new RegExp(`^SIP/2.0/WS ${HOST};branch=z9hG4bKa;received=127.0.0.1$`))
  t.equal(ok.header('Contact'), `<sip:127.0.0.1:${rig.port};transport=ws>`)
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.socket.send(Buffer.from(request('ACK', peer, inCall(invite, ok, 1, 'ACK'), '', via)), { binary: true })
  await acked
  const ending = dialog.destroy()
  const bye = await peer.next(`BYE sip:alice@${HOST};transport=ws`)
  t.match(bye.header('Via'), `SIP/2.0/WS 127.0.0.1:${rig.port};branch=`)
  peer.send(response(bye, '200 OK'))
  await ending
})

t.test('a registered client is called over its connection, and unreachable without it', async (t) => {
  const rig = await openRig(t, WS)
  const app = await rig.app()
  const peer = await openWsPeer(`ws://127.0.0.1:${rig.port}`)
  app.use('register', (req, res) =>
    res.send(200, { headers: { Contact: `${req.get('Contact')};expires=60` } }),
  )
  await rig.routed(app)
  peer.send(request('REGISTER', peer, fromBrowser('r'), '', via))
  await peer.next('SIP/2.0 200')
  const uri = `sip:alice@${HOST};transport=ws`
  const calling = app.createUAC(uri, { localSdp: SDP_A })
  const invite = await peer.next(`INVITE ${uri}`)
  const To = `${invite.header('To')};tag=b`
  peer.send(response(invite, '200 OK', { To, Contact: `<${uri}>` }, SDP_B))
  const dialog = await calling
  await peer.next('ACK')

  // The browser reconnects: the call continues over the new connection.
  await peer.close()
  await until(() => rig.server.stats().clientTransactions === 0)
  const again = await openWsPeer(`ws://127.0.0.1:${rig.port}`)
  again.send(request('REGISTER', again, fromBrowser('s'), '', via))
  await again.next('SIP/2.0 200')
  const ending = dialog.destroy()
  again.send(response(await again.next('BYE'), '200 OK'))
  await ending
  await again.close()

  // The server notices the end a moment after its peer.
  let status = 0
  while (status !== 410) {
    status = await new Promise<number>((resolve) => {
      app.request(uri, { method: 'OPTIONS' }, (error, req) => {
        if (error) resolve(-1)
        else req.on('response', (res: TestResponse) => resolve(res.status))
      })
    })
  }
  t.equal(status, 410)
})

t.test('requests without the subprotocol or without an upgrade are rejected', async (t) => {
  const rig = await openRig(t, WS)
  const url = `ws://127.0.0.1:${rig.port}`
  await t.rejects(openWsPeer(url, { protocols: [] }), /400/)
  await t.rejects(openWsPeer(url, { protocols: ['chat'] }), /400/)
  const both = await openWsPeer(url, { protocols: ['chat', 'sip'] })
  t.equal(both.socket.protocol, 'sip')
  await both.close()
  const page = httpRequest({ host: '127.0.0.1', port: rig.port, path: '/' }).end()
  const [answer] = await once(page, 'response')
  t.equal(answer.statusCode, 426)
  answer.resume()
  await once(answer, 'end')
})

t.test('a rejected upgrade closes its connection; a peer that resets it does no harm', async (t) => {
  const rig = await openRig(t, WS)
  const upgrade =
    'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'
  const open = async () => {
    const socket = connect({ host: '127.0.0.1', port: rig.port, allowHalfOpen: true })
    t.teardown(async () => void socket.destroy())
    socket.resume().write(upgrade)
    return socket
  }
  // An uncaught error would end this process. The reset meets the socket after its rejection.
  for (let n = 0; n < 20; n++) {
    const socket = await open()
    await once(socket, 'data')
    const closed = once(socket, 'close')
    socket.resetAndDestroy()
    await closed
  }
  const silent = await open()
  await once(silent, 'end')
  await until(() => rig.server.stats().connections === 0)
  const peer = await openWsPeer(`ws://127.0.0.1:${rig.port}`)
  await peer.close()
})

t.test('CRLF and ping keep-alives, and a peer that stops answering them', async (t) => {
  const rig = await openRig(t, WS)
  const url = `ws://127.0.0.1:${rig.port}`
  const peer = await openWsPeer(url)
  t.teardown(() => peer.close())
  peer.send('\r\n\r\n')
  await peer.next((message) => message.text === '\r\n')
  peer.send('\r\n')
  const pong = once(peer.socket, 'pong')
  peer.socket.ping()
  await pong
  const dead = await openWsPeer(url, { autoPong: false })
  t.equal(await dead.ended, 1001)
  t.equal(peer.socket.readyState, peer.socket.OPEN)
})

t.test('one message per frame: too large closes, garbage and incomplete messages are dropped', async (t) => {
  const rig = await openRig(t, { ...WS, limits: { messageBytes: 4000 } })
  const url = `ws://127.0.0.1:${rig.port}`
  const peer = await openWsPeer(url)
  t.teardown(() => peer.close())
  const whole = request('OPTIONS', peer, {}, '', via)
  peer.send('nonsense')
  peer.send(whole.slice(0, 60))
  peer.send(whole)
  await peer.next('SIP/2.0 503')
  // RFC 7118 5: the frame is the message, Content-Length is not needed.
  peer.send(request('OPTIONS', peer, {}, '', via).replace(/Content-Length.*\r\n/, ''))
  await peer.next('SIP/2.0 503')
  t.equal(peer.seen.length, 2)
  peer.send(request('OPTIONS', peer, {}, 'x'.repeat(5000), via))
  t.equal(await peer.ended, 1009)
})

t.test('connections are limited; connections without an upgrade end with the server', async (t) => {
  const rig = await openRig(t, { ...WS, limits: { connections: 2 } })
  const url = `ws://127.0.0.1:${rig.port}`
  const first = await openWsPeer(url)
  const second = await openWsPeer(url)
  await t.rejects(openWsPeer(url))
  await first.close()
  await second.close()
  const idle = connect(rig.port, '127.0.0.1')
  await once(idle, 'connect')
  const ended = once(idle.resume(), 'close')
  await rig.server.close()
  await ended
})

t.test('we connect to a WebSocket server', async (t) => {
  const rig = await openRig(t, { ...WS, timers: { T1: 40, T2: 160, T4: 200 } })
  const app = await rig.app()
  const inbox = new Inbox()
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'sip' })
  await once(server, 'listening')
  t.teardown(async () => {
    for (const client of server.clients) client.terminate()
    await new Promise((resolve) => server.close(resolve))
  })
  let connections = 0
  server.on('connection', (socket) => {
    connections += 1
    t.equal(socket.protocol, 'sip')
    socket.on('message', (data) => {
      inbox.add(String(data))
      const last = inbox.seen.at(-1)
      if (last) socket.send(response(last, '200 OK'))
    })
  })
  const bound = server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  for (let i = 0; i < 2; i++) {
    await new Promise<void>((resolve) => {
      app.request(`sip:x@127.0.0.1:${port};transport=ws`, { method: 'OPTIONS' }, (_error, req) => {
        req.on('response', () => resolve())
      })
    })
  }
  t.equal(connections, 1)
  t.match(inbox.seen[0]?.header('Via'), 'SIP/2.0/WS')
})

t.test('secure WebSockets', async (t) => {
  const authority = makeAuthority(t)
  const rig = await openRig(t, {
    listen: [{ transport: 'wss', address: '127.0.0.1', port: 0 }],
    tls: authority.issue('IP:127.0.0.1'),
    timers: { T1: 40, T2: 160, T4: 200 },
  })
  const peer = await openWsPeer(`wss://127.0.0.1:${rig.port}`, { ca: authority.certificate })
  t.teardown(() => peer.close())
  peer.send(request('OPTIONS', peer, fromBrowser('o'), '', { transport: 'WSS' }))
  await peer.next('SIP/2.0 503')
  await t.rejects(openWsPeer(`wss://127.0.0.1:${rig.port}`), /certificate/)
})

/** A SIP server behind an HTTP server, which tells another address of each client, as behind a reverse proxy. */
async function openEntranceRig(t: Test) {
  const http = createServer((_request, response) => response.end('a page'))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  const rig = await openRig(t, { entrance: { address: '127.0.0.1', port }, limits: { connections: 2 } })
  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    const remote = { address: '192.0.2.77', port: request.socket.remotePort ?? 0 }
    rig.server.acceptWebSocket({ request, head, remote })
  })
  t.teardown(() => http.close())
  return { rig, port, url: `ws://127.0.0.1:${port}/sip` }
}

t.test('an HTTP server hands over its WebSockets', async (t) => {
  const { rig, port, url } = await openEntranceRig(t)
  t.notOk(
    rig.server.endpoints.some(({ transport }) => transport === 'ws'),
    'it is no listener',
  )
  const app = await rig.app()
  const sources: string[] = []
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    sources.push(req.source_address)
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const peer = await openWsPeer(url)
  const invite = request('INVITE', peer, fromBrowser('a'), SDP_A, via)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  t.same(sources, ['192.0.2.77'])
  t.equal(ok.header('Contact'), `<sip:127.0.0.1:${port};transport=ws>`)
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK'), '', via))
  await acked

  // The connection breaks. A request of the client over the next one moves the call to it.
  await peer.close()
  await until(() => rig.server.stats().connections === 0)
  const again = await openWsPeer(url)
  again.send(
    request('INVITE', again, { ...inCall(invite, ok, 2, 'INVITE'), ...fromBrowser('b') }, SDP_A, via),
  )
  const refreshed = await again.next('SIP/2.0 200')
  again.send(request('ACK', again, inCall(invite, refreshed, 2, 'ACK'), '', via))
  const ending = dialog.destroy()
  const bye = await again.next(`BYE sip:alice@${HOST};transport=ws`)
  again.send(response(bye, '200 OK'))
  await ending

  const second = await openWsPeer(url)
  await t.rejects(openWsPeer(url), 'they count as connections')
  await t.rejects(openWsPeer(url, { protocols: ['chat'] }))
  await Promise.all([again.close(), second.close()])
})

t.test('connections that were handed over end with the SIP server', async (t) => {
  const { rig, url } = await openEntranceRig(t)
  const idle = await openWsPeer(url)
  await rig.server.close()
  t.ok(await idle.ended)
})
