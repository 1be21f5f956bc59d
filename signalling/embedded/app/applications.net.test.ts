import { createHash } from 'node:crypto'
import { once } from 'node:events'
import t from 'tap'
import {
  cancelOf,
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

/*
 * Complete drachtio-srf applications: back-to-back calls, clients with
 * credentials, several at once.
 */

interface B2bApp extends TestApp {
  createB2BUA(
    req: TestRequest,
    res: TestResponse,
    uri: string,
    options?: object,
  ): Promise<{ uas: TestDialog; uac: TestDialog }>
}

interface B2b {
  readonly rig: Rig
  readonly app: B2bApp
  readonly alice: TestPeer
  readonly bob: TestPeer
  /** Both dialogs, or what the call failed with. */
  readonly outcome: Promise<{ uas: TestDialog; uac: TestDialog } | { status: number }>
}

const contact = (peer: TestPeer) => ({ Contact: `<sip:bob@127.0.0.1:${peer.port}>` })
const tagged = (message: RawSipMessage, tag: string) => `${message.header('To')};tag=${tag}`
const final = (cseq: string) => (message: RawSipMessage) =>
  message.header('CSeq') === cseq && !message.start.startsWith('SIP/2.0 1')

/** An application that connects every caller with bob. */
async function b2b(t: Parameters<typeof openRig>[0], options: object = {}): Promise<B2b> {
  const rig = await openRig(t)
  const app = (await rig.app()) as B2bApp
  const [alice, bob] = [await rig.udpPeer(), await rig.udpPeer()]
  const outcome = new Promise<{ uas: TestDialog; uac: TestDialog } | { status: number }>((resolve) => {
    app.use('invite', (req, res) => {
      void app
        .createB2BUA(req, res, `sip:bob@127.0.0.1:${bob.port}`, options)
        .then(resolve, (error: { status: number }) => resolve(error))
    })
  })
  await rig.routed(app)
  return { rig, app, alice, bob, outcome }
}

t.test('back to back: reliable ringing on both legs, answer, BYE on the other leg', async (t) => {
  const { alice, bob, outcome, rig } = await b2b(t, {
    proxyRequestHeaders: ['Supported'],
    proxyResponseHeaders: ['all'],
  })
  const invite = request('INVITE', alice, { Supported: '100rel' }, SDP_A)
  alice.send(invite)
  const leg = await bob.next('INVITE')
  t.equal(leg.header('Supported'), '100rel')
  t.equal(leg.body, SDP_A)
  const To = tagged(leg, 'bob')
  bob.send(
    response(leg, '183 Session Progress', { To, ...contact(bob), Require: '100rel', RSeq: '3' }, SDP_B),
  )
  const prackB = await bob.next('PRACK')
  t.equal(prackB.header('RAck'), `3 ${leg.header('CSeq')}`)
  bob.send(response(prackB, '200 OK'))
  const progress = await alice.next('SIP/2.0 183')
  t.equal(progress.body, SDP_B)
  const rack = { RAck: `${progress.header('RSeq')} 1 INVITE` }
  alice.send(request('PRACK', alice, { ...inCall(invite, progress, 2, 'PRACK'), ...rack }))
  t.match((await alice.next(final('2 PRACK'))).start, '200')
  bob.send(response(leg, '200 OK', { To, ...contact(bob) }, SDP_B))
  const ok = await alice.next(final('1 INVITE'))
  t.match(ok.start, '200')
  alice.send(request('ACK', alice, inCall(invite, ok, 1, 'ACK')))
  await bob.next('ACK')
  const dialogs = await outcome
  if (!('uas' in dialogs)) throw new Error('the call failed')
  const ended = once(dialogs.uas, 'destroy').then(() => dialogs.uac.destroy())
  alice.send(request('BYE', alice, inCall(invite, ok, 3, 'BYE')))
  bob.send(response(await bob.next('BYE'), '200 OK'))
  await alice.next(final('3 BYE'))
  await ended
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('back to back without an offer: the answer travels in the ACK', async (t) => {
  const { alice, bob, outcome } = await b2b(t)
  const invite = request('INVITE', alice)
  alice.send(invite)
  const leg = await bob.next('INVITE')
  t.equal(leg.body, '')
  bob.send(response(leg, '200 OK', { To: tagged(leg, 'bob'), ...contact(bob) }, SDP_B))
  const ok = await alice.next(final('1 INVITE'))
  t.equal(ok.body, SDP_B)
  const ack = { ...inCall(invite, ok, 1, 'ACK'), 'Content-Type': 'application/sdp' }
  alice.send(request('ACK', alice, ack, SDP_A))
  t.equal((await bob.next('ACK')).body, SDP_A)
  t.ok('uas' in (await outcome))
})

t.test('back to back: CANCEL is passed on with its Reason, and so is a rejection', async (t) => {
  const { alice, bob, outcome } = await b2b(t)
  const invite = request('INVITE', alice, { CSeq: '9 INVITE' }, SDP_A)
  alice.send(invite)
  const leg = await bob.next('INVITE')
  bob.send(response(leg, '180 Ringing', { To: tagged(leg, 'bob') }))
  await alice.next('SIP/2.0 180')
  alice.send(cancelOf(invite, alice, { Reason: 'Q.850;cause=26' }))
  const cancel = await bob.next('CANCEL')
  t.equal(cancel.header('Reason'), 'Q.850;cause=26')
  bob.send(response(cancel, '200 OK'))
  bob.send(response(leg, '487 Request Terminated', { To: tagged(leg, 'bob') }))
  await alice.next('SIP/2.0 487')
  t.match(await outcome, { status: 487 })
})

t.test('REGISTER, PUBLISH and SUBSCRIBE with credentials: MD5 and a second challenge round', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const hash = (text: string) => createHash('md5').update(text).digest('hex')
  for (const method of ['REGISTER', 'PUBLISH', 'SUBSCRIBE']) {
    const uri = `sip:127.0.0.1:${peer.port}`
    const answered = new Promise<TestResponse>((resolve, reject) => {
      const headers = {
        To: '<sip:line@carrier.example>',
        From: '<sip:line@carrier.example>',
        Event: 'presence',
      }
      const auth = { username: 'line', password: 'secret' }
      app.request(uri, { method, headers, auth }, (error, sent) => {
        if (error) reject(error)
        else sent.on('response', resolve)
      })
    })
    const first = await peer.next(method)
    const challenge = 'Digest realm="carrier.example", nonce="n1", qop="auth", algorithm=MD5'
    peer.send(response(first, '401 Unauthorized', { To: tagged(first, 'r1'), 'WWW-Authenticate': challenge }))
    const second = await peer.next((m) => m.start.startsWith(method) && m.header('Authorization') !== '')
    t.equal(second.header('Call-ID'), first.header('Call-ID'))
    t.equal(second.header('From'), first.header('From'), 'the same tag')
    t.equal(Number.parseInt(second.header('CSeq'), 10), Number.parseInt(first.header('CSeq'), 10) + 1)
    t.not(second.header('Via'), first.header('Via'))
    const given = (name: string) =>
      new RegExp(`[ ,]${name}="?([^",]+)`).exec(second.header('Authorization'))?.[1]
    const parts = [hash('line:carrier.example:secret'), 'n1', given('nc'), given('cnonce'), 'auth']
    t.equal(given('response'), hash([...parts, hash(`${method}:${given('uri')}`)].join(':')))
    peer.send(response(second, '200 OK', { To: tagged(second, 'r2'), ...contact(peer) }))
    t.equal((await answered).status, 200)
  }
})

t.test(
  'applications that connect and disconnect: requests go to their verbs, and their calls end with them',
  async (t) => {
    const rig = await openRig(t)
    const peer = await rig.udpPeer()
    const [calls, messages] = [await rig.app(), await rig.app()]
    calls.use('invite', (_req, res) => res.send(183, { body: SDP_B }))
    messages.use('message', (_req, res) => res.send(202))
    await Promise.all([rig.routed(calls), rig.routed(messages)])
    peer.send(request('MESSAGE', peer, {}, 'hello'))
    await peer.next('SIP/2.0 202')
    peer.send(request('INVITE', peer, {}, SDP_A))
    await peer.next('SIP/2.0 183')
    calls.disconnect()
    await peer.next('SIP/2.0 503')
    peer.send(request('INVITE', peer, {}, SDP_A))
    await peer.next((m) => m.start.includes('503') && m.header('Retry-After') === '')
    const again = await rig.app()
    again.use('invite', (_req, res) => res.send(486))
    await rig.routed(again)
    peer.send(request('INVITE', peer, {}, SDP_A))
    await peer.next('SIP/2.0 486')
  },
)

t.test('a 2xx without a Contact creates no call for the application', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  const calling = app.createUAC(`sip:bob@127.0.0.1:${peer.port}`, { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  peer.send(response(invite, '200 OK', { To: tagged(invite, 'b') }, SDP_B))
  t.match(await failureOf(calling), { status: 500 })
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('callers on the spammer list get 603 or no response', async (t) => {
  for (const action of ['reject', 'discard'] as const) {
    const rig = await openRig(t, { spammers: { words: ['friendly-scanner', 'sipvicious'], action } })
    const app = await rig.app()
    app.use('options', (_req, res) => res.send(200))
    await rig.routed(app)
    const peer = await rig.udpPeer()
    peer.send(request('OPTIONS', peer, { 'User-Agent': 'Friendly-Scanner 1' }))
    peer.send(request('OPTIONS', peer, { From: '<sip:sipvicious@x>;tag=1' }))
    const good = request('OPTIONS', peer)
    peer.send(good)
    await peer.next('SIP/2.0 200')
    t.equal(peer.seen.filter((m) => m.start.includes('603')).length, action === 'reject' ? 2 : 0)
  }
})

t.test('a call ends cleanly although the application never sees a dropped ACK', async (t) => {
  const { alice, bob, outcome } = await b2b(t)
  const invite = request('INVITE', alice, {}, SDP_A)
  alice.send(invite)
  const leg = await bob.next('INVITE')
  bob.send(response(leg, '200 OK', { To: tagged(leg, 'bob'), ...contact(bob) }, SDP_B))
  await alice.next(final('1 INVITE'))
  const dialogs = await outcome
  if (!('uas' in dialogs)) throw new Error('the call failed')
  const [, reason] = await once(dialogs.uas, 'destroy')
  t.equal(reason, 'ACK timeout')
})
