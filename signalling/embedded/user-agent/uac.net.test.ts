import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import {
  failureOf,
  openRig,
  type Rig,
  response,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestPeer,
  type TestRequest,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { PATIENT } from '../../../fixtures/rigs/signalling-rig.js'

const uriOf = (peer: TestPeer) => `sip:bob@127.0.0.1:${peer.port}`
const contact = (peer: TestPeer) => ({ Contact: `<sip:bob@127.0.0.1:${peer.port}>` })

async function start(
  t: Parameters<typeof openRig>[0],
  settings: Parameters<typeof openRig>[1] = {},
): Promise<{ rig: Rig; app: TestApp; peer: TestPeer }> {
  const rig = await openRig(t, settings)
  return { rig, app: await rig.app(), peer: await rig.udpPeer() }
}

/** Resolves with the final response to a request outside a dialog; rejects when the command is rejected. */
function ask(app: TestApp, uri: string, options: object): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    app.request(uri, options, (error, sent) => {
      if (error) reject(error)
      else sent.on('response', (res: TestResponse) => res.status >= 200 && resolve(res))
    })
  })
}

t.test('a call: INVITE, provisional responses, dialog, ACK, BYE', async (t) => {
  const { rig, app, peer } = await start(t)
  const provisionals: number[] = []
  const headers = { From: '"Zo\u00eb" <sip:zoe@localhost>', 'X-Trace-ID': '7', 'subject-of-call': 'tea' }
  const calling = app.createUAC(
    uriOf(peer),
    { localSdp: SDP_A, headers },
    { cbProvisional: (res: TestResponse) => provisionals.push(res.status) },
  )
  const invite = await peer.next('INVITE')
  t.equal(invite.start, `INVITE ${uriOf(peer)} SIP/2.0`)
  t.match(invite.header('Via'), new RegExp(`^SIP/2.0/UDP 127.0.0.1:${rig.port};rport;branch=z9hG4bK\\w+$`))
  t.equal(invite.header('Max-Forwards'), '70')
  const utf8 = Buffer.from(invite.header('From'), 'latin1').toString('utf8')
  t.match(utf8, new RegExp(`^"Zo\u00eb" <sip:zoe@127.0.0.1:${rig.port}>;tag=`))
  t.equal(invite.header('To'), `<${uriOf(peer)}>`)
  t.equal(invite.header('Contact'), `<sip:127.0.0.1:${rig.port}>`)
  t.equal(invite.header('Content-Type'), 'application/sdp')
  t.match(invite.text, 'X-Trace-ID: 7\r\n')
  t.match(invite.text, 'Subject-Of-Call: tea\r\n')
  t.equal(invite.body, SDP_A)

  peer.send(response(invite, '100 Trying'))
  const To = `${invite.header('To')};tag=bob`
  peer.send(response(invite, '180 Ringing', { To }))
  peer.send(response(invite, '183 Session Progress', { To }, SDP_B))
  peer.send(
    response(
      invite,
      '200 OK',
      { To, ...contact(peer), 'Record-Route': `<sip:127.0.0.1:${peer.port};lr>` },
      SDP_B,
    ),
  )
  const dialog = await calling
  t.same(provisionals, [180, 183])
  t.equal(dialog.remote.sdp, SDP_B)
  const ack = await peer.next('ACK')
  t.equal(ack.start, `ACK ${uriOf(peer)} SIP/2.0`)
  t.equal(ack.header('CSeq'), invite.header('CSeq').replace('INVITE', 'ACK'))
  t.equal(ack.header('Route'), `<sip:127.0.0.1:${peer.port};lr>`)
  t.not(ack.header('Via'), invite.header('Via'))
  t.equal(ack.header('To'), To)

  const ending = dialog.destroy({ headers: { Reason: 'Q.850;cause=16' } })
  const bye = await peer.next('BYE')
  t.equal(bye.header('Reason'), 'Q.850;cause=16')
  t.equal(Number.parseInt(bye.header('CSeq'), 10), Number.parseInt(invite.header('CSeq'), 10) + 1)
  peer.send(response(bye, '200 OK'))
  await ending
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('an INVITE without a response is retransmitted and ends with 408', async (t) => {
  const { app, peer } = await start(t)
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A })
  const first = await peer.next('INVITE')
  for (let i = 0; i < 3; i++) t.equal((await peer.next('INVITE')).text, first.text)
  t.match(await failureOf(calling), { status: 408, reason: 'Request Timeout' })
})

