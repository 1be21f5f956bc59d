import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import {
  cancelOf,
  inCall,
  openRig,
  type RawSipMessage,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestPeer,
  type TestRequest,
} from '../../../fixtures/rigs/embedded-rig.js'
import { STANDARD_TIMERS } from '../transaction/timers.js'

interface ProxyResults {
  readonly connected: boolean
  readonly responses: readonly { msgs: readonly { status: number }[] }[]
}

interface ProxyableRequest extends TestRequest {
  proxy(options: object): Promise<ProxyResults>
}

const at = (peer: TestPeer) => `sip:bob@127.0.0.1:${peer.port}`
const contact = (peer: TestPeer) => ({ Contact: `<sip:bob@127.0.0.1:${peer.port}>` })
const tagged = (message: RawSipMessage, tag: string) => `${message.header('To')};tag=${tag}`

/** Proxies every request of that method; resolves with the result of the first one. */
function proxying(app: TestApp, destination: string[], options: object = {}, method = 'invite') {
  return new Promise<ProxyResults | string>((resolve) => {
    app.use(method, (req) => {
      void (req as ProxyableRequest)
        .proxy({ destination, remainInDialog: true, ...options })
        .then(resolve, (error: unknown) => resolve(String(error)))
    })
  })
}

async function open(t: Parameters<typeof openRig>[0], settings: Parameters<typeof openRig>[1] = {}) {
  const rig = await openRig(t, settings)
  const app = await rig.app()
  const caller = await rig.udpPeer()
  const [bob, carol] = [await rig.udpPeer(), await rig.udpPeer()]
  return { rig, app, caller, bob, carol, uri: `sip:service@127.0.0.1:${rig.port}` }
}

t.test('a proxied call: Record-Route, later requests pass without the application', async (t) => {
  const { rig, app, caller, bob, uri } = await open(t)
  const done = proxying(app, [at(bob)], { headers: { 'X-Added': 'yes' } })
  await rig.routed(app)
  const invite = request('INVITE', caller, { 'Max-Forwards': '20' }, SDP_A, { uri })
  caller.send(invite)
  await caller.next('SIP/2.0 100')
  const forwarded = await bob.next('INVITE')
  t.equal(forwarded.start, `INVITE ${at(bob)} SIP/2.0`, 'our own address was to be resolved')
  t.equal(forwarded.header('Max-Forwards'), '19')
  t.equal(forwarded.header('Record-Route'), `<sip:127.0.0.1:${rig.port};lr>`)
  t.equal(forwarded.header('X-Added'), 'yes')
  t.equal(forwarded.all('Via').length, 2)
  t.match(forwarded.all('Via')[0], `127.0.0.1:${rig.port};`)
  t.equal(forwarded.body, SDP_A)
  const To = tagged(forwarded, 'bob')
  bob.send(response(forwarded, '100 Trying'))
  bob.send(response(forwarded, '180 Ringing', { To }))
  const ringing = await caller.next('SIP/2.0 180')
  t.equal(ringing.all('Via').length, 1)
  bob.send(response(forwarded, '200 OK', { To, ...contact(bob) }, SDP_B))
  const ok = await caller.next('SIP/2.0 200')
  t.equal(ok.header('Record-Route'), forwarded.header('Record-Route'))
  t.equal(ok.body, SDP_B)
  t.match(await done, { connected: true, responses: [{ msgs: [{ status: 200 }] }] })

  const route = { Route: ok.header('Record-Route'), Contact: null }
  caller.send(request('ACK', caller, { ...inCall(invite, ok, 1, 'ACK'), ...route }, '', { uri: at(bob) }))
  const ack = await bob.next('ACK')
  t.equal(ack.start, `ACK ${at(bob)} SIP/2.0`)
  t.equal(ack.header('Route'), '')
  // From the callee's side the tags change places.
  const bye = request(
    'BYE',
    bob,
    { From: To, To: ok.header('From'), 'Call-ID': ok.header('Call-ID'), Route: route.Route, Contact: null },
    '',
    { uri: `sip:peer@127.0.0.1:${caller.port}` },
  )
  bob.send(bye)
  const received = await caller.next('BYE')
  t.equal(received.header('Max-Forwards'), '69')
  caller.send(response(received, '200 OK'))
  await bob.next((m) => m.start.includes('200') && m.header('CSeq') === '1 BYE')
  t.equal(rig.server.stats().dialogs, 0)
  bob.send(bye.replace(/branch=\S+/, 'branch=z9hG4bK-later'))
  await bob.next('SIP/2.0 481')
})

