import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import {
  inCall,
  openRig,
  type Rig,
  readRawSipMessage,
  request,
  SDP_A,
  SDP_B,
  type TestDialog,
} from '../../../fixtures/rigs/embedded-rig.js'
import { silentLog } from '../../../media/base/log.js'
import { DEFAULT_LIMITS } from '../limits.js'
import { validateMessage } from '../message/message-validation.js'
import type { SipRequest } from '../message/sip-message.js'
import { parseSip } from '../message/sip-parser.js'
import { STANDARD_TIMERS } from '../transaction/timers.js'
import { DEFAULT_GUARD, Guard, type GuardSettings, sourceKey } from './guard.js'
import { isScanner } from './scanners.js'
import { SentNonces } from './sent-nonces.js'

/** The tests only have loopback, which therefore must not be exempt. */
const NO_EXEMPTIONS = { exempt: [] }
const BOTH = [
  { transport: 'udp', address: '127.0.0.1', port: 0 },
  { transport: 'tcp', address: '127.0.0.1', port: 0 },
] as const

function asked(method: string, headers: Readonly<Record<string, string>> = {}, uri?: string) {
  const text = request(method, { port: 5060 }, headers, '', uri === undefined ? {} : { uri })
  const parsed = parseSip(Buffer.from(text), DEFAULT_LIMITS)
  if (!parsed.ok || parsed.message.kind !== 'request') throw new Error('not a request')
  const validated = validateMessage(parsed.message)
  if (!validated.ok) throw new Error(validated.reason)
  const message: SipRequest = parsed.message
  return [message, validated.essentials] as const
}

function guarded(settings: Partial<GuardSettings> = {}) {
  const clock = new VirtualClock()
  const lines: object[] = []
  const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) }
  return { clock, lines, guard: new Guard({ ...DEFAULT_GUARD, ...settings }, clock, log) }
}

t.test(
  'the rate of one source: a burst, then its rate, few rejections, silence, finally a ban',
  async (t) => {
    const { clock, guard, lines } = guarded({ invitesPerSecond: 10, refusalsPerSecond: 2 })
    const invite = asked('INVITE')
    const ask = (count: number, from = '192.0.2.1') => {
      const verdicts = { serve: 0, refuse: 0, ignore: 0 }
      for (let n = 0; n < count; n++) verdicts[guard.checkRequest(from, ...invite, true)] += 1
      return verdicts
    }
    t.same(ask(100), { serve: 30, refuse: 6, ignore: 64 })
    t.same(ask(1, '192.0.2.2'), { serve: 1, refuse: 0, ignore: 0 }, 'others are not concerned')
    clock.advance(1000)
    t.same(ask(100), { serve: 10, refuse: 2, ignore: 88 })
    t.equal(guard.isBanned('192.0.2.1'), false, 'exceeding the rate does not ban at once')
    ask(1200)
    t.equal(guard.isBanned('192.0.2.1'), true)
    t.match(lines, [{ source: '192.0.2.1', offence: 'flood', seconds: 300 }])
    clock.advance(299_000)
    t.same(ask(50), { serve: 0, refuse: 0, ignore: 50 })
    clock.advance(1_001)
    t.equal(ask(1).serve, 1, 'a ban is not prolonged by what comes during it')
    t.same(guard.stats().bans, { scanner: 0, oversize: 0, authentication: 0, malformed: 0, flood: 1 })
  },
)

t.test('wrong credentials: ten in a row ban, one every 20 seconds does not; bans double', async (t) => {
  const { clock, guard, lines } = guarded()
  for (let n = 0; n < 100; n++) {
    guard.onAuthenticationFailure('192.0.2.1', 'n', true)
    clock.advance(20_000)
  }
  t.equal(guard.isBanned('192.0.2.1'), false)
  for (let n = 0; n < 10; n++) guard.onAuthenticationFailure('192.0.2.9', 'n', true)
  t.equal(guard.isBanned('192.0.2.9'), true)
  clock.advance(300_000)
  t.equal(guard.isBanned('192.0.2.9'), false)
  for (let n = 0; n < 10; n++) guard.onAuthenticationFailure('192.0.2.9', 'n', true)
  t.match(lines.at(-1), { seconds: 600 })
})

