import { createSocket } from 'node:dgram'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import {
  EXTERNAL,
  openSignallingRig,
  type RigOptions,
  TEST_NUMBER,
} from '../../fixtures/rigs/signalling-rig.js'
import { runSipp, startSipp } from '../../fixtures/sip/sipp.js'

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

async function rigFor(t: Assert, options: RigOptions = {}) {
  const rig = await openSignallingRig(options)
  t.teardown(() => rig.close())
  const target = (transport: 'udp' | 'tcp') => ({
    transport,
    target: { host: '127.0.0.1', port: transport === 'udp' ? rig.udp : rig.tcp },
  })
  return { ...rig, target }
}

const G711 = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'].join('\r\n')
const NO_COMMON_CODEC = `${G711}\r\nm=audio 4000 RTP/AVP 18\r\n`

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`${transport}: the caller hangs up`, async (t) => {
    const rig = await rigFor(t)
    await runSipp({ scenario: 'call-bye', ...rig.target(transport) })
    const { ending } = await rig.ended()
    t.strictSame(ending, { by: 'caller', cause: 'caller_hangup', fault: 'none' })
    t.strictSame(rig.types(), ['ringing', 'answered', 'ended'])
    const session = rig.pool.only()
    t.match(session, { started: true, closed: 'hangup', script: null })
    t.match(session.remotes, [
      {
        address: '127.0.0.1',
        codec: 'PCMA',
        payloadType: 8,
        dtmfPayloadType: 101,
        send: true,
        receive: true,
      },
    ])
    t.match(rig.invites, [{ to: TEST_NUMBER, from: '+919811111111', sourceAddress: '127.0.0.1', transport }])
    t.equal(rig.callManager.live, 0)
  })

  t.test(`${transport}: the agent hangs up`, async (t) => {
    const rig = await rigFor(t)
    rig.pool.onStart = (session) => session.say({ type: 'finished', why: 'agent_hangup' })
    await runSipp({ scenario: 'call-byed', ...rig.target(transport) })
    t.strictSame((await rig.ended()).ending, { by: 'agent', cause: 'agent_hangup', fault: 'none' })
  })

  t.test(`${transport}: the caller cancels while it rings`, async (t) => {
    let release = () => {}
    const rig = await rigFor(t)
    // The session opens only after the CANCEL.
    const open = rig.pool.open.bind(rig.pool)
    rig.pool.open = async (...args) => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return open(...args)
    }
    await runSipp({ scenario: 'cancel', ...rig.target(transport) })
    release()
    t.strictSame((await rig.ended()).ending, {
      by: 'caller',
      cause: 'caller_hangup',
      fault: 'none',
      sip: 487,
    })
    t.strictSame(rig.types(), ['ringing', 'ended'])
    t.match(rig.pool.only(), { started: false, closed: 'hangup' })
  })

  t.test(`${transport}: hold and resume`, async (t) => {
    const rig = await rigFor(t)
    await runSipp({ scenario: 'hold', ...rig.target(transport) })
    await rig.ended()
    t.strictSame(rig.types(), ['ringing', 'answered', 'held', 'held', 'ended'])
    t.strictSame(
      rig.pool.only().remotes.map(({ send, receive }) => [send, receive]),
      [
        [true, true],
        [false, true],
        [true, true],
      ],
    )
  })

  t.test(`${transport}: delayed offer, the answer arrives in the ACK`, async (t) => {
    const rig = await rigFor(t)
    await runSipp({ scenario: 'delayed', ...rig.target(transport) })
    await rig.ended()
    t.strictSame(rig.types(), ['ringing', 'answered', 'ended'])
    t.match(rig.pool.only().remotes, [{ codec: 'PCMU', payloadType: 0, dtmfPayloadType: 101 }])
  })
}

t.test('rejections, each with its status', async (t) => {
  const rig = await rigFor(t)
  const good = `${G711}\r\nm=audio 4000 RTP/AVP 8\r\n`
  const cases: readonly [string, string, number][] = [
    ['+911140009999', good, 404],
    ['+911140000002', good, 486],
    ['+911140000003', good, 403],
    ['+911140000004', good, 503],
    ['+911140000005', good, 500],
    [TEST_NUMBER, NO_COMMON_CODEC, 488],
    [TEST_NUMBER, `${G711}\r\nm=audio 4000 RTP/SAVP 8\r\n`, 488],
    [TEST_NUMBER, 'this is no session description', 400],
  ]
  for (const [service, sdp, status] of cases) {
    await runSipp({
      scenario: 'refused',
      service,
      replace: { STATUS: String(status), SDP: sdp },
      ...rig.target('udp'),
    })
    t.pass(`${service} ${status}`)
  }
  await runSipp({ scenario: 'require-unknown', ...rig.target('udp') })
  t.strictSame(rig.events, [], 'no call came of any')
  t.equal(rig.invites.length, 5, 'what cannot be served is refused before the directory is asked')
  t.equal(rig.pool.sessions.size, 0)
})