t.test('a lost ACK: the 2xx is retransmitted through the proxy', async (t) => {
  const { rig, app, caller, bob, uri } = await open(t)
  void proxying(app, [at(bob)])
  await rig.routed(app)
  caller.send(request('INVITE', caller, {}, SDP_A, { uri }))
  const forwarded = await bob.next('INVITE')
  const ok = response(forwarded, '200 OK', { To: tagged(forwarded, 'bob'), ...contact(bob) }, SDP_B)
  bob.send(ok)
  const first = await caller.next('SIP/2.0 200')
  bob.send(ok)
  t.equal((await caller.next('SIP/2.0 200')).text, first.text)
})

t.test('in sequence: a failure leads to the next destination; the best failure is returned', async (t) => {
  const { rig, app, caller, bob, carol, uri } = await open(t)
  const done = proxying(app, [at(bob), at(carol)])
  await rig.routed(app)
  caller.send(request('INVITE', caller, {}, SDP_A, { uri }))
  const first = await bob.next('INVITE')
  t.equal(carol.seen.length, 0)
  bob.send(response(first, '486 Busy Here', { To: tagged(first, 'bob') }))
  await bob.next('ACK')
  const second = await carol.next('INVITE')
  carol.send(response(second, '503 Service Unavailable', { To: tagged(second, 'carol') }))
  const failure = await caller.next((m) => m.start.startsWith('SIP/2.0') && !m.start.includes(' 100 '))
  t.match(failure.start, '486')
  const result = (await done) as ProxyResults
  const statuses = result.responses.flatMap(({ msgs }) => msgs.map(({ status }) => status))
  t.same({ connected: result.connected, statuses }, { connected: false, statuses: [486, 503] })
})

t.test(
  'reliable responses of destinations in sequence: one RSeq sequence to the caller, PRACKs reach their destination',
  async (t) => {
    const { rig, app, caller, bob, carol, uri } = await open(t)
    void proxying(app, [at(bob), at(carol)])
    await rig.routed(app)
    const invite = request('INVITE', caller, { Supported: '100rel' }, SDP_A, { uri })
    caller.send(invite)
    const ring = async (peer: TestPeer, tag: string, rseq: number) => {
      const sent = await peer.next('INVITE')
      const headers = { To: tagged(sent, tag), ...contact(peer), Require: '100rel', RSeq: String(rseq) }
      const text = response(sent, '183 Session Progress', headers, SDP_B)
      peer.send(text)
      const seen = await caller.next((m) => m.start.includes(' 183 ') && m.header('To').endsWith(tag))
      return { sent, text, seen }
    }
    const prack = async (peer: TestPeer, seen: RawSipMessage, cseq: number) => {
      const rack = `${seen.header('RSeq')} 1 INVITE`
      const headers = {
        ...inCall(invite, seen, cseq, 'PRACK'),
        Route: seen.header('Record-Route'),
        RAck: rack,
      }
      caller.send(request('PRACK', caller, headers, '', { uri: at(peer) }))
      const received = await peer.next('PRACK')
      peer.send(response(received, '200 OK'))
      await caller.next((m) => m.start.includes(' 200 ') && m.header('CSeq') === `${cseq} PRACK`)
      return received.header('RAck')
    }
    const first = await ring(bob, 'bob', 500)
    t.equal(first.seen.header('RSeq'), '500')
    t.equal(await prack(bob, first.seen, 2), '500 1 INVITE')
    bob.send(response(first.sent, '486 Busy Here', { To: tagged(first.sent, 'bob') }))
    const second = await ring(carol, 'carol', 7)
    t.equal(second.seen.header('RSeq'), '501', 'goes on where the first one was')
    carol.send(second.text)
    const repeated = await caller.next((m) => m.start.includes(' 183 ') && m.header('To').endsWith('carol'))
    t.equal(repeated.header('RSeq'), '501', 'a repetition stays one')
    t.equal(await prack(carol, second.seen, 3), '7 1 INVITE')
    carol.send(response(second.sent, '200 OK', { To: tagged(second.sent, 'carol'), ...contact(carol) }))
    await caller.next('SIP/2.0 200')
  },
)

t.test('in parallel: the first 2xx wins, the others are cancelled', async (t) => {
  const { rig, app, caller, bob, carol, uri } = await open(t)
  const done = proxying(app, [at(bob), at(carol)], { forking: 'simultaneous' })
  await rig.routed(app)
  caller.send(request('INVITE', caller, {}, SDP_A, { uri }))
  const [one, two] = [await bob.next('INVITE'), await carol.next('INVITE')]
  bob.send(response(one, '180 Ringing', { To: tagged(one, 'bob') }))
  carol.send(response(two, '180 Ringing', { To: tagged(two, 'carol') }))
  await caller.next((m) => m.start.includes('180') && m.header('To').endsWith('bob'))
  await caller.next((m) => m.start.includes('180') && m.header('To').endsWith('carol'))
  carol.send(response(two, '200 OK', { To: tagged(two, 'carol'), ...contact(carol) }, SDP_B))
  t.match((await caller.next('SIP/2.0 200')).header('To'), /carol$/)
  const cancel = await bob.next('CANCEL')
  t.equal(cancel.header('Via'), one.header('Via'))
  t.equal(cancel.header('Reason'), 'SIP;cause=200;text="Call completed elsewhere"')
  bob.send(response(cancel, '200 OK'))
  bob.send(response(one, '487 Request Terminated', { To: tagged(one, 'bob') }))
  await bob.next('ACK')
  t.match(await done, { connected: true })
  t.notOk(caller.seen.some((m) => m.start.includes('487')))
})

