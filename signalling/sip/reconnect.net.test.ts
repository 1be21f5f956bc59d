import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import {
  openSignallingRig,
  type RigOptions,
  TEST_NUMBER,
  testAgent,
} from '../../fixtures/rigs/signalling-rig.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'

/*
 * The connection between the service and its SIP server breaks while the server keeps running. Live calls
 * must continue.
 */

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n'

/** Opens a TCP relay in front of the control port that can cut the connection and refuse new ones. */
async function relayFor(t: Assert) {
  const sockets = new Set<Socket>()
  const state = { target: 0, shut: false, connections: 0 }
  const server = createServer((inner) => {
    if (state.shut) {
      inner.destroy()
      return
    }
    state.connections += 1
    const outer = connect({ host: '127.0.0.1', port: state.target })
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  )
  return {
    state,
    through: async (port: number) => {
      state.target = port
      return typeof bound === 'object' && bound !== null ? bound.port : 0
    },
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function rigFor(t: Assert, options: RigOptions = {}) {
  const relay = await relayFor(t)
  const rig = await openSignallingRig({ reclaimMs: 10_000, ...options, through: relay.through })
  t.teardown(() => rig.close())
  const peer = await openSipPeer({ onInvite: (call) => call.answer(SDP) })
  t.teardown(() => peer.close())
  const target = { transport: 'udp', address: '127.0.0.1', port: rig.udp } as const
  return {
    ...rig,
    relay,
    peer,
    async callIn() {
      const call = peer.invite({ uri: `sip:${TEST_NUMBER}@127.0.0.1:${rig.udp}`, target, sdp: SDP })
      if ((await call.final()) !== 200) throw new Error('not answered')
      await until(() => rig.types().includes('answered'))
      return call
    },
    /** Cuts the connection and waits for the next one. */
    async reconnected(meanwhile: () => Promise<void> = async () => {}) {
      const before = relay.state.connections
      relay.state.shut = true
      relay.cut()
      await until(() => !rig.sip.connected)
      await meanwhile()
      relay.state.shut = false
      await until(() => relay.state.connections > before && rig.sip.connected)
    },
  }
}

/** Resolves when the server has handled everything sent so far: it answered the probe. */
const probed = (rig: Awaited<ReturnType<typeof rigFor>>) =>
  until(() =>
    rig.peer.log.some(({ direction, message }) => direction === 'in' && message.method === 'OPTIONS'),
  )

t.test(
  'an inbound call continues over the next connection: renegotiated and ended by the caller',
  async (t) => {
    const rig = await rigFor(t)
    const call = await rig.callIn()
    await rig.reconnected()
    await probed(rig)
    t.equal(rig.callManager.live, 1)
    t.notOk(rig.types().includes('ended'))
    call.reinvite(SDP.replace('4000', '4002'))
    await until(() => rig.pool.only().remotes.some(({ port }) => port === 4002))
    call.bye()
    t.match((await rig.ended()).ending, { by: 'caller', cause: 'caller_hangup' })
    t.equal(rig.server.stats().dialogs, 0)
  },
)

t.test('an outbound call continues over two reconnections and ends with our BYE', async (t) => {
  const rig = await rigFor(t)
  rig.callManager.dial(rig.permit('call_1', '+919876543210'), {
    party: { kind: 'agent', agent: testAgent },
    gateway: { host: '127.0.0.1', port: rig.peer.port, transport: 'udp', codecs: ['PCMA'] },
    ringTimeoutMs: 5000,
    recordTo: null,
  })
  await until(() => rig.types().includes('answered'))
  await rig.reconnected()
  await probed(rig)
  await rig.reconnected()
  t.equal(rig.callManager.hangUp('call_1', 'operator'), true)
  t.match((await rig.ended()).ending, { by: 'operator' })
  await until(() => rig.peer.log.some(({ message }) => message.method === 'BYE'))
})

t.test('a hang-up while disconnected reaches the caller after the reconnection', async (t) => {
  const rig = await rigFor(t)
  const call = await rig.callIn()
  const [{ callId } = { callId: '' }] = rig.events
  await rig.reconnected(async () => {
    rig.callManager.hangUp(callId, 'operator')
  })
  await until(() => call.endedBy === 'remote')
  t.match((await rig.ended()).ending, { by: 'operator' })
})

t.test('a caller that hung up while disconnected is detected after the reconnection', async (t) => {
  const rig = await rigFor(t)
  const call = await rig.callIn()
  await rig.reconnected(async () => {
    call.bye()
    await until(() => rig.server.stats().dialogs === 0)
  })
  t.match((await rig.ended()).ending, { cause: 'internal', fault: 'ours' })
})

t.test('a caller whose BYE the server kept to itself counts as hung up', async (t) => {
  const rig = await rigFor(t)
  const call = await rig.callIn()
  rig.peer.intercept = (message, direction) =>
    direction === 'out' && message.method === 'BYE' ? 'drop' : 'pass'
  await rig.reconnected(async () => call.bye())
  t.match((await rig.ended()).ending, { by: 'caller', cause: 'caller_hangup', fault: 'none' })
})

t.test('calls end when the server does not return in time', async (t) => {
  const rig = await rigFor(t, { reclaimMs: 1_000 })
  await rig.callIn()
  rig.relay.state.shut = true
  rig.relay.cut()
  await until(() => !rig.sip.connected)
  t.equal(rig.callManager.live, 1, 'not yet')
  const ending = await rig.ended()
  t.match(ending.ending, { cause: 'internal', fault: 'ours', note: /connection to the SIP server lost/ })
})
