import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { cannotForge, sendForged } from '../../../fixtures/host/forged-datagrams.js'
import type { LeakTest } from '../../../fixtures/host/leaks.js'
import { until } from '../../../fixtures/host/until.js'
import { inCall, openRig, request, SDP_A, SDP_B } from '../../../fixtures/rigs/embedded-rig.js'

/* Floods over real sockets. Loopback is the only network here, so nothing is exempt in these tests. */

const GUARD = { exempt: [] }

/** A TCP connection from an address of 127.0.0.0/8, which counts as a source of its own; `closed` once the server ends it. */
function dial(t: LeakTest, port: number, localAddress: string, host = '127.0.0.1') {
  const socket = connect({ host, port, localAddress })
  const state = { socket, closed: false, received: '' }
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    state.received += chunk.toString('latin1')
  })
  socket.on('close', () => {
    state.closed = true
  })
  t.teardown(async () => {
    socket.destroy()
  })
  return state
}

/** Returns whether the server keeps the connection: it answers a message, or closes the connection. */
async function kept(peer: ReturnType<typeof dial>, text: string): Promise<boolean> {
  peer.socket.write(text)
  await until(() => peer.closed || peer.received !== '')
  return peer.received !== ''
}

for (const transport of ['tcp', 'ws'] as const) {
  t.test(
    `${transport}: connections are limited by source and in total; trusted networks are exempt`,
    async (t) => {
      const rig = await openRig(t, {
        guard: GUARD,
        limits: { connections: 16, connectionsPerSource: 5 },
        listen: [{ transport, address: '127.0.0.1', port: 0 }],
      })
      const text =
        transport === 'tcp'
          ? request('OPTIONS', { port: 5060 }, {}, '', { transport: 'TCP' })
          : 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
      const closed = (peers: readonly { closed: boolean }[]) => peers.filter((peer) => peer.closed).length
      const one = Array.from({ length: 8 }, () => dial(t, rig.port, '127.0.1.1'))
      await until(() => closed(one) === 3)
      const others = Array.from({ length: 10 }, (_, n) => dial(t, rig.port, `127.0.1.${n + 2}`))
      await until(() => closed(others) === 3)
      t.equal(rig.server.stats().connections, 12, 'strangers get three quarters of 16')
      t.equal(closed(one), 3)

      t.equal(await kept(dial(t, rig.port, '127.0.2.1'), text), false, 'a stranger more')
      rig.server.setTrustedNetworks(['127.0.2.0/24'])
      t.equal(await kept(dial(t, rig.port, '127.0.2.1'), text), true, 'a trunk')
      for (const { socket } of others) socket.destroy()
      await until(() => rig.server.stats().connections <= 6)
      t.equal(
        await kept(dial(t, rig.port, '127.0.3.2'), text),
        true,
        'a stranger where a place is free again',
      )
    },
  )
}

t.test('oversized streams ban their source only', async (t) => {
  const rig = await openRig(t, {
    guard: GUARD,
    listen: [{ transport: 'tcp', address: '127.0.0.1', port: 0 }],
  })
  const large = request('OPTIONS', { port: 5060 }, { 'Content-Length': '900000' }, '', { transport: 'TCP' })
  for (let n = 0; n < 6; n++) {
    const peer = dial(t, rig.port, '127.0.5.1')
    peer.socket.write(large)
    await until(() => peer.closed)
  }
  t.match(rig.server.stats().guard, { banned: 1, bans: { oversize: 1 } })
  const small = request('OPTIONS', { port: 5060 }, {}, '', { transport: 'TCP' })
  t.equal(await kept(dial(t, rig.port, '127.0.5.1'), small), false)
  t.equal(await kept(dial(t, rig.port, '127.0.5.2'), small), true)
})

const HAS_IPV6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
)
const skip = HAS_IPV6 ? false : 'this machine has no IPv6 loopback'

