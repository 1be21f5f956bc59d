import { once } from 'node:events'
import t from 'tap'
import {
  failureOf,
  inCall,
  openRig,
  type RawSipMessage,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestDialog,
  type TestPeer,
  type TestRequest,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'

const SUPPORTED = { Supported: '100rel' }
const RELIABLE = { headers: { Require: '100rel' }, body: SDP_B }
const uriOf = (peer: TestPeer) => `sip:bob@127.0.0.1:${peer.port}`
const final = (cseq: string) => (message: RawSipMessage) =>
  message.header('CSeq') === cseq && !message.start.startsWith('SIP/2.0 1')

async function open(t: Parameters<typeof openRig>[0]) {
  const rig = await openRig(t)
  return { rig, app: await rig.app(), peer: await rig.udpPeer() }
}

/** A provisional response of a raw callee. */
function ringing(
  invite: RawSipMessage,
  peer: TestPeer,
  tag: string,
  rseq: number | null,
  status = '183 Ringing',
) {
  const reliable = rseq === null ? {} : { Require: '100rel', RSeq: String(rseq) }
  const headers = {
    To: `${invite.header('To')};tag=${tag}`,
    Contact: `<sip:${tag}@127.0.0.1:${peer.port}>`,
    ...reliable,
  }
  return response(invite, status, headers, SDP_B)
}

t.test('a reliable 183 is retransmitted until its PRACK, which the application receives', async (t) => {
  const { rig, app, peer } = await open(t)
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    res.send(183, RELIABLE)
    app.on('test:answer', () => made.push(app.createUAS(req, res, { localSdp: SDP_B })))
  })
  app.use('prack', (req, res) => {
    app.emit('test:prack', req.get('RAck'))
    res.send(200, { headers: { 'X-Prack': 'mine' } })
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, { ...SUPPORTED, CSeq: '5 INVITE' }, SDP_A)
  peer.send(invite)
  const first = await peer.next('SIP/2.0 183')
  const rseq = first.header('RSeq')
  t.match(rseq, /^[1-9]\d*$/)
  t.equal(first.header('Require'), '100rel')
  t.equal(first.header('Contact'), `<sip:127.0.0.1:${rig.port}>`)
  t.equal((await peer.next('SIP/2.0 183')).text, first.text, 'again')
  const third = await peer.next('SIP/2.0 183')
  t.equal(third.text, first.text)
  t.ok(third.atMs - first.atMs >= 25, 'T1, then twice that')

  const wrong = { ...inCall(invite, first, 6, 'PRACK'), RAck: `${Number(rseq) + 1} 5 INVITE` }
  peer.send(request('PRACK', peer, wrong))
  await peer.next((m) => m.start.includes('481') && m.header('CSeq') === '6 PRACK')
  const seen = once(app, 'test:prack')
  peer.send(request('PRACK', peer, { ...inCall(invite, first, 7, 'PRACK'), RAck: `${rseq} 5 INVITE` }))
  t.equal((await seen)[0], `${rseq} 5 INVITE`)
  t.equal((await peer.next(final('7 PRACK'))).header('X-Prack'), 'mine')
  const count = () => peer.seen.filter((m) => m.start.includes('183')).length
  const before = count()
  app.emit('test:answer')
  const ok = await peer.next('SIP/2.0 200 OK')
  await peer.next('SIP/2.0 200 OK')
  t.equal(count(), before, 'nothing is repeated any more')
  t.equal(ok.header('To'), first.header('To'))
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, inCall(invite, ok, 5, 'ACK')))
  await acked
  peer.send(request('BYE', peer, inCall(invite, ok, 8, 'BYE')))
  await once(dialog, 'destroy')
})

