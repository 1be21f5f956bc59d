import { once } from 'node:events'
import t from 'tap'
import {
  FAST,
  failureOf,
  inCall,
  openRig,
  type RawSipMessage,
  type Rig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestDialog,
  type TestPeer,
  type TestRequest,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'

interface Call {
  readonly rig: Rig
  readonly app: TestApp
  readonly peer: TestPeer
  readonly dialog: TestDialog
  /** A request of the peer inside the call. */
  ask(method: string, cseq: number, headers?: Record<string, string | null>, body?: string): void
}

/** A call from the peer, acknowledged. */
async function inbound(
  t: Parameters<typeof openRig>[0],
  headers: Record<string, string> = {},
): Promise<Call> {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, headers, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))
  await acked
  return {
    rig,
    app,
    peer,
    dialog,
    ask: (method, cseq, extra = {}, body = '') =>
      peer.send(request(method, peer, { ...inCall(invite, ok, cseq, method), ...extra }, body)),
  }
}

/** Matches final responses: both sides count their requests, and a late host retransmits an INVITE with the same CSeq. */
const of = (cseq: string) => (message: RawSipMessage) =>
  message.header('CSeq') === cseq && /^SIP\/2\.0 [2-6]/.test(message.start)

t.test('re-INVITE of the peer: 100, answer, retransmitted until its ACK', async (t) => {
  const call = await inbound(t)
  const { dialog, peer } = call
  dialog.on('modify', (req: TestRequest, res: TestResponse) => {
    t.equal(req.body, SDP_A.replace('a 1 1', 'a 1 2'))
    res.send(200, { body: SDP_B })
  })
  call.ask('INVITE', 2, {}, SDP_A.replace('a 1 1', 'a 1 2'))
  await peer.next((m) => m.start.includes(' 100 ') && m.header('CSeq') === '2 INVITE')
  const first = await peer.next(of('2 INVITE'))
  t.equal(first.header('Contact'), `<sip:127.0.0.1:${call.rig.port}>`)
  t.equal((await peer.next(of('2 INVITE'))).text, first.text, 'the 200 of a re-INVITE too')
  const acked = once(dialog, 'ack')
  call.ask('ACK', 2, { Contact: null })
  await acked
})

t.test('re-INVITE of the application: Contact, ACK with its CSeq, target refreshed', async (t) => {
  const call = await inbound(t)
  const { dialog, peer } = call
  const modifying = dialog.modify(SDP_B)
  const invite = await peer.next('INVITE')
  t.equal(invite.start, `INVITE sip:peer@127.0.0.1:${peer.port} SIP/2.0`)
  t.equal(invite.header('CSeq'), '2 INVITE', "the peer's INVITE CSeq + 1")
  t.match(invite.header('Contact'), `127.0.0.1:${call.rig.port}`)
  peer.send(response(invite, '200 OK', { Contact: `<sip:moved@127.0.0.1:${peer.port}>` }, SDP_A))
  t.equal(await modifying, SDP_A)
  const ack = await peer.next('ACK')
  t.equal(ack.start, `ACK sip:moved@127.0.0.1:${peer.port} SIP/2.0`)
  t.equal(ack.header('CSeq'), '2 ACK')
  const ending = dialog.destroy()
  const bye = await peer.next('BYE')
  t.equal(bye.start, `BYE sip:moved@127.0.0.1:${peer.port} SIP/2.0`)
  peer.send(response(bye, '200 OK'))
  await ending
})

t.test('a rejected re-INVITE leaves the call established; its ACK is not sent twice', async (t) => {
  const call = await inbound(t)
  const { dialog, peer } = call
  const modifying = dialog.modify(SDP_B)
  const invite = await peer.next('INVITE')
  peer.send(response(invite, '488 Not Acceptable Here'))
  t.match(await failureOf(modifying), { status: 488 })
  await peer.next('ACK')
  const asking = dialog.request({ method: 'INFO', body: 'x', headers: { 'Content-Type': 'text/plain' } })
  const info = await peer.next('INFO')
  t.equal(info.header('CSeq'), '3 INFO')
  peer.send(response(info, '200 OK'))
  t.equal((await asking).status, 200)
  t.equal(peer.seen.filter((m) => m.start.startsWith('ACK')).length, 1)
})