t.test('a silent destination is abandoned after the provisional timeout', async (t) => {
  const clock = new VirtualClock()
  const { rig, app, caller, bob, carol, uri } = await open(t, { clock, timers: STANDARD_TIMERS })
  void proxying(app, [at(bob), at(carol)], { provisionalTimeout: '1500ms' })
  await rig.routed(app)
  caller.send(request('INVITE', caller, {}, SDP_A, { uri }))
  await bob.next('INVITE')
  clock.advance(1_499)
  t.equal(carol.seen.length, 0)
  clock.advance(1)
  const second = await carol.next('INVITE')
  // A 100 is a sign of life: this one may take as long as it likes.
  carol.send(response(second, '100 Trying'))
  carol.send(request('OPTIONS', carol))
  await carol.next('SIP/2.0 503')
  clock.advance(60_000)
  carol.send(response(second, '200 OK', { To: tagged(second, 'carol'), ...contact(carol) }, SDP_B))
  await caller.next('SIP/2.0 200')
})

t.test('redirections are followed on request, else passed on', async (t) => {
  const { rig, app, caller, bob, carol, uri } = await open(t)
  void proxying(app, [at(bob)], { followRedirects: true })
  await rig.routed(app)
  caller.send(request('INVITE', caller, {}, SDP_A, { uri }))
  const first = await bob.next('INVITE')
  bob.send(response(first, '302 Moved', { To: tagged(first, 'bob'), Contact: `<${at(carol)}>` }))
  const second = await carol.next('INVITE')
  t.equal(second.start, `INVITE ${at(carol)} SIP/2.0`)
  carol.send(response(second, '404 Not Found', { To: tagged(second, 'carol') }))
  await caller.next('SIP/2.0 404')
})

t.test('CANCEL of the caller cancels the branch; its 487 goes back', async (t) => {
  const { rig, app, caller, bob, uri } = await open(t)
  const done = proxying(app, [at(bob)])
  await rig.routed(app)
  const invite = request('INVITE', caller, { CSeq: '7 INVITE' }, SDP_A, { uri })
  caller.send(invite)
  const forwarded = await bob.next('INVITE')
  bob.send(response(forwarded, '180 Ringing', { To: tagged(forwarded, 'bob') }))
  await caller.next('SIP/2.0 180')
  caller.send(cancelOf(invite, caller, { Reason: 'SIP;cause=487' }))
  await caller.next((m) => m.start.includes('200') && m.header('CSeq') === '7 CANCEL')
  const cancel = await bob.next('CANCEL')
  t.equal(cancel.header('Reason'), 'SIP;cause=487')
  bob.send(response(cancel, '200 OK'))
  bob.send(response(forwarded, '487 Request Terminated', { To: tagged(forwarded, 'bob') }))
  await caller.next('SIP/2.0 487')
  t.match(await done, { connected: false })
})

t.test('a foreign Request-URI is kept, the destination is the next hop', async (t) => {
  const { rig, app, caller, bob } = await open(t)
  void proxying(app, [at(bob)], { remainInDialog: false })
  await rig.routed(app)
  caller.send(request('INVITE', caller, {}, SDP_A, { uri: 'sip:carol@elsewhere.invalid' }))
  const forwarded = await bob.next('INVITE')
  t.equal(forwarded.start, 'INVITE sip:carol@elsewhere.invalid SIP/2.0')
  t.equal(forwarded.header('Record-Route'), '')
})

t.test('not proxied: Max-Forwards exhausted, unknown extension, unreachable', async (t) => {
  const { rig, app, caller, bob, uri } = await open(t)
  const outcomes: unknown[] = []
  app.use('invite', (req) => {
    void (req as ProxyableRequest)
      .proxy({ destination: [req.has('X-Nowhere') ? 'sip:x;transport=carrier-pigeon' : at(bob)] })
      .then(
        () => {},
        (error: unknown) => {
          outcomes.push(error)
          app.emit('test:refused')
        },
      )
  })
  await rig.routed(app)
  const expect = async (headers: Record<string, string>, status: string) => {
    const refused = once(app, 'test:refused')
    caller.send(request('INVITE', caller, headers, SDP_A, { uri }))
    await refused
    return caller.next(`SIP/2.0 ${status}`)
  }
  await expect({ 'Max-Forwards': '0' }, '483')
  const extension = await expect({ 'Proxy-Require': 'teleport' }, '420')
  t.equal(extension.header('Unsupported'), 'teleport')
  await expect({ 'X-Nowhere': '1' }, '500')
  t.match(outcomes, [/Max-Forwards/, /extension/, /error proxying request to /])
  t.equal(bob.seen.length, 0)
})