t.test('a PRACK that crosses the 200 is answered and not mistaken for the ACK', async (t) => {
  const { rig, app, peer } = await open(t)
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    res.send(183, RELIABLE, () => made.push(app.createUAS(req, res, { localSdp: SDP_B })))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, SUPPORTED, SDP_A)
  peer.send(invite)
  const progress = await peer.next('SIP/2.0 183')
  const ok = await peer.next('SIP/2.0 200')
  const dialog = await (made[0] as Promise<TestDialog>)
  const acks: string[] = []
  dialog.on('ack', (ack: TestRequest) => acks.push(ack.method))
  const rack = { RAck: `${progress.header('RSeq')} 1 INVITE` }
  peer.send(request('PRACK', peer, { ...inCall(invite, progress, 2, 'PRACK'), ...rack }))
  t.match((await peer.next(final('2 PRACK'))).start, '200')
  peer.send(request('PRACK', peer, { ...inCall(invite, progress, 3, 'PRACK'), ...rack }))
  t.match((await peer.next(final('3 PRACK'))).start, '481')
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  await acked
  t.same(acks, ['ACK'])
})

t.test('a second reliable response waits for the PRACK of the first', async (t) => {
  const { rig, app, peer } = await open(t)
  const echoes: string[] = []
  app.use('invite', (_req, res) => {
    const keep = (_error: unknown, sent?: TestResponse) => void echoes.push(sent?.get('RSeq') ?? '')
    res.send(180, { headers: { Require: '100rel' } }, keep)
    res.send(183, { headers: { Require: '100rel' } }, keep)
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, SUPPORTED, SDP_A)
  peer.send(invite)
  const first = await peer.next('SIP/2.0 180')
  await peer.next('SIP/2.0 180')
  t.notOk(peer.seen.some((m) => m.start.includes('183')))
  const rack = `${first.header('RSeq')} 1 INVITE`
  peer.send(request('PRACK', peer, { ...inCall(invite, first, 2, 'PRACK'), RAck: rack }))
  t.match((await peer.next(final('2 PRACK'))).start, '200')
  const second = await peer.next('SIP/2.0 183')
  t.equal(Number(second.header('RSeq')), Number(first.header('RSeq')) + 1)
  t.same(echoes, [first.header('RSeq'), second.header('RSeq')])
})

t.test('without a PRACK the INVITE ends with 503, and the application receives a CANCEL', async (t) => {
  const { rig, app, peer } = await open(t)
  app.use('invite', (req, res) => {
    req.on('cancel', () => app.emit('test:cancelled'))
    res.send(183, RELIABLE)
  })
  await rig.routed(app)
  const cancelled = once(app, 'test:cancelled')
  peer.send(request('INVITE', peer, SUPPORTED, SDP_A))
  const [failure] = await Promise.all([peer.next('SIP/2.0 503'), cancelled])
  t.equal(failure.start, 'SIP/2.0 503 Reliable Response Time-Out')
  t.equal(rig.server.stats().unanswered, 0)
})

t.test(
  'a caller that requires 100rel gets reliable responses even if the application did not ask for them',
  async (t) => {
    const { rig, app, peer } = await open(t)
    app.use('invite', (_req, res) => res.send(180))
    await rig.routed(app)
    peer.send(request('INVITE', peer, { Require: '100rel' }, SDP_A))
    const provisional = await peer.next('SIP/2.0 180')
    t.match(provisional.header('RSeq'), /\d+/)
    t.equal(provisional.header('Require'), '100rel')
  },
)

t.test('as caller: PRACK to the ringing fork, in order, retransmissions dropped', async (t) => {
  const { app, peer } = await open(t)
  const statuses: string[] = []
  const calling = app.createUAC(
    uriOf(peer),
    { localSdp: SDP_A, headers: { Supported: '100rel' } },
    { cbProvisional: (res: TestResponse) => statuses.push(`${res.status} ${res.get('RSeq') ?? ''}`) },
  )
  const invite = await peer.next('INVITE')
  t.equal(invite.header('Supported'), '100rel')
  const first = ringing(invite, peer, 'one', 900, '180 Ringing')
  peer.send(first)
  const prack = await peer.next('PRACK')
  t.equal(prack.start, `PRACK sip:one@127.0.0.1:${peer.port} SIP/2.0`)
  t.equal(prack.header('RAck'), `900 ${invite.header('CSeq')}`)
  t.match(prack.header('To'), /tag=one$/)
  const next = Number.parseInt(invite.header('CSeq'), 10) + 1
  t.equal(prack.header('CSeq'), `${next} PRACK`)
  peer.send(response(prack, '200 OK'))
  peer.send(first)
  peer.send(ringing(invite, peer, 'one', 902))
  peer.send(ringing(invite, peer, 'one', 901))
  // On a late host a PRACK is sent again before its answer is read.
  const second = await peer.next((message) => message.header('RAck') === `901 ${invite.header('CSeq')}`)
  t.equal(second.start, prack.start)
  t.equal(second.header('CSeq'), `${next + 1} PRACK`)
  peer.send(response(second, '200 OK'))
  // Another fork has its own sequence.
  peer.send(ringing(invite, peer, 'two', 7))
  const third = await peer.next((message) => message.header('RAck') === `7 ${invite.header('CSeq')}`)
  t.match(third.header('To'), /tag=two$/)
  t.equal(third.header('CSeq'), `${next} PRACK`)
  peer.send(response(third, '200 OK'))
  const To = `${invite.header('To')};tag=two`
  peer.send(response(invite, '200 OK', { To, Contact: `<${uriOf(peer)}>` }, SDP_B))
  const dialog = await calling
  t.same(statuses, ['180 900', '183 901', '183 7'])
  t.equal((await peer.next('ACK')).header('To'), To)
  const ending = dialog.destroy()
  const bye = await peer.next('BYE')
  t.equal(bye.start, `BYE ${uriOf(peer)} SIP/2.0`, 'the 2xx has the last word about the target')
  t.equal(bye.header('CSeq'), `${next + 1} BYE`)
  peer.send(response(bye, '200 OK'))
  await ending
})

t.test('UPDATE of the caller before the answer; a second one is rejected', async (t) => {
  const { rig, app, peer } = await open(t)
  const pending: TestResponse[] = []
  const bodies: string[] = []
  app.use('invite', (req, res) => {
    req.on('update', (update: TestRequest, answer: TestResponse) => {
      t.equal(update.stackTxnId, req.stackTxnId, 'by the id of the INVITE')
      bodies.push(update.body)
      pending.push(answer)
      app.emit('test:update')
    })
    res.send(183, { body: SDP_B })
    app.on('test:answer', () => void app.createUAS(req, res, { localSdp: SDP_B }).catch(() => {}))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const progress = await peer.next('SIP/2.0 183')
  const updated = once(app, 'test:update')
  peer.send(request('UPDATE', peer, inCall(invite, progress, 2, 'UPDATE'), SDP_A))
  await updated
  peer.send(request('UPDATE', peer, inCall(invite, progress, 3, 'UPDATE'), SDP_A))
  const refused = await peer.next(final('3 UPDATE'))
  t.match(refused.start, '500')
  t.match(refused.header('Retry-After'), /^\d+$/)
  pending[0]?.send(200, { body: SDP_B })
  const answer = await peer.next(final('2 UPDATE'))
  t.match(answer.start, '200')
  t.equal(answer.body, SDP_B)
  t.equal(answer.header('Contact'), `<sip:127.0.0.1:${rig.port}>`)
  t.same(bodies, [SDP_A])
  peer.send(
    request(
      'UPDATE',
      peer,
      { ...inCall(invite, progress, 4, 'UPDATE'), 'Session-Expires': '60', Supported: 'timer' },
      SDP_A,
    ),
  )
  const small = await peer.next(final('4 UPDATE'))
  t.match(small.start, '422')
  t.equal(small.header('Min-SE'), '90')
  app.emit('test:answer')
  t.equal((await peer.next('SIP/2.0 200 OK')).header('CSeq'), '1 INVITE')
})

t.test('UPDATE of the callee while our INVITE rings', async (t) => {
  const { app, peer } = await open(t)
  const calling = app.createUAC(uriOf(peer), { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  peer.send(ringing(invite, peer, 'b', null))
  peer.send(
    request(
      'UPDATE',
      peer,
      {
        From: `${invite.header('To')};tag=b`,
        To: invite.header('From'),
        'Call-ID': invite.header('Call-ID'),
      },
      SDP_B,
    ),
  )
  const answer = await peer.next(final('1 UPDATE'))
  t.match(answer.start, '200')
  t.equal(answer.body, SDP_A)
  peer.send(response(invite, '486 Busy Here', { To: `${invite.header('To')};tag=b` }))
  t.match(await failureOf(calling), { status: 486 })
  peer.send(
    request('UPDATE', peer, {
      From: `${invite.header('To')};tag=b`,
      To: invite.header('From'),
      'Call-ID': invite.header('Call-ID'),
      CSeq: '2 UPDATE',
    }),
  )
  t.match((await peer.next(final('2 UPDATE'))).start, '481', 'the early dialog is over')
})

t.test('other requests of an early dialog: INFO to the application, INVITE and old CSeq 500', async (t) => {
  const { rig, app, peer } = await open(t)
  app.use('invite', (_req, res) => res.send(180))
  app.use('info', (_req, res) => res.send(200))
  await rig.routed(app)
  const invite = request('INVITE', peer, { CSeq: '10 INVITE' }, SDP_A)
  peer.send(invite)
  const progress = await peer.next('SIP/2.0 180')
  peer.send(request('INFO', peer, inCall(invite, progress, 11, 'INFO')))
  t.match((await peer.next(final('11 INFO'))).start, '200')
  peer.send(request('INVITE', peer, inCall(invite, progress, 12, 'INVITE'), SDP_A))
  t.match((await peer.next(final('12 INVITE'))).start, '500')
  peer.send(request('INFO', peer, inCall(invite, progress, 9, 'INFO')))
  t.match((await peer.next(final('9 INFO'))).start, '500')
  peer.send(request('PRACK', peer, { ...inCall(invite, progress, 13, 'PRACK'), RAck: '1 10 INVITE' }))
  t.match((await peer.next(final('13 PRACK'))).start, '481')
})

t.test('UPDATE inside a call: passed on; crossing offers get 491', async (t) => {
  const { rig, app, peer } = await open(t)
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, inCall(invite, ok, 1, 'ACK')))
  await acked
  dialog.on('update', (req: TestRequest, res: TestResponse) => res.send(200, { body: `${req.body}` }))
  peer.send(request('UPDATE', peer, inCall(invite, ok, 2, 'UPDATE'), SDP_A))
  t.equal((await peer.next(final('2 UPDATE'))).body, SDP_A)

  const own = dialog.request({
    method: 'UPDATE',
    body: SDP_B,
    headers: { 'Content-Type': 'application/sdp' },
  })
  const update = await peer.next('UPDATE')
  peer.send(request('UPDATE', peer, inCall(invite, ok, 3, 'UPDATE'), SDP_A))
  t.match((await peer.next(final('3 UPDATE'))).start, '491')
  peer.send(request('INVITE', peer, inCall(invite, ok, 4, 'INVITE'), SDP_A))
  t.match((await peer.next(final('4 INVITE'))).start, '491')
  peer.send(response(update, '200 OK', { Contact: `<sip:moved@127.0.0.1:${peer.port}>` }, SDP_A))
  await own
  peer.send(request('UPDATE', peer, inCall(invite, ok, 5, 'UPDATE'), SDP_A))
  t.match((await peer.next(final('5 UPDATE'))).start, '200')
})
