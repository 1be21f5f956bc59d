import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { mutated, pick } from '../../../fixtures/fuzz/mutation.js'
import { seeded } from '../../../fixtures/host/random.js'
import { openRig, request, SDP_A, SDP_B } from '../../../fixtures/rigs/embedded-rig.js'

/*
 * Valid messages with bytes, lines and numbers changed, against a server with an application. After
 * each batch the server has to answer OPTIONS, so that no batch may kill or stop it.
 */

const BATCHES = 60
const PER_BATCH = 100
const LIMIT_MS = 10_000
const SEED = 3261

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`mutated messages over ${transport}`, async (t) => {
    const rig = await openRig(t, {
      listen: [
        { transport: 'udp', address: '127.0.0.1', port: 0 },
        { transport: 'tcp', address: '127.0.0.1', port: 0 },
      ],
    })
    const app = await rig.app()
    let reached = 0
    for (const method of ['register', 'options', 'message', 'info', 'subscribe', 'notify', 'publish']) {
      app.use(method, (_req, res) => {
        reached += 1
        res.send(200)
      })
    }
    app.use('invite', (req, res) => {
      reached += 1
      // Some mutated messages cannot create a dialog, which the application has to handle.
      app.createUAS(req, res, { localSdp: SDP_B }).catch(() => {})
    })
    await rig.routed(app)
    const random = seeded(SEED)
    const peer = await rig.udpPeer()
    const port = rig.server.endpoints.find((endpoint) => endpoint.transport === transport)?.port ?? 0
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
    const valid = () => {
      const method = pick(
        random,
        ['INVITE', 'ACK', 'BYE', 'CANCEL', 'OPTIONS', 'REGISTER', 'UPDATE'],
        'PRACK',
      )
      return request(method, socket.address(), {}, method === 'INVITE' ? SDP_A : '', {
        transport: transport.toUpperCase(),
      })
    }
    const answer = () => `SIP/2.0 200 OK\r\n${valid().split('\r\n').slice(1).join('\r\n')}`
    const begin = performance.now()
    let sent = 0
    for (let batch = 0; batch < BATCHES && performance.now() - begin < LIMIT_MS; batch++) {
      const messages = Array.from({ length: PER_BATCH }, () =>
        mutated(random, random.next() < 0.15 ? answer() : valid()),
      )
      if (transport === 'udp') {
        for (const message of messages) {
          await new Promise<void>((resolve) => {
            socket.send(Buffer.from(message, 'latin1'), port, '127.0.0.1', () => resolve())
          })
        }
      } else {
        // A stream that lost its framing is closed, so each stream carries few messages.
        for (let at = 0; at < messages.length; at += 10) {
          const stream = await rig.tcpPeer()
          for (const message of messages.slice(at, at + 10)) {
            if (!stream.socket.destroyed) stream.send(message)
          }
          await new Promise<void>((resolve) => {
            stream.socket.once('close', () => resolve())
            stream.socket.end()
            setImmediate(() => stream.socket.destroySoon())
          })
        }
      }
      sent += messages.length
      const marker = request('OPTIONS', peer, { 'Call-ID': `alive-${batch}` })
      peer.send(marker)
      const { start } = await peer.next((message) => message.header('Call-ID') === `alive-${batch}`)
      if (!/^SIP\/2\.0 200 /.test(start)) t.fail(`after batch ${batch}: ${start}`)
    }
    t.comment(
      `${sent} messages, ${reached} reached the application, ${Math.round(performance.now() - begin)} ms`,
    )
    t.ok(sent >= PER_BATCH * 10, `${sent} messages`)
    t.ok(reached > sent / 100, 'some got through')
    const { clientTransactions } = rig.server.stats()
    t.ok(clientTransactions <= sent)
  })
}