t.test('a retransmitted 2xx gets the ACK again; the application sees one', async (t) => {
  const { app, peer } = await start(t)
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  const ok = response(invite, '200 OK', { To: `${invite.header('To')};tag=b`, ...contact(peer) }, SDP_B)
  peer.send(ok)
  await calling
  const first = await peer.next('ACK')
  peer.send(ok)
  t.equal((await peer.next('ACK')).text, first.text)
})

t.test('the 2xx of a second fork gets ACK and BYE', async (t) => {
  const { rig, app, peer } = await start(t)
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  const answer = (tag: string) =>
    response(invite, '200 OK', { To: `${invite.header('To')};tag=${tag}`, ...contact(peer) }, SDP_B)
  peer.send(answer('one'))
  const dialog = await calling
  await peer.next('ACK')
  peer.send(answer('two'))
  t.match((await peer.next('ACK')).header('To'), /tag=two/)
  const bye = await peer.next('BYE')
  t.match(bye.header('To'), /tag=two/)
  peer.send(response(bye, '200 OK'))
  peer.send(answer('two'))
  await peer.next('ACK')
  t.equal(rig.server.stats().dialogs, 1)
  t.equal(dialog.sip.remoteTag, 'one')
  const byes = peer.seen.filter((m) => m.start.startsWith('BYE'))
  t.equal(new Set(byes.map((m) => m.header('Via'))).size, 1, 'one BYE')
})

t.test('the server acknowledges a rejection, also when retransmitted', async (t) => {
  const { rig, app, peer } = await start(t)
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  const busy = response(invite, '486 Busy Here', { To: `${invite.header('To')};tag=b` })
  peer.send(busy)
  t.match(await failureOf(calling), { status: 486, reason: 'Busy Here' })
  const ack = await peer.next('ACK')
  t.equal(ack.header('Via'), invite.header('Via'), 'the same branch')
  peer.send(busy)
  t.equal((await peer.next('ACK')).text, ack.text)
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('digest: the second INVITE keeps Call-ID and tag and increments CSeq', async (t) => {
  // An INVITE that is sent again would look like the second one.
  const { app, peer } = await start(t, { timers: PATIENT })
  const auth = { username: 'foo', password: 'bar' }
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A, auth })
  const first = await peer.next('INVITE')
  const challenge = { 'Proxy-Authenticate': 'Digest realm="x", nonce="n1", qop="auth"' }
  peer.send(
    response(first, '407 Proxy Authentication Required', { To: `${first.header('To')};tag=c`, ...challenge }),
  )
  await peer.next('ACK')
  const second = await peer.next('INVITE')
  t.equal(second.header('Call-ID'), first.header('Call-ID'))
  t.equal(second.header('From'), first.header('From'))
  t.equal(Number.parseInt(second.header('CSeq'), 10), Number.parseInt(first.header('CSeq'), 10) + 1)
  t.match(second.header('Proxy-Authorization'), /^Digest username="foo"/)
  t.equal(second.body, SDP_A)
  peer.send(response(second, '200 OK', { To: `${second.header('To')};tag=b`, ...contact(peer) }, SDP_B))
  await calling
  t.equal((await peer.next('ACK')).header('CSeq'), second.header('CSeq').replace('INVITE', 'ACK'))
})