t.test('exempt sources are never limited; a /64 is one source', async (t) => {
  const { guard } = guarded({ exempt: ['192.0.2.0/24'] })
  const invite = asked('INVITE', { 'User-Agent': 'friendly-scanner' })
  for (let n = 0; n < 2000; n++) {
    if (guard.checkRequest('192.0.2.77', ...invite, true) !== 'serve') t.fail('limited')
    if (guard.checkMalformed('192.0.2.77', 'malformed', true) !== 'refuse') t.fail('ignored')
  }
  t.equal(guard.stats().sources, 0)
  t.equal(guard.checkRequest('2001:db8:1:2::5', ...invite, true), 'ignore')
  t.equal(guard.isBanned('2001:db8:1:2:ffff::1'), true)
  t.equal(guard.isBanned('2001:db8:1:3::5'), false)
  t.equal(sourceKey('::ffff:192.0.2.4'), '192.0.2.4')
  t.equal(sourceKey('2001:0DB8::1'), '2001:db8:0:0::/64')
  t.equal(sourceKey('fe80::1%eth0'), 'fe80:0:0:0::/64')
})

t.test(
  'trusted sources are never banned, even if banned before, and have ten times the limits',
  async (t) => {
    const { guard } = guarded({ invitesPerSecond: 10, refusalsPerSecond: 2 })
    const scan = asked('OPTIONS', { 'User-Agent': 'friendly-scanner' })
    const invite = asked('INVITE')
    const verdicts = (address: string) => {
      const seen = { serve: 0, refuse: 0, ignore: 0 }
      for (let n = 0; n < 5000; n++) seen[guard.checkRequest(address, ...invite, true)] += 1
      return seen
    }
    guard.checkRequest('192.0.2.7', ...scan, true)
    guard.checkRequest('2001:db8::7', ...scan, true)
    t.equal(guard.isBanned('192.0.2.7'), true)
    guard.setTrustedNetworks(['192.0.2.0/28', '192.0.2.8/29', '2001:db8::/48', 'nonsense'])
    t.equal(guard.stats().trusted, 2, 'overlaps are one, nonsense is none')
    for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::7']) {
      t.equal(guard.isBanned(address), false, address)
      t.equal(guard.checkRequest(address, ...scan, true), 'ignore', 'not banned, not served either')
      for (let n = 0; n < 100; n++) guard.checkMalformed(address, 'oversize', true)
      for (let n = 0; n < 100; n++) guard.onAuthenticationFailure(address, 'n', true)
      t.equal(guard.isBanned(address), false)
    }
    t.same(verdicts('192.0.2.15'), { serve: 300, refuse: 6, ignore: 4694 })
    t.same(verdicts('192.0.2.16'), { serve: 30, refuse: 6, ignore: 4964 }, 'a stranger next door')
    t.equal(guard.isBanned('192.0.2.15'), false)
    t.equal(guard.isBanned('192.0.2.16'), true)
    guard.setTrustedNetworks([])
    t.equal(guard.isBanned('2001:db8::7'), true, 'the earlier ban applies again without the trust')
  },
)

t.test('datagrams never ban, because their source address may be forged', async (t) => {
  const { guard } = guarded()
  const scan = asked('OPTIONS', { 'User-Agent': 'friendly-scanner' })
  const invite = asked('INVITE')
  for (let n = 0; n < 5000; n++) {
    if (guard.checkRequest('192.0.2.1', ...scan, false) !== 'ignore') t.fail('a scanner is not served')
    guard.checkRequest('192.0.2.1', ...invite, false)
    guard.checkMalformed('192.0.2.1', 'malformed', false)
    guard.checkMalformed('192.0.2.1', 'oversize', false)
    guard.onAuthenticationFailure('192.0.2.1', 'never sent', false)
  }
  t.equal(guard.isBanned('192.0.2.1'), false)
  t.equal(guard.checkRequest('192.0.2.1', ...invite, false), 'ignore', 'its rate is limited all the same')
  guard.checkRequest('192.0.2.2', ...scan, true)
  t.equal(guard.isBanned('192.0.2.2'), true, 'over a connection one is enough')
})