t.test('glare: 491 while our re-INVITE is open, 500 while that of the peer is', async (t) => {
  const call = await inbound(t)
  const { dialog, peer } = call
  const modifying = dialog.modify(SDP_B)
  const invite = await peer.next('INVITE')
  call.ask('INVITE', 2, {}, SDP_A)
  t.match((await peer.next(of('2 INVITE'))).start, '491')
  peer.send(response(invite, '200 OK', { Contact: `<sip:peer@127.0.0.1:${peer.port}>` }, SDP_A))
  await modifying
  await peer.next('ACK')

  const answer: TestResponse[] = []
  const asked = new Promise<void>((resolve) => {
    dialog.on('modify', (_req: TestRequest, res: TestResponse) => {
      answer.push(res)
      resolve()
    })
  })
  call.ask('INVITE', 3, {}, SDP_A)
  await asked
  call.ask('INVITE', 4, {}, SDP_A)
  const busy = await peer.next(of('4 INVITE'))
  t.match(busy.start, '500')
  t.match(busy.header('Retry-After'), /^\d+$/)
  answer[0]?.send(200, { body: SDP_B })
  t.match((await peer.next(of('3 INVITE'))).start, '200')
  call.ask('ACK', 3, { Contact: null })
})

t.test('extensions that nobody knows are refused inside a dialog too', async (t) => {
  const { peer, dialog, ask } = await inbound(t)
  for (const event of ['info', 'options', 'modify', 'destroy']) dialog.on(event, () => t.fail(event))
  const Require = 'timer, telepathy, 100rel'
  for (const [index, method] of ['INFO', 'OPTIONS', 'INVITE', 'BYE'].entries()) {
    const cseq = index + 2
    ask(method, cseq, { Require })
    const refused = await peer.next(of(`${cseq} ${method}`))
    t.match(refused.start, 'SIP/2.0 420 ')
    t.equal(refused.header('Unsupported'), 'telepathy')
  }
})

t.test('an old CSeq and a request after the end are rejected', async (t) => {
  const call = await inbound(t)
  const { peer, dialog } = call
  dialog.on('info', (_req: TestRequest, res: TestResponse) => res.send(200))
  call.ask('INFO', 9)
  t.match((await peer.next(of('9 INFO'))).start, '200')
  call.ask('INFO', 5)
  t.match((await peer.next(of('5 INFO'))).start, '500')
  call.ask('BYE', 10)
  t.match((await peer.next(of('10 BYE'))).start, '200')
  call.ask('INFO', 11)
  t.match((await peer.next(of('11 INFO'))).start, '481')
})

t.test('a BYE of the peer ends unanswered requests with 487', async (t) => {
  const call = await inbound(t)
  const { peer, dialog } = call
  const asked = once(dialog, 'modify')
  call.ask('INVITE', 2, {}, SDP_A)
  await asked
  call.ask('BYE', 3)
  t.match((await peer.next(of('3 BYE'))).start, '200')
  t.match((await peer.next(of('2 INVITE'))).start, '487')
})

t.test('an unanswered BYE still ends the dialog', async (t) => {
  const call = await inbound(t)
  const began = performance.now()
  await call.dialog.destroy()
  t.ok(performance.now() - began >= 60 * FAST.T1)
  t.ok(call.peer.seen.filter((m) => m.start.startsWith('BYE')).length > 5, 'repeated')
  t.equal(call.rig.server.stats().dialogs, 0)
})

