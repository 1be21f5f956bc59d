import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { LeakTest } from '../../../fixtures/host/leaks.js'
import { until } from '../../../fixtures/host/until.js'
import {
  inCall,
  openRig,
  openUdpPeer,
  type Rig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestDialog,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { makeAuthority } from '../../../fixtures/sip/certificates.js'
import { openTlsListener, openTlsPeer } from '../../../fixtures/sip/tls-peer.js'
import type { Dns } from '../routing/dns.js'
import type { TlsSettings } from './tls-context.js'

/* TLS with peers on Node's tls module, each with a certificate made for the test. */

const authority = makeAuthority(t)
const stranger = makeAuthority(t, 'Stranger')
const ours = authority.issue('IP:127.0.0.1', 'DNS:sip.parley.test')
const TLS: TlsSettings = { ...ours, authorities: authority.certificate }
const tls = { transport: 'TLS' }
// A handshake takes real time: 64 T1 is 2.5 s here.
const SLOWER = { T1: 40, T2: 160, T4: 200 }

const openTls = (t: LeakTest, settings: Partial<TlsSettings> = {}, dns?: Dns): Promise<Rig> =>
  openRig(t, {
    listen: [
      { transport: 'tls', address: '127.0.0.1', port: 0 },
      { transport: 'udp', address: '127.0.0.1', port: 0 },
    ],
    tls: { ...TLS, ...settings },
    timers: SLOWER,
    ...(dns ? { dns } : {}),
  })

/** Sends OPTIONS and resolves with the status of the answer. */
const ask = (app: TestApp, uri: string, proxy?: string): Promise<number> =>
  new Promise((resolve, reject) => {
    app.request(uri, { method: 'OPTIONS', ...(proxy === undefined ? {} : { proxy }) }, (error, req) => {
      if (error) reject(error)
      else req.on('response', (res: TestResponse) => resolve(res.status))
    })
  })

t.test(
  'SIPS over an unencrypted transport: 480 with TLS configured, 416 without; the application is not notified',
  async (t) => {
    const secure = await openTls(t)
    const plain = await openRig(t, {
      listen: [
        { transport: 'udp', address: '127.0.0.1', port: 0 },
        { transport: 'tcp', address: '127.0.0.1', port: 0 },
      ],
    })
    const expectations = [
      [secure, 'udp', 'SIP/2.0 480', /^380 127\.0\.0\.1:\d+ "SIPS Not Allowed"$/],
      [plain, 'udp', 'SIP/2.0 416', /^$/],
      [plain, 'tcp', 'SIP/2.0 416', /^$/],
    ] as const
    for (const [rig, transport, start, warning] of expectations) {
      const app = await rig.app()
      app.use('invite', () => t.fail('handed on'))
      app.use('options', () => t.fail('handed on'))
      await rig.routed(app)
      const port = rig.server.endpoints.find((endpoint) => endpoint.transport === transport)?.port ?? 0
      const peer = transport === 'tcp' ? await rig.tcpPeer() : await openUdpPeer(port)
      if (transport === 'udp') t.teardown(() => peer.close())
      for (const method of ['INVITE', 'OPTIONS']) {
        const options = { uri: 'sips:service@127.0.0.1', transport: transport.toUpperCase() }
        peer.send(request(method, peer, {}, method === 'INVITE' ? SDP_A : '', options))
        const answer = await peer.next((m) => m.start.startsWith(start) && m.header('CSeq') === `1 ${method}`)
        t.match(answer.header('Warning'), warning)
      }
    }
  },
)

t.test('an inbound call: SIPS in the Contact, the same connection for our BYE', async (t) => {
  const rig = await openTls(t)
  const app = await rig.app()
  const peer = await openTlsPeer(rig.port, { ca: authority.certificate, servername: 'sip.parley.test' })
  t.teardown(() => peer.close())
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    t.equal(req.protocol, 'tls')
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const invite = request('INVITE', peer, { Contact: '<sips:peer@192.0.2.1>' }, SDP_A, {
    ...tls,
    uri: 'sips:service@127.0.0.1',
  })
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  t.equal(ok.header('Contact'), `<sips:127.0.0.1:${rig.port};transport=tls>`)
  const dialog = await (made[0] as Promise<TestDialog>)
  const acked = once(dialog, 'ack')
  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }, '', tls))
  await acked
  const ending = dialog.destroy()
  const bye = await peer.next('BYE sips:peer@192.0.2.1')
  t.match(bye.header('Via'), new RegExp(`^SIP/2.0/TLS 127.0.0.1:${rig.port};branch=`))
  peer.send(response(bye, '200 OK'))
  await ending
})

