import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { seeded } from '../../../fixtures/host/random.js'
import { openDnsServer } from '../../../fixtures/sip/dns-server.js'
import { silentLog } from '../../../media/base/log.js'
import { openDns } from './dns.js'
import { dnsQuery, readReply } from './dns-client.js'
import { LocationCache } from './location-cache.js'
import { locateServers, serverAddresses } from './server-location.js'
import { parseTarget } from './target.js'

assertNothingLeft(t)

const srv = (port: number, target: string) => ({ type: 'SRV', priority: 1, weight: 0, port, target }) as const
const a = (address: string) => ({ type: 'A', address }) as const

async function zone(t: { teardown(run: () => Promise<void>): unknown }) {
  const server = await openDnsServer({
    '_sip._udp.carrier.test': [srv(5070, 'one.carrier.test')],
    'one.carrier.test': [a('192.0.2.1')],
  })
  t.teardown(() => server.close())
  const clock = new VirtualClock()
  const locator = new LocationCache(clock, silentLog, openDns([server.address]), () => 0)
  t.teardown(async () => locator.close())
  const where = (uri = 'sip:carrier.test') =>
    new Promise<string>((resolve) => {
      const target = parseTarget(uri)
      if (target === null) throw new Error(uri)
      locator.find(target, new Set(['udp']), ({ addresses: places }) =>
        resolve(places.map(({ address, port }) => `${address}:${port}`).join()),
      )
    })
  return { server, clock, locator, where }
}

t.test('an answer is cached for its TTL, and not cached with a TTL of 0', async (t) => {
  const { server, clock, where } = await zone(t)
  server.ttlS = 5
  t.equal(await where(), '192.0.2.1:5070')
  const asked = server.questions.length
  server.records.set('one.carrier.test', [a('192.0.2.2')])
  clock.advance(4_900)
  t.equal(await where(), '192.0.2.1:5070')
  t.equal(server.questions.length, asked, 'no query')
  clock.advance(200)
  server.ttlS = 0
  t.equal(await where(), '192.0.2.2:5070')
  server.records.set('one.carrier.test', [a('192.0.2.3')])
  t.equal(await where(), '192.0.2.3:5070')
  server.ttlS = 1_000_000
  t.equal(await where(), '192.0.2.3:5070')
  server.records.set('one.carrier.test', [a('192.0.2.4')])
  clock.advance(3_599_000)
  t.equal(await where(), '192.0.2.3:5070')
  clock.advance(2_000)
  t.equal(await where(), '192.0.2.4:5070', 'cached for an hour at most')
})

t.test('a truncated answer is queried again over TCP', async (t) => {
  const { server, where } = await zone(t)
  server.truncates = true
  t.equal(await where(), '192.0.2.1:5070')
  t.ok(server.questions.includes('tcp SRV _sip._udp.carrier.test'))
})

t.test('after a failing name server the next one is queried; forged replies are ignored', async (t) => {
  const { server } = await zone(t)
  const liar = createSocket('udp4')
  liar.bind(0, '127.0.0.1')
  await once(liar, 'listening')
  t.teardown(() => new Promise<void>((resolve) => liar.close(() => resolve())))
  liar.on('message', (query, from) => {
    const refused = Buffer.from(query.subarray(0, query.length - 11))
    refused.writeUInt16BE(0x8185, 2)
    refused.writeUInt16BE(0, 10)
    const other = Buffer.from(refused)
    other.writeUInt16BE(query.readUInt16BE(0) ^ 1, 0)
    liar.send(other, from.port, from.address)
    liar.send(refused, from.port, from.address)
  })
  const dns = openDns([`127.0.0.1:${liar.address().port}`, server.address])
  t.teardown(async () => dns.close())
  t.same([...(await dns.addresses('one.carrier.test'))], ['192.0.2.1'])
  t.equal((await dns.addresses('one.carrier.test')).ttlS, 60)
  const alone = openDns([`127.0.0.1:${liar.address().port}`])
  t.teardown(async () => alone.close())
  await t.rejects(alone.srv('_sip._udp.carrier.test'), { code: 'sip_failed', retryable: true })
})

t.test('names of the hosts file need no name server', async (t) => {
  const dns = openDns()
  t.teardown(async () => dns.close())
  const found = await dns.addresses('localhost')
  t.ok(found.includes('127.0.0.1') || found.includes('::1'))
  t.equal(found.ttlS, undefined)
})

t.test('decoding terminates for any reply and never throws', async (t) => {
  const query = dnsQuery(7, 'carrier.test', 'SRV')
  if (query === null) throw new Error('no query')
  const reply = Buffer.concat([
    Buffer.from(query.bytes.subarray(0, query.bytes.length - 11)),
    Buffer.from('c00c0021000100000005000c000100020003036f6e65c00c', 'hex'),
  ])
  reply.writeUInt16BE(0x8180, 2)
  reply.writeUInt16BE(1, 6)
  reply.writeUInt16BE(0, 10)
  t.match(readReply(query, reply), { rcode: 0, answers: [{ type: 'SRV', ttl: 5 }] })
  const random = seeded(1035)
  const below = (limit: number) => Math.floor(random.between(0, limit))
  let read = 0
  for (let n = 0; n < 20_000; n++) {
    const bytes = Buffer.from(reply)
    for (let k = 0; k < 3; k++) bytes[below(bytes.length)] = below(256)
    const length = below(10) < 3 ? below(bytes.length) : bytes.length
    read += readReply(query, bytes.subarray(0, length))?.answers.length ?? 0
  }
  t.ok(read > 500, `${read} answers among them`)
  t.equal(dnsQuery(1, 'a..b', 'A'), null)
  t.equal(dnsQuery(1, `${'x'.repeat(64)}.test`, 'A'), null)
})

t.test('server location (RFC 3263) with a name server over the wire', async (t) => {
  const server = await openDnsServer({
    'example.test': [
      {
        type: 'NAPTR',
        order: 10,
        preference: 10,
        flags: 'S',
        service: 'SIP+D2U',
        replacement: '_sip._udp.example.test',
      },
    ],
    '_sip._udp.example.test': [
      { type: 'SRV', priority: 2, weight: 0, port: 5071, target: 'two.example.test' },
      { type: 'SRV', priority: 1, weight: 0, port: 5070, target: 'one.example.test' },
    ],
    'one.example.test': [
      { type: 'A', address: '192.0.2.1' },
      { type: 'AAAA', groups: [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1] },
    ],
    'two.example.test': [{ type: 'A', address: '192.0.2.2' }],
  })
  t.teardown(() => server.close())
  const dns = openDns([server.address])
  t.teardown(async () => dns.close())
  const locate = async (uri: string) => {
    const target = parseTarget(uri)
    if (target === null) throw new Error(uri)
    const location = await locateServers(target, new Set(['udp', 'tcp']), dns)
    return serverAddresses(location, () => 0).map(
      ({ protocol, address, port }) => `${protocol} ${address}:${port}`,
    )
  }
  t.same(await locate('sip:a@example.test'), [
    'udp 192.0.2.1:5070',
    'udp 2001:db8::1:5070',
    'udp 192.0.2.2:5071',
  ])
  t.equal(server.questions[0], 'NAPTR example.test')
  t.same(await locate('sip:a@unknown.test'), [])
})
