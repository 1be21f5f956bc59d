import { crc32 } from 'node:zlib'
import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { uint } from '../dtls/bytes.js'
import type { SocketAddress } from '../port.js'
import { CONSENT_MS, createIceCredentials, IceLiteAgent } from './lite-agent.js'
import { ATTRIBUTE, hasIntegrity, readStun, STUN, writeStun, xorMappedAddress } from './stun.js'

/** The vectors of RFC 5769 sections 2.1 and 2.2, and the values in them. */
const PASSWORD = 'VOkJxbRl1RmTxUk/WvJxBt'
const REQUEST =
  '000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b151263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf'
const RESPONSE =
  '0101003c2112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220002000080001a147e112a643000800142b91f599fd9e90c38c7489f92af9ba53f06be7d780280004c07d4c96'
const TRANSACTION = Buffer.from('b7e7a701bc34d686fa87dfae', 'hex')
const PRIORITY = [ATTRIBUTE.priority, uint(0x6e0001ff, 4)] as const
const USERNAME = [ATTRIBUTE.username, Buffer.from('evtj:h6vY')] as const
const USE = [ATTRIBUTE.useCandidate, Buffer.alloc(0)] as const
const BROWSER = { address: '192.0.2.1', port: 32853 }

function open() {
  const replies: { datagram: Buffer; to: SocketAddress }[] = []
  const agent = new IceLiteAgent({
    local: { ufrag: 'evtj', password: PASSWORD },
    remoteUfrag: 'h6vY',
    send: (datagram, to) => replies.push({ datagram, to }),
  })
  return { agent, replies }
}

function request(...attributes: readonly (readonly [number, Uint8Array])[]): Buffer {
  return writeStun(STUN.request, TRANSACTION, attributes, PASSWORD)
}

t.test('the vectors of RFC 5769', async (t) => {
  for (const hex of [REQUEST, RESPONSE]) {
    const message = readStun(Buffer.from(hex, 'hex'))
    if (message === null) throw new Error('not read')
    t.same(message.transaction, TRANSACTION)
    t.ok(hasIntegrity(message, PASSWORD))
    t.notOk(hasIntegrity(message, `${PASSWORD}x`))
    for (let at = 0; at < hex.length / 2; at++) {
      const damaged = Buffer.from(hex, 'hex')
      damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at)
      t.equal(readStun(damaged), null, `byte ${at}`)
    }
  }
  t.equal(xorMappedAddress(BROWSER, TRANSACTION).toString('hex'), '0001a147e112a643')
  for (const address of [
    '2001:db8:1234:5678:11:2233:4455:6677',
    '2001:DB8:1234:5678:0011:2233:68.85.102.119%eth0',
  ]) {
    const mapped = xorMappedAddress({ address, port: 32853 }, TRANSACTION)
    t.equal(mapped.toString('hex'), '0002a1470113a9faa5d3f179bc25f4b5bed2b9d9')
  }
  const short = xorMappedAddress({ address: 'fe80::1', port: 0 }, Buffer.alloc(12))
  t.equal(short.toString('hex'), '00022112df92a442000000000000000000000001')
})

t.test('a check makes its address valid, and USE-CANDIDATE selects it', async (t) => {
  const { agent, replies } = open()
  t.notOk(agent.isValid(BROWSER.address, BROWSER.port, 0))
  agent.receive(request(USERNAME, PRIORITY), BROWSER, 0)
  t.ok(agent.isValid(BROWSER.address, BROWSER.port, 0))
  t.notOk(agent.isValid(BROWSER.address, BROWSER.port + 1, 0))
  t.equal(agent.selected, null)
  const [reply] = replies
  const message = readStun(reply?.datagram ?? Buffer.alloc(0))
  if (message === null) throw new Error('no reply')
  t.same(reply?.to, BROWSER)
  t.equal(message.type, STUN.success)
  t.same(message.transaction, TRANSACTION)
  t.ok(hasIntegrity(message, PASSWORD))
  t.equal(message.attributes.get(ATTRIBUTE.xorMappedAddress)?.toString('hex'), '0001a147e112a643')
  agent.receive(request(USERNAME, PRIORITY, USE), BROWSER, 10)
  t.match(agent.selected, BROWSER)
  const roamed = { address: '198.51.100.7', port: 9 }
  agent.receive(request(USERNAME, PRIORITY, USE), roamed, 20)
  t.match(agent.selected, roamed)
  t.ok(agent.isValid(BROWSER.address, BROWSER.port, 20), 'packets under way still count')
})