t.test('REGISTER: Path instead of Record-Route; other requests pass as well', async (t) => {
  const { rig, app, caller, bob, uri } = await open(t)
  void proxying(app, [at(bob)], {}, 'register')
  void proxying(app, [at(bob)], {}, 'message')
  await rig.routed(app)
  caller.send(request('REGISTER', caller, {}, '', { uri }))
  const register = await bob.next('REGISTER')
  t.equal(register.header('Path'), `<sip:127.0.0.1:${rig.port};lr>`)
  t.equal(register.header('Require'), 'path')
  t.equal(register.header('Record-Route'), '')
  bob.send(response(register, '200 OK', { To: tagged(register, 'r') }))
  await caller.next('SIP/2.0 200')
  caller.send(request('MESSAGE', caller, {}, 'hello', { uri }))
  const message = await bob.next('MESSAGE')
  bob.send(response(message, '202 Accepted', { To: tagged(message, 'm') }))
  await caller.next('SIP/2.0 202')
})

t.test('a copy that arrives on another path while the first is unanswered gets 482', async (t) => {
  const { rig, app, caller } = await open(t)
  app.use('invite', () => {})
  await rig.routed(app)
  const invite = request('INVITE', caller, {}, SDP_A)
  caller.send(invite)
  await caller.next('SIP/2.0 100')
  caller.send(invite.replace(/branch=\S+/, 'branch=z9hG4bK-other-path'))
  await caller.next('SIP/2.0 482')
})

t.test('after a rejection the same request may be repeated, even with its old CSeq', async (t) => {
  const { rig, app, caller } = await open(t)
  const statuses = [401, 200]
  app.use('register', (_req, res) => res.send(statuses.shift() ?? 500))
  await rig.routed(app)
  const register = request('REGISTER', caller)
  caller.send(register)
  await caller.next('SIP/2.0 401')
  caller.send(register.replace(/branch=\S+/, 'branch=z9hG4bK-with-credentials'))
  await caller.next('SIP/2.0 200')
  caller.send(register.replace(/branch=\S+/, 'branch=z9hG4bK-fork'))
  await caller.next('SIP/2.0 482')
})

t.test('no open relay: a Route to us without a proxied call gets 481', async (t) => {
  const { rig, caller, bob } = await open(t)
  const headers = { Route: `<sip:127.0.0.1:${rig.port};lr>`, To: '<sip:x@y>;tag=1' }
  caller.send(request('BYE', caller, headers, '', { uri: at(bob) }))
  await caller.next('SIP/2.0 481')
  t.equal(bob.seen.length, 0)
})

t.test('from TCP to UDP: a Record-Route for each side, both removed from later requests', async (t) => {
  const rig = await openRig(t, {
    listen: [
      { transport: 'udp', address: '127.0.0.1', port: 0 },
      { transport: 'tcp', address: '127.0.0.1', port: 0 },
    ],
  })
  const app = await rig.app()
  const [caller, bob] = [await rig.tcpPeer(), await rig.udpPeer()]
  void proxying(app, [at(bob)])
  await rig.routed(app)
  const tcpPort = rig.server.endpoints.find((endpoint) => endpoint.transport === 'tcp')?.port
  const over = { transport: 'TCP', uri: `sip:service@127.0.0.1:${tcpPort}` }
  const invite = request('INVITE', caller, {}, SDP_A, over)
  caller.send(invite)
  const forwarded = await bob.next('INVITE')
  const routes = [`<sip:127.0.0.1:${rig.port};lr>`, `<sip:127.0.0.1:${tcpPort};transport=tcp;lr>`]
  t.same(forwarded.all('Record-Route'), routes)
  bob.send(response(forwarded, '200 OK', { To: tagged(forwarded, 'bob'), ...contact(bob) }, SDP_B))
  const ok = await caller.next('SIP/2.0 200')
  const inside = { ...inCall(invite, ok, 2, 'BYE'), Route: [...routes].reverse().join(','), Contact: null }
  caller.send(request('BYE', caller, inside, '', { transport: 'TCP', uri: at(bob) }))
  const bye = await bob.next('BYE')
  t.equal(bye.header('Route'), '')
  bob.send(response(bye, '200 OK'))
  t.match((await caller.next((m) => m.header('CSeq') === '2 BYE')).start, '200')
})