t.test('a nonce proves the address that it was sent to, for bans and for trust', async (t) => {
  const { guard } = guarded()
  guard.onChallenge('192.0.2.1', 'nonce')
  const fail = (address: string) => {
    for (let n = 0; n < 10; n++) guard.onAuthenticationFailure(address, 'nonce', false)
  }
  fail('192.0.2.2')
  t.equal(guard.isBanned('192.0.2.2'), false, 'somebody else used it in the name of this source')
  fail('192.0.2.1')
  t.equal(guard.isBanned('192.0.2.1'), true)
  guard.onAuthenticated('192.0.2.2', 'nonce', false)
  t.equal(guard.isTrusted('192.0.2.2'), false)
  guard.onAuthenticated('192.0.2.1', 'nonce', false)
  t.equal(guard.isTrusted('192.0.2.1'), true)
})

t.test('a flood with forged addresses removes neither nonces nor offences of a source', async (t) => {
  const { guard } = guarded()
  const invite = asked('INVITE')
  guard.onChallenge('192.0.2.1', 'nonce')
  guard.onChallenge('192.0.2.2', 'other')
  for (let n = 0; n < 9; n++) guard.onAuthenticationFailure('192.0.2.1', 'nonce', false)
  for (let n = 0; n < 25_000; n++) {
    const forged = `10.0.${n >> 8}.${n & 255}`
    guard.checkRequest(forged, ...invite, false)
    guard.onChallenge(forged, `nonce of ${n}`)
    guard.onChallenge('192.0.2.1', `further ${n}`)
  }
  guard.onAuthenticationFailure('192.0.2.1', 'nonce', false)
  t.equal(guard.isBanned('192.0.2.1'), true, 'the tenth wrong password')
  guard.onAuthenticated('192.0.2.2', 'other', false)
  t.equal(guard.isTrusted('192.0.2.2'), true)
})

t.test('the memory of nonces is limited', async (t) => {
  const nonces = new SentNonces(3)
  const known = () => ['1', '2', '3', '4', '5', '6', '7'].filter((nonce) => nonces.has('a', nonce)).join('')
  for (const nonce of ['1', '2', '3', '4', '5', '6']) nonces.add('a', nonce)
  t.equal(known(), '123456')
  t.equal(nonces.has('b', '1'), false, 'it was sent to another source')
  nonces.add('a', '7')
  t.equal(known(), '4567', 'the oldest are forgotten')
})

t.test('a source that authenticated is trusted for an hour', async (t) => {
  const { clock, guard } = guarded({ maxSources: 100 })
  const scan = asked('OPTIONS', { 'User-Agent': 'friendly-scanner' })
  const forge = () => {
    for (let n = 0; n < 50; n++) {
      guard.checkRequest('192.0.2.1', ...scan, true)
      guard.checkMalformed('192.0.2.1', 'malformed', true)
    }
  }
  guard.onAuthenticated('192.0.2.1', 'n', true)
  forge()
  t.equal(guard.isBanned('192.0.2.1'), false)
  clock.advance(3_599_000)
  guard.onAuthenticated('192.0.2.1', 'n', true)
  clock.advance(3_599_000)
  forge()
  t.equal(guard.isBanned('192.0.2.1'), false, 'each success renews the trust')
  clock.advance(2_000)
  forge()
  t.equal(guard.isBanned('192.0.2.1'), true)
  for (let n = 0; n < 200; n++) guard.onAuthenticated(`10.0.0.${n}`, 'n', true)
  t.equal(guard.isTrusted('10.0.0.99'), false, 'the oldest are forgotten')
  t.equal(guard.isTrusted('10.0.0.100'), true)
})

t.test('both tables are limited; a flood of sources neither lifts a ban nor fills the log', async (t) => {
  const { guard, lines } = guarded({ maxSources: 1000 })
  const scan = asked('OPTIONS', {}, 'sip:nm')
  const invite = asked('INVITE')
  guard.checkRequest('192.0.2.1', ...scan, true)
  for (let n = 0; n < 50_000; n++)
    guard.checkRequest(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, ...invite, true)
  t.equal(guard.stats().sources, 1000)
  t.equal(guard.isBanned('192.0.2.1'), true)
  for (let n = 0; n < 5000; n++) guard.checkRequest(`11.0.${(n >> 8) & 255}.${n & 255}`, ...scan, true)
  t.equal(guard.stats().banned, 1000)
  t.ok(lines.length <= 20, `${lines.length} lines`)
})

