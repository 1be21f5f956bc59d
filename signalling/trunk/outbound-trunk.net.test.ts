import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, PATIENT, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import { OPEN_GATE } from '../../fixtures/sip/open-gate.js'
import type { SipDialog as PeerDialog } from '../../fixtures/sip/sip-dialog.js'
import { DigestGuard, type DigestGuardOptions } from '../../fixtures/sip/sip-guard.js'
import { cseqOf, header, headerValues, type SipMessage, tagOf } from '../../fixtures/sip/sip-message.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'
import { systemClock } from '../../media/base/clock.js'
import type { OutboundCallSpec, OutboundTrunk } from '../call/ports.js'
import type { DialGate } from '../sip/dial-gate.js'
import { probeTrunk } from './trunk-probe.js'

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

const account = { username: 'pilot', password: 'c4rrier' }
const TO = '+919876543210'

const SDP = (port = 4000, payload = '8 101') =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP ${payload}`,
    ...(payload.includes('101') ? ['a=rtpmap:101 telephone-event/8000'] : []),
    '',
  ].join('\r\n')

const route: OutboundTrunk = {
  trunkId: 'trk_1',
  limits: { maxConcurrent: 10, callsPerMinute: 60, allowedPrefixes: ['+91'] },
  numberFormat: 'e164',
  callerIdPolicy: 'did',
  callerId: null,
  fromDomain: null,
  headers: {},
  credentials: null,
}

interface Carrier {
  readonly guard?: DigestGuardOptions
  readonly transport?: 'udp' | 'tcp'
  readonly answer?: (call: PeerDialog) => void
  readonly gate?: DialGate
}

/** Opens the service and a carrier that answers authenticated requests. */
async function rigFor(t: Assert, carrier: Carrier = {}) {
  const { gate } = carrier
  const rig = await openSignallingRig({ timers: PATIENT, ...(gate === undefined ? {} : { gate }) })
  t.teardown(() => rig.close())
  const guard = carrier.guard ? new DigestGuard(carrier.guard) : null
  const invites: SipMessage[] = []
  const calls: PeerDialog[] = []
  const peer = await openSipPeer({
    transport: carrier.transport ?? 'udp',
    onRequest: (request, from, self) => {
      if (request.method === 'INVITE') invites.push(request)
      return guard !== null && request.method === 'INVITE' && !guard.admits(self, request, from)
    },
    onInvite: (call) => {
      calls.push(call)
      if (carrier.answer) carrier.answer(call)
      else call.answer(SDP())
    },
  })
  t.teardown(() => peer.close())
  let count = 0
  return {
    ...rig,
    peer,
    guard,
    invites,
    calls,
    dial(trunk: Partial<OutboundTrunk> = {}, to = TO, host = '127.0.0.1', publicOnly = false) {
      const callId = `call_${++count}`
      const plan: OutboundCallSpec = {
        party: { kind: 'agent', agent: testAgent },
        gateway: {
          host,
          port: peer.port,
          transport: carrier.transport ?? 'udp',
          codecs: ['PCMA', 'PCMU'],
          publicOnly,
          trunk: { ...route, ...trunk },
        },
        ringTimeoutMs: 5000,
        recordTo: null,
      }
      rig.callManager.dial(rig.permit(callId, to), plan)
      return callId
    },
    of: (callId: string) => rig.events.filter((event) => event.callId === callId),
    async endOf(callId: string) {
      await until(() => rig.events.some((event) => event.callId === callId && event.type === 'ended'))
      const ended = rig.events.find((event) => event.callId === callId && event.type === 'ended')
      return ended?.type === 'ended' ? ended.ending : null
    },
  }
}

for (const transport of ['udp', 'tcp'] as const) {
  for (const guard of [
    { ...account, algorithm: 'MD5' },
    { ...account, algorithm: 'SHA-256', proxy: true },
    { ...account, algorithm: 'MD5', qop: '' },
  ] as const) {
    t.test(`${transport}: digest ${JSON.stringify(guard)}`, async (t) => {
      const rig = await rigFor(t, { transport, guard })
      const callId = rig.dial({ credentials: account })
      await until(() => rig.types().includes('answered'))
      const [first, second] = rig.invites
      if (!first || !second) throw new Error('two INVITEs')
      t.equal(header(second, 'call-id'), header(first, 'call-id'))
      t.equal(header(second, 'from'), header(first, 'from'), 'with its tag')
      t.equal(cseqOf(second).number, cseqOf(first).number + 1)
      t.not(headerValues(second, 'via')[0], headerValues(first, 'via')[0], 'a new transaction')
      t.equal(rig.invites.length, 2)
      rig.callManager.hangUp(callId, 'operator')
      t.match(await rig.endOf(callId), { cause: 'api_hangup' })
      t.strictSame(rig.types(), ['dialing', 'answered', 'ended'], 'the challenge is nobody’s business')
    })
  }
}

t.test('a wrong password ends the call after one attempt; without credentials there is none', async (t) => {
  const rig = await rigFor(t, { guard: account })
  t.match(await rig.endOf(rig.dial({ credentials: { ...account, password: 'x' } })), {
    sip: 403,
    cause: 'carrier_error',
  })
  t.equal(rig.invites.length, 2)
  t.match(await rig.endOf(rig.dial()), { sip: 401, cause: 'carrier_error' })
  t.equal(rig.invites.length, 3)
})

t.test('a challenge that comes after the time of the call ends it', async (t) => {
  const rig = await rigFor(t, { guard: account, gate: { ...OPEN_GATE, allows: () => false } })
  t.match(await rig.endOf(rig.dial({ credentials: account })), { cause: 'gate_blocked', fault: 'none' })
  t.equal(rig.invites.length, 1)
})

t.test('an INVITE whose time has ended is not sent', async (t) => {
  const rig = await rigFor(t, { gate: { ...OPEN_GATE, spend: () => 'lapsed' } })
  t.match(await rig.endOf(rig.dial()), { cause: 'gate_blocked', fault: 'none' })
  t.equal(rig.invites.length, 0)
})

t.test('a nonce that is stale at once is renewed', async (t) => {
  const rig = await rigFor(t, { guard: { ...account, uses: 0 } })
  t.match(await rig.endOf(rig.dial({ credentials: account })), { sip: 401 })
  t.equal(rig.invites.length, 5, 'not for ever: four answers')
})

t.test('a cancellation during the challenge prevents the second INVITE', async (t) => {
  const rig = await rigFor(t, { guard: account })
  rig.peer.intercept = ({ status }, direction) =>
    direction === 'out' && status === 401 ? { delayMs: 150 } : 'pass'
  const callId = rig.dial({ credentials: account })
  await until(() => rig.invites.length === 1)
  rig.callManager.hangUp(callId, 'operator')
  t.match(await rig.endOf(callId), { cause: 'api_hangup' })
  await new Promise<void>((resolve) => setTimeout(resolve, 250))
  t.equal(rig.invites.length, 1)
})

t.test("numbers, identity and headers follow the trunk's settings", async (t) => {
  const rig = await rigFor(t)
  const seen = async (trunk: Partial<OutboundTrunk>) => {
    const before = rig.invites.length
    const callId = rig.dial(trunk)
    await until(() => rig.invites.length > before && rig.of(callId).some(({ type }) => type === 'answered'))
    rig.callManager.hangUp(callId, 'operator')
    await rig.endOf(callId)
    const invite = rig.invites.at(-1)
    if (!invite) throw new Error('no INVITE')
    t.equal(header(invite, 'call-id'), callId, 'the Call-ID is the id of the call')
    return {
      uri: invite.uri?.replace(/@.*/, ''),
      from: header(invite, 'from').replace(/;tag=.*/, ''),
      asserted: header(invite, 'p-asserted-identity'),
      account: header(invite, 'x-account'),
      tagged: tagOf(header(invite, 'from')) !== null,
    }
  }
  const own = `127.0.0.1:${rig.udp}`
  t.strictSame(await seen({}), {
    uri: 'sip:+919876543210',
    from: `<sip:+911140000009@${own}>`,
    asserted: `<sip:+911140000009@${own}>`,
    account: '',
    tagged: true,
  })
  t.strictSame(
    await seen({ numberFormat: 'national0', fromDomain: 'ims.example', headers: { 'X-Account': '17' } }),
    {
      uri: 'sip:09876543210',
      from: '<sip:01140000009@ims.example>',
      asserted: '<sip:01140000009@ims.example>',
      account: '17',
      tagged: true,
    },
  )
  t.match(
    await seen({ numberFormat: 'national', callerIdPolicy: 'trunk_default', callerId: '+911171366900' }),
    {
      uri: 'sip:9876543210',
      from: `<sip:1171366900@${own}>`,
      asserted: `<sip:1140000009@${own}>`,
    },
  )
  t.match(await seen({ callerIdPolicy: 'trunk_default', callerId: 'pilot user' }), {
    from: `<sip:pilot%20user@${own}>`,
  })
})

t.test("the trunk's limits prevent INVITEs", async (t) => {
  const rig = await rigFor(t)
  const limits = { maxConcurrent: 2, callsPerMinute: 3, allowedPrefixes: ['+91'] }
  const abroad = rig.dial({ limits }, '+14155550100')
  t.strictSame(await rig.endOf(abroad), {
    by: 'engine',
    cause: 'rejected',
    fault: 'customer',
    note: 'trunk_prefix',
  })
  t.strictSame(
    rig.of(abroad).map(({ type }) => type),
    ['ended'],
  )
  const first = rig.dial({ limits })
  const second = rig.dial({ limits })
  t.match(await rig.endOf(rig.dial({ limits })), { cause: 'pool_full', note: 'trunk_full' })
  const other = rig.dial({ limits, trunkId: 'trk_2' })
  await until(() => rig.types().filter((type) => type === 'answered').length === 3)
  rig.callManager.hangUp(first, 'operator')
  await rig.endOf(first)
  const third = rig.dial({ limits })
  await until(() => rig.of(third).some(({ type }) => type === 'answered'))
  rig.callManager.hangUp(second, 'operator')
  await rig.endOf(second)
  t.match(await rig.endOf(rig.dial({ limits })), { cause: 'pool_full', note: 'trunk_rate' })
  t.equal(rig.invites.length, 4)
  for (const callId of [third, other]) rig.callManager.hangUp(callId, 'operator')
  await rig.endOf(third)
  await rig.endOf(other)
})

t.test('no form of ringing counts as an answer', async (t) => {
  const forms: readonly [string, readonly [number, string, string | null][]][] = [
    ['180', [[180, 'Ringing', null]]],
    ['183 with early media', [[183, 'Session Progress', SDP()]]],
    ['183 without', [[183, 'Session Progress', null]]],
    [
      '183 with early media, then 180',
      [
        [183, 'Session Progress', SDP()],
        [180, 'Ringing', null],
      ],
    ],
    ['180 with early media', [[180, 'Ringing', SDP()]]],
    [
      'several, from two branches, with other media each',
      [
        [180, 'Ringing', null],
        [183, 'Session Progress', SDP(4002)],
        [181, 'Call Is Being Forwarded', null],
        [183, 'Session Progress', SDP(4004, '0')],
        [182, 'Queued', null],
        [180, 'Ringing', null],
      ],
    ],
  ]
  for (const [name, provisionals] of forms) {
    await t.test(name, async (t) => {
      const rig = await rigFor(t, { answer: () => {} })
      const callId = rig.dial()
      await until(() => rig.calls.length === 1)
      const [call] = rig.calls
      const [invite] = rig.invites
      if (!call || !invite) throw new Error('no call')
      const via = headerValues(invite, 'via')[0] ?? ''
      const port = Number(/:(\d+)/.exec(via.replace(/^\S+/, ''))?.[1])
      for (const [index, [status, reason, body]] of provisionals.entries()) {
        rig.peer.respond(invite, { address: '127.0.0.1', port }, status, reason, {
          tag: `branch${index % 2}`,
          headers: [['Contact', rig.peer.contact]],
          ...(body === null ? {} : { body }),
        })
      }
      await until(() => rig.types().includes('ringing'))
      await new Promise<void>((resolve) => setTimeout(resolve, 100))
      t.strictSame(rig.types(), ['dialing', 'ringing'], 'told once')
      t.notOk(rig.pool.only().started, 'no media before the answer')
      call.answer(SDP(4010))
      await until(() => rig.types().includes('answered'))
      t.match(rig.pool.only().remotes.at(-1), { port: 4010, codec: 'PCMA' }, 'the answer of the 200 counts')
      rig.callManager.hangUp(callId, 'operator')
      await rig.endOf(callId)
    })
  }
})

t.test('the callee changes address, codec and direction during the call', async (t) => {
  const rig = await rigFor(t)
  const callId = rig.dial()
  await until(() => rig.types().includes('answered'))
  const [call] = rig.calls
  if (!call) throw new Error('no call')
  const renegotiate = async (sdp: string) => {
    call.reinvite(sdp)
    t.equal(await call.final(), 200)
    return call.remoteSdp ?? ''
  }
  t.match(await renegotiate(SDP(4020, '8')), /m=audio \d+ RTP\/AVP 8\r/, 'another port, no keys')
  t.match(await renegotiate(SDP(4020, '0 101')), /m=audio \d+ RTP\/AVP 0 101/, 'another codec')
  t.match(
    await renegotiate(SDP(4020, '0 101').replace('c=IN IP4 127.0.0.1', 'c=IN IP4 127.0.0.2')),
    /a=sendrecv/,
  )
  t.match(await renegotiate(`${SDP(4020, '0 101')}a=inactive\r\n`), /a=inactive/)
  t.match(await renegotiate(SDP(4020, '0 101')), /a=sendrecv/)
  t.match(await renegotiate(SDP(4020, '0 101')), /a=sendrecv/, 'a refresh without a change')
  t.match(
    rig.pool
      .only()
      .remotes.map(({ address, port, codec, dtmfPayloadType, send }) => [
        address,
        port,
        codec,
        dtmfPayloadType,
        send,
      ]),
    [
      ['127.0.0.1', 4000, 'PCMA', 101, true],
      ['127.0.0.1', 4020, 'PCMA', null, true],
      ['127.0.0.1', 4020, 'PCMU', 101, true],
      ['127.0.0.2', 4020, 'PCMU', 101, true],
      ['127.0.0.1', 4020, 'PCMU', 101, false],
      ['127.0.0.1', 4020, 'PCMU', 101, true],
      ['127.0.0.1', 4020, 'PCMU', 101, true],
    ],
  )
  t.strictSame(rig.types(), ['dialing', 'answered', 'held', 'held'])
  call.bye()
  t.match(await rig.endOf(callId), { by: 'callee', cause: 'caller_hangup' })
})

t.test('nothing is sent to a private address that a customer named', async (t) => {
  const rig = await rigFor(t)
  const callId = rig.dial({}, TO, '127.0.0.1', true)
  t.match(await rig.endOf(callId), { cause: 'carrier_error' })
  const named = {
    host: '127.0.0.1',
    port: rig.peer.port,
    transport: 'udp',
    domain: null,
    credentials: account,
    publicOnly: true,
  } as const
  for (const method of ['options', 'register'] as const) {
    const probe = await probeTrunk({ sip: rig.sip, clock: systemClock }, named, method)
    t.match(probe, { ok: false, sipStatus: null, error: /cannot be reached/ })
  }
  t.same(rig.peer.log, [])
  const own = rig.dial()
  await until(() => rig.of(own).some(({ type }) => type === 'answered'))
  t.equal(rig.invites.length, 1, 'the operator may name it')
})
