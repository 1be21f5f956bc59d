import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import type { LeakTest } from '../../../fixtures/host/leaks.js'
import {
  failureOf,
  openRig,
  type RawSipMessage,
  type Rig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestPeer,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { type DnsRecord, openDnsServer } from '../../../fixtures/sip/dns-server.js'
import type { EmbeddedServerSettings } from '../server.js'
import { STANDARD_TIMERS } from '../transaction/timers.js'
import { openDns } from './dns.js'

/* Several servers behind one name, large requests, and a server with several addresses. */

const UDP = { transport: 'udp', address: '127.0.0.1', port: 0 } as const
const TCP = { transport: 'tcp', address: '127.0.0.1', port: 0 } as const

/** For tests that count messages: no retransmissions. */
const SLOW = { T1: 250, T2: 2000, T4: 2500 }

/** Sends OPTIONS and resolves with the status of the answer. */
const ask = (app: TestApp, uri: string, options: object = {}): Promise<number> =>
  new Promise((resolve, reject) => {
    app.request(uri, { method: 'OPTIONS', ...options }, (error, req) => {
      if (error) reject(error)
      else req.on('response', (res: TestResponse) => resolve(res.status))
    })
  })

/** Servers in the order of their priority, all of the name `cluster.test`. */
async function openCluster(
  t: LeakTest,
  ports: readonly number[],
  settings: Partial<EmbeddedServerSettings> = {},
): Promise<{ rig: Rig; app: TestApp; questions: readonly string[] }> {
  const records: DnsRecord[] = ports.map((port, priority) => ({
    type: 'SRV',
    priority,
    weight: 0,
    port,
    target: 'node.test',
  }))
  const server = await openDnsServer({
    '_sip._udp.cluster.test': records,
    'node.test': [{ type: 'A', address: '127.0.0.1' }],
  })
  t.teardown(() => server.close())
  const rig = await openRig(t, { dns: openDns([server.address]), ...settings })
  return { rig, app: await rig.app(), questions: server.questions }
}

/** Returns the next OPTIONS that is not a retransmission; on a busy machine T1 may expire. */
async function nextOptions(peer: TestPeer): Promise<RawSipMessage> {
  const keyOf = (message: RawSipMessage) => `${peer.port} ${message.header('Call-ID')}`
  const message = await peer.next((one) => one.start.startsWith('OPTIONS') && !taken.has(keyOf(one)))
  taken.add(keyOf(message))
  return message
}
const taken = new Set<string>()

/** Returns a port that was free a moment ago. */
async function deadPort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  await new Promise<void>((resolve) => socket.close(() => resolve()))
  return port
}

t.test('503 of one server: the next is tried, the first is quarantined for its Retry-After', async (t) => {
  const peers = await openRig(t)
  const [first, second] = [await peers.udpPeer(), await peers.udpPeer()]
  const { app, questions } = await openCluster(t, [first.port, second.port], { timers: SLOW })
  const calling = app.createUAC('sip:b@cluster.test', { localSdp: SDP_A })
  const refused = await first.next('INVITE')
  first.send(response(refused, '503 Service Unavailable', { 'Retry-After': '30' }))
  await first.next('ACK')
  const invite = await second.next('INVITE sip:b@cluster.test')
  t.equal(invite.header('Call-ID'), refused.header('Call-ID'))
  t.not(invite.header('Via'), refused.header('Via'), 'a transaction of its own')
  const To = `${invite.header('To')};tag=b`
  const Contact = `<sip:b@127.0.0.1:${second.port}>`
  second.send(response(invite, '200 OK', { To, Contact }, SDP_B))
  const dialog = await calling
  await second.next('ACK')
  const ending = dialog.destroy()
  second.send(response(await second.next('BYE'), '200 OK'))
  await ending

  const asked = ask(app, 'sip:cluster.test')
  second.send(response(await nextOptions(second), '200 OK'))
  t.equal(await asked, 200)
  t.equal(first.seen.length, 2, 'nothing more came')
  t.equal(questions.filter((question) => question.startsWith('SRV')).length, 1, 'remembered')
})

