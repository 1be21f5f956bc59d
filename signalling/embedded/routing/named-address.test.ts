import t from 'tap'
import { isBehindNat } from '../dialog/dialog.js'
import { interfaceAddresses } from '../transport/local-address.js'
import { namedAddress } from './named-address.js'

/* Peers from public address space; none of these addresses is sent to. */

const PUBLIC = '9.9.9.9'
const PRIVATE = '10.255.255.9'

t.test(
  'a peer outside may name public addresses, and private ones only from a private address',
  async (t) => {
    t.equal(namedAddress('8.8.8.8', PUBLIC), '8.8.8.8')
    t.equal(namedAddress('8.8.8.8', PRIVATE), '8.8.8.8')
    t.equal(namedAddress('192.168.1.4', PRIVATE), '192.168.1.4')
    t.equal(namedAddress('fd12::4', 'fd12::9'), 'fd12::4')
    t.equal(namedAddress('2606:4700::1', '2620:fe::9'), '2606:4700::1')
    for (const address of ['10.0.0.1', '172.16.0.1', '192.168.1.4', '100.64.0.1']) {
      t.equal(namedAddress(address, PUBLIC), PUBLIC, `${address} is behind the NAT of the peer`)
      t.equal(namedAddress(address, `::ffff:${PUBLIC}`), PUBLIC)
    }
    t.equal(namedAddress('fd12::4', '[2620:fe::9]'), '2620:fe::9')
  },
)

t.test('no peer outside may name loopback, link-local, multicast or broadcast', async (t) => {
  const never = [
    ...['127.0.0.1', '127.1.2.3', '0.0.0.1', '169.254.169.254', '224.0.0.1', '239.1.1.1', '255.255.255.255'],
    ...['::1', '::', 'fe80::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', 'a name'],
  ]
  for (const peer of [PUBLIC, PRIVATE, '2620:fe::9', 'fd12::9']) {
    for (const address of never) t.equal(namedAddress(address, peer), null, `${address} by ${peer}`)
  }
  t.equal(namedAddress('10.0.0.1', 'no address'), null)
})

t.test('a peer on this machine, such as the sandbox, may name any address', async (t) => {
  for (const peer of ['127.0.0.1', '::1', '[::1]', ...interfaceAddresses(4)]) {
    for (const address of ['127.0.0.1', '10.0.0.1', '239.1.1.1'])
      t.equal(namedAddress(address, peer), address)
  }
})

t.test('a first route that the peer may not name leads to the source address instead', async (t) => {
  const behindNat = (role: 'uac' | 'uas', route: string, address = PUBLIC) =>
    isBehindNat(role, [`<sip:${route};lr>`], 'sip:a@8.8.8.8', { address, port: 5060 })
  for (const role of ['uac', 'uas'] as const) {
    t.equal(behindNat(role, '127.0.0.1:22'), true)
    t.equal(behindNat(role, '255.255.255.255'), true)
    t.equal(behindNat(role, '10.0.0.1'), true)
    t.equal(behindNat(role, '8.8.8.8'), false)
    t.equal(behindNat(role, PUBLIC), false)
    t.equal(behindNat(role, 'proxy.example.net'), false, 'a name is checked when it is resolved')
  }
  t.equal(behindNat('uas', '10.0.0.1', PRIVATE), false)
  t.equal(behindNat('uas', '127.0.0.1', '127.0.0.1'), false)
})
