import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { OPEN_GATE, PERMIT } from '../../fixtures/sip/open-gate.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openEmbeddedServer } from '../embedded/server.js'
import { openSipServer } from './sip-server.js'

assertNothingLeft(t)

const clock = systemClock
const log = silentLog
const embedded = (port: number, secret = 'right') =>
  openEmbeddedServer({
    listen: [{ transport: 'udp', address: '127.0.0.1', port: 0 }],
    control: { address: '127.0.0.1', port, secret },
    clock,
    log,
  })

t.test('connects, reports the addresses, and leaves nothing open', async (t) => {
  const server = await embedded(0)
  const sip = await openSipServer({
    gate: OPEN_GATE,
    host: '127.0.0.1',
    port: server.controlPort,
    secret: 'right',
    clock,
    log,
  })
  t.ok(sip.connected)
  t.strictSame(sip.endpoints, [`udp/127.0.0.1:${server.endpoints[0]?.port}`])
  await sip.close()
  await sip.close()
  t.notOk(sip.connected)
  await server.close()
})

t.test('a wrong secret is reported at once', async (t) => {
  const server = await embedded(0)
  await t.rejects(
    openSipServer({
      gate: OPEN_GATE,
      host: '127.0.0.1',
      port: server.controlPort,
      secret: 'wrong',
      clock,
      log,
    }),
    { code: 'config_invalid' },
  )
  await server.close()
})

t.test('without a server, connecting fails at the deadline', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  server.close()
  await t.rejects(
    openSipServer({
      gate: OPEN_GATE,
      host: '127.0.0.1',
      port,
      secret: 'x',
      clock,
      log,
      connectDeadlineMs: 400,
    }),
    { code: 'sip_failed', retryable: true },
  )
})

t.test('a server that accepts the connection and never answers', async (t) => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  await t.rejects(
    openSipServer({
      gate: OPEN_GATE,
      host: '127.0.0.1',
      port,
      secret: 'x',
      clock,
      log,
      connectDeadlineMs: 200,
    }),
    { code: 'sip_failed' },
  )
  server.close()
})

t.test('after a server restart the connection returns; open INVITEs are lost', async (t) => {
  let server = await embedded(0)
  const port = server.controlPort
  const sip = await openSipServer({ gate: OPEN_GATE, host: '127.0.0.1', port, secret: 'right', clock, log })
  await server.close()
  await until(() => !sip.connected)
  t.strictSame(sip.endpoints, [])
  let failed = ''
  sip.invite(
    { permit: PERMIT, uri: 'sip:a@127.0.0.1:9', callId: 'x', from: '1', transport: 'udp', body: '' },
    {
      progress() {},
      answered() {},
      failed: (error) => {
        failed = error.code
      },
      acknowledged() {},
      offered() {},
      ended() {},
    },
  )
  await until(() => failed !== '')
  t.equal(failed, 'sip_failed')
  server = await embedded(port)
  await until(() => sip.connected)
  t.equal(sip.endpoints.length, 1)
  await sip.close()
  await server.close()
})

t.test('an unanswered INVITE is reported lost with the connection', async (t) => {
  const server = await embedded(0)
  const sip = await openSipServer({
    gate: OPEN_GATE,
    host: '127.0.0.1',
    port: server.controlPort,
    secret: 'right',
    clock,
    log,
  })
  const errors: string[] = []
  const invite = sip.invite(
    {
      permit: PERMIT,
      uri: 'sip:a@127.0.0.1:9',
      callId: 'lost-1',
      from: '+91',
      transport: 'udp',
      body: 'v=0\r\n',
    },
    {
      progress() {},
      answered() {},
      failed: (error) => errors.push(error.code),
      acknowledged() {},
      offered() {},
      ended() {},
    },
  )
  await sip.close()
  t.strictSame(errors, ['sip_failed'])
  invite.cancel()
  await server.close()
  t.strictSame(errors, ['sip_failed'], 'once')
})