t.test('CANCEL waits for a provisional response, then 487', async (t) => {
  const { app, peer } = await start(t)
  let sent: TestRequest | undefined
  const progress = { cbRequest: (_error: unknown, req: TestRequest) => (sent = req) }
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A }, progress)
  calling.catch(() => {})
  const invite = await peer.next('INVITE')
  sent?.cancel({ headers: { Reason: 'SIP;cause=200;text="elsewhere"' } })
  await peer.next('INVITE')
  t.notOk(
    peer.seen.some((m) => m.start.startsWith('CANCEL')),
    'not yet',
  )
  peer.send(response(invite, '180 Ringing', { To: `${invite.header('To')};tag=b` }))
  const cancel = await peer.next('CANCEL')
  t.equal(cancel.header('Via'), invite.header('Via'))
  t.equal(cancel.header('To'), invite.header('To'))
  t.equal(cancel.header('CSeq'), invite.header('CSeq').replace('INVITE', 'CANCEL'))
  t.equal(cancel.header('Reason'), 'SIP;cause=200;text="elsewhere"')
  peer.send(response(cancel, '200 OK'))
  peer.send(response(invite, '487 Request Terminated', { To: `${invite.header('To')};tag=b` }))
  t.match(await failureOf(calling), { status: 487 })
  await peer.next('ACK')
})

t.test('CANCEL that crosses the 200: ACK, then BYE', async (t) => {
  const { rig, app, peer } = await start(t)
  let sent: TestRequest | undefined
  const progress = { cbRequest: (_error: unknown, req: TestRequest) => (sent = req) }
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A }, progress)
  const invite = await peer.next('INVITE')
  const To = `${invite.header('To')};tag=b`
  peer.send(response(invite, '180 Ringing', { To }))
  await new Promise((resolve) => sent?.cancel({}, resolve))
  const cancel = await peer.next('CANCEL')
  peer.send(response(invite, '200 OK', { To, ...contact(peer) }, SDP_B))
  peer.send(response(cancel, '481 Call/Transaction Does Not Exist'))
  const dialog = await calling
  const [, reason] = await once(dialog, 'destroy')
  t.equal(reason, 'ACK-BYE due to cancel race condition')
  await peer.next('ACK')
  peer.send(response(await peer.next('BYE'), '200 OK'))
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('a cancelled INVITE without any final response ends as 487', async (t) => {
  const { app, peer } = await start(t)
  let sent: TestRequest | undefined
  const progress = { cbRequest: (_error: unknown, req: TestRequest) => (sent = req) }
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A }, progress)
  calling.catch(() => {})
  const invite = await peer.next('INVITE')
  peer.send(response(invite, '100 Trying'))
  sent?.cancel({})
  peer.send(response(await peer.next('CANCEL'), '200 OK'))
  t.match(await failureOf(calling), { status: 487 })
})

t.test('unreachable: ICMP errors and refused connections are a 503 at once', async (t) => {
  const { app } = await start(t)
  const udp = createSocket('udp4')
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const udpPort = udp.address().port
  await new Promise<void>((resolve) => udp.close(() => resolve()))
  const tcp = createServer()
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const bound = tcp.address()
  await new Promise<void>((resolve) => tcp.close(() => resolve()))
  const unreachable = app.createUAC(`sip:x@127.0.0.1:${udpPort}`, { localSdp: SDP_A })
  t.match(await failureOf(unreachable), { status: 503, reason: 'Service Unavailable' })
  const rig = await openRig(t, { listen: [{ transport: 'tcp', address: '127.0.0.1', port: 0 }] })
  const other = await rig.app()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  const refused = await ask(other, `sip:x@127.0.0.1:${port};transport=tcp`, { method: 'OPTIONS' })
  t.equal(refused.status, 503)
})

t.test('a name that does not resolve: 503 DNS Error', async (t) => {
  const { app } = await start(t)
  const res = await ask(app, 'sip:x@no-such-host.invalid', { method: 'OPTIONS' })
  t.match(res, { status: 503, reason: 'DNS Error' })
  t.match(res.get('To'), /tag=/)
})

t.test('a name that resolves is called', async (t) => {
  const { app, peer } = await start(t)
  const asking = ask(app, `sip:x@localhost:${peer.port}`, { method: 'OPTIONS' })
  const options = await peer.next('OPTIONS')
  t.equal(options.start, `OPTIONS sip:x@localhost:${peer.port} SIP/2.0`)
  peer.send(response(options, '200 OK', { To: `${options.header('To')};tag=x` }))
  t.equal((await asking).status, 200)
})

