import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { openDnsServer } from '../../fixtures/sip/dns-server.js'
import { systemClock } from '../../media/base/clock.js'
import { NameResolver, type ResolvedAddress } from '../../media/base/name-resolver.js'
import { blockInterfaces, isPublicAddress } from '../../media/base/public-address.js'
import { postWebhook } from '../webhooks/delivery-attempt.js'
import { openEgress } from './egress.js'

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '100.128.0.1',
  '198.20.0.1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
]

const NOT_PUBLIC = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16', // Azure
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:8.8.8.8', // mapped: the address family of the socket decides, so never
  '::ffff:127.0.0.1',
  '::127.0.0.1',
  '64:ff9b::7f00:1', // NAT64 of 127.0.0.1
  '100::1',
  '2001::1', // Teredo
  '2001:db8::1',
  '2002:7f00:1::', // 6to4 of 127.0.0.1
  '3fff::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '4000::1',
  'fe80::1%eth0',
  'localhost',
  '',
]

t.test('only public unicast addresses are public', async (t) => {
  for (const address of PUBLIC) t.equal(isPublicAddress(address), true, address)
  for (const address of NOT_PUBLIC) t.equal(isPublicAddress(address), false, address)
})

t.test('the public addresses of this machine are not public', async (t) => {
  t.equal(isPublicAddress('93.184.215.20'), true)
  t.equal(isPublicAddress('2606:4700:4700::1234'), true)
  const common = { netmask: '', mac: '', internal: false, cidr: null }
  blockInterfaces({
    eth0: [{ ...common, address: '93.184.215.20', family: 'IPv4' }],
    eth1: [{ ...common, address: '2606:4700:4700::1234', family: 'IPv6', scopeid: 0 }],
  })
  t.equal(isPublicAddress('93.184.215.20'), false)
  t.equal(isPublicAddress('2606:4700:4700::1234'), false)
  t.equal(isPublicAddress('93.184.215.21'), true)
})

const ORG = 'org_1'

const NAMES: Readonly<Record<string, readonly ResolvedAddress[]>> = {
  'hooks.example.com': [{ address: '93.184.215.14', family: 4 }],
  'inside.example.com': [{ address: '10.0.0.1', family: 4 }],
  'both.example.com': [
    { address: '93.184.215.14', family: 4 },
    { address: 'fd00::1', family: 6 },
  ],
}

const resolve = async (name: string): Promise<readonly ResolvedAddress[]> => {
  const found = NAMES[name]
  if (found === undefined) throw new Error(`no such name: ${name}`)
  return found
}

const REFUSED: readonly [url: string, reason: RegExp][] = [
  ['http://hooks.example.com/', /must start with https/],
  ['ftp://hooks.example.com/', /must start with https/],
  ['wss://hooks.example.com/', /must start with https/],
  ['hooks.example.com', /not a URL/],
  ['https://user:pass@hooks.example.com/', /user or password/],
  ['https://user@hooks.example.com/', /user or password/],
  ['https://127.0.0.1/', /not a public address/],
  ['https://2130706433/', /not a public address/], // the URL parser makes it 127.0.0.1
  ['https://0x7f.1/', /not a public address/],
  ['https://0177.0.0.1/', /not a public address/],
  ['https://[::1]/', /not a public address/],
  ['https://[::ffff:127.0.0.1]/', /not a public address/],
  ['https://[fe80::1]/', /not a public address/],
  ['https://169.254.169.254/latest/meta-data', /not a public address/],
  ['https://inside.example.com/', /resolves to an address that is not public/],
  ['https://both.example.com/', /resolves to an address that is not public/],
  ['https://unknown.example.com/', /does not resolve/],
  [`https://hooks.example.com/${'a'.repeat(2048)}`, /longer than 2048/],
  [`https://hooks.example.com/${'é'.repeat(1000)}`, /longer than 2048/],
  ['https://hooks.example.com/\r\nx', /control characters/],
  ['https://hooks.exa\tmple.com/', /control characters/],
  ['\u0000https://hooks.example.com/', /control characters/],
  [' https://hooks.example.com/', /start or end with a blank/],
  ['https://hooks.example.com/ ', /start or end with a blank/],
  ['https:hooks.example.com', /\/\/ and a host/],
  ['https:/hooks.example.com', /\/\/ and a host/],
  ['https:///hooks.example.com', /\/\/ and a host/],
  ['https:\\\\hooks.example.com\\@8.8.8.8', /backslash/],
  ['https://hooks.example.com\\@8.8.8.8/', /backslash/],
  ['https://@hooks.example.com/', /user or password/],
  ['https://:@hooks.example.com/', /user or password/],
  ['https://hooks.example.com:0/', /port 0/],
]