t.test('a challenged BYE keeps the dialog for the second one', async (t) => {
  const call = await inbound(t)
  const { peer, dialog, rig } = call
  const ending = dialog.destroy({ auth: { username: 'foo', password: 'bar' } })
  const first = await peer.next('BYE')
  peer.send(response(first, '401 Unauthorized', { 'WWW-Authenticate': 'Digest realm="x", nonce="n"' }))
  const second = await peer.next((m) => m.start.startsWith('BYE') && m.header('Authorization') !== '')
  t.equal(second.header('CSeq'), '3 BYE')
  t.equal(rig.server.stats().dialogs, 1)
  peer.send(response(second, '200 OK'))
  await ending
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('an unknown dialog: the library reports ENODIALOG', async (t) => {
  const call = await inbound(t)
  const { dialog, peer } = call
  call.ask('BYE', 2)
  const destroyed = once(dialog, 'destroy')
  await peer.next(of('2 BYE'))
  await destroyed
  t.match(await failureOf(dialog.request({ method: 'INFO' })), { code: 'ENODIALOG' })
})

t.test('behind a NAT requests go to the source address of the INVITE', async (t) => {
  const call = await inbound(t, { Contact: '<sip:peer@10.1.2.3:5062>' })
  const asking = call.dialog.request({ method: 'INFO' })
  const info = await call.peer.next('INFO')
  t.equal(info.start, 'INFO sip:peer@10.1.2.3:5062 SIP/2.0')
  t.equal(info.header('Route'), '')
  call.peer.send(response(info, '200 OK'))
  t.equal((await asking).status, 200)
})

t.test('after a target refresh requests go to the new Contact', async (t) => {
  const call = await inbound(t)
  const { rig, peer, dialog, ask } = call
  dialog.on('modify', (_req: TestRequest, res: TestResponse) => res.send(200, { body: SDP_B }))
  const moved = await rig.udpPeer()
  ask('INVITE', 2, { Contact: `<sip:moved@127.0.0.1:${moved.port}>` }, SDP_A)
  await peer.next(of('2 INVITE'))
  ask('ACK', 2)
  const asked = dialog.request({ method: 'INFO' })
  const info = await moved.next('INFO')
  t.match(info.start, `INFO sip:moved@127.0.0.1:${moved.port}`)
  moved.send(response(info, '200 OK'))
  await asked
  // A Contact that the peer cannot be reached at: it went behind a NAT.
  ask('UPDATE', 3, { Contact: '<sip:moved@192.0.2.7:5062>' }, SDP_A)
  await peer.next(of('3 UPDATE'))
  const ended = dialog.destroy()
  const bye = await peer.next('BYE')
  t.match(bye.start, 'BYE sip:moved@192.0.2.7:5062 ')
  peer.send(response(bye, '200 OK'))
  await ended
})

t.test('Record-Route: the first route is the next hop; strict routers get the target last', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const router = await rig.udpPeer()
  for (const [lr, start, last] of [
    [';lr', 'sip:peer@192.0.2.9', '<sip:192.0.2.7;lr>'],
    ['', `sip:127.0.0.1:${router.port}`, '<sip:peer@192.0.2.9>'],
  ] as const) {
    const peer = await rig.udpPeer()
    const made: Promise<TestDialog>[] = []
    app.removeAllListeners('test:made')
    const verb = lr === '' ? 'subscribe' : 'invite'
    app.use(verb, (req, res) => {
      made.push(app.createUAS(req, res, { localSdp: SDP_B }))
    })
    await rig.routed(app)
    peer.send(
      request(verb.toUpperCase(), peer, {
        Contact: '<sip:peer@192.0.2.9>',
        'Record-Route': `<sip:127.0.0.1:${router.port}${lr}>, <sip:192.0.2.7;lr>`,
        Event: 'presence',
      }),
    )
    const callId = (await peer.next('SIP/2.0 20')).header('Call-ID')
    const dialog = await (made[0] as Promise<TestDialog>)
    const asking = dialog.request({ method: 'INFO' })
    // A slow host may retransmit the one of the previous dialog.
    const info = await router.next((m) => m.start.startsWith('INFO') && m.header('Call-ID') === callId)
    t.equal(info.start, `INFO ${start} SIP/2.0`)
    t.equal(info.all('Route').at(-1), last)
    router.send(response(info, '200 OK'))
    t.equal((await asking).status, 200)
  }
})

t.test('SUBSCRIBE makes a dialog, a terminated NOTIFY ends it', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const made: Promise<TestDialog>[] = []
  app.use('subscribe', (req, res) => {
    made.push(app.createUAS(req, res, {}))
  })
  await rig.routed(app)
  peer.send(request('SUBSCRIBE', peer, { Event: 'presence' }))
  const accepted = await peer.next('SIP/2.0 202')
  t.match(accepted.header('Contact'), /^<sip:/)
  const dialog = await (made[0] as Promise<TestDialog>)
  const asking = dialog.request({
    method: 'NOTIFY',
    headers: { Event: 'presence', 'Subscription-State': 'terminated' },
  })
  peer.send(response(await peer.next('NOTIFY'), '200 OK'))
  t.equal((await asking).status, 200)
  t.equal(rig.server.stats().dialogs, 0)
})
