import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, TEST_NUMBER } from '../../fixtures/rigs/signalling-rig.js'
import { cseqOf, type SipMessage } from '../../fixtures/sip/sip-message.js'
import { type Interceptor, openSipPeer } from '../../fixtures/sip/sip-peer.js'

/*
 * Lost, late and crossing messages, against a user agent that shares no code with the service.
 */

assertNothingLeft(t)

const sdp = (direction = 'sendrecv', formats = '8 101') =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio 4000 RTP/AVP ${formats}`,
    'a=rtpmap:101 telephone-event/8000',
    `a=${direction}`,
    '',
  ].join('\r\n')

async function rigFor(t: Pick<typeof import('tap').default, 'teardown'>, intercept?: Interceptor) {
  const rig = await openSignallingRig()
  t.teardown(() => rig.close())
  const peer = await openSipPeer(intercept ? { intercept } : {})
  t.teardown(() => peer.close())
  return {
    ...rig,
    peer,
    call: (body: string | null = sdp()) =>
      peer.invite({
        uri: `sip:${TEST_NUMBER}@127.0.0.1:${rig.udp}`,
        target: { address: '127.0.0.1', port: rig.udp },
        sdp: body,
      }),
    /** Requests of the service that reached the peer. */
    received: () =>
      peer.log.flatMap(({ direction, message }) =>
        direction === 'in' && message.method ? [message.method] : [],
      ),
  }
}

const is200 = (message: SipMessage) => message.status === 200 && cseqOf(message).method === 'INVITE'

t.test('the first 200 is lost: it is retransmitted, and nothing plays before the ACK', async (t) => {
  let lost = 0
  const rig = await rigFor(t, (message, direction) => {
    if (direction !== 'in' || !is200(message) || lost > 0) return 'pass'
    lost++
    return 'drop'
  })
  const call = rig.call()
  await until(() => lost === 1)
  t.notOk(rig.pool.only().started)
  t.equal(await call.final(), 200)
  await until(() => rig.types().includes('answered'))
  t.ok(rig.pool.only().started)
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
})

t.test('the first ACK is lost: the next one starts the call', async (t) => {
  let lost = 0
  const rig = await rigFor(t, (message, direction) => {
    if (direction !== 'out' || message.method !== 'ACK' || lost > 0) return 'pass'
    lost++
    return 'drop'
  })
  const call = rig.call()
  await until(() => rig.types().includes('answered'))
  t.equal(lost, 1)
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
  t.equal(rig.types().filter((type) => type === 'answered').length, 1)
})

t.test('a CANCEL that arrives after the 200 changes nothing', async (t) => {
  const rig = await rigFor(t)
  const call = rig.call()
  call.autoAck = false
  t.equal(await call.final(), 200)
  call.cancel()
  await rig.peer.waitFor((message) => message.status !== null && cseqOf(message).method === 'CANCEL')
  call.ack()
  await until(() => rig.types().includes('answered'))
  t.equal(rig.callManager.live, 1)
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
})

t.test('CANCEL and 200 cross: in either order the call ends once and no dialog remains', async (t) => {
  for (const delayMs of [0, 1, 2, 3, 5, 8]) {
    await t.test(`CANCEL ${delayMs} ms after the INVITE`, async (t) => {
      const rig = await rigFor(t)
      const call = rig.call()
      await rig.peer.waitFor((message) => message.status === 100)
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      call.cancel()
      const status = await call.final()
      t.ok(status === 487 || status === 200, String(status))
      if (status === 200) call.bye()
      const { ending } = await rig.ended()
      t.equal(ending.cause, 'caller_hangup')
      await until(() => rig.pool.live.length === 0 && rig.server.stats().dialogs === 0)
    })
  }
})

t.test('our hang-up between 200 and ACK waits for the ACK (RFC 3261 15)', async (t) => {
  const rig = await rigFor(t)
  const call = rig.call()
  call.autoAck = false
  t.equal(await call.final(), 200)
  t.ok(rig.callManager.hangUp('call_in_1', 'operator'))
  call.ack()
  await call.ended()
  const acked = rig.peer.log.findIndex(({ message }) => message.method === 'ACK')
  const bye = rig.peer.log.findIndex(({ message }) => message.method === 'BYE')
  t.ok(acked < bye, 'BYE after the ACK')
  t.match((await rig.ended()).ending, { cause: 'api_hangup' })
  t.notOk(rig.pool.only().started, 'no greeting for a call that is over')
})

t.test('the caller hangs up before its ACK arrives', async (t) => {
  const rig = await rigFor(t)
  const call = rig.call()
  call.autoAck = false
  t.equal(await call.final(), 200)
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
  t.notOk(rig.pool.only().started)
})

t.test('both sides hang up at the same time', async (t) => {
  const rig = await rigFor(t)
  const call = rig.call()
  await until(() => rig.types().includes('answered'))
  call.bye()
  rig.callManager.hangUp('call_in_1', 'operator')
  await rig.ended()
  t.equal(rig.types().filter((type) => type === 'ended').length, 1)
  await until(() => rig.server.stats().dialogs === 0)
})

t.test('a re-INVITE right after the ACK, an UPDATE, and unsupported requests', async (t) => {
  const rig = await rigFor(t)
  const call = rig.call()
  t.equal(await call.final(), 200)
  call.reinvite(sdp('inactive'))
  t.equal(await call.final(), 200)
  t.match(call.remoteSdp, /a=inactive/)
  await until(() => rig.types().includes('held'))
  for (const [method, status] of [
    ['INFO', 200],
    ['OPTIONS', 200],
    ['UPDATE', 200],
    ['REFER', 400],
  ] as const) {
    call.request(method)
    const answer = await rig.peer.waitFor(
      (message) => message.status !== null && cseqOf(message).method === method,
    )
    t.equal(answer.status, status, method)
  }
  call.reinvite('not a description')
  t.equal(await call.final(), 400)
  call.reinvite(sdp('sendrecv', '18'))
  t.equal(await call.final(), 488)
  call.reinvite(sdp())
  t.equal(await call.final(), 200)
  t.match(call.remoteSdp, /a=sendrecv/)
  await until(() => rig.types().filter((type) => type === 'held').length === 2)
  t.equal(rig.callManager.live, 1)
  call.bye()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
})

t.test('two INVITEs of one caller make two calls', async (t) => {
  const rig = await rigFor(t)
  const one = rig.call()
  const two = rig.call()
  t.equal(await one.final(), 200)
  t.equal(await two.final(), 200)
  await until(() => rig.types().filter((type) => type === 'answered').length === 2)
  t.equal(rig.callManager.live, 2)
  one.bye()
  await until(() => rig.callManager.live === 1)
  two.bye()
  await until(() => rig.callManager.live === 0)
})