t.test('other methods', async (t) => {
  const rig = await rigFor(t)
  await runSipp({ scenario: 'options', ...rig.target('udp') })
  await runSipp({ scenario: 'register', ...rig.target('udp') })
  t.pass('200 and 405')
})

t.test('a re-INVITE without a common codec is rejected and changes nothing', async (t) => {
  const rig = await rigFor(t)
  await runSipp({ scenario: 'reinvite-refused', ...rig.target('udp') })
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
  t.equal(rig.pool.only().remotes.length, 1)
})

t.test('a re-INVITE without SDP gets our offer', async (t) => {
  const rig = await rigFor(t)
  await runSipp({ scenario: 'reinvite-delayed', ...rig.target('udp') })
  await rig.ended()
  t.strictSame(rig.types(), ['ringing', 'answered', 'held', 'ended'])
})

t.test('a delayed offer without an answer ends with our BYE', async (t) => {
  const rig = await rigFor(t)
  await runSipp({ scenario: 'delayed-unanswered', ...rig.target('udp') })
  t.match((await rig.ended()).ending, { cause: 'carrier_error', fault: 'carrier', sip: 400 })
  t.notOk(rig.pool.only().started, 'no media without an agreement')
})

t.test('a lost ACK: the 200 is retransmitted, then the call ends', async (t) => {
  const rig = await rigFor(t, { timers: { T1: 20, T2: 160, T4: 200 } })
  await runSipp({ scenario: 'lost-ack', ...rig.target('udp') })
  t.strictSame((await rig.ended()).ending, {
    by: 'engine',
    cause: 'carrier_error',
    fault: 'carrier',
    note: 'ACK timeout',
  })
  t.notOk(rig.pool.only().started, 'no media before the ACK')
})

t.test('a hang-up through the API sends BYE to the caller', async (t) => {
  const rig = await rigFor(t)
  const sipp = await startSipp({ scenario: 'call-byed', ...rig.target('udp') })
  await until(() => rig.types().includes('answered'))
  t.notOk(rig.callManager.hangUp('call_unknown', 'operator'))
  t.ok(rig.callManager.hangUp('call_in_1', 'operator'))
  await sipp.done
  t.strictSame((await rig.ended()).ending, { by: 'operator', cause: 'api_hangup', fault: 'none' })
})

t.test('a full pool answers 503, a dead worker ends its calls', async (t) => {
  const { EngineError } = await import('../../media/base/errors.js')
  const rig = await rigFor(t)
  rig.pool.refuse = new EngineError('overloaded', 'no room')
  await runSipp({
    scenario: 'refused',
    replace: { STATUS: '503', SDP: `${G711}\r\nm=audio 4000 RTP/AVP 8\r\n` },
    ...rig.target('udp'),
  })
  t.match((await rig.ended()).ending, { cause: 'pool_full', fault: 'ours' })

  rig.events.length = 0
  const sipp = await startSipp({ scenario: 'call-byed', ...rig.target('udp') })
  await until(() => rig.types().includes('answered'))
  rig.pool.loseWorker()
  await sipp.done
  t.match((await rig.ended()).ending, { cause: 'internal', fault: 'ours' })
})

t.test('draining: live calls finish, new ones get 503, remaining ones are ended at the limit', async (t) => {
  const rig = await rigFor(t)
  const sipp = await startSipp({ scenario: 'call-byed', ...rig.target('udp') })
  await until(() => rig.types().includes('answered'))
  const drained = rig.callManager.drain(1500)
  await runSipp({
    scenario: 'refused',
    replace: { STATUS: '503', SDP: `${G711}\r\nm=audio 4000 RTP/AVP 8\r\n` },
    ...rig.target('udp'),
  })
  t.equal(rig.callManager.live, 1)
  await drained
  t.equal(rig.callManager.live, 0)
  await sipp.done
  t.match((await rig.ended()).ending, { note: 'shutdown' })
})

t.test('garbage datagrams and a burst of calls', async (t) => {
  const rig = await rigFor(t)
  const socket = createSocket('udp4')
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  for (const garbage of ['', '\r\n\r\n', 'hello', 'INVITE sip:a SIP/2.0\r\n\r\n', '\u0000'.repeat(2000)]) {
    socket.send(garbage, rig.udp, '127.0.0.1')
  }
  await runSipp({ scenario: 'call-bye', calls: 20, callsPerSecond: 40, ...rig.target('udp') })
  await until(() => rig.events.filter(({ type }) => type === 'ended').length === 20)
  t.equal(rig.events.filter(({ type }) => type === 'answered').length, 20)
  t.equal(rig.pool.live.length, 0)
  t.equal(rig.callManager.live, 0)
})

t.test(
  'the SIP server disconnects: its calls end with fault ours',
  { skip: EXTERNAL !== null },
  async (t) => {
    const rig = await rigFor(t)
    const sipp = await startSipp({ scenario: 'call-byed', ...rig.target('udp') })
    await until(() => rig.types().includes('answered'))
    await rig.server.close()
    t.match((await rig.ended()).ending, { cause: 'internal', fault: 'ours' })
    t.notOk(rig.sip.connected)
    sipp.stop()
    await sipp.done.catch(() => {})
  },
)
