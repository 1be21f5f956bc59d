import { once } from 'node:events'
import t from 'tap'
import {
  failureOf,
  inCall,
  openRig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestDialog,
} from '../../../fixtures/rigs/embedded-rig.js'

const TCP = { listen: [{ transport: 'tcp', address: '127.0.0.1', port: 0 }] } as const
const tcp = { transport: 'TCP' }

t.test(
  'a call over TCP: one connection in both directions, no rport, transport in the Contact',
  async (t) => {
    const rig = await openRig(t, TCP)
    const app = await rig.app()
    const peer = await rig.tcpPeer()
    const made: Promise<TestDialog>[] = []
    app.use('invite', (req, res) => {
      t.equal(req.protocol, 'tcp')
      made.push(app.createUAS(req, res, { localSdp: SDP_B, headers: { Contact: '<sip:me@localhost>' } }))
    })
    await rig.routed(app)
    const invite = request('INVITE', peer, { Contact: '<sip:peer@192.0.2.1;transport=tcp>' }, SDP_A, tcp)
    peer.send(invite)
    const ok = await peer.next('SIP/2.0 200')
    t.equal(ok.header('Contact'), `<sip:me@127.0.0.1:${rig.port};transport=tcp>`)
    const dialog = await (made[0] as Promise<TestDialog>)
    const acked = once(dialog, 'ack')
    peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }, '', tcp))
    await acked
    const ending = dialog.destroy()
    const bye = await peer.next('BYE')
    t.match(bye.header('Via'), /^SIP\/2.0\/TCP 127.0.0.1:\d+;branch=/)
    peer.send(response(bye, '200 OK'))
    await ending
  },
)

t.test('a lost ACK over TCP: the 200 is not retransmitted, the BYE is sent nevertheless', async (t) => {
  const rig = await openRig(t, TCP)
  const app = await rig.app()
  const peer = await rig.tcpPeer()
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  peer.send(request('INVITE', peer, {}, SDP_A, tcp))
  await peer.next('SIP/2.0 200')
  const [, reason] = await once(await (made[0] as Promise<TestDialog>), 'destroy')
  t.equal(reason, 'ACK timeout')
  await peer.next('BYE')
  t.equal(peer.seen.filter((m) => m.start.includes('200')).length, 1)
})

t.test('outgoing calls open a connection and reuse it', async (t) => {
  const rig = await openRig(t, TCP)
  const app = await rig.app()
  const peer = await rig.tcpListener()
  const calling = app.createUAC(`sip:b@127.0.0.1:${peer.port};transport=tcp`, {
    localSdp: SDP_A,
    callingNumber: '12',
  })
  const invite = await peer.next('INVITE')
  t.match(invite.header('Via'), 'SIP/2.0/TCP')
  t.equal(invite.header('Contact'), `<sip:12@127.0.0.1:${rig.port};transport=tcp>`)
  const To = `${invite.header('To')};tag=b`
  peer.send(response(invite, '200 OK', { To, Contact: '<sip:b@192.0.2.5;transport=tcp>' }, SDP_B))
  const dialog = await calling
  t.equal((await peer.next('ACK')).start, 'ACK sip:b@192.0.2.5;transport=tcp SIP/2.0')
  const ending = dialog.destroy()
  peer.send(response(await peer.next('BYE'), '200 OK'))
  await ending
})

t.test('streams: merged and split messages, keep-alive', async (t) => {
  const rig = await openRig(t, TCP)
  const peer = await rig.tcpPeer()
  const one = request('OPTIONS', peer, {}, '', tcp)
  const two = request('OPTIONS', peer, {}, '', tcp)
  peer.send(`\r\n\r\n${one}${two.slice(0, 40)}`)
  await peer.next((m) => m.text === '\r\n')
  await peer.next('SIP/2.0 503')
  peer.send(two.slice(40))
  await peer.next('SIP/2.0 503')
})

t.test('streams: a bad Content-Length is answered 400 and ends the connection', async (t) => {
  const rig = await openRig(t, TCP)
  for (const length of ['x', '-1', '99999999']) {
    const peer = await rig.tcpPeer()
    peer.send(request('OPTIONS', peer, { 'Content-Length': length }, '', tcp))
    const answer = await peer.next('SIP/2.0 400')
    t.equal(answer.start, 'SIP/2.0 400 Bad Content-Length Header')
    await peer.ended
  }
  const missing = await rig.tcpPeer()
  missing.send(request('OPTIONS', missing, {}, '', tcp).replace(/Content-Length.*\r\n/, ''))
  await missing.next('SIP/2.0 400')
  await missing.ended
  const large = await rig.tcpPeer()
  large.send(request('OPTIONS', large, { 'Content-Length': '900000' }, '', tcp))
  t.equal((await large.next('SIP/2.0 413')).start, 'SIP/2.0 413 Request Entity Too Large')
  await large.ended
  const wide = await rig.tcpPeer()
  wide.send(request('OPTIONS', wide, { 'X-Long': 'x'.repeat(70_000) }, '', tcp))
  const refusal = await wide.next('SIP/2.0 513')
  t.equal(refusal.start, 'SIP/2.0 513 Message Too Large')
  t.equal(refusal.header('CSeq'), '1 OPTIONS')
  await wide.ended
})