t.test('targets that are not public https are rejected when they are saved', async (t) => {
  const egress = openEgress({ allowPrivate: false, resolve })
  t.teardown(() => egress.close())
  t.equal(await egress.check('https://hooks.example.com/in?x=1', 'http', ORG), null)
  t.equal(await egress.check('https://8.8.8.8/', 'http', ORG), null)
  t.equal(await egress.check('wss://hooks.example.com/', 'websocket', ORG), null)
  t.match(await egress.check('ws://hooks.example.com/', 'websocket', ORG), { reason: /must start with wss/ })
  for (const [url, reason] of REFUSED) t.match(await egress.check(url, 'http', ORG), { reason }, url)
  t.throws(() => egress.permit('https://127.0.0.1/', 'http'), { code: 'egress_refused' })
  t.throws(() => egress.permit('https://hooks.example.com:0/', 'http'), { code: 'egress_refused' })
  t.equal(await egress.check('https://hooks.example.com/a@b', 'http', ORG), null, 'an at sign in the path')
  t.match(await egress.check('tls://hooks.example.com:0', 'tcp', ORG), { reason: /port 0/ })
  t.equal(egress.permit('https://hooks.example.com/a', 'http').pathname, '/a')
})

t.test('development may use private and plain targets, but no credentials', async (t) => {
  const egress = openEgress({ allowPrivate: true, resolve })
  t.teardown(() => egress.close())
  t.equal(await egress.check('http://127.0.0.1:3000/', 'http', ORG), null)
  t.equal(await egress.check('ws://inside.example.com/', 'websocket', ORG), null)
  t.match(await egress.check('http://u:p@127.0.0.1/', 'http', ORG), { reason: /user or password/ })
  t.match(await egress.check('ftp://127.0.0.1/', 'http', ORG), { reason: /must start with/ })
})

t.test('a host name that later resolves to a private address is not connected to', async (t) => {
  let connections = 0
  const server = createServer((_request, response) => response.end('reached')).listen(0, '127.0.0.1')
  server.on('connection', () => connections++)
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  let answer: readonly ResolvedAddress[] = [{ address: '93.184.215.14', family: 4 }]
  const egress = openEgress({ allowPrivate: false, resolve: async () => answer })
  t.teardown(() => egress.close())
  t.equal(await egress.check('https://rebound.example.com/', 'http', ORG), null)
  answer = [{ address: '127.0.0.1', family: 4 }]

  const request = get(`http://rebound.example.com:${port}/`, {
    agent: egress.http,
    lookup: egress.lookupOf(ORG),
  })
  const [error] = await once(request, 'error')
  t.match(error, { code: 'egress_refused' })
  t.equal(connections, 0)
})

t.test('a literal private address is never connected to', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  server.on('connection', () => t.fail('connected'))
  const { port } = server.address() as AddressInfo
  const egress = openEgress({ allowPrivate: false, resolve })
  t.teardown(() => egress.close())
  const requests = [
    () => get(`http://127.0.0.1:${port}/`, { agent: egress.http }),
    () => get(`http://[::1]:${port}/`, { agent: egress.http }),
    () => getHttps(`https://127.0.0.1:${port}/`, { agent: egress.https }),
  ]
  for (const request of requests) {
    const [error] = await once(request(), 'error')
    t.match(error, { code: 'egress_refused' })
  }
})

t.test('the connection goes to exactly the checked address', async (t) => {
  const server = createServer((request, response) => response.end(request.headers.host)).listen(
    0,
    '127.0.0.1',
  )
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let lookups = 0
  const egress = openEgress({
    allowPrivate: true,
    resolve: async () => {
      lookups++
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })
  t.teardown(() => egress.close())
  const request = get(`http://bot.example.com:${port}/`, { agent: egress.http, lookup: egress.lookupOf(ORG) })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  const [body] = await once(response, 'data')
  t.equal(body, `bot.example.com:${port}`)
  t.equal(lookups, 1, 'one look, then that address')
})

t.test('a request by host name that names no organization is refused', async (t) => {
  const egress = openEgress({ allowPrivate: true, resolve })
  t.teardown(() => egress.close())
  for (const request of [
    () => get('http://hooks.example.com/', { agent: egress.http }),
    () => getHttps('https://hooks.example.com/', { agent: egress.https }),
  ]) {
    const [error] = await once(request(), 'error')
    t.match(error, { code: 'egress_refused' })
  }
})

t.test("host names that hang do not delay another organization's webhook", async (t) => {
  const dns = await openDnsServer({ 'hooks.example.test': [{ type: 'A', address: '127.0.0.1' }] })
  dns.ignores = /hang\.test$/
  const receiver = createServer((_request, response) => response.writeHead(204).end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  // Only this clock ends a lookup, and it stands still: the names hang for the whole test.
  const clock = new VirtualClock()
  const names = new NameResolver({ clock, servers: [dns.address], useSystem: false, serverMs: 60_000 })
  const egress = openEgress({ allowPrivate: true, resolve: (name, owner) => names.resolve(name, owner) })
  let ended = 0
  const hanging = Array.from({ length: 32 }, (_, i) =>
    egress.check(`https://tool${i}.hang.test/`, 'http', 'org_slow').then(() => ended++),
  )
  const attempt = await postWebhook({
    egress,
    organizationId: 'org_other',
    clock: systemClock,
    url: `http://hooks.example.test:${(receiver.address() as AddressInfo).port}/`,
    headers: {},
    body: '{}',
  })
  t.match(attempt, { status: 204, error: null })
  t.equal(ended, 0)
  names.close()
  egress.close()
  receiver.close()
  // The names that wait for their turn get it once the first ones have failed.
  while (ended < hanging.length) {
    clock.advance(2_000)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await dns.close()
})