t.test('a dead server delays one call only; the next calls avoid it', async (t) => {
  const peers = await openRig(t)
  const live = await peers.udpPeer()
  const silent = await peers.udpPeer()
  const { app } = await openCluster(t, [silent.port, await deadPort(), live.port])
  const first = ask(app, 'sip:cluster.test')
  await nextOptions(silent)
  live.send(response(await nextOptions(live), '200 OK'))
  t.equal(await first, 200)
  const heard = new Set(silent.seen.map((message) => message.header('Call-ID')))
  const second = ask(app, 'sip:cluster.test')
  live.send(response(await nextOptions(live), '200 OK'))
  t.equal(await second, 200)
  t.ok(
    silent.seen.every((message) => heard.has(message.header('Call-ID'))),
    'not asked again',
  )
})

t.test('when all fail the last failure is reported; a single server keeps its 503', async (t) => {
  const peers = await openRig(t)
  const only = await peers.udpPeer()
  const { app } = await openCluster(t, [await deadPort(), await deadPort()])
  t.equal(await ask(app, 'sip:cluster.test'), 503)
  t.equal(await ask(app, 'sip:cluster.test'), 503, 'in quarantine, and tried all the same')
  const asked = ask(app, `sip:127.0.0.1:${only.port}`)
  only.send(response(await nextOptions(only), '503 Busy'))
  t.equal(await asked, 503)
  t.equal(await ask(app, 'sip:unknown.test'), 503)
})

t.test('too large for a datagram: TCP, and UDP for peers without TCP', async (t) => {
  const rig = await openRig(t, { listen: [UDP, TCP], timers: SLOW })
  const app = await rig.app()
  const large = { headers: { 'X-Filler': 'x'.repeat(1400) } }
  const both = await rig.tcpListener()
  const small = ask(app, `sip:x@127.0.0.1:${both.port};transport=tcp`)
  both.send(response(await nextOptions(both), '200 OK'))
  await small

  const asked = ask(app, `sip:x@127.0.0.1:${both.port}`, large)
  const moved = await nextOptions(both)
  t.match(moved.header('Via'), 'SIP/2.0/TCP')
  both.send(response(moved, '200 OK'))
  t.equal(await asked, 200)

  const udpOnly = await rig.udpPeer()
  for (let i = 0; i < 2; i++) {
    const fallback = ask(app, `sip:x@127.0.0.1:${udpOnly.port}`, large)
    const came = await nextOptions(udpOnly)
    t.match(came.header('Via'), 'SIP/2.0/UDP')
    udpOnly.send(response(came, '200 OK'))
    t.equal(await fallback, 200)
  }

  const insisted = ask(app, `sip:x@127.0.0.1:${udpOnly.port};transport=udp`, large)
  udpOnly.send(response(await nextOptions(udpOnly), '200 OK'))
  t.equal(await insisted, 200)
})

t.test(
  'a large INVITE to a TCP port that does not answer goes over UDP, and later ones at once',
  async (t) => {
    const clock = new VirtualClock()
    const rig = await openRig(t, { listen: [UDP, TCP], clock, timers: STANDARD_TIMERS })
    const app = await rig.app()
    const peer = await rig.udpPeer()
    const silent: Socket[] = []
    const server = createServer((socket) => silent.push(socket.resume())).listen(peer.port, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      for (const socket of silent) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    })
    const call = async (callId: string) => {
      const calling = app.createUAC(`sip:x@127.0.0.1:${peer.port}`, {
        localSdp: SDP_A,
        headers: { 'X-Filler': 'x'.repeat(1400), 'Call-ID': callId },
      })
      calling.catch(() => {})
      let seconds = 0
      const came = () => peer.seen.find((m) => m.start.startsWith('INVITE') && m.header('Call-ID') === callId)
      for (; came() === undefined && seconds < 30; seconds += 0.1) {
        clock.advance(100)
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      const invite = came()
      if (invite === undefined) throw new Error('no INVITE over UDP')
      t.match(invite.header('Via'), 'SIP/2.0/UDP')
      peer.send(response(invite, '486 Busy Here', { To: `${invite.header('To')};tag=b` }))
      t.match(await failureOf(calling), { status: 486 })
      return seconds
    }
    const first = await call('first')
    t.ok(first >= 3 && first < 5, `${first} s`)
    t.equal(silent.length, 1)
    const second = await call('second')
    t.ok(second < 1, `${second} s`)
    t.equal(silent.length, 1, 'TCP is not tried again')
  },
)