t.test('a connection without a message is closed; after its first message it may be idle', async (t) => {
  const rig = await openRig(t, TCP)
  const speaking = await rig.tcpPeer()
  speaking.send(request('OPTIONS', speaking, {}, '', tcp))
  await speaking.next('SIP/2.0 503')
  const silent = await rig.tcpPeer()
  const noisy = await rig.tcpPeer()
  noisy.send('\r\n\r\n')
  await noisy.next((m) => m.text === '\r\n')
  await Promise.all([silent.ended, noisy.ended])
  speaking.send(request('OPTIONS', speaking, {}, '', tcp))
  await speaking.next('SIP/2.0 503')
})

t.test('a response too large for a datagram is rejected, and the peer gets a 500 at once', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const refusals: unknown[] = []
  app.use('options', (_req, res) => {
    const headers = { 'Content-Type': 'text/plain' }
    res.send(200, { headers, body: 'x'.repeat(65_400) }, (error) => refusals.push(String(error)))
  })
  await rig.routed(app)
  const peer = await rig.udpPeer()
  peer.send(request('OPTIONS', peer))
  await peer.next('SIP/2.0 500')
  await rig.routed(app)
  t.match(refusals, [/too large for UDP/])
})

t.test('streams: an incomplete message ends the connection after a timeout', async (t) => {
  const rig = await openRig(t, TCP)
  const peer = await rig.tcpPeer()
  peer.send('OPTIONS sip:a@b SIP/2.0\r\nVia: ')
  await peer.ended
  t.pass()
})

t.test('a response on a closed connection is rejected', async (t) => {
  const rig = await openRig(t, TCP)
  const app = await rig.app()
  const peer = await rig.tcpPeer()
  const failed = once(app, 'test:failed')
  app.use('options', (_req, res) => {
    void peer.close().then(async () => {
      // The server's end closes a moment later; a second try shows it.
      for (let error: unknown; !error; ) {
        error = await new Promise((resolve) => res.send(100, {}, resolve))
        if (error) app.emit('test:failed', error)
      }
    })
  })
  await rig.routed(app)
  peer.send(request('OPTIONS', peer, {}, '', tcp))
  t.match((await failed)[0], /connection of the request is closed/)
  t.equal(rig.server.stats().serverTransactions, 0)
})

t.test('garbage datagrams: dropped, or answered 400 if they have a Via', async (t) => {
  const rig = await openRig(t)
  const peer = await rig.udpPeer()
  for (const noise of [
    '',
    '\0\0\0\0',
    '\r\n\r\n',
    'x'.repeat(60_000),
    'SIP/2.0 200 OK\r\n\r\n',
    'ACK x SIP/2.0\r\n\r\n',
  ]) {
    peer.send(noise)
  }
  peer.send(request('OPTIONS', peer, { CSeq: 'x' }))
  t.equal((await peer.next('SIP/2.0 400')).start, 'SIP/2.0 400 Bad CSeq Header')
  peer.send(request('ACK', peer, { CSeq: 'x' }))
  peer.send(request('OPTIONS', peer).replace('SIP/2.0\r\n', 'SIP/3.0\r\n'))
  await peer.next('SIP/2.0 505')
  t.equal(peer.seen.length, 2)
})

t.test('both transports at once: UDP unless the URI says TCP', async (t) => {
  const rig = await openRig(t, {
    listen: [
      { transport: 'tcp', address: '127.0.0.1', port: 0 },
      { transport: 'udp', address: '127.0.0.1', port: 0 },
    ],
  })
  const app = await rig.app()
  const listener = await rig.tcpListener()
  const peer = await rig.udpPeer()
  const ask = (uri: string) => app.request(uri, { method: 'OPTIONS' }, () => {})
  ask(`sip:x@127.0.0.1:${listener.port};transport=tcp`)
  t.match((await listener.next('OPTIONS')).header('Via'), 'SIP/2.0/TCP')
  ask(`sip:x@127.0.0.1:${peer.port}`)
  t.match((await peer.next('OPTIONS')).header('Via'), 'SIP/2.0/UDP')
})

t.test('an overloaded server answers 503 with Retry-After', async (t) => {
  const rig = await openRig(t, { limits: { transactions: 3 } })
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('invite', (_req, res) => res.send(180))
  await rig.routed(app)
  for (let i = 0; i < 3; i++) {
    peer.send(request('INVITE', peer, {}, SDP_A))
    await peer.next('SIP/2.0 180')
  }
  peer.send(request('INVITE', peer, {}, SDP_A))
  t.equal((await peer.next('SIP/2.0 503')).header('Retry-After'), '5')
})

t.test('one source cannot use all transactions', async (t) => {
  const rig = await openRig(t, { limits: { pendingPerSource: 2 } })
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('invite', (_req, res) => res.send(180))
  await rig.routed(app)
  for (let i = 0; i < 2; i++) {
    peer.send(request('INVITE', peer, {}, SDP_A))
    await peer.next('SIP/2.0 180')
  }
  peer.send(request('INVITE', peer, {}, SDP_A))
  t.equal((await peer.next('SIP/2.0 503')).header('Retry-After'), '5')
})

t.test('closing during calls leaves nothing open', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('invite', (req, res) => {
    res.send(180)
    void failureOf(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  for (let i = 0; i < 5; i++) peer.send(request('INVITE', peer, {}, SDP_A))
  void failureOf(app.createUAC(`sip:b@127.0.0.1:${peer.port}`, { localSdp: SDP_A }))
  await peer.next('INVITE')
  await peer.next('SIP/2.0 200')
  await rig.server.close()
  t.match(rig.server.stats(), { dialogs: 0, clientTransactions: 0, serverTransactions: 0, unanswered: 0 })
})
