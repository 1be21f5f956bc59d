import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { openRig, response, type TestApp, type TestPeer } from '../../../fixtures/rigs/embedded-rig.js'
import { STANDARD_TIMERS } from '../transaction/timers.js'
import { bindingResponse, isBindingRequest } from '../transport/stun.js'

/** Registers at the peer, which grants `granted` seconds. */
async function register(app: TestApp, peer: TestPeer, callId: string, granted: number): Promise<void> {
  const contact = '<sip:pilot@127.0.0.1:5060>'
  const headers = { Contact: contact, Expires: String(granted), 'Call-ID': callId }
  app.request(`sip:127.0.0.1:${peer.port}`, { method: 'REGISTER', headers }, (_error, req) => {
    req.on('response', () => app.emit('test:registered'))
  })
  const sent = await peer.next((m) => m.start.startsWith('REGISTER') && m.header('Call-ID') === callId)
  const registered = once(app, 'test:registered')
  const list = granted === 0 ? {} : { Contact: `${contact};expires=${granted}` }
  peer.send(response(sent, '200 OK', { To: `${sent.header('To')};tag=r`, ...list }))
  await registered
}

/** Advances the clock; returns the times (s) at which the peer receives keep-alives. */
async function keepAliveTimes(clock: VirtualClock, peer: TestPeer, seconds: number): Promise<number[]> {
  const at: number[] = []
  let seen = peer.seen.length
  for (let second = 1; second <= seconds; second++) {
    clock.advance(1000)
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    for (const message of peer.seen.slice(seen)) if (message.text === '\r\n\r\n') at.push(second)
    seen = peer.seen.length
  }
  return at
}

t.test('a registration over UDP has keep-alives until it expires', async (t) => {
  const clock = new VirtualClock()
  const rig = await openRig(t, { clock, timers: STANDARD_TIMERS })
  const app = await rig.app()
  const peer = await rig.udpPeer()
  await register(app, peer, 'one', 120)
  const first = await keepAliveTimes(clock, peer, 110)
  t.ok(first.length >= 3 && first.length <= 4, `at ${first.join()} s`)
  const gaps = first.map((second, at) => second - (first[at - 1] ?? 0))
  t.ok(
    gaps.every((gap) => gap >= 23 && gap <= 32),
    gaps.join(),
  )
  await register(app, peer, 'one', 120)
  t.ok((await keepAliveTimes(clock, peer, 110)).length >= 3, 'refreshed')
  t.equal((await keepAliveTimes(clock, peer, 100)).length <= 1, true, 'expired')
  await register(app, peer, 'two', 120)
  await register(app, peer, 'two', 0)
  t.same(await keepAliveTimes(clock, peer, 100), [], 'removed')
})

t.test('no keep-alives without NAT support', async (t) => {
  const clock = new VirtualClock()
  const rig = await openRig(t, { clock, timers: STANDARD_TIMERS, nat: false })
  const app = await rig.app()
  const peer = await rig.udpPeer()
  await register(app, peer, 'one', 120)
  t.same(await keepAliveTimes(clock, peer, 60), [])
})

t.test('STUN on the SIP port: the sender learns its address, and SIP continues', async (t) => {
  const rig = await openRig(t)
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  const request = Buffer.from('000100002112a442b7e7a701bc34d686fa87dfae', 'hex')
  socket.send(request, rig.port, '127.0.0.1')
  const [answer] = (await once(socket, 'message')) as [Buffer]
  t.equal(answer.subarray(0, 20).toString('hex'), '0101000c2112a442b7e7a701bc34d686fa87dfae')
  t.equal(answer.readUInt16BE(26) ^ 0x2112, socket.address().port)
  t.equal((answer.readUInt32BE(28) ^ 0x2112a442) >>> 0, 0x7f000001)
  for (const other of [
    '000100042112a442b7e7a701bc34d686fa87dfae',
    '00010000',
    '0101000c2112a442b7e7a701bc34d686fa87dfae',
  ]) {
    t.equal(isBindingRequest(Buffer.from(other, 'hex')), false, other)
  }
  // RFC 5769 2.3, reduced to the address attribute: 2001:db8:1234:5678:11:2233:4455:6677 port 32853.
  const six = bindingResponse(request, { address: '2001:db8:1234:5678:11:2233:4455:6677', port: 32853 })
  t.equal(six.subarray(20).toString('hex'), '002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9')
})
