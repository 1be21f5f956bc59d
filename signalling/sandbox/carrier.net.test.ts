import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, TEST_NUMBER, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import { runSipp } from '../../fixtures/sip/sipp.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { interfaceAddresses } from '../embedded/transport/local-address.js'
import { openSandboxCarrier } from './carrier.js'

assertNothingLeft(t)

interface Listener {
  readonly transport: 'udp' | 'tcp'
  readonly address: string
}

async function rigFor(
  t: Pick<typeof import('tap').default, 'teardown'>,
  { transport, address }: Listener = { transport: 'udp', address: '127.0.0.1' },
) {
  const rig = await openSignallingRig({ listen: [{ transport, address, port: 0 }] })
  t.teardown(() => rig.close())
  const carrier = await openSandboxCarrier({
    pool: rig.pool,
    clock: systemClock,
    log: silentLog,
    serviceAddress: { host: address, port: rig[transport], transport },
    scripts: rig.scripts,
  })
  t.teardown(() => carrier.close())
  return {
    ...rig,
    carrier,
    dial(to: string, ringTimeoutMs = 5000) {
      rig.callManager.dial(rig.permit('call_1', to), {
        party: { kind: 'agent', agent: testAgent },
        gateway: carrier.gateway,
        ringTimeoutMs,
        recordTo: null,
      })
    },
  }
}

t.test('a simulated person answers, and the media session gets the script', async (t) => {
  const rig = await rigFor(t)
  rig.dial('+919000000010')
  await until(() => rig.types().includes('answered'))
  t.strictSame(rig.types(), ['dialing', 'ringing', 'answered'])
  const agent = rig.pool.only('agent')
  const person = rig.pool.only('persona')
  t.match(person.party, { kind: 'persona', persona: { name: 'interrupts' } })
  t.match(agent.script, { utterances: [{ clip: 'interrupt-wait', text: 'Wait, one moment please.' }] })
  await until(() => person.started)
  t.equal(person.script, null)
  t.equal(agent.remotes[0]?.port, person.port, 'each has the address of the other')
  t.equal(person.remotes[0]?.port, agent.port)

  person.say({ type: 'hang_up' })
  t.strictSame((await rig.ended()).ending, { by: 'callee', cause: 'caller_hangup', fault: 'none' })
  await until(() => rig.carrier.live === 0)
  t.equal(rig.pool.live.length, 0)
  t.equal(rig.scripts.size, 0, 'nothing is remembered of the call')
})

t.test('the agent hangs up on a person', async (t) => {
  const rig = await rigFor(t)
  rig.dial('+919812345678')
  await until(() => rig.types().includes('answered'))
  t.match(rig.pool.only('persona').party, { persona: { name: 'polite' } })
  rig.pool.only('agent').say({ type: 'finished', why: 'agent_hangup' })
  t.match((await rig.ended()).ending, { cause: 'agent_hangup' })
  await until(() => rig.carrier.live === 0)
})

t.test('numbers that do not answer', async (t) => {
  const cases: readonly [string, number, object][] = [
    ['+919000000002', 5000, { cause: 'busy', sip: 486 }],
    ['+919000000005', 5000, { cause: 'carrier_error', fault: 'carrier', sip: 503 }],
    ['+919000000003', 700, { by: 'engine', cause: 'no_answer' }],
  ]
  for (const [to, ringTimeoutMs, ending] of cases) {
    await t.test(to, async (t) => {
      const rig = await rigFor(t)
      rig.dial(to, ringTimeoutMs)
      t.match((await rig.ended()).ending, ending)
      await until(() => rig.carrier.live === 0 && rig.pool.live.length === 0)
    })
  }
})

t.test('a call ended while it rings', async (t) => {
  const rig = await rigFor(t)
  rig.dial('+919812345678')
  await until(() => rig.types().includes('ringing'))
  rig.callManager.hangUp('call_1', 'operator')
  t.match((await rig.ended()).ending, { cause: 'api_hangup' })
  await until(() => rig.carrier.live === 0)
})

t.test('a simulated person places a call', async (t) => {
  const rig = await rigFor(t)
  await rig.carrier.callIn({
    from: '+919800000007',
    to: TEST_NUMBER,
    persona: 'presses_digits',
    sipCallId: 'in-1',
  })
  await until(() => rig.types().includes('answered'))
  t.match(rig.invites, [
    { sipCallId: 'in-1', from: '+919800000007', to: TEST_NUMBER, sourceAddress: '127.0.0.1' },
  ])
  t.match(rig.pool.only('agent').script, { utterances: [{ clip: 'thank-you-bye' }] })
  rig.pool.only('persona').say({ type: 'hang_up' })
  t.strictSame((await rig.ended()).ending, { by: 'caller', cause: 'caller_hangup', fault: 'none' })
  await until(() => rig.carrier.live === 0)
  await t.rejects(rig.carrier.callIn({ from: '1', to: '2', persona: 'nobody', sipCallId: 'in-2' }))
})

const [outside] = interfaceAddresses(4)
const hasIpv6 = interfaceAddresses(6).includes('::1')

for (const { transport, address, skip } of [
  { transport: 'tcp', address: '127.0.0.1', skip: false },
  { transport: 'udp', address: outside ?? '', skip: outside === '127.0.0.1' && 'only loopback here' },
  { transport: 'tcp', address: outside ?? '', skip: outside === '127.0.0.1' && 'only loopback here' },
  { transport: 'udp', address: '::1', skip: !hasIpv6 && 'no IPv6 loopback here' },
] as const) {
  t.test(
    `calls in both directions with a service that listens on ${transport} ${address} only`,
    { skip },
    async (t) => {
      const rig = await rigFor(t, { transport, address })
      rig.dial('+919812345678')
      await until(() => rig.types().includes('answered'))
      rig.callManager.hangUp('call_1', 'operator')
      await until(() => rig.types().includes('ended') && rig.carrier.live === 0)
      await rig.carrier.callIn({
        from: '+919800000007',
        to: TEST_NUMBER,
        persona: 'polite',
        sipCallId: 'in-4',
      })
      await until(() => rig.types().filter((type) => type === 'answered').length === 2)
      t.match(rig.invites, [{ sourceAddress: address === '::1' ? '::1' : '127.0.0.1' }])
    },
  )
}

t.test('only the service may call the sandbox', async (t) => {
  const rig = await rigFor(t)
  await runSipp({
    scenario: 'refused',
    service: '+919000000001',
    replace: {
      STATUS: '403',
      SDP: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n',
    },
    target: { host: '127.0.0.1', port: rig.carrier.gateway.port },
  })
  t.equal(rig.pool.sessions.size, 0)
})

t.test('closing the carrier ends its calls; the service sees them end', async (t) => {
  const rig = await rigFor(t)
  rig.dial('+919000000009')
  await until(() => rig.types().includes('answered'))
  await rig.carrier.close()
  t.match((await rig.ended()).ending, { cause: 'caller_hangup' })
  await t.rejects(rig.carrier.callIn({ from: '1', to: '2', persona: 'polite', sipCallId: 'in-3' }), {
    code: 'closed',
  })
})