t.test(
  'IPv6: a ban covers the /64, over UDP and TCP, and an established call continues',
  { skip },
  async (t) => {
    const rig = await openRig(t, {
      guard: GUARD,
      listen: [
        { transport: 'udp', address: '::1', port: 0 },
        { transport: 'tcp', address: '::1', port: 0 },
      ],
    })
    const app = await rig.app()
    app.use('invite', (req, res) => void app.createUAS(req, res, { localSdp: SDP_B }))
    app.use('options', (_req, res) => res.send(200))
    await rig.routed(app)
    const socket = createSocket('udp6')
    socket.bind(0, '::1')
    await once(socket, 'listening')
    t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
    const { port } = socket.address()
    const seen: string[] = []
    socket.on('message', (bytes) => seen.push(bytes.toString()))
    const here = (method: string, headers: Record<string, string | null> = {}, body = '') => {
      const text = request(method, { port }, headers, body)
      return text.replace(`127.0.0.1:${port};branch`, `[::1]:${port};branch`)
    }
    const send = (text: string) => socket.send(text, rig.port, '::1')
    const invite = here('INVITE', {}, SDP_A)
    send(invite)
    const answered = () => seen.find((text) => text.startsWith('SIP/2.0 200'))
    await until(() => answered() !== undefined)
    const ok = answered() ?? ''
    const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(ok)?.[1]?.trim() ?? ''
    const answer = { header: line } as Parameters<typeof inCall>[1]
    send(here('ACK', { ...inCall(invite, answer, 1, 'ACK'), Contact: null }))
    const tcp = rig.server.endpoints.find(({ transport }) => transport === 'tcp')?.port ?? 0
    dial(t, tcp, '::1', '::1').socket.write(
      request('OPTIONS', { port }, { 'User-Agent': 'friendly-scanner' }, '', { transport: 'TCP' }),
    )
    await until(() => rig.server.stats().guard.banned === 1)
    send(here('OPTIONS'))
    send(here('BYE', inCall(invite, answer, 2, 'BYE')))
    await until(() => seen.some((text) => text.startsWith('SIP/2.0 200') && text.includes('CSeq: 2 BYE')))
    t.notOk(
      seen.some((text) => text.includes('OPTIONS')),
      'no word to the banned one',
    )
    t.match(rig.server.stats(), { dialogs: 0, guard: { banned: 1, bans: { scanner: 1 } } })
    t.equal(await kept(dial(t, tcp, '::1', '::1'), 'x'), false)
  },
)

t.test('unanswered INVITEs of many sources: every table stays limited and is empty at the end', async (t) => {
  const rig = await openRig(t, {
    guard: { ...GUARD, maxSources: 10 },
    limits: { transactions: 60, pendingPerSource: 4 },
  })
  const app = await rig.app()
  app.use('invite', () => {})
  await rig.routed(app)
  const sockets = await Promise.all(
    Array.from({ length: 40 }, async (_, at) => {
      const socket = createSocket('udp4')
      socket.bind(0, `127.0.8.${at + 1}`)
      await once(socket, 'listening')
      t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
      return socket
    }),
  )
  let refused = 0
  for (const socket of sockets) {
    socket.on('message', (bytes) => {
      if (bytes.toString('latin1').startsWith('SIP/2.0 503')) refused += 1
    })
  }
  for (let round = 0; round < 25; round++) {
    for (const socket of sockets) socket.send(tiny('INVITE', socket.address().port), rig.port, '127.0.0.1')
    await rig.routed(app)
    const { serverTransactions, unanswered, guard } = rig.server.stats()
    if (serverTransactions > 60 || unanswered > 60 || guard.sources > 10) {
      t.fail(`${serverTransactions} transactions, ${unanswered} unanswered, ${guard.sources} sources`)
    }
  }
  await until(() => refused > 0)
  // The response timer of the application ends after 128 T1, the transactions 64 T1 later.
  await until(() => rig.server.stats().unanswered === 0)
  await until(() => rig.server.stats().serverTransactions === 0)
  t.equal(rig.server.stats().dialogs, 0)
})

t.test('an unknown source never gets more than three bytes per byte sent', async (t) => {
  const rig = await openRig(t, {
    guard: { ...GUARD, invitesPerSecond: 1, requestsPerSecond: 1, burstSeconds: 1, refusalsPerSecond: 1000 },
  })
  const app = await rig.app()
  app.use('invite', (_req, res) =>
    res.send(401, { headers: { 'WWW-Authenticate': 'Digest realm="x", nonce="y"' } }),
  )
  app.use('options', (_req, res) => res.send(200))
  await rig.routed(app)
  const forms: readonly [string, (port: number) => string][] = [
    ['an INVITE with as little as possible', (port) => tiny('INVITE', port)],
    ['OPTIONS, over its rate', (port) => tiny('OPTIONS', port)],
    ['what cannot be read', (port) => tiny('OPTIONS', port).replace('CSeq: 1 OPTIONS', 'CSeq: x')],
    ['an unknown method', (port) => tiny('JUMP', port)],
    ['in no dialog', (port) => tiny('BYE', port).replace('To: <sip:x@y>', 'To: <sip:x@y>;tag=1')],
    ['a CANCEL of nothing', (port) => tiny('CANCEL', port)],
    ['a REGISTER nobody serves', (port) => tiny('REGISTER', port)],
  ]
  for (const [at, [what, text]] of forms.entries()) {
    const socket = createSocket('udp4')
    socket.bind(0, `127.0.7.${at + 1}`)
    await once(socket, 'listening')
    let received = 0
    let sent = 0
    socket.on('message', (bytes) => {
      received += bytes.length
    })
    for (let n = 0; n < 3; n++) {
      const message = text(socket.address().port)
      sent += message.length
      socket.send(message, rig.port, '127.0.0.1')
    }
    while (received === 0) await once(socket, 'message')
    // All retransmissions have ended when no transaction is left (64 T1 are 1.28 s here).
    await until(() => rig.server.stats().serverTransactions === 0)
    await rig.routed(app)
    t.ok(received <= 3 * sent, `${what}: ${received} for ${sent}`)
    await new Promise<void>((resolve) => socket.close(() => resolve()))
  }
})

