import { isIP } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { addressKey, coveringPrefix, parseCidr } from './cidr.js'
import { callerIdentity, formatNumber } from './number-format.js'
import { TrunkLimiter } from './trunk-limiter.js'

t.test('number formats of carriers', async (t) => {
  const cases = [
    ['+919876543210', '+919876543210', '9876543210', '09876543210'],
    ['+911171366900', '+911171366900', '1171366900', '01171366900'],
    ['+14155550100', '+14155550100', '0014155550100', '0014155550100'],
    ['pilot-7', 'pilot-7', 'pilot-7', 'pilot-7'],
  ] as const
  for (const [number, e164, national, national0] of cases) {
    t.equal(formatNumber(number, 'e164'), e164)
    t.equal(formatNumber(number, 'national'), national)
    t.equal(formatNumber(number, 'national0'), national0)
  }
})

t.test('caller id policy', async (t) => {
  const trunk = { callerIdPolicy: 'did', callerId: '+911171366900', numberFormat: 'national0' } as const
  t.equal(callerIdentity(trunk, '+911171366999'), '01171366999')
  t.equal(callerIdentity({ ...trunk, callerIdPolicy: 'trunk_default' }, '+911171366999'), '01171366900')
  t.equal(
    callerIdentity({ ...trunk, callerIdPolicy: 'trunk_default', callerId: null }, '+911171366999'),
    '01171366999',
    'a trunk without a number of its own',
  )
})

t.test('ranges in canonical form', async (t) => {
  for (const [given, text, family] of [
    ['203.0.113.77/24', '203.0.113.0/24', 4],
    ['203.0.113.77', '203.0.113.77/32', 4],
    ['203.0.113.77/32', '203.0.113.77/32', 4],
    ['0.0.0.0/0', '0.0.0.0/0', 4],
    ['::ffff:203.0.113.77/120', '203.0.113.0/24', 4],
    ['2001:DB8:0:0::1/48', '2001:db8::/48', 6],
    ['2001:db8::1', '2001:db8::1/128', 6],
    ['::/0', '::/0', 6],
    [' 10.1.2.3/8 ', '10.0.0.0/8', 4],
  ] as const) {
    t.match(parseCidr(given), { text, family }, given)
  }
  for (const wrong of [
    '',
    '1.2.3',
    '1.2.3.4/33',
    '1.2.3.4/',
    '1.2.3.4/-1',
    '1.2.3.4/24/8',
    '::/129',
    'fe80::1%eth0',
    'host',
    '::ffff:1.2.3.4/64',
  ])
    t.equal(parseCidr(wrong), null, wrong)
})

t.test('which addresses a range covers', async (t) => {
  const ranges = ['203.0.113.0/24', '203.0.113.64/26', '2001:db8::/48'].flatMap(
    (text) => parseCidr(text) ?? [],
  )
  t.equal(coveringPrefix(ranges, '203.0.113.1'), 24)
  t.equal(coveringPrefix(ranges, '203.0.113.65'), 26, 'the most specific')
  t.equal(coveringPrefix(ranges, '::ffff:203.0.113.65'), 26, 'as a dual-stack socket names it')
  t.equal(coveringPrefix(ranges, '[2001:db8:0:1::5]'), 48)
  for (const outside of ['203.0.114.1', '203.0.112.255', '2001:db8:1::', '::cb00:7101', 'x', ''])
    t.equal(coveringPrefix(ranges, outside), null, outside)
})

t.test('every address lies in its own range, and keys keep the order', async (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128), (address, bits) => {
      if (isIP(address) === 0) return
      const range = parseCidr(`${address}/${Math.min(bits, isIP(address) === 4 ? 32 : 128)}`)
      if (range === null) return // a short prefix over the mapped part of IPv6
      const key = addressKey(address) ?? ''
      const again = parseCidr(range.text)
      if (!(range.first <= key && key <= range.last)) throw new Error('not in its own range')
      if (again?.first !== range.first || again.last !== range.last) throw new Error('not canonical')
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

t.test('the trunk limiter', async (t) => {
  const clock = new VirtualClock()
  const meter = new TrunkLimiter(clock)
  const limits = { maxConcurrent: 2, callsPerMinute: 3, allowedPrefixes: ['+91'] }
  const out = (call: string, to = '+919876543210') => meter.admitOutbound('a', limits, call, to)
  t.equal(out('1', '+14155550100'), 'trunk_prefix')
  t.equal(out('1', '919876543210'), 'trunk_prefix', 'only E.164 can be judged')
  t.equal(out('1', '+9'), 'trunk_prefix')
  t.equal(meter.size, 0, 'refusals leave nothing')
  t.equal(out('1'), null)
  t.equal(meter.admitInbound('a', limits, '2'), null)
  t.equal(out('3'), 'trunk_full', 'both directions together')
  t.equal(meter.admitInbound('a', limits, '3'), 'trunk_full')
  t.equal(meter.admitInbound('b', limits, '4'), null, 'another trunk')
  meter.release('b', '4')
  meter.release('a', '1')
  meter.release('a', '1')
  t.equal(meter.live('a'), 1)
  t.equal(out('5'), null)
  meter.release('a', '5')
  clock.advance(10_000)
  t.equal(out('6'), null)
  meter.release('a', '6')
  t.equal(out('7'), 'trunk_rate', 'a fourth within a minute')
  t.equal(meter.admitInbound('a', limits, '8'), null, 'inbound calls are not dialled')
  meter.release('a', '8')
  clock.advance(50_001)
  t.equal(out('9'), null, 'the first two are a minute ago')
  meter.release('a', '9')
  meter.release('a', '2')
  clock.advance(60_001)
  t.equal(meter.admitInbound('b', limits, 'x'), null)
  meter.release('b', 'x')
  t.equal(meter.size, 0, 'nothing idle is kept')
})
