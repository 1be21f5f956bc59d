import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { silentLog } from '../../../media/base/log.js'
import type { Core } from '../core.js'
import type { Transport } from '../transport/transport.js'
import { type NextHops, resolveNextHops } from './destination.js'
import { DestinationQuarantine } from './destination-quarantine.js'
import type { Dns } from './dns.js'
import { LocationCache } from './location-cache.js'
import { parseTarget } from './target.js'

const clock = new VirtualClock()

const udp: Transport = {
  protocol: 'udp',
  family: 4,
  bound: { address: '0.0.0.0', port: 5060 },
  advertised: () => ({ address: '192.0.2.1', port: 5060 }),
  isLocalPeer: () => false,
  flowTo() {
    throw new Error('nothing is sent here')
  },
  connectionWith: () => null,
  close: async () => {},
}

const dns: Dns = {
  naptr: async () => [],
  srv: async () => [],
  addresses: async () => ['10.0.0.1', '127.0.0.1', '8.8.8.8'],
  close() {},
}

/** Only what the routing uses. */
const core = {
  log: silentLog,
  transports: [udp],
  quarantine: new DestinationQuarantine(clock),
  locations: new LocationCache(clock, silentLog, dns, () => 0),
} as unknown as Core

/** Returns the addresses of the next hops for a URI that `peer` named; null is the application itself. */
async function nextHops(uri: string, peer: string | null): Promise<readonly string[] | NextHops['kind']> {
  const target = parseTarget(uri)
  if (target === null) throw new Error(uri)
  const result = await new Promise<NextHops>((resolve) =>
    resolveNextHops(core, { kind: 'target', target, peer }, resolve),
  )
  return result.kind === 'found' ? result.nextHops.map(({ remote }) => remote.address) : result.kind
}

t.test('only addresses that the peer may name become next hops', async (t) => {
  t.same(await nextHops('sip:a@8.8.8.8', '9.9.9.9'), ['8.8.8.8'])
  t.equal(await nextHops('sip:a@127.0.0.1:22', '9.9.9.9'), 'no address')
  t.equal(await nextHops('sip:a@10.0.0.1', '9.9.9.9'), 'no address')
  t.same(await nextHops('sip:a@10.0.0.1', '10.255.255.9'), ['10.0.0.1'])
  t.same(await nextHops('sip:a@inside.example.net', '9.9.9.9'), ['8.8.8.8'], 'also behind a name')
  t.same(await nextHops('sip:a@inside.example.net', '10.255.255.9'), ['10.0.0.1', '8.8.8.8'])
  t.same(await nextHops('sip:a@10.0.0.1', null), ['10.0.0.1'], 'the application itself is not limited')
})

t.test('a host that a customer named is reached at public addresses only', async (t) => {
  t.same(await nextHops('sip:inside.example.net;addresses=public', null), ['8.8.8.8'], 'also behind a name')
  t.same(await nextHops('sip:a@8.8.4.4;transport=udp;addresses=public', null), ['8.8.4.4'])
  t.equal(await nextHops('sip:a@10.0.0.1;addresses=public', null), 'no address')
  t.equal(await nextHops('sip:a@127.0.0.1:5060;addresses=public', null), 'no address')
  t.equal(
    await nextHops('sip:a@8.8.4.4;maddr=169.254.169.254;addresses=public', null),
    'no address',
    'whatever else the URI says',
  )
  core.locations.close()
})