const forging = cannotForge()

t.test(
  'forged datagrams: a flood in the names of thousands keeps no transaction, bans nobody and leaves carriers their calls',
  { skip: forging },
  async (t) => {
    const rig = await openRig(t, { guard: GUARD, limits: { transactions: 200 } })
    const app = await rig.app()
    app.use('invite', (req, res) => {
      if (req.has('Subject')) res.send(486)
      else res.send(401, { headers: { 'WWW-Authenticate': 'Digest realm="x", nonce="y"' } })
    })
    app.use('options', (_req, res) => res.send(200))
    await rig.routed(app)
    const to = { address: '127.0.0.1', port: rig.port }
    const carrier = createSocket('udp4')
    carrier.bind(0, '127.0.30.1')
    await once(carrier, 'listening')
    t.teardown(() => new Promise<void>((resolve) => carrier.close(() => resolve())))
    const got: string[] = []
    carrier.on('message', (bytes) => got.push(bytes.toString('latin1')))
    const { port } = carrier.address()
    rig.server.setTrustedNetworks(['127.0.30.0/24'])
    for (let round = 0; round < 10; round++) {
      const datagrams = Array.from({ length: 1_000 }, (_, n) => {
        const from = { address: `127.9.${round}.${n % 250}`, port: 5060 }
        const text = tiny(n % 2 === 0 ? 'INVITE' : 'OPTIONS', 5060)
        return { from, to, bytes: Buffer.from(text) }
      })
      await sendForged(datagrams)
      const invite = tiny('INVITE', port).replace('l: 0', 'Subject: call\r\nl: 0')
      const callId = new RegExp(`^(?:Call-ID|i): *${branch}\\r`, 'm')
      const answered = () => got.some((text) => text.startsWith('SIP/2.0 486') && callId.test(text))
      await retransmitted(() => carrier.send(invite, rig.port, '127.0.0.1'), answered)
      const { serverTransactions } = rig.server.stats()
      if (serverTransactions > 150 + round + 1) t.fail(`${serverTransactions} transactions`)
    }
    t.notOk(
      got.some((text) => text.startsWith('SIP/2.0 503')),
      'no call of the carrier was refused',
    )
    await until(() => rig.server.stats().unanswered === 0)
    t.ok(rig.server.stats().serverTransactions <= 10, 'the calls of the carrier alone')

    // A scanner in the name of an idle telephone system, which then calls.
    const victim = createSocket('udp4')
    victim.bind(0, '127.0.31.1')
    await once(victim, 'listening')
    t.teardown(() => new Promise<void>((resolve) => victim.close(() => resolve())))
    const answers: string[] = []
    victim.on('message', (bytes) => answers.push(bytes.toString('latin1')))
    const scan = () =>
      Buffer.from(tiny('OPTIONS', 5060).replace('l: 0', 'User-Agent: friendly-scanner\r\nl: 0'))
    const noise = () => Buffer.from(tiny('OPTIONS', 5060).replace('CSeq: 1 OPTIONS', 'CSeq: x'))
    await sendForged(
      Array.from({ length: 120 }, (_, n) => ({
        from: { address: '127.0.31.1', port: 5060 },
        to,
        bytes: n % 2 === 0 ? scan() : noise(),
      })),
    )
    const invite = tiny('INVITE', victim.address().port)
    const challenged = () => answers.some((text) => text.startsWith('SIP/2.0 401'))
    await retransmitted(() => victim.send(invite, rig.port, '127.0.0.1'), challenged)
    t.equal(rig.server.stats().guard.banned, 0)
  },
)

/** Sends a request again each 500 ms (RFC 3261, T1) until it is answered: a flood fills the buffer of the socket. */
async function retransmitted(send: () => void, answered: () => boolean): Promise<void> {
  send()
  const timer = setInterval(send, 500)
  await until(answered).finally(() => clearInterval(timer))
}

let branch = 0

function tiny(method: string, port: number): string {
  branch += 1
  return [
    `${method} sip:x@y SIP/2.0`,
    `v: SIP/2.0/UDP h:${port};branch=z9hG4bK${branch}`,
    'f: <sip:x@y>;tag=1',
    'To: <sip:x@y>',
    `i: ${branch}`,
    `CSeq: 1 ${method}`,
    ...(method === 'INVITE' ? ['m: <sip:x@y>'] : []),
    'l: 0',
    '',
    '',
  ].join('\r\n')
}
