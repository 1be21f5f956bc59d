import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import {
  failureOf,
  openRig,
  type Rig,
  request,
  response,
  SDP_A,
  SDP_B,
  SECRET,
} from '../../../fixtures/rigs/embedded-rig.js'
import { openEmbeddedServer } from '../server.js'
import { decodePayload, FrameReader } from './wire-format.js'

/** An application that speaks the protocol by hand. */
async function rawApp(t: { teardown(run: () => void): unknown }, rig: Rig) {
  const socket = connect({ host: '127.0.0.1', port: rig.server.controlPort })
  t.teardown(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  const frames: { tokens: readonly string[]; body: string }[] = []
  const reader = new FrameReader(1_000_000, (payload) => {
    const { tokens, body } = decodePayload(payload)
    frames.push({ tokens, body: body.toString() })
    socket.emit('test:frame')
  })
  socket.on('data', (chunk) => reader.push(chunk))
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  const send = (text: string) => void socket.write(`${Buffer.byteLength(text)}#${text}`)
  const next = async (): Promise<{ tokens: readonly string[]; body: string }> => {
    const signal = AbortSignal.timeout(30_000)
    while (frames.length === 0) await once(socket, 'test:frame', { signal })
    return frames.shift() as { tokens: readonly string[]; body: string }
  }
  const login = async () => {
    send(`m0|authenticate|${SECRET}|tag`)
    return next()
  }
  return { socket, send, next, closed, login }
}

t.test('an oversized command is rejected and the connection stays open', async (t) => {
  const rig = await openRig(t, { limits: { frameBytes: 2000 } })
  const app = await rawApp(t, rig)
  await app.login()
  const peer = await rig.udpPeer()
  const text = `MESSAGE sip:bob@127.0.0.1:${peer.port} SIP/2.0\r\nContent-Type: text/plain\r\n\r\n${'x'.repeat(5000)}`
  app.send(`m1|sip|||\r\n${text}`)
  t.same((await app.next()).tokens.slice(1), ['response', 'm1', 'NOK', 'message too large'])
  app.send('m2|ping')
  t.same((await app.next()).tokens.slice(1), ['response', 'm2', 'OK', 'pong'])
  app.socket.write('1999999999#x')
  await app.closed
  t.equal(peer.seen.length, 0)
})

t.test('large frames of an unauthenticated connection are rejected', async (t) => {
  const rig = await openRig(t, { limits: { frameBytes: 2000 } })
  const app = await rawApp(t, rig)
  app.send(`m1|sip|||\r\n${'x'.repeat(5000)}`)
  t.same((await app.next()).tokens.slice(1), ['response', 'm1', 'NO', 'not authenticated'])
  await app.closed
})

t.test('authenticate, route, ping, remove_route', async (t) => {
  const rig = await openRig(t)
  const app = await rawApp(t, rig)
  const hostport = `udp/127.0.0.1:${rig.port}`
  const welcome = await app.login()
  t.same(welcome.tokens.slice(1, 5), ['response', 'm0', 'OK', hostport])
  t.match(welcome.tokens[5], /^v\d+\.\d+\.\d+/)
  t.equal(welcome.tokens[6], hostport)
  app.send('m1|route|message')
  t.same((await app.next()).tokens.slice(1), ['response', 'm1', 'OK'])
  app.send('m2|route|message')
  await app.next()
  app.send('m3|route|info')
  await app.next()
  app.send('m4|ping')
  t.same((await app.next()).tokens.slice(1), ['response', 'm4', 'OK', 'pong'])
  app.send('m5|remove_route|info')
  await app.next()

  const peer = await rig.udpPeer()
  peer.send(request('INFO', peer))
  await peer.next('SIP/2.0 503')
  peer.send(request('MESSAGE', peer, { 'Content-Type': 'text/plain' }, 'hi'))
  const message = await app.next()
  t.match(message.tokens.slice(1, 7), ['sip', 'network', /^\d+$/, 'udp', '127.0.0.1', String(peer.port)])
  t.match(message.tokens[7], /^\d\d:\d\d:\d\d\.\d{6}$/)
  t.equal(message.tokens[9], '', 'no dialog')
  t.same(message.tokens.slice(10), ['127.0.0.1', String(rig.port), ''], 'the line ends with a bar')
  t.equal(Number(message.tokens[3]), Buffer.byteLength(message.body))
  t.match(message.body, /^MESSAGE sip:service@127.0.0.1 SIP\/2.0\r\n/)

  app.send(`m6|sip|${message.tokens[8]}|\r\nSIP/2.0 200 OK\r\nTo: <sip:forged@x>\r\nCall-ID: forged\r\n\r\n`)
  const ok = await peer.next('SIP/2.0 200')
  t.match(ok.header('To'), /^<sip:service@127.0.0.1>;tag=/, "the request's headers, not the application's")
  const echo = await app.next()
  t.same(echo.tokens.slice(1, 6), ['response', 'm6', 'OK', 'application', String(ok.text.length)])
  t.same(echo.tokens.slice(10), [message.tokens[8], '', '', 'Msg sent:', ''])
  t.equal(echo.body, ok.text)
  app.send(`m7|sip|${message.tokens[8]}|\r\nSIP/2.0 200 OK\r\n\r\n`)
  t.same((await app.next()).tokens.slice(3), ['NOK', 'Response not sent due to unknown transaction'])
})

t.test('wrong secret, no secret, invalid frames: rejected and closed', async (t) => {
  const rig = await openRig(t)
  for (const [text, why] of [
    ['m|authenticate|wrong|', 'incorrect secret'],
    ['m|route|invite', 'not authenticated'],
    ['m|sip||\r\nOPTIONS sip:x@127.0.0.1 SIP/2.0\r\n\r\n', 'not authenticated'],
    ['m', 'Invalid message format'],
  ] as const) {
    const app = await rawApp(t, rig)
    app.send(text)
    t.same((await app.next()).tokens.slice(3), ['NO', why])
    await app.closed
  }
  const app = await rawApp(t, rig)
  await app.login()
  app.send('m|dance')
  t.same((await app.next()).tokens.slice(3), ['NO', 'Unknown message type'])
  await app.closed
  const silent = await rawApp(t, rig)
  await silent.closed
  const garbage = await rawApp(t, rig)
  garbage.socket.write('GET / HTTP/1.1\r\n\r\n')
  await garbage.closed
  t.ok(await failureOf(rig.app({ secret: 'wrong' })), 'the library sees it too')
})

t.test('invalid commands get NOK', async (t) => {
  const rig = await openRig(t)
  const app = await rawApp(t, rig)
  await app.login()
  const refused = async (line: string, sip: string, why: RegExp) => {
    app.send(`m|${line}\r\n${sip}`)
    const { tokens } = await app.next()
    t.match(tokens[4], why)
    t.equal(tokens[3], 'NOK')
  }
  const uri = 'sip:x@127.0.0.1:9'
  await refused(
    'proxy|T||fullResponse||serial|||sip:x',
    `INVITE ${uri} SIP/2.0\r\n\r\n`,
    /Unknown transaction id: T/,
  )
  await refused('sip|T|', `OPTIONS ${uri} SIP/2.0\r\n\r\n`, /needs no transaction id/)
  await refused('sip|T|', `CANCEL ${uri} SIP/2.0\r\n\r\n`, /unable to cancel unknown transaction id: T/)
  await refused('sip||gone', `BYE ${uri} SIP/2.0\r\n\r\n`, /unable to find dialog/)
  await refused('sip||gone', `ACK ${uri} SIP/2.0\r\n\r\n`, /ACK for non-success final response/)
  await refused('sip||', `DANCE ${uri} SIP/2.0\r\n\r\n`, /^invalid request-uri: DANCE/)
  await refused('sip||', `OPTIONS ${uri}?a=b SIP/2.0\r\n\r\n`, /^invalid request-uri/)
  await refused('sip||', '', /^invalid request-uri/)
  await refused('sip||', `OPTIONS ${uri} SIP/2.0\r\nCSeq: x\r\n\r\n`, /invalid CSeq header/)
  await refused('sip|T|', 'SIP/2.0 200 OK\r\nCSeq: 1 CANCEL\r\n\r\n', /automatically generated by the stack/)
})

t.test('an application disconnects: requests get 503, its INVITEs a CANCEL, its calls a BYE', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const callee = await rig.udpPeer()
  const ringing = await rig.udpPeer()
  app.use('invite', (_req, res) => res.send(180))
  await rig.routed(app)

  const calling = app.createUAC(`sip:c@127.0.0.1:${callee.port}`, { localSdp: SDP_A })
  const invite = await callee.next('INVITE')
  const To = `${invite.header('To')};tag=c`
  callee.send(response(invite, '200 OK', { To, Contact: `<sip:c@127.0.0.1:${callee.port}>` }, SDP_B))
  await calling
  await callee.next('ACK')
  const second = failureOf(app.createUAC(`sip:r@127.0.0.1:${ringing.port}`, { localSdp: SDP_A }))
  const other = await ringing.next('INVITE')
  ringing.send(response(other, '180 Ringing', { To: `${other.header('To')};tag=r` }))
  peer.send(request('INVITE', peer, {}, SDP_A))
  await peer.next('SIP/2.0 180')

  app.disconnect()
  t.match((await peer.next('SIP/2.0 503')).header('Retry-After'), /^\d+$/)
  ringing.send(response(await ringing.next('CANCEL'), '200 OK'))
  ringing.send(response(other, '487 Request Terminated', { To: `${other.header('To')};tag=r` }))
  await ringing.next('ACK')
  const bye = await callee.next('BYE')
  callee.send(response(bye, '200 OK'))
  t.equal(rig.server.stats().dialogs, 0)
  void second
})

