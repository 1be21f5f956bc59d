import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import type { Protocol } from '../transport/transport.js'
import { DestinationQuarantine } from './destination-quarantine.js'
import type { Dns, NaptrRecord, SrvRecord } from './dns.js'
import { locateServers, orderSrv, serverAddresses } from './server-location.js'
import { parseTarget } from './target.js'

/* RFC 3263: the queries, and the server addresses from the answers. */

const ALL: ReadonlySet<Protocol> = new Set(['udp', 'tcp', 'tls', 'ws', 'wss'])

interface Zone {
  readonly naptr?: Readonly<Record<string, readonly NaptrRecord[]>>
  readonly srv?: Readonly<Record<string, readonly SrvRecord[]>>
  readonly hosts?: Readonly<Record<string, readonly string[]>>
}

function zone({ naptr = {}, srv = {}, hosts = {} }: Zone): Dns {
  return {
    naptr: async (name) => naptr[name] ?? [],
    srv: async (name) => srv[name] ?? [],
    addresses: async (name) => hosts[name] ?? [],
    close() {},
  }
}

const srv = (name: string, port: number, priority = 0, weight = 0): SrvRecord => ({
  name,
  port,
  priority,
  weight,
})
const naptr = (order: number, preference: number, service: string, replacement: string): NaptrRecord => ({
  order,
  preference,
  flags: 's',
  service,
  replacement,
})

async function find(uri: string, dns: Dns, supported = ALL): Promise<string[]> {
  const target = parseTarget(uri)
  if (target === null) return ['no target']
  const located = await locateServers(target, supported, dns)
  return serverAddresses(located, () => 0).map(
    ({ protocol, address, port }) => `${protocol} ${address}:${port}`,
  )
}

t.test('URIs: transport, port and the effect of SIPS', (t) => {
  const read = (uri: string) => {
    const target = parseTarget(uri)
    return target && [target.host, target.port, target.protocol, target.secure]
  }
  t.same(read('sip:a@Example.COM'), ['example.com', null, null, false])
  t.same(read('sip:a@example.com:5080;transport=TCP'), ['example.com', 5080, 'tcp', false])
  t.same(read('sips:a@example.com'), ['example.com', null, null, true])
  t.same(read('sips:a@example.com;transport=tcp'), ['example.com', null, 'tls', true])
  t.same(read('sips:a@example.com;transport=ws'), ['example.com', null, 'wss', true])
  t.same(read('sip:a@x.invalid;transport=wss'), ['x.invalid', null, 'wss', false])
  t.same(read('sip:a@example.com;maddr=10.0.0.1'), ['10.0.0.1', null, null, false])
  t.same(read('sip:a@[2001:db8::1]:5070'), ['2001:db8::1', 5070, null, false])
  for (const uri of ['tel:+1', 'sip:a@b;transport=sctp', 'sips:a@b;transport=udp', 'garbage']) {
    t.equal(read(uri), null, uri)
  }
  t.end()
})

t.test('NAPTR decides among the supported transports, in its order', async (t) => {
  const dns = zone({
    naptr: {
      'example.com': [
        naptr(50, 50, 'SIPS+D2T', '_sips._tcp.example.com'),
        naptr(90, 20, 'SIP+D2U', '_sip._udp.example.com'),
        naptr(90, 10, 'SIP+D2T', '_sip._tcp.example.com'),
        naptr(10, 10, 'H323+D2T', '_h323._tcp.example.com'),
        naptr(10, 10, 'SIP+D2S', '_sip._sctp.example.com'),
      ],
    },
    srv: {
      '_sips._tcp.example.com': [srv('s1', 5061)],
      '_sip._tcp.example.com': [srv('s1', 5060), srv('s2', 5062, 1)],
      '_sip._udp.example.com': [srv('s1', 5060)],
    },
    hosts: { s1: ['192.0.2.1'], s2: ['192.0.2.2', '2001:db8::2'] },
  })
  const tcp = ['tcp 192.0.2.1:5060', 'tcp 192.0.2.2:5062', 'tcp 2001:db8::2:5062']
  t.same(await find('sip:a@example.com', dns), ['tls 192.0.2.1:5061', ...tcp, 'udp 192.0.2.1:5060'])
  t.same(await find('sip:a@example.com', dns, new Set(['udp', 'tcp'])), [...tcp, 'udp 192.0.2.1:5060'])
  t.same(await find('sips:a@example.com', dns), ['tls 192.0.2.1:5061'], 'SIPS takes secure services only')
  t.same(await find('sip:a@example.com;transport=udp', dns), ['udp 192.0.2.1:5060'], 'the URI decides')
})