t.test('scanner signatures', async (t) => {
  for (const agent of ['friendly-scanner', 'sipcli/v1.8', 'SIPVicious', 'VaxSIPUserAgent/3.1', 'sundayddr']) {
    t.equal(isScanner(...asked('OPTIONS', { 'User-Agent': agent })), true, agent)
  }
  for (const agent of ['Asterisk PBX 20', 'sipgate', 'Baresip', 'Smappee', 'Zoiper', 'Carrier SBC 9.2']) {
    t.equal(isScanner(...asked('INVITE', { 'User-Agent': agent })), false, agent)
  }
  t.equal(isScanner(...asked('OPTIONS', { From: '"sipvicious"<sip:100@1.1.1.1>;tag=a' })), true)
})

interface Teardown {
  teardown(run: () => Promise<void>): void
}

/** A UDP socket on an address of 127.0.0.0/8, which counts as a source of its own. */
async function sourceAt(t: Teardown, address: string) {
  const socket: Socket = createSocket('udp4')
  const got: Buffer[] = []
  socket.on('message', (bytes) => {
    got.push(bytes)
    socket.emit('test:got')
  })
  socket.bind(0, address)
  await once(socket, 'listening')
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
  return { socket, got, port: socket.address().port, address }
}
type Source = Awaited<ReturnType<typeof sourceAt>>

/** Sends the messages one after the other. */
async function sendAll(rig: Rig, source: Source, messages: readonly string[]): Promise<void> {
  for (const message of messages) {
    await new Promise<void>((resolve) => {
      source.socket.send(Buffer.from(message, 'latin1'), rig.port, '127.0.0.1', () => resolve())
    })
  }
}

const fromSource = (source: Source, method: string, headers: Readonly<Record<string, string>> = {}) => {
  const number = /-t(\d+)/.exec(request('OPTIONS', source))?.[1]
  return request(method, source, {
    Via: `SIP/2.0/UDP ${source.address}:${source.port};branch=z9hG4bK-g${number}`,
    ...headers,
  })
}

t.test('a flood from many sources: limited, answered 503, and the live call continues', async (t) => {
  const rig = await openRig(t, { guard: NO_EXEMPTIONS, limits: { transactions: 100 }, listen: BOTH })
  const app = await rig.app()
  const dialogs: TestDialog[] = []
  app.use('invite', (req, res) => {
    if (req.has('Subject')) void app.createUAS(req, res, { localSdp: SDP_B }).then((d) => dialogs.push(d))
  })
  await rig.routed(app)
  const peer = await rig.udpPeer()
  const invite = request('INVITE', peer, { Subject: 'the live one' }, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))

  const sources = await Promise.all(Array.from({ length: 20 }, (_, n) => sourceAt(t, `127.0.${n + 1}.1`)))
  for (let round = 0; round < 50; round++) {
    for (const source of sources) await sendAll(rig, source, [fromSource(source, 'INVITE')])
  }
  const last = sources[0] as Source
  await sendAll(rig, last, [fromSource(last, 'INVITE')])
  while (!last.got.some((bytes) => bytes.toString().startsWith('SIP/2.0 503'))) {
    await once(last.socket, 'test:got', { signal: AbortSignal.timeout(30_000) })
  }
  const refused = last.got
    .map((bytes) => readRawSipMessage(bytes.toString()))
    .find((m) => /503/.test(m.start))
  t.match(refused?.header('Retry-After'), /^\d+$/)
  const { serverTransactions, unanswered, guard } = rig.server.stats()
  t.ok(serverTransactions <= 100, `${serverTransactions} transactions`)
  t.ok(unanswered <= 100)
  t.ok(guard.sources <= 21)

  peer.send(request('INFO', peer, inCall(invite, ok, 2, 'INFO')))
  await peer.next((m) => m.header('CSeq') === '2 INFO')
  peer.send(request('BYE', peer, inCall(invite, ok, 3, 'BYE')))
  t.match((await peer.next((m) => m.header('CSeq') === '3 BYE')).start, / 200 /)
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('a banned source gets no responses except in its call', async (t) => {
  const rig = await openRig(t, { guard: NO_EXEMPTIONS, listen: BOTH })
  const app = await rig.app()
  let invites = 0
  app.use('invite', (req, res) => {
    invites += 1
    void app.createUAS(req, res, { localSdp: SDP_B })
  })
  app.use('options', (_req, res) => res.send(200))
  await rig.routed(app)
  const peer = await rig.udpPeer()
  const invite = request('INVITE', peer, {}, SDP_A)
  peer.send(invite)
  const ok = await peer.next('SIP/2.0 200')
  peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))
  peer.send(request('OPTIONS', peer))
  await peer.next((m) => m.header('CSeq') === '1 OPTIONS')

  const scanner = await rig.tcpPeer()
  scanner.send(request('OPTIONS', peer, { 'User-Agent': 'friendly-scanner' }, '', { transport: 'TCP' }))
  await until(() => rig.server.stats().guard.banned === 1)
  peer.send(request('INVITE', peer, {}, SDP_A))
  peer.send(request('OPTIONS', peer))
  peer.send('NONSENSE\r\nnot SIP at all, and long enough not to be a keep-alive\r\n\r\n')
  const before = peer.seen.length
  peer.send(request('BYE', peer, inCall(invite, ok, 2, 'BYE')))
  await peer.next((m) => m.header('CSeq') === '2 BYE')
  t.equal(peer.seen.length, before + 1, 'the answer to the BYE alone')
  t.equal(invites, 1)
  t.equal(rig.server.stats().guard.banned, 1)

  const tcp = await rig.tcpPeer()
  await tcp.ended
  t.pass('no new connections either')
})