t.test('an outbound call: verified by address, one connection for the whole call', async (t) => {
  const rig = await openTls(t)
  const app = await rig.app()
  const peer = await openTlsListener({ ...cert(authority.issue('IP:127.0.0.1')) })
  t.teardown(() => peer.close())
  const calling = app.createUAC(`sips:b@127.0.0.1:${peer.port}`, { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  t.match(invite.header('Via'), 'SIP/2.0/TLS')
  t.equal(invite.header('Contact'), `<sips:127.0.0.1:${rig.port};transport=tls>`)
  const To = `${invite.header('To')};tag=b`
  peer.send(response(invite, '200 OK', { To, Contact: `<sips:b@127.0.0.1:${peer.port}>` }, SDP_B))
  const dialog = await calling
  await peer.next('ACK')
  const ending = dialog.destroy()
  peer.send(response(await peer.next('BYE'), '200 OK'))
  await ending
  const asked = ask(app, `sip:b@127.0.0.1:${peer.port};transport=tls`)
  peer.send(response(await peer.next('OPTIONS'), '200 OK'))
  t.equal(await asked, 200)
  t.equal(peer.connections.length, 1)
  t.equal(peer.connections[0]?.getProtocol(), 'TLSv1.3')
})

t.test('a server has to prove the name of the URI', async (t) => {
  const names = new Map([['proxy.example.test', ['127.0.0.1']]])
  const dns: Dns = {
    naptr: async () => [],
    srv: async () => [],
    addresses: async (name) => names.get(name) ?? [],
    close() {},
  }
  const rig = await openTls(t, {}, dns)
  const app = await rig.app()
  const listen = async (certificate: { certificate: string; key: string }) => {
    const peer = await openTlsListener(cert(certificate))
    t.teardown(() => peer.close())
    return peer
  }
  const right = await listen(authority.issue('DNS:proxy.example.test'))
  const asked = ask(app, `sips:x@proxy.example.test:${right.port}`)
  right.send(response(await right.next('OPTIONS sips:x@proxy.example.test'), '200 OK'))
  t.equal(await asked, 200)
  t.equal(right.connections[0]?.servername, 'proxy.example.test', 'SNI')

  const other = await listen(authority.issue('DNS:other.example.test'))
  t.equal(await ask(app, `sips:x@proxy.example.test:${other.port}`), 503, 'another name')
  const foreign = await listen(stranger.issue('DNS:proxy.example.test'))
  t.equal(await ask(app, `sips:x@proxy.example.test:${foreign.port}`), 503, 'an unknown authority')
  t.equal(await ask(app, `sips:x@127.0.0.1:${right.port}`), 503, 'an address that is not in the certificate')
  t.equal(other.seen.length + foreign.seen.length, 0, 'not a byte of SIP')
})

t.test(
  'a host that a customer named is pinned to public addresses at the moment of the connection',
  async (t) => {
    // DNS now names a private address, also if it named a public one when the host was saved.
    const dns: Dns = {
      naptr: async () => [],
      srv: async () => [],
      addresses: async () => ['127.0.0.1'],
      close() {},
    }
    const rig = await openTls(t, {}, dns)
    const app = await rig.app()
    const peer = await openTlsListener(cert(authority.issue('DNS:pbx.example.test', 'IP:127.0.0.1')))
    t.teardown(() => peer.close())
    const uris = [
      `sips:x@pbx.example.test:${peer.port}`,
      `sip:x@pbx.example.test:${peer.port};transport=tls`,
      `sip:x@127.0.0.1:${peer.port};transport=tls`,
    ]
    for (const uri of uris) t.equal(await ask(app, uri, `${uri};addresses=public`), 503, uri)
    t.equal(peer.connections.length, 0, 'not even a handshake')
    const [name = ''] = uris
    const asked = ask(app, name)
    peer.send(response(await peer.next('OPTIONS'), '200 OK'))
    t.equal(await asked, 200, 'the operator may name it')
    for (const uri of uris) t.equal(await ask(app, uri, `${uri};addresses=public`), 503, uri)
    t.equal(peer.seen.length, 1, 'an open connection is no way around')
  },
)

t.test('a client that registered over TLS is reached over its connection only', async (t) => {
  const rig = await openTls(t, { verifyServers: false })
  const app = await rig.app()
  const peer = await openTlsPeer(rig.port, { ca: authority.certificate, servername: 'sip.parley.test' })
  app.use('register', (_req, res) => res.send(403))
  await rig.routed(app)
  peer.send(request('REGISTER', peer, {}, '', tls))
  await peer.next('SIP/2.0 403')
  const route = `sip:127.0.0.1:${peer.port};transport=tls;flow=127.0.0.1:${rig.port}`
  for (const uri of ['sip:pbx@10.255.0.9;transport=tls', 'sips:pbx@10.255.0.9']) {
    const asked = ask(app, uri, route)
    peer.send(response(await peer.next(`OPTIONS ${uri}`), '200 OK'))
    t.equal(await asked, 200, uri)
  }
  await peer.close()
  await until(() => rig.server.stats().connections === 0)
  t.equal(await ask(app, 'sips:pbx@10.255.0.9', route), 430)
})

t.test('verification can be turned off', async (t) => {
  const rig = await openTls(t, { verifyServers: false })
  const app = await rig.app()
  const peer = await openTlsListener(cert(stranger.issue('DNS:whoever')))
  t.teardown(() => peer.close())
  const asked = ask(app, `sips:x@127.0.0.1:${peer.port}`)
  peer.send(response(await peer.next('OPTIONS'), '200 OK'))
  t.equal(await asked, 200)
})

t.test('SIPS is never sent unencrypted', async (t) => {
  const rig = await openRig(t, {
    listen: [
      { transport: 'udp', address: '127.0.0.1', port: 0 },
      { transport: 'tcp', address: '127.0.0.1', port: 0 },
    ],
  })
  const app = await rig.app()
  for (const uri of [
    'sips:x@127.0.0.1',
    'sips:x@127.0.0.1;transport=tcp',
    'sips:x@127.0.0.1;transport=udp',
  ]) {
    await t.rejects(ask(app, uri), /requested protocol\/transport not available/, uri)
  }
})

t.test('an unencrypted call with a SIPS Contact continues over TLS', async (t) => {
  const rig = await openRig(t, {
    listen: [
      { transport: 'tcp', address: '127.0.0.1', port: 0 },
      { transport: 'tls', address: '127.0.0.1', port: 0 },
    ],
    tls: TLS,
    timers: SLOWER,
  })
  const app = await rig.app()
  const secure = await openTlsListener(cert(authority.issue('IP:127.0.0.1')))
  t.teardown(() => secure.close())
  const peer = await rig.tcpPeer()
  const made: Promise<TestDialog>[] = []
  app.use('invite', (req, res) => {
    made.push(app.createUAS(req, res, { localSdp: SDP_B }))
  })
  await rig.routed(app)
  const Contact = `<sips:peer@127.0.0.1:${secure.port}>`
  const invite = request('INVITE', peer, { Contact }, SDP_A, { transport: 'TCP' })
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  peer.send(
    request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }, '', { transport: 'TCP' }),
  )
  const dialog = await (made[0] as Promise<TestDialog>)
  const ending = dialog.destroy()
  secure.send(response(await secure.next('BYE sips:peer@'), '200 OK'))
  await ending
  t.notOk(peer.seen.some((message) => message.start.startsWith('BYE')))
})

