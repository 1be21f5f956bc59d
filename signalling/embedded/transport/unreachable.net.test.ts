import type { Socket } from 'node:dgram'
import { channel } from 'node:diagnostics_channel'
import t from 'tap'
import { cannotForge, sendForged } from '../../../fixtures/host/forged-datagrams.js'
import { until } from '../../../fixtures/host/until.js'
import {
  failureOf,
  openRig,
  type Rig,
  request,
  response,
  SDP_A,
  SDP_B,
  type TestApp,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { EngineError } from '../../../media/base/errors.js'
import { openDns } from '../routing/dns.js'

/*
 * Addresses that nothing can be sent to. An exception in a socket callback would end the process, and with it this
 * test. Nothing leaves this machine: a socket bound to loopback reaches loopback only.
 */

const LOOPBACK = '127.0.0.1'

/** A STUN binding request (RFC 5389 6). */
const STUN = Buffer.from(`000100002112a442${'07'.repeat(12)}`, 'hex')

/** One of each kind of datagram that the server answers. */
const answered = () => {
  const from = { port: 5060 }
  return [
    STUN,
    ...[
      request('INVITE', from, {}, SDP_A),
      request('OPTIONS', from),
      request('REGISTER', from),
      request('INVITE', from, { CSeq: 'nonsense' }),
      request('OPTIONS', from).replace(/Content-Length: 0/, 'Content-Length: 900'),
      '\r\n\r\n',
    ].map((text) => Buffer.from(text, 'latin1')),
  ]
}

/** Returns the UDP sockets that `open` creates. */
async function socketsOf<T>(
  open: () => Promise<T>,
): Promise<{ readonly result: T; readonly sockets: Socket[] }> {
  const sockets: Socket[] = []
  const listener = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
  channel('udp.socket').subscribe(listener)
  try {
    return { result: await open(), sockets }
  } finally {
    channel('udp.socket').unsubscribe(listener)
  }
}

/** Resolves when the server has handled everything before, and still answers. */
async function answers(rig: Rig): Promise<void> {
  const peer = await rig.udpPeer()
  peer.send(request('OPTIONS', peer))
  await peer.next('SIP/2.0 200')
}

async function answeringApp(rig: Rig): Promise<TestApp> {
  const app = await rig.app()
  app.use('invite', (_req, res) => res.send(486))
  app.use('options', (_req, res) => res.send(200))
  app.use('register', (_req, res) => res.send(403))
  await rig.routed(app)
  return app
}

t.test('datagrams from port 0 and from addresses that take no answer do no harm', async (t) => {
  const { result: rig, sockets } = await socketsOf(() => openRig(t))
  await answeringApp(rig)
  const socket = sockets.at(-1)
  const receive = (address: string, port: number) => {
    for (const bytes of answered()) socket?.emit('message', bytes, { address, port, family: 'IPv4', size: 0 })
  }
  receive(LOOPBACK, 0)
  t.equal(rig.server.stats().serverTransactions, 0, 'a datagram from port 0 is dropped')
  receive(LOOPBACK, rig.port)
  receive('255.255.255.255', 5060)
  receive('127.255.255.255', 5060)
  receive('192.0.2.1', 5060)
  receive('not an address', 5060)
  await answers(rig)
  t.ok(rig.server.stats().serverTransactions > 0)
})

t.test('the same datagrams over a raw socket', { skip: cannotForge() }, async (t) => {
  const rig = await openRig(t)
  await answeringApp(rig)
  const to = { address: LOOPBACK, port: rig.port }
  const sources = [
    { address: LOOPBACK, port: 0 },
    { address: LOOPBACK, port: rig.port },
    { address: '127.255.255.255', port: 5060 },
    { address: '255.255.255.255', port: 5060 },
    { address: '224.0.0.1', port: 5060 },
    { address: '0.0.0.0', port: 0 },
  ]
  await sendForged(sources.flatMap((from) => answered().map((bytes) => ({ from, to, bytes }))))
  await answers(rig)
})

for (const [name, uri] of [
  ['broadcast', 'sip:x@255.255.255.255'],
  ['an address outside of loopback', 'sip:x@192.0.2.1'],
  ['broadcast over TCP', 'sip:x@255.255.255.255;transport=tcp'],
  ['an unusable address over TCP', 'sip:x@0.0.0.1;transport=tcp'],
  ['broadcast over WebSocket', 'sip:x@255.255.255.255;transport=ws'],
] as const) {
  t.test(`a request to ${name} fails with 503`, async (t) => {
    const rig = await openRig(t, {
      listen: (['udp', 'tcp', 'ws'] as const).map((transport) => ({ transport, address: LOOPBACK, port: 0 })),
    })
    const app = await answeringApp(rig)
    const status = await new Promise<number>((resolve, reject) => {
      app.request(uri, { method: 'OPTIONS' }, (error, sent) => {
        if (error) reject(error)
        else sent.on('response', (res: TestResponse) => resolve(res.status))
      })
    })
    t.equal(status, 503)
    await answers(rig)
  })
}

t.test('a call whose route leads nowhere: our BYE fails, the server goes on', async (t) => {
  const rig = await openRig(t)
  const app = await answeringApp(rig)
  const peer = await rig.udpPeer()
  const calling = app.createUAC(`sip:b@127.0.0.1:${peer.port}`, { localSdp: SDP_A })
  const invite = await peer.next('INVITE')
  peer.send(
    response(
      invite,
      '200 OK',
      {
        To: `${invite.header('To')};tag=b`,
        Contact: `<sip:b@127.0.0.1:${peer.port}>`,
        'Record-Route': '<sip:255.255.255.255;lr>',
      },
      SDP_B,
    ),
  )
  const dialog = await calling
  await dialog.destroy()
  await until(() => rig.server.stats().clientTransactions === 0)
  t.equal(rig.server.stats().dialogs, 0)
  await answers(rig)
})

t.test('a name server that cannot be reached', async (t) => {
  for (const server of ['255.255.255.255', '[::ffff:255.255.255.255]:53']) {
    const dns = openDns([server])
    t.teardown(() => dns.close())
    const error = await failureOf(dns.srv('_sip._udp.carrier.test'))
    t.ok(error instanceof EngineError && error.code === 'sip_failed', server)
  }
})