t.test('commands rejected before anything is sent', async (t) => {
  const { rig, app, peer } = await start(t)
  const refused = async (uri: string, options: object, why: RegExp) =>
    t.match(await failureOf(ask(app, uri, options)), { code: 'EDRACHTIO', message: why }, String(why))
  await refused('tel:+911234567890', { method: 'OPTIONS' }, /^invalid request-uri: OPTIONS tel:/)
  await refused(`${uriOf(peer)};transport=tcp`, { method: 'OPTIONS' }, /protocol\/transport not available/)
  await refused('sips:x@127.0.0.1', { method: 'OPTIONS' }, /protocol\/transport not available/)
  await refused(`sip:x@127.0.0.1:${rig.port}`, { method: 'OPTIONS' }, /can not send request to myself/)
  await refused(uriOf(peer), { method: 'MESSAGE', body: 'hello' }, /missing content-type/)
  await refused(uriOf(peer), { method: 'OPTIONS', headers: { From: '<sip:broken' } }, /invalid From header/)
  await refused(uriOf(peer), { method: 'PRACK' }, /outside a dialog/)
})

t.test('requests outside dialogs: own headers, next hop, no Contact, body length in bytes', async (t) => {
  const { app, peer } = await start(t)
  const body = 'na\u00efve \u0928\u092e\u0938\u094d\u0924\u0947'
  const asking = ask(app, 'sip:far@192.0.2.1', {
    method: 'MESSAGE',
    proxy: `sip:127.0.0.1:${peer.port}`,
    body,
    headers: {
      'Content-Type': 'text/plain',
      CSeq: '77 MESSAGE',
      'Call-ID': 'given@id',
      From: '<sip:me@here>;tag=mine',
      Route: '<sip:x;lr>',
      Via: 'SIP/2.0/UDP evil',
      'X-Inject': 'a\r\nEvil: yes',
    },
  })
  const message = await peer.next('MESSAGE')
  t.equal(message.start, 'MESSAGE sip:far@192.0.2.1 SIP/2.0')
  t.equal(message.header('CSeq'), '77 MESSAGE')
  t.equal(message.header('Call-ID'), 'given@id')
  t.equal(message.header('From'), '<sip:me@here>;tag=mine')
  t.same([message.header('Contact'), message.header('Route')], ['', ''])
  t.equal(message.all('Via').length, 1)
  t.equal(message.header('Content-Length'), String(Buffer.byteLength(body)))
  t.equal(Buffer.from(message.body, 'latin1').toString('utf8'), body)
  peer.send(response(message, '202 Accepted', { To: `${message.header('To')};tag=x` }))
  t.equal((await asking).status, 202)
})

t.test('REGISTER: Contact as given, localhost replaced', async (t) => {
  const { rig, app, peer } = await start(t)
  const asking = ask(app, uriOf(peer), {
    method: 'REGISTER',
    headers: {
      Contact: '<sip:dh@localhost:9;x=1>;expires=60',
      To: 'sip:dh@example.com',
      From: 'sip:dh@example.com',
    },
  })
  const register = await peer.next('REGISTER')
  t.equal(register.header('Contact'), `<sip:dh@127.0.0.1:${rig.port};x=1>;expires=60`)
  t.equal(register.header('To'), '<sip:dh@example.com>')
  t.equal(register.header('Via').includes('rport'), true)
  peer.send(response(register, '200 OK', { To: `${register.header('To')};tag=x` }))
  t.equal((await asking).status, 200)
})

t.test('stray responses and responses with two Vias are dropped', async (t) => {
  const { app, peer } = await start(t)
  const asking = ask(app, uriOf(peer), { method: 'OPTIONS' })
  const options = await peer.next('OPTIONS')
  const good = response(options, '200 OK', { To: `${options.header('To')};tag=x` })
  peer.send(good.replace('Via: ', 'Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKother\r\nVia: '))
  peer.send(good.replace(/branch=\w+/, 'branch=z9hG4bKunknown'))
  peer.send(response(options, '404 Not Found', { To: `${options.header('To')};tag=y` }))
  t.equal((await asking).status, 404)
})
