import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { inCall, openUdpPeer, readRawSipMessage, request } from '../../fixtures/rigs/embedded-rig.js'
import {
  openSignallingRig,
  type RigOptions,
  TEST_NUMBER,
  testAgent,
} from '../../fixtures/rigs/signalling-rig.js'
import { header, type SipMessage } from '../../fixtures/sip/sip-message.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'
import { runSipp } from '../../fixtures/sip/sipp.js'
import type { InboundTrunk } from '../call/ports.js'
import { parseCidr } from './cidr.js'
import { DigestClient } from './digest-client.js'

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

const ranges = (...texts: string[]) => texts.flatMap((text) => parseCidr(text) ?? [])
const trunk = (over: Partial<InboundTrunk> = {}): InboundTrunk => ({
  id: 'trk_1',
  inboundAuth: 'digest',
  ranges: [],
  realm: 'acme.example',
  algorithm: 'MD5',
  username: 'acme',
  password: 'first-secret',
  limits: { maxConcurrent: 10, callsPerMinute: 60, allowedPrefixes: ['+91'] },
  credentials: null,
  ...over,
})

const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n'

async function rigFor(t: Assert, trunks: readonly InboundTrunk[], options: RigOptions = {}) {
  const rig = await openSignallingRig({ ...options, trunks })
  t.teardown(() => rig.close())
  const target = (transport: 'udp' | 'tcp') => ({
    transport,
    target: { host: '127.0.0.1', port: transport === 'udp' ? rig.udp : rig.tcp },
  })
  const peer = await openSipPeer()
  t.teardown(() => peer.close())
  const far = { transport: 'udp', address: '127.0.0.1', port: rig.udp } as const
  /** Sends an INVITE as the peer and resolves with its final response. */
  const invite = async (
    to = TEST_NUMBER,
    headers: readonly (readonly [string, string])[] = [],
    host = '127.0.0.1',
  ) => {
    const uri = `sip:${to}@${host}:${rig.udp}`
    const call = peer.invite({ uri, target: far, sdp: SDP, headers })
    const status = await call.final()
    const answer = peer.log.find(
      ({ direction, message }) =>
        direction === 'in' && message.status === status && header(message, 'call-id') === call.callId,
    )?.message as SipMessage
    return { call, status, answer, uri }
  }
  /** Sends an INVITE, and again with credentials for the challenge of the first. */
  const withCredentials = async (
    credentials: { username: string; password: string },
    { to = TEST_NUMBER, host = '127.0.0.1' } = {},
  ) => {
    const first = await invite(to, [], host)
    const client = new DigestClient(credentials)
    client.onChallenge(401, header(first.answer, 'www-authenticate'))
    const [given] = client.headers({ method: 'INVITE', uri: first.uri, body: SDP })
    return invite(to, given ? [[given.name, given.value]] : [], host)
  }
  return { ...rig, target, invite, withCredentials, peer }
}

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`${transport}: a trunk identified by its address`, async (t) => {
    const rig = await rigFor(t, [trunk({ inboundAuth: 'ip_acl', ranges: ranges('127.0.0.0/24') })])
    await runSipp({ scenario: 'call-bye', ...rig.target(transport) })
    await rig.ended()
    t.match(rig.invites, [{ trunkId: 'trk_1', to: TEST_NUMBER }])
  })

  t.test(`${transport}: a trunk identified by its password`, async (t) => {
    const rig = await rigFor(t, [trunk()])
    const extra = ['-au', 'acme', '-ap', 'first-secret']
    await runSipp({ scenario: 'call-digest', extra, ...rig.target(transport) })
    await rig.ended()
    t.match(rig.invites.at(-1), { trunkId: 'trk_1' })
    t.strictSame(rig.types(), ['ringing', 'answered', 'ended'])
  })
}