t.test('old TLS versions, unencrypted data and unknown clients are rejected', async (t) => {
  const rig = await openTls(t, { verifyClients: true })
  const trusted = { ca: authority.certificate, servername: 'sip.parley.test' }
  await t.rejects(
    openTlsPeer(rig.port, { ...trusted, ...cert(authority.issue('DNS:c')), maxVersion: 'TLSv1.1' }),
    'below TLS 1.2',
  )
  const plain = connect(rig.port, '127.0.0.1')
  plain.write(request('OPTIONS', { port: 1 }, {}, '', { transport: 'TCP' }))
  let heard = ''
  plain.on('data', (chunk) => {
    heard += chunk.toString('latin1')
  })
  plain.on('error', () => {})
  await once(plain, 'close')
  t.notMatch(heard, 'SIP/2.0')

  const silent = connect(rig.port, '127.0.0.1')
  silent.resume().on('error', () => {})
  await once(silent, 'close')
  t.pass('a handshake that never begins ends')

  // TLS 1.3: the client notices it with its first read.
  const stray = await openTlsPeer(rig.port, { ...trusted, ...cert(stranger.issue('DNS:c')) })
  stray.socket.on('error', () => {})
  await once(stray.socket, 'close')
  t.equal(stray.seen.length, 0, 'a certificate of another authority')

  const friend = await openTlsPeer(rig.port, { ...trusted, ...cert(authority.issue('DNS:c')) })
  t.teardown(() => friend.close())
  friend.send(request('OPTIONS', friend, {}, '', tls))
  await friend.next('SIP/2.0 503')
})

t.test('unusable certificates prevent the start', async (t) => {
  const listen = [{ transport: 'tls', address: '127.0.0.1', port: 0 }] as const
  await t.rejects(openRig(t, { listen }), { code: 'config_invalid', message: /needs a certificate/ })
  const mixed = { certificate: ours.certificate, key: stranger.key }
  await t.rejects(openRig(t, { listen, tls: mixed }), { code: 'config_invalid', message: /TLS certificate/ })
})

function cert({ certificate, key }: { readonly certificate: string; readonly key: string }) {
  return { cert: certificate, key }
}