t.test('an INVITE answered after its application disconnected gets ACK and BYE', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  void failureOf(app.createUAC(`sip:c@127.0.0.1:${peer.port}`, { localSdp: SDP_A }))
  const invite = await peer.next('INVITE')
  app.disconnect()
  await once(app, 'close')
  const To = `${invite.header('To')};tag=c`
  peer.send(response(invite, '200 OK', { To, Contact: `<sip:c@127.0.0.1:${peer.port}>` }, SDP_B))
  await peer.next('ACK')
  peer.send(response(await peer.next('BYE'), '200 OK'))
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('frames far above 12 KB pass in both directions', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const body = `${'x'.repeat(40_000)}\u00fc`
  const echoed: string[] = []
  app.use('message', (req, res) => {
    echoed.push(req.body)
    res.send(200, { body: req.body, headers: { 'Content-Type': 'text/plain' } })
  })
  await rig.routed(app)
  const bytes = Buffer.from(body).toString('latin1')
  peer.send(request('MESSAGE', peer, { 'Content-Type': 'text/plain' }, bytes))
  const answer = await peer.next('SIP/2.0 200')
  t.equal(echoed[0], body)
  t.equal(answer.body, bytes)
})

t.test('invalid configuration', async (t) => {
  assertNothingLeft(t)
  const control = { address: '127.0.0.1', port: 0, secret: 's' }
  const udp = { transport: 'udp', address: '127.0.0.1', port: 0 } as const
  const fails = async (settings: Parameters<typeof openEmbeddedServer>[0], code: string) =>
    t.match(await failureOf(openEmbeddedServer(settings)), { code })
  await fails({ listen: [udp], control: { ...control, address: '0.0.0.0' } }, 'config_invalid')
  await fails({ listen: [], control }, 'config_invalid')
  await fails({ listen: [{ ...udp, address: 'localhost' }], control }, 'config_invalid')
  const server = await openEmbeddedServer({ listen: [udp], control })
  await fails({ listen: [{ ...udp, port: server.endpoints[0]?.port ?? 0 }], control }, 'port_unavailable')
  await fails({ listen: [udp], control: { ...control, port: server.controlPort } }, 'port_unavailable')
  await server.close()
  await server.close()
})