t.test('the side that opened a connection keeps it alive', async (t) => {
  const rig = await openRig(t, { listen: [TCP] })
  const app = await rig.app()
  const peer = await rig.tcpListener()
  const asked = ask(app, `sip:x@127.0.0.1:${peer.port};transport=tcp`)
  peer.send(response(await nextOptions(peer), '200 OK'))
  await asked
  await peer.next((message) => message.text === '\r\n')
  await peer.next((message) => message.text === '\r\n')
  const passive = await rig.tcpPeer()
  passive.send('\r\n\r\n')
  await passive.next((message) => message.text === '\r\n')
  t.equal(passive.seen.length, 1, 'an answer, no ping of ours')
})

t.test('a broken connection is reopened', async (t) => {
  const rig = await openRig(t, { listen: [TCP] })
  const app = await rig.app()
  const peer = await rig.tcpPeer()
  app.use('options', (_req, res) => res.send(200))
  await rig.routed(app)
  peer.send(request('OPTIONS', peer, {}, '', { transport: 'TCP' }))
  await peer.next('SIP/2.0 200')
  const listener = await rig.tcpListener()
  const uri = `sip:x@127.0.0.1:${listener.port};transport=tcp`
  for (let i = 0; i < 2; i++) {
    const asked = ask(app, uri)
    const came = await nextOptions(listener)
    listener.send(response(came, '200 OK'))
    t.equal(await asked, 200)
    listener.drop()
    // Our side notices it a moment later; until then the old connection fails the request.
    while ((await ask(app, 'sip:x@127.0.0.1:1;transport=tcp')) !== 503) {}
  }
})

t.test('behind a NAT: outside peers see the advertised address, local ones the bound address', async (t) => {
  const advertise = '203.0.113.7'
  const outside = await openRig(t, { listen: [{ ...UDP, advertise }] })
  const inside = await openRig(t, { listen: [{ ...UDP, advertise, localNetwork: '127.0.0.0/8' }] })
  for (const [rig, shown] of [
    [outside, advertise],
    [inside, '127.0.0.1'],
  ] as const) {
    const app = await rig.app()
    const peer = await rig.udpPeer()
    const calling = app.createUAC(`sip:b@127.0.0.1:${peer.port}`, {
      localSdp: SDP_A,
      headers: { Contact: '<sip:me@localhost>', From: '<sip:me@localhost>' },
    })
    calling.catch(() => {})
    const invite = await peer.next('INVITE')
    t.match(invite.header('Via'), `SIP/2.0/UDP ${shown}:${rig.port};rport;`)
    t.equal(invite.header('Contact'), `<sip:me@${shown}:${rig.port}>`)
    t.match(invite.header('From'), `<sip:me@${shown}:${rig.port}>;tag=`)
    peer.send(response(invite, '486 Busy Here'))
    await peer.next('ACK')
    app.use('invite', (_req, res) => res.send(486))
    await rig.routed(app)
  }
  t.equal(outside.server.endpoints[0]?.address, '127.0.0.1', 'what is bound')
})

t.test('several addresses: the nearest one is used, a local network takes precedence', async (t) => {
  const rig = await openRig(t, {
    listen: [
      { transport: 'udp', address: '127.0.0.1', port: 0, localNetwork: '127.9.0.0/16' },
      { transport: 'udp', address: '127.9.9.9', port: 0 },
      { transport: 'udp', address: '127.0.5.1', port: 0 },
    ],
  })
  const app = await rig.app()
  const [one, , three] = rig.server.endpoints
  const viaFor = async (host: string) => {
    const sent = await new Promise<string>((resolve) => {
      app.request(`sip:x@${host}:9`, { method: 'OPTIONS' }, (_error, req) => resolve(req.get('Via')))
    })
    return /UDP ([^;]+)/.exec(sent)?.[1]
  }
  t.equal(await viaFor('127.0.5.77'), `127.0.5.1:${three?.port}`)
  t.equal(await viaFor('127.9.9.8'), `127.0.0.1:${one?.port}`, 'its own network')
})