t.test('without the password nothing is answered and nothing becomes valid', async (t) => {
  const foreign = writeStun(STUN.request, TRANSACTION, [USERNAME, PRIORITY, USE], 'guessed')
  const unprotected = Buffer.from(request(USERNAME, PRIORITY))
  const cases: Readonly<Record<string, Buffer>> = {
    'another password': foreign,
    'no user name': request(PRIORITY),
    'only our half of the name': request([ATTRIBUTE.username, Buffer.from('evtj')], PRIORITY),
    'the halves swapped': request([ATTRIBUTE.username, Buffer.from('h6vY:evtj')], PRIORITY),
    'a longer name': request([ATTRIBUTE.username, Buffer.from('evtj:h6vYx')], PRIORITY),
    'a response': writeStun(STUN.success, TRANSACTION, [USERNAME, PRIORITY], PASSWORD),
    'an indication': writeStun(0x0011, TRANSACTION, [USERNAME, PRIORITY], PASSWORD),
    'no fingerprint': unprotected.subarray(0, unprotected.length - 8),
    'too long': request(USERNAME, PRIORITY, [0x8022, Buffer.alloc(600)]),
    'only a header': Buffer.from('000100002112a442b7e7a701bc34d686fa87dfae', 'hex'),
  }
  for (const [name, datagram] of Object.entries(cases)) {
    const { agent, replies } = open()
    agent.receive(datagram, BROWSER, 0)
    t.equal(replies.length, 0, name)
    t.equal(agent.dropped, 1, name)
    t.notOk(agent.isValid(BROWSER.address, BROWSER.port, 0), name)
  }
  const { agent, replies } = open()
  agent.receive(request(USERNAME, PRIORITY, USE), { address: '192.0.2.1', port: 0 }, 0)
  t.equal(replies.length, 0, 'port 0 cannot be answered')
})

t.test('what stands after the integrity is not obeyed', async (t) => {
  const { agent } = open()
  const proven = request(USERNAME, PRIORITY)
  // An attacker on the path adds USE-CANDIDATE to a check, and makes its length and checksum right again.
  const body = Buffer.concat([proven.subarray(0, -8), uint((ATTRIBUTE.useCandidate << 16) >>> 0, 4)])
  body.writeUInt16BE(body.length + 8 - 20, 2)
  const fingerprint = uint((crc32(body) ^ 0x5354554e) >>> 0, 4)
  agent.receive(Buffer.concat([body, Buffer.from('80280004', 'hex'), fingerprint]), BROWSER, 0)
  t.ok(agent.isValid(BROWSER.address, BROWSER.port, 0), 'the check itself is right')
  t.equal(agent.selected, null)
})

t.test('a proven peer is told what is wrong, and stays invalid', async (t) => {
  const cases: readonly (readonly [number, Buffer])[] = [
    [487, Buffer.from(REQUEST, 'hex')],
    [420, request(USERNAME, PRIORITY, [0x7ffe, Buffer.alloc(4)])],
    [400, request(USERNAME)],
  ]
  for (const [code, datagram] of cases) {
    const { agent, replies } = open()
    agent.receive(datagram, BROWSER, 0)
    const reply = readStun(replies[0]?.datagram ?? Buffer.alloc(0))
    const error = reply?.attributes.get(ATTRIBUTE.errorCode)
    t.equal(reply?.type, STUN.error)
    t.equal((error?.[2] ?? 0) * 100 + (error?.[3] ?? 0), code)
    if (code === 420) t.same(reply?.attributes.get(ATTRIBUTE.unknownAttributes), Buffer.from('7ffe', 'hex'))
    t.notOk(agent.isValid(BROWSER.address, BROWSER.port, 0))
  }
})

t.test('consent ends 30 s after the last check from the selected address', async (t) => {
  const { agent } = open()
  t.notOk(agent.hasConsent(0))
  agent.receive(request(USERNAME, PRIORITY, USE), BROWSER, 0)
  t.ok(agent.hasConsent(CONSENT_MS))
  t.notOk(agent.hasConsent(CONSENT_MS + 1))
  t.notOk(agent.isValid(BROWSER.address, BROWSER.port, CONSENT_MS + 1))
  agent.receive(request(USERNAME, PRIORITY), { address: '198.51.100.7', port: 9 }, CONSENT_MS + 1)
  t.notOk(agent.hasConsent(CONSENT_MS + 1), 'another address does not count')
  agent.receive(request(USERNAME, PRIORITY), BROWSER, CONSENT_MS + 2)
  t.ok(agent.hasConsent(CONSENT_MS + 2), 'the browser came back')
})

t.test('many addresses do not push the selected one aside', async (t) => {
  const { agent } = open()
  agent.receive(request(USERNAME, PRIORITY, USE), BROWSER, 0)
  for (let port = 1; port <= 100; port++)
    agent.receive(request(USERNAME, PRIORITY), { address: '198.51.100.7', port }, port)
  t.ok(agent.isValid(BROWSER.address, BROWSER.port, 100))
  t.ok(agent.isValid('198.51.100.7', 100, 100))
  t.notOk(agent.isValid('198.51.100.7', 90, 100), 'the oldest are forgotten')
})

t.test('credentials have the length and the characters that SDP allows', async (t) => {
  const { ufrag, password } = createIceCredentials()
  t.match(ufrag, /^[A-Za-z0-9+/]{8}$/)
  t.match(password, /^[A-Za-z0-9+/]{24}$/)
  t.not(createIceCredentials().password, password)
})

t.test('seeded noise raises no exception and proves nothing', async (t) => {
  const random = seeded(5769)
  const { agent, replies } = open()
  const good = request(USERNAME, PRIORITY, USE)
  for (let round = 0; round < 5000; round++) {
    const bytes = Buffer.from(good.subarray(0, Math.floor(random.between(0, good.length + 1))))
    for (let i = 0; i < 3 && bytes.length > 0; i++)
      bytes[Math.floor(random.between(0, bytes.length))] = random.between(0, 256)
    if (bytes.equals(good)) continue
    agent.receive(bytes, BROWSER, 0)
  }
  t.equal(replies.length, 0)
  t.ok(agent.dropped > 4900)
})
