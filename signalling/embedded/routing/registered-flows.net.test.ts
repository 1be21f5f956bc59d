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

const BOTH = [
  { transport: 'udp', address: '127.0.0.1', port: 0 },
  { transport: 'tcp', address: '127.0.0.1', port: 0 },
] as const
const WEB = 'sip:alice@df7jal23ls0d.invalid'

function ask(app: TestApp, uri: string, method: string): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    app.request(uri, { method, body: 'hi', headers: { 'Content-Type': 'text/plain' } }, (error, sent) => {
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