t.test('without NAPTR: SRV with the usual names, then the host itself', async (t) => {
  const dns = zone({
    srv: {
      '_sip._tcp.example.com': [srv('s1', 5070)],
      '_sips._tcp.example.com': [srv('s1', 5071)],
      '_sip._udp.none.example.com': [srv('', 0)],
    },
    hosts: {
      s1: ['192.0.2.1'],
      'example.com': ['192.0.2.9'],
      'none.example.com': ['192.0.2.8'],
      'plain.example.com': ['192.0.2.7'],
    },
  })
  t.same(await find('sip:a@example.com', dns), ['tcp 192.0.2.1:5070', 'tls 192.0.2.1:5071'])
  t.same(await find('sips:a@example.com', dns), ['tls 192.0.2.1:5071'])
  t.same(await find('sip:a@example.com;transport=udp', dns), ['udp 192.0.2.9:5060'], 'no SRV for UDP')
  t.same(await find('sip:a@example.com:5090', dns), ['udp 192.0.2.9:5090'], 'a port: no SRV')
  t.same(await find('sips:a@plain.example.com', dns), ['tls 192.0.2.7:5061'])
  t.same(await find('sip:a@plain.example.com;transport=ws', dns), ['ws 192.0.2.7:80'])
  t.same(await find('sip:a@plain.example.com', dns, new Set(['tcp'])), ['tcp 192.0.2.7:5060'])
  t.same(await find('sip:a@none.example.com', dns), ['udp 192.0.2.8:5060'], 'a service that is not there')
  t.same(await find('sip:a@nowhere.example.com', dns), [])
})

t.test('SRV: by priority, and by weight within a priority', (t) => {
  const records = [srv('backup', 1, 20, 1), srv('a', 1, 10, 60), srv('b', 1, 10, 20), srv('c', 1, 10, 0)]
  const draw = (value: number) => orderSrv(records, () => value).map(({ name }) => name)
  t.same(draw(0), ['c', 'a', 'b', 'backup'])
  t.same(draw(0.99), ['b', 'a', 'c', 'backup'])
  const first: Record<string, number> = {}
  const COUNT = 8000
  for (let i = 0; i < COUNT; i++) {
    const name = orderSrv(records, () => (i + 0.5) / COUNT)[0]?.name ?? ''
    first[name] = (first[name] ?? 0) + 1
  }
  t.same(first, { a: 6000, b: 2000 }, '60 to 20')
  t.end()
})

t.test('quarantine: tried last for a while, and never left out', (t) => {
  const clock = new VirtualClock()
  const quarantine = new DestinationQuarantine(clock)
  const sort = () => quarantine.sort(['a', 'b', 'c'], (key) => key).join('')
  t.equal(sort(), 'abc')
  quarantine.put('a', 1000)
  t.equal(sort(), 'bca')
  quarantine.put('b', 500)
  quarantine.put('c', 500)
  t.equal(sort(), 'abc', 'all of them: as if none')
  clock.advance(500)
  t.equal(sort(), 'bca')
  quarantine.release('a')
  t.equal(sort(), 'abc')
  for (let i = 0; i < 2000; i++) quarantine.put(`x${i}`, 1000)
  t.ok(quarantine.size <= 1000)
  t.end()
})

t.test('SRV records with port 0 are left out', async (t) => {
  const dns = zone({
    srv: {
      '_sip._udp.one.test': [srv('a.one.test', 0), srv('b.one.test', 5070)],
      '_sip._udp.two.test': [srv('a.one.test', 0)],
    },
    hosts: { 'a.one.test': ['192.0.2.1'], 'b.one.test': ['192.0.2.2'], 'two.test': ['192.0.2.3'] },
  })
  t.same(await find('sip:one.test', dns, new Set(['udp'])), ['udp 192.0.2.2:5070'])
  t.same(await find('sip:two.test', dns, new Set(['udp'])), ['udp 192.0.2.3:5060'])
})