t.test('unauthenticated callers are challenged, whichever number they call', async (t) => {
  const rig = await rigFor(t, [trunk()])
  const shapes = new Set<string>()
  for (const to of [TEST_NUMBER, '+911140009999', '+911140000002', 'alice']) {
    const { status, answer } = await rig.invite(to)
    t.equal(status, 401, to)
    shapes.add(header(answer, 'www-authenticate').replace(/nonce="[^"]+"/, 'nonce=""'))
  }
  t.strictSame(
    [...shapes],
    ['Digest realm="parley", nonce="", algorithm=MD5, qop="auth"'],
    'the same for numbers that exist and that do not',
  )
  t.equal(rig.events.length, 0)
})

t.test('an unauthenticated caller gets the same response for every user and number', async (t) => {
  const rig = await rigFor(t, [trunk({ realm: 'acme.example' })], { guard: { exempt: [] } })
  const raw = await openUdpPeer(rig.udp)
  t.teardown(() => raw.close())
  const ask = async (method: string, user: string, headers: Record<string, string>) => {
    const uri = `sip:${user}@127.0.0.1`
    const text = request(method, raw, { To: `<${uri}>`, ...headers }, method === 'INVITE' ? SDP : '', { uri })
    const { 'Call-ID': callId } = inCall(text, readRawSipMessage(text), 1, method)
    raw.send(text)
    const answer = await raw.next((m) => m.header('Call-ID') === callId && !m.start.includes(' 100 '))
    if (method === 'INVITE') {
      const Via = readRawSipMessage(text).header('Via')
      raw.send(request('ACK', raw, { ...inCall(text, answer, 1, 'ACK'), Via, Contact: null }, '', { uri }))
    }
    return answer.text
      .replaceAll(user, 'USER')
      .replaceAll(callId ?? '', 'CALL')
      .replaceAll(/branch=[^;\r]+/g, 'branch')
      .replaceAll(/tag=[^;\r]+/g, 'tag')
      .replaceAll(/nonce="[^"]+"/g, 'nonce')
  }
  const credentials = (username: string) =>
    `Digest username="${username}", realm="parley", nonce="x", uri="sip:x", response="${'0'.repeat(32)}"`
  for (const method of ['INVITE', 'OPTIONS', 'REGISTER', 'SUBSCRIBE', 'MESSAGE', 'INFO', 'PUBLISH']) {
    const event = method === 'SUBSCRIBE' || method === 'PUBLISH' ? { Event: 'presence' } : {}
    const answers = new Set<string>()
    for (const user of [TEST_NUMBER, '+911140009999', 'acme', 'nobody'])
      answers.add(await ask(method, user, event))
    t.equal(answers.size, 1, `${method}: ${[...answers].join('')}`)
  }
  const guesses = new Set<string>()
  for (const username of ['acme', 'nobody']) {
    guesses.add(await ask('INVITE', TEST_NUMBER, { Authorization: credentials(username) }))
  }
  t.equal(guesses.size, 1, 'and wrong credentials of somebody are those of nobody')
})

t.test('a wrong password and an unknown user get the same response', async (t) => {
  const rig = await rigFor(t, [trunk()])
  const right = await rig.withCredentials({ username: 'acme', password: 'first-secret' })
  t.equal(right.status, 200)
  right.call.bye()
  await until(() => rig.callManager.live === 0)
  const wrong = await rig.withCredentials({ username: 'acme', password: 'guess' })
  const nobody = await rig.withCredentials({ username: 'root', password: 'guess' })
  t.strictSame([wrong.status, nobody.status], [401, 401])
  const shape = ({ answer }: { answer: SipMessage }) =>
    answer.headers.map(([name, value]) => [
      name,
      name === 'www-authenticate' ? value.replace(/nonce="[^"]+"/, '') : '',
    ])
  t.strictSame(shape(nobody), shape(wrong))
  t.notMatch(header(wrong.answer, 'www-authenticate'), /stale/)
})

t.test(
  'a password that changes during a call: the call goes on, and the next one needs the new one',
  async (t) => {
    const trunks = [trunk()]
    const rig = await rigFor(t, trunks)
    const old = { username: 'acme', password: 'first-secret' }
    const { call, status } = await rig.withCredentials(old)
    t.equal(status, 200)
    trunks[0] = trunk({ password: 'second-secret' })

    call.reinvite(SDP.replace('m=audio 4000', 'm=audio 4002'))
    t.equal(await call.final(), 200, 'a re-INVITE of the call in progress')
    t.equal((await rig.withCredentials(old)).status, 401)
    const next = await rig.withCredentials({ username: 'acme', password: 'second-secret' })
    t.equal(next.status, 200)
    call.bye()
    next.call.bye()
    await until(() => rig.types().filter((type) => type === 'ended').length === 2)
    t.match(
      rig.events.filter(({ type }) => type === 'ended'),
      [{ ending: { cause: 'caller_hangup' } }, { ending: { cause: 'caller_hangup' } }],
    )
  },
)

t.test("a caller that names a trunk's realm is challenged in it", async (t) => {
  const rig = await rigFor(t, [trunk()])
  const byUri = await rig.invite(TEST_NUMBER, [], 'acme.example')
  t.match(header(byUri.answer, 'www-authenticate'), /realm="acme.example"/)
  const { status, call } = await rig.withCredentials(
    { username: 'acme', password: 'first-secret' },
    { host: 'acme.example' },
  )
  t.equal(status, 200)
  call.bye()
  await until(() => rig.callManager.live === 0)
})

t.test('a trunk with SHA-256 rejects MD5', async (t) => {
  const rig = await rigFor(t, [trunk({ algorithm: 'SHA-256' })])
  const account = { username: 'acme', password: 'first-secret' }
  t.equal((await rig.withCredentials(account)).status, 401, 'the realm of all asks for MD5')
  const { status, call } = await rig.withCredentials(account, { host: 'acme.example' })
  t.equal(status, 200)
  t.match(
    header(
      rig.peer.log.findLast(({ direction, message }) => direction === 'out' && message.method === 'INVITE')
        ?.message as SipMessage,
      'authorization',
    ),
    /algorithm=SHA-256/,
  )
  call.bye()
  await until(() => rig.callManager.live === 0)
})

t.test('a replayed nonce count is rejected as stale', async (t) => {
  const rig = await rigFor(t, [trunk()])
  const first = await rig.invite()
  const client = new DigestClient({ username: 'acme', password: 'first-secret' })
  client.onChallenge(401, header(first.answer, 'www-authenticate'))
  const [given] = client.headers({ method: 'INVITE', uri: first.uri, body: SDP })
  const headers = [['Authorization', given?.value ?? '']] as const
  const good = await rig.invite(TEST_NUMBER, headers)
  t.equal(good.status, 200)
  const replay = await rig.invite(TEST_NUMBER, headers)
  t.equal(replay.status, 401)
  t.match(header(replay.answer, 'www-authenticate'), /stale=true/)
  good.call.bye()
  await until(() => rig.callManager.live === 0)
})

t.test("with both, the password is valid only from the trunk's addresses", async (t) => {
  const trunks = [trunk({ inboundAuth: 'both', ranges: ranges('127.0.0.1') })]
  const rig = await rigFor(t, trunks)
  const asked = await rig.invite()
  t.equal(asked.status, 401)
  t.match(header(asked.answer, 'www-authenticate'), /realm="acme.example"/)
  const { status, call } = await rig.withCredentials({ username: 'acme', password: 'first-secret' })
  t.equal(status, 200)
  call.bye()
  await until(() => rig.callManager.live === 0)
  trunks[0] = trunk({ inboundAuth: 'both', ranges: ranges('203.0.113.0/24') })
  t.equal(
    (await rig.withCredentials({ username: 'acme', password: 'first-secret' })).status,
    401,
    'from elsewhere',
  )
})

t.test(
  'a trunk authenticated by address accepts no password from elsewhere; a rotated password takes effect at once',
  async (t) => {
    const trunks = [trunk({ inboundAuth: 'ip_acl', ranges: ranges('203.0.113.0/24') })]
    const rig = await rigFor(t, trunks)
    t.equal((await rig.withCredentials({ username: 'acme', password: 'first-secret' })).status, 401)
    trunks[0] = trunk({ password: 'second-secret' })
    t.equal((await rig.withCredentials({ username: 'acme', password: 'first-secret' })).status, 401)
    const { status, call } = await rig.withCredentials({ username: 'acme', password: 'second-secret' })
    t.equal(status, 200)
    call.bye()
    await until(() => rig.callManager.live === 0)
  },
)

t.test("valid credentials win over another trunk's address, wrong ones do not lose it", async (t) => {
  const trunks = [trunk()]
  const rig = await rigFor(t, trunks)
  const asked = await rig.invite()
  t.equal(asked.status, 401)
  trunks.push(
    trunk({ id: 'trk_2', username: 'other', inboundAuth: 'ip_acl', ranges: ranges('127.0.0.0/24') }),
  )
  const call = async (password: string, nonce?: string) => {
    const client = new DigestClient({ username: 'acme', password })
    client.onChallenge(401, header(asked.answer, 'www-authenticate'))
    const [given] = client.headers({ method: 'INVITE', uri: asked.uri, body: SDP })
    const value = given?.value ?? ''
    const sent = nonce === undefined ? value : value.replace(/nonce="[^"]*"/, `nonce="${nonce}"`)
    const made = await rig.invite(TEST_NUMBER, [['Authorization', sent]])
    if (made.status === 200) made.call.bye()
    await until(() => rig.callManager.live === 0)
    return [made.status, made.status === 200 ? rig.invites.at(-1)?.trunkId : null]
  }
  t.strictSame(await call('first-secret'), [200, 'trk_1'])
  t.strictSame(await call('guess'), [200, 'trk_2'], 'the address counts where the password proves nothing')
  const foreign = 'Digest username="acme", realm="elsewhere", nonce="x", uri="sip:x", response="0"'
  const made = await rig.invite(TEST_NUMBER, [['Authorization', foreign]])
  t.equal(made.status, 200, 'credentials for somebody else')
  t.equal(rig.invites.at(-1)?.trunkId, 'trk_2')
  made.call.bye()
  await until(() => rig.callManager.live === 0)
  t.strictSame(
    await call('first-secret'),
    [401, null],
    'its nonce count is used: it is asked again, not mistaken',
  )
  t.strictSame(
    await call('first-secret', 'too old'),
    [401, null],
    'the same with a nonce that is no longer valid',
  )
})

t.test('a caller that its address identifies is not challenged for old credentials', async (t) => {
  const trunks = [trunk()]
  const rig = await rigFor(t, trunks)
  const asked = await rig.invite()
  t.equal(asked.status, 401)
  const client = new DigestClient({ username: 'acme', password: 'first-secret' })
  client.onChallenge(401, header(asked.answer, 'www-authenticate'))
  const [given] = client.headers({ method: 'INVITE', uri: asked.uri, body: SDP })
  trunks.splice(0, 1, trunk({ inboundAuth: 'ip_acl', ranges: ranges('127.0.0.0/24') }))
  const cached = given?.value ?? ''
  const elsewhere = cached.replace(/nonce="[^"]*"/, 'nonce="of another address, or of an earlier process"')
  for (const [value, why] of [
    [cached, 'the password'],
    [cached, 'the same credentials again'],
    [elsewhere, 'a nonce that is not valid here'],
  ] as const) {
    const made = await rig.invite(TEST_NUMBER, [['Authorization', value]])
    t.equal(made.status, 200, why)
    made.call.bye()
    await until(() => rig.callManager.live === 0)
  }
})

t.test(
  'an address that waits for its proof: a call from there needs the password of its trunk',
  async (t) => {
    const trunks = [trunk({ inboundAuth: 'ip_acl', ranges: ranges('127.0.0.1') })]
    const claimed: string[] = []
    const rig = await rigFor(t, trunks, {
      claims: false,
      proved: ({ id }, address) => claimed.push(`${id} ${address}`),
    })
    t.equal((await rig.invite()).status, 401)
    t.equal((await rig.withCredentials({ username: 'acme', password: 'guess' })).status, 401)
    t.strictSame(claimed, [])
    const { status, call } = await rig.withCredentials({ username: 'acme', password: 'first-secret' })
    t.equal(status, 200)
    t.strictSame(claimed, ['trk_1 127.0.0.1'])
    call.bye()
    await until(() => rig.callManager.live === 0)
  },
)

t.test('a nonce is valid from the address that it was sent to', async (t) => {
  const rig = await rigFor(t, [trunk()])
  const elsewhere = createSocket('udp4')
  elsewhere.bind(0, '127.0.0.2')
  await once(elsewhere, 'listening')
  t.teardown(() => new Promise<void>((resolve) => elsewhere.close(() => resolve())))
  const { port } = elsewhere.address()
  const uri = `sip:${TEST_NUMBER}@127.0.0.1:${rig.udp}`
  elsewhere.send(request('INVITE', { port }, { To: `<${uri}>` }, SDP, { uri }), rig.udp, '127.0.0.1')
  let challenge = ''
  elsewhere.on('message', (bytes) => {
    challenge ||= readRawSipMessage(bytes.toString()).header('WWW-Authenticate')
  })
  await until(() => challenge !== '')
  const client = new DigestClient({ username: 'acme', password: 'first-secret' })
  client.onChallenge(401, challenge)
  const [given] = client.headers({ method: 'INVITE', uri, body: SDP })
  const { status, answer } = await rig.invite(TEST_NUMBER, [['Authorization', given?.value ?? '']])
  t.equal(status, 401, 'a right password with the nonce of somebody else')
  t.match(header(answer, 'www-authenticate'), /stale=true/)
  t.equal(rig.events.length, 0)
})

t.test('called and calling party in headers beside Request-URI and From', async (t) => {
  const rig = await rigFor(t, [trunk({ inboundAuth: 'ip_acl', ranges: ranges('127.0.0.1') })])
  const asserted = ['P-Asserted-Identity', '"A" <sip:+919876500000@carrier;user=phone>'] as const
  await rig.invite('pilot', [['P-Called-Party-ID', '<sip:+911171366901@carrier>'], asserted])
  await rig.invite('pilot', [asserted, ['Privacy', 'id;critical']])
  await rig.invite('pilot')
  const forged = '"<sip:+919999999999@carrier>" <sip:clerk@carrier>, <tel:+91-98765-00000>'
  await rig.invite('pilot', [['P-Asserted-Identity', forged]])
  t.match(rig.invites, [
    { to: 'pilot', alternateTo: ['+911171366901'], assertedIdentity: '+919876500000', isPrivate: false },
    { alternateTo: [], assertedIdentity: '+919876500000', isPrivate: true },
    { alternateTo: [], assertedIdentity: null, isPrivate: false },
    { assertedIdentity: '+91-98765-00000' },
  ])
})

t.test('rejections by admission reach the caller with their headers', async (t) => {
  const refusals = {
    '+911140000010': { sip: 403, headers: { 'X-Svc-Code': 'compliance_incomplete' } },
    '+911140000011': { sip: 402, headers: { 'X-Svc-Code': 'insufficient_funds' } },
    '+911140000012': { sip: 486 },
    '+911140000013': { sip: 404 },
  } as const
  const rig = await rigFor(t, [trunk({ inboundAuth: 'ip_acl', ranges: ranges('127.0.0.1') })], {
    admit: async ({ to }) => {
      const refusal = Object.entries(refusals).find(([number]) => number === to)?.[1]
      return refusal ? { admit: false, reason: 'test', ...refusal } : null
    },
  })
  for (const [to, { sip }] of Object.entries(refusals)) {
    const { status, answer } = await rig.invite(to)
    t.equal(status, sip)
    t.equal(header(answer, 'retry-after') !== '', sip === 486, `${sip} Retry-After`)
  }
  t.equal(header((await rig.invite('+911140000010')).answer, 'x-svc-code'), 'compliance_incomplete')
  t.equal(header((await rig.invite('+911140000011')).answer, 'x-svc-code'), 'insufficient_funds')
})

t.test('calls of both directions share the trunk', async (t) => {
  const limits = { maxConcurrent: 2, callsPerMinute: 60, allowedPrefixes: ['+91'] }
  const known = trunk({ inboundAuth: 'ip_acl', ranges: ranges('127.0.0.1'), limits })
  const rig = await rigFor(t, [known])
  const callee = await openSipPeer({ onInvite: (call) => call.answer(SDP) })
  t.teardown(() => callee.close())
  rig.callManager.dial(rig.permit('call_out', '+919876543210'), {
    party: { kind: 'agent', agent: testAgent },
    gateway: {
      host: '127.0.0.1',
      port: callee.port,
      transport: 'udp',
      codecs: ['PCMA'],
      trunk: {
        trunkId: known.id,
        limits,
        numberFormat: 'e164',
        callerIdPolicy: 'did',
        callerId: null,
        fromDomain: null,
        headers: {},
        credentials: null,
      },
    },
    ringTimeoutMs: 5000,
    recordTo: null,
  })
  const first = await rig.invite()
  t.equal(first.status, 200)
  const second = await rig.invite()
  t.equal(second.status, 486)
  t.equal(header(second.answer, 'retry-after'), '10')
  t.match(
    rig.events.filter(({ type }) => type === 'ended'),
    [{ callId: 'call_in_2', seq: 1, ending: { cause: 'pool_full', note: 'trunk_full' } }],
    'the refused one has its row ended',
  )
  rig.callManager.hangUp('call_out', 'operator')
  await until(() => rig.callManager.live === 1)
  const third = await rig.invite()
  t.equal(third.status, 200)
  first.call.bye()
  third.call.bye()
  await until(() => rig.callManager.live === 0)
})

t.test(
  'wrong passwords ban their source; a trusted network is never banned, from the next call on',
  async (t) => {
    const rig = await rigFor(t, [trunk()], { guard: { exempt: [] } })
    const wrong = { username: 'acme', password: 'guess' }
    const guard = () => rig.server.stats().guard
    rig.server.setTrustedNetworks(['127.0.0.0/24'])
    for (let n = 0; n < 12; n++) t.equal((await rig.withCredentials(wrong)).status, 401)
    t.match(guard(), { banned: 0, trusted: 1, bans: { authentication: 0 } })

    rig.server.setTrustedNetworks([])
    for (let n = 0; n < 11; n++) await rig.withCredentials(wrong)
    t.match(guard(), { banned: 1, trusted: 0, bans: { authentication: 1 } })
    const uri = `sip:${TEST_NUMBER}@127.0.0.1:${rig.udp}`
    const target = { transport: 'udp', address: '127.0.0.1', port: rig.udp } as const
    rig.peer.invite({ uri, target, sdp: SDP })
    await until(() => guard().ignored > 0)

    rig.server.setTrustedNetworks(['127.0.0.1'])
    t.equal((await rig.withCredentials({ username: 'acme', password: 'first-secret' })).status, 200)
    t.equal(guard().banned, 1, 'the ban is not lifted, it only does not count')
  },
)