t.test('accepted credentials make a source trusted; another answer does not', async (t) => {
  const rig = await openRig(t, { guard: NO_EXEMPTIONS, listen: BOTH })
  const app = await rig.app()
  app.use('register', (req, res) => {
    const given = req.get('Authorization')
    if (given === undefined)
      res.send(401, { headers: { 'WWW-Authenticate': 'Digest realm="r", nonce="n1"' } })
    else res.send(given.includes('right') ? 200 : 404)
  })
  app.use('options', (_req, res) => res.send(200))
  await rig.routed(app)
  const [known, stranger] = await Promise.all(['127.0.9.5', '127.0.9.6'].map((at) => sourceAt(t, at)))
  if (!known || !stranger) throw new Error('no sources')
  const answeredTo = async (source: Source, message: string) => {
    const at = source.got.length
    await sendAll(rig, source, [message])
    if (source.got.length === at)
      await once(source.socket, 'test:got', { signal: AbortSignal.timeout(30_000) })
  }
  const credentials = (name: string) => ({
    Authorization: `Digest username="${name}", realm="r", nonce="n1"`,
  })
  await answeredTo(known, fromSource(known, 'REGISTER'))
  await answeredTo(known, fromSource(known, 'REGISTER', credentials('right')))
  await answeredTo(stranger, fromSource(stranger, 'REGISTER', credentials('no')))
  await answeredTo(stranger, fromSource(stranger, 'REGISTER', credentials('right')))
  await answeredTo(stranger, fromSource(stranger, 'OPTIONS', credentials('right')))
  const tcp = rig.server.endpoints.find(({ transport }) => transport === 'tcp')?.port ?? 0
  const scan = request('OPTIONS', { port: 5060 }, { 'User-Agent': 'friendly-scanner' }, '', {
    transport: 'TCP',
  })
  const ignored = () => rig.server.stats().guard.ignored
  for (const { address: localAddress } of [known, stranger]) {
    const before = ignored()
    const socket = connect({ host: '127.0.0.1', port: tcp, localAddress })
    socket.on('error', () => {})
    socket.write(scan)
    await until(() => ignored() > before)
    socket.destroy()
  }
  t.match(
    rig.server.stats().guard,
    { banned: 1, bans: { scanner: 1 } },
    'its nonce was sent to somebody else',
  )
  await answeredTo(known, fromSource(known, 'OPTIONS'))
})

