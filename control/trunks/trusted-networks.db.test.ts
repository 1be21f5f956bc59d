import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { openMigratedSqlite } from '../../fixtures/database/sqlite-image.js'
import { silentLog } from '../../media/base/log.js'
import type { Dns } from '../../signalling/embedded/routing/dns.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import { loadTrunks } from './load-trunks.js'
import { openTrustedNetworks, RESOLVE_MS, TRUNK_POLL_MS } from './trusted-networks.js'

const trunk = (name: string, over: object) => ({
  name,
  inbound: { auth: 'ip_acl', addresses: ['192.0.2.1'] },
  ...over,
})

/** Answers of a DNS that the test changes; `fails` while it cannot be asked. */
function scriptedDns() {
  const addresses = new Map<string, string[]>()
  const state = { fails: false, questions: 0 }
  const dns: Dns = {
    naptr: async () => [],
    srv: async (name) =>
      name === '_sip._tcp.carrier.example'
        ? [{ name: 'a.carrier.example', port: 5070, priority: 1, weight: 1 }]
        : [],
    addresses: async (name) => {
      state.questions += 1
      if (state.fails) throw new Error('no answer')
      return addresses.get(name) ?? []
    },
    close: () => {},
  }
  return { dns, addresses, state }
}

t.test('the trusted networks follow every change of the trunks', async (t) => {
  const database = await openMigratedSqlite()
  t.teardown(() => database.close())
  const calling = await openTestCalling(database)
  t.teardown(() => calling.close())
  const { clock, deps } = calling
  const load = (trunks: readonly object[]) =>
    loadTrunks(
      { db: database.db, rootKey: deps.rootKey, clock, log: silentLog, filePath: 'trunks.json' },
      parseTrunkFile(JSON.stringify({ trunks }), 'trunks.json', {}),
    )
  const digest = { auth: 'digest', username: 'office', password: 'x', addresses: ['198.51.100.0/24'] }
  const file = [
    trunk('by address', { inbound: { auth: 'ip_acl', addresses: ['203.0.113.9/24', '2001:db8::/48'] } }),
    trunk('by password', { inbound: digest, gateway: { host: '198.51.100.200' } }),
    trunk('by name', { gateway: { host: 'carrier.example', port: 'srv', transport: 'tcp' } }),
  ]
  await load(file)
  const { dns, addresses, state } = scriptedDns()
  addresses.set('a.carrier.example', ['192.0.2.50', '2001:db8:7::1'])
  const told: (readonly string[])[] = []
  const trusted = openTrustedNetworks({
    db: database.db,
    clock,
    log: silentLog,
    configured: ['10.0.0.0/8'],
    dns,
    apply: (networks) => told.push(networks),
  })
  t.teardown(() => trusted.close())
  /** Time passes, and everything it sets off is done: nothing here waits for more than its turn. */
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += TRUNK_POLL_MS) {
      clock.advance(Math.min(TRUNK_POLL_MS, ms - at))
      for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    }
  }
  await pass(1)
  const all = [
    '10.0.0.0/8',
    '192.0.2.1/32',
    '192.0.2.50',
    '198.51.100.0/24',
    '198.51.100.200',
    '2001:db8:7::1',
    '2001:db8::/48',
    '203.0.113.0/24',
  ]
  const named = ['192.0.2.50', '2001:db8:7::1']
  t.strictSame(told, [all.filter((one) => !named.includes(one)), all], 'names follow when they are known')
  await pass(RESOLVE_MS / 2)
  t.equal(told.length, 2, 'nothing changed, nothing told')
  t.equal(state.questions, 1, 'and nothing asked')

  state.fails = true
  await pass(RESOLVE_MS)
  t.equal(told.length, 2, 'a DNS that fails takes nothing away')
  t.ok(state.questions > 1)

  state.fails = false
  addresses.set('a.carrier.example', ['192.0.2.51'])
  await pass(RESOLVE_MS + TRUNK_POLL_MS)
  const moved = all.filter((one) => !named.includes(one))
  t.strictSame(told.at(-1), [...moved, '192.0.2.51'].sort())

  await load(file.slice(0, 1))
  await pass(TRUNK_POLL_MS)
  t.strictSame(
    told.at(-1),
    ['10.0.0.0/8', '2001:db8::/48', '203.0.113.0/24'],
    'what is disabled is a stranger',
  )
  const asCustomer = database.db.updateTable('sipTrunks').set({ source: 'api' })
  await load(file)
  await asCustomer.execute()
  await database.db.deleteFrom('sipTrunkRanges').execute()
  await database.db
    .updateTable('sipTrunks')
    .set((eb) => ({ ipAclPending: eb.ref('ipAcl') }))
    .execute()
  await pass(TRUNK_POLL_MS)
  t.strictSame(told.at(-1), ['10.0.0.0/8'], 'what customers write down is no reason to trust it')
  const { length } = told
  await trusted.close()
  await database.db.updateTable('sipTrunks').set({ ipAclPending: '[]' }).execute()
  await pass(TRUNK_POLL_MS)
  t.equal(told.length, length, 'and nothing is told any more')
})
