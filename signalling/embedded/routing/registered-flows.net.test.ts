import { once } from 'node:events'
import t from 'tap'
import {
  openRig,
  request,
  response,
  type TestApp,
  type TestRequest,
  type TestResponse,
} from '../../../fixtures/rigs/embedded-rig.js'
import { PATIENT } from '../../../fixtures/rigs/signalling-rig.js'

const BOTH = [
  { transport: 'udp', address: '127.0.0.1', port: 0 },
  { transport: 'tcp', address: '127.0.0.1', port: 0 },
] as const
const WEB = 'sip:alice@df7jal23ls0d.invalid'

function ask(app: TestApp, uri: string, method: string, proxy?: string): Promise<TestResponse> {
  const options = { method, body: 'hi', headers: { 'Content-Type': 'text/plain' } }
  return new Promise((resolve, reject) => {
    app.request(uri, { ...options, ...(proxy === undefined ? {} : { proxy }) }, (error, sent) => {
      if (error) reject(error)
      else sent.on('response', resolve)
    })
  })
}

t.test(
  'a client that registered over a connection is reached over it, regardless of its Contact',
  async (t) => {
    const rig = await openRig(t, { listen: BOTH })
    const app = await rig.app()
    const client = await rig.tcpPeer()
    const grants: Record<string, string>[] = [
      { Contact: `<${WEB};transport=ws>;expires=600` },
      { Expires: '0' },
    ]
    app.use('register', (_req: TestRequest, res: TestResponse) => {
      res.send(200, { headers: grants.shift() })
    })
    await rig.routed(app)
    const register = (headers: Record<string, string>) =>
      client.send(request('REGISTER', client, headers, '', { transport: 'TCP' }))
    register({ Contact: `<${WEB};transport=ws>`, Expires: '600' })
    await client.next('SIP/2.0 200')

    const asking = ask(app, WEB, 'MESSAGE')
    const message = await client.next('MESSAGE')
    t.equal(message.start, `MESSAGE ${WEB} SIP/2.0`)
    client.send(response(message, '200 OK'))
    t.equal((await asking).status, 200)

    register({ Contact: `<${WEB};transport=ws>`, Expires: '0' })
    await client.next('SIP/2.0 200')
    t.match(await ask(app, WEB, 'MESSAGE'), { status: 503, reason: 'DNS Error' })
  },
)

t.test('410 when the connection of a registered client has closed', async (t) => {
  const rig = await openRig(t, { listen: BOTH })
  const app = await rig.app()
  const client = await rig.tcpPeer()
  app.use('register', (_req, res) => res.send(200, { headers: { Expires: '600' } }))
  await rig.routed(app)
  client.send(request('REGISTER', client, { Contact: `<${WEB}>` }, '', { transport: 'TCP' }))
  await client.next('SIP/2.0 200')
  client.socket.end()
  await once(client.socket, 'close')
  t.match(await ask(app, WEB, 'OPTIONS'), { status: 410, reason: 'Gone' })
})

t.test('unknown extensions are rejected with 420, known ones reach the application', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const peer = await rig.udpPeer()
  app.use('options', (_req, res) => res.send(200))
  await rig.routed(app)
  peer.send(request('OPTIONS', peer, { Require: 'timer, teleport , 100rel,brainwave' }))
  const refused = await peer.next('SIP/2.0 420')
  t.equal(refused.header('Unsupported'), 'teleport, brainwave')
  peer.send(request('OPTIONS', peer, { Require: 'replaces,timer' }))
  await peer.next('SIP/2.0 200')
})

t.test('without Contacts in the table, only a route that names the flow reaches the client', async (t) => {
  const rig = await openRig(t, { listen: BOTH, registeredFlows: false })
  const app = await rig.app()
  const client = await rig.tcpPeer()
  let receivedOn = ''
  app.use('register', (req, res) => {
    receivedOn = req.receivedOn
    res.send(200, { headers: { Expires: '600' } })
  })
  await rig.routed(app)
  client.send(request('REGISTER', client, { Contact: `<${WEB}>` }, '', { transport: 'TCP' }))
  await client.next('SIP/2.0 200')
  t.match(await ask(app, WEB, 'MESSAGE'), { status: 503, reason: 'DNS Error' }, 'not by its Contact')

  const route = `sip:127.0.0.1:${client.port};transport=tcp;flow=${receivedOn}`
  const asking = ask(app, WEB, 'MESSAGE', route)
  const message = await client.next('MESSAGE')
  t.equal(message.start, `MESSAGE ${WEB} SIP/2.0`)
  client.send(response(message, '200 OK'))
  t.equal((await asking).status, 200)

  client.socket.end()
  await once(client.socket, 'close')
  t.match(await ask(app, WEB, 'MESSAGE', route), { status: 430, reason: 'Flow Failed' })
  t.match(
    await ask(app, WEB, 'MESSAGE', `sip:localhost:5060;transport=udp;flow=${receivedOn}`).catch(String),
    /transport not available/,
    'a flow has an address',
  )
})

t.test('over UDP a flow leaves from the listener that the client knows', async (t) => {
  const udp = { transport: 'udp', address: '127.0.0.1', port: 0 } as const
  // A MESSAGE that is sent again would look like the next one.
  const rig = await openRig(t, { listen: [udp, udp], registeredFlows: false, timers: PATIENT })
  const app = await rig.app()
  const client = await rig.udpPeer()
  await rig.routed(app)
  for (const { port } of rig.server.endpoints) {
    const route = `sip:127.0.0.1:${client.port};transport=udp;flow=127.0.0.1:${port}`
    const asking = ask(app, WEB, 'MESSAGE', route)
    const message = await client.next('MESSAGE')
    t.match(message.header('Via'), `SIP/2.0/UDP 127.0.0.1:${port};`)
    client.send(response(message, '200 OK'))
    t.equal((await asking).status, 200)
  }
  const elsewhere = ask(app, WEB, 'MESSAGE', `sip:127.0.0.1:${client.port};transport=udp;flow=192.0.2.1:5060`)
  client.send(response(await client.next('MESSAGE'), '200 OK'))
  t.equal((await elsewhere).status, 200, 'a listener that is no longer there is replaced')
})