t.test('requests inside a call have a limit of their own, and its BYE is served', async (t) => {
  const rig = await openRig(t, { limits: { transactionsPerCall: 10 }, timers: STANDARD_TIMERS })
  const app = await rig.app()
  app.use('invite', (req, res) => void app.createUAS(req, res, { localSdp: SDP_B }))
  await rig.routed(app)
  const peer = await rig.udpPeer()
  const call = async () => {
    const invite = request('INVITE', peer, {}, SDP_A)
    peer.send(invite)
    const { 'Call-ID': callId } = inCall(invite, readRawSipMessage(invite), 1, 'INVITE')
    const ok = await peer.next((m) => m.start.includes(' 200 ') && m.header('Call-ID') === callId)
    peer.send(request('ACK', peer, { ...inCall(invite, ok, 1, 'ACK'), Contact: null }))
    return {
      callId,
      send: (cseq: number, method: string) =>
        peer.send(request(method, peer, inCall(invite, ok, cseq, method))),
    }
  }
  const [loud, quiet] = [await call(), await call()]
  const answers = (callId: string | undefined, status: number, method: string) =>
    peer.seen.filter(
      (m) =>
        m.header('Call-ID') === callId &&
        m.start.includes(` ${status} `) &&
        m.header('CSeq').endsWith(method),
    ).length
  for (let n = 0; n < 30; n++) loud.send(n + 2, 'INFO')
  await peer.next((m) => m.start.includes(' 503 ') && m.header('CSeq') === '31 INFO')
  t.equal(answers(loud.callId, 503, 'INFO'), 20)
  quiet.send(2, 'INFO')
  await peer.next((m) => m.header('Call-ID') === quiet.callId && m.header('CSeq') === '2 INFO')
  t.equal(answers(quiet.callId, 503, 'INFO'), 0, 'another call is not concerned')
  loud.send(40, 'BYE')
  await peer.next((m) => m.start.includes(' 200 ') && m.header('CSeq') === '40 BYE')
  quiet.send(40, 'BYE')
  await peer.next((m) => m.start.includes(' 200 ') && m.header('CSeq') === '40 BYE')
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('wrong credentials ban their source only, malformed datagrams nobody', async (t) => {
  const rig = await openRig(t, { guard: NO_EXEMPTIONS })
  const app = await rig.app()
  app.use('register', (req, res) => {
    const stale = req.get('Authorization')?.includes('old')
    res.send(401, {
      headers: { 'WWW-Authenticate': `Digest realm="r", nonce="new"${stale ? ', stale=true' : ''}` },
    })
  })
  app.use('options', (_req, res) => res.send(200))
  await rig.routed(app)
  const [broken, guessing, stale, quiet] = await Promise.all(
    ['127.0.9.1', '127.0.9.2', '127.0.9.3', '127.0.9.4'].map((address) => sourceAt(t, address)),
  )
  if (!broken || !guessing || !stale || !quiet) throw new Error('no sources')
  for (let n = 0; n < 25; n++) {
    await sendAll(rig, broken, [fromSource(broken, 'OPTIONS', { CSeq: 'nonsense' })])
    await sendAll(rig, quiet, ['\r\n\r\n', '\0\0\0\0'])
  }
  for (const [source, nonce] of [
    [guessing, 'new'],
    [stale, 'old'],
  ] as const) {
    // The first one answers no challenge.
    for (let n = 0; n <= 12; n++) {
      const at = source.got.length
      await sendAll(rig, source, [
        fromSource(source, 'REGISTER', { Authorization: `Digest realm="r", username="x", nonce="${nonce}"` }),
      ])
      if (source === guessing && n > 11) continue
      if (source.got.length === at)
        await once(source.socket, 'test:got', { signal: AbortSignal.timeout(30_000) })
    }
  }
  await sendAll(rig, quiet, [fromSource(quiet, 'OPTIONS')])
  if (quiet.got.length === 0) await once(quiet.socket, 'test:got', { signal: AbortSignal.timeout(30_000) })
  t.match(rig.server.stats().guard, { banned: 1, bans: { malformed: 0, authentication: 1 } })
  t.equal(guessing.got.length, 12)
  t.equal(stale.got.length, 13, 'a stale nonce is no offence')
})

t.test('no amplification: at most three bytes per byte to an unknown source', async (t) => {
  const rig = await openRig(t, { guard: NO_EXEMPTIONS })
  const app = await rig.app()
  app.use('invite', (_req, res) => res.send(486))
  await rig.routed(app)
  const source = await sourceAt(t, '127.0.8.1')
  const invite = fromSource(source, 'INVITE')
  await sendAll(rig, source, [invite])
  await once(source.socket, 'test:got', { signal: AbortSignal.timeout(30_000) })
  await until(() => rig.server.stats().serverTransactions === 0)
  await sendAll(rig, source, [invite])
  while (source.got.length < 2) await once(source.socket, 'test:got', { signal: AbortSignal.timeout(30_000) })
  const bytes = source.got.reduce((sum, answer) => sum + answer.length, 0)
  t.ok(bytes <= 6 * invite.length, `${bytes} for ${2 * invite.length}`)
  t.strictSame(
    source.got.map((answer) => answer.toString().slice(8, 11)),
    ['486', '486'],
    'one answer for each repetition, and no 100, after which the sender would not repeat its INVITE',
  )
})
