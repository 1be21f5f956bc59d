import t from 'tap'
import { openTestCalling, type TestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { newId } from '../../media/base/ids.js'
import { silentLog } from '../../media/base/log.js'
import { addressKey, parseCidr } from '../../signalling/trunk/cidr.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { approveRanges, storeProof } from './claims.js'
import { loadTrunks } from './load-trunks.js'
import { findAnyTrunk, insertTrunk, updateTrunk } from './store.js'
import { LIST_CACHE_MS, openTrunkCallers } from './trunk-callers.js'
import { sealPassword } from './trunk-passwords.js'
import { inboundTrunkOf } from './trunk-route.js'
import { DEFAULTS } from './trunk-settings.js'

const ranges = (...texts: readonly string[]) => texts.flatMap((text) => parseCidr(text) ?? [])
const key = (address: string) => addressKey(address) ?? ''

/** Organizations with trunks of their own, and the directory that a call asks. */
async function tools(calling: TestCalling) {
  const { deps, clock, owner } = calling
  const { db, rootKey } = deps
  const other = await calling.anotherOrganization()
  const callers = openTrunkCallers(db, rootKey, clock)
  const organizations = { ours: owner.organizationId, theirs: other.organizationId }
  /** Makes an active trunk of a customer that is known by its address. */
  const make = async (
    whose: keyof typeof organizations,
    acl: readonly string[],
    more: Partial<SipTrunkRow> = {},
  ): Promise<string> => {
    const id = newId('trk', clock.wall())
    await db.transaction().execute((trx) =>
      insertTrunk(
        trx,
        {
          ...DEFAULTS,
          id,
          organizationId: organizations[whose],
          environment: 'live',
          name: id,
          status: 'active',
          disabledReason: null,
          approvedAt: clock.wall(),
          allowOrigination: 0,
          callerId: null,
          srtp: 'optional',
          digestUsername: id,
          digestPassword: sealPassword(rootKey, id, 'inbound', 'pass'),
          digestAlgorithm: 'MD5',
          realm: 'parley',
          inboundAuth: 'ip_acl',
          ipAcl: JSON.stringify(ranges(...acl).map(({ text }) => text)),
          lastInboundAt: null,
          lastOutboundAt: null,
          lastProbe: null,
          callsPerMinute: 60,
          allowedPrefixes: '[]',
          outboundDomain: null,
          ringTimeoutMs: 45_000,
          registerSeconds: 600,
          carrier: null,
          source: 'api',
          numberId: null,
          idempotencyId: null,
          createdAt: clock.wall(),
          updatedAt: clock.wall(),
          deletedAt: null,
          ...more,
        },
        ranges(...acl),
      ),
    )
    return id
  }
  const row = async (id: string): Promise<SipTrunkRow> => {
    const found = await findAnyTrunk(db, id)
    if (found === null) throw new Error('no trunk')
    return found
  }
  return {
    db,
    clock,
    make,
    row,
    callers,
    pending: async (id: string) => JSON.parse((await row(id)).ipAclPending),
    /** The trunk that a call from an address without credentials belongs to. */
    at: async (address: string) => {
      clock.advance(LIST_CACHE_MS)
      return (await callers.byAddress(address, 'x'))?.id ?? null
    },
    approve: async (id: string) => {
      const trunk = await row(id)
      return db.transaction().execute((trx) => approveRanges(trx, trunk))
    },
    /** A call with the password of a trunk, from an address that answered the challenge. */
    call: async (id: string, address: string) =>
      callers.proved(inboundTrunkOf(await row(id), rootKey), address),
    set: async (id: string, change: Parameters<typeof updateTrunk>[3], acl: readonly string[] | null) => {
      const trunk = await row(id)
      await db
        .transaction()
        .execute((trx) => updateTrunk(trx, trunk, id, change, acl === null ? null : ranges(...acl)))
    },
    load: (trunks: readonly object[]) =>
      loadTrunks(
        { db, rootKey, clock, log: silentLog, filePath: 'trunks.json' },
        parseTrunkFile(JSON.stringify({ trunks }), 'trunks.json', {}),
      ),
  }
}

await onEachDialect(t, async (t, open) => {
  await t.test(
    'an address that a customer writes down identifies nobody before staff approves',
    async (t) => {
      const calling = await openTestCalling(await open())
      const it = await tools(calling)
      const id = await it.make('ours', ['8.8.8.0/24'])
      t.equal(await it.at('8.8.8.8'), null)
      t.strictSame(await it.pending(id), ['8.8.8.0/24'])
      t.equal(await it.approve(id), null)
      t.equal(await it.at('8.8.8.8'), id)
      await it.set(id, {}, ['8.8.8.0/25', '9.9.9.9'])
      t.equal(await it.at('8.8.8.8'), id, 'a part of what was approved')
      t.equal(await it.at('8.8.8.200'), null)
      t.equal(await it.at('9.9.9.9'), null, 'a new address waits')
      t.strictSame(await it.pending(id), ['9.9.9.9/32'])
      for (const status of ['disabled', 'pending_verification'] as const) {
        await it.set(id, { status }, null)
        t.equal(await it.at('8.8.8.8'), null, status)
      }
      await calling.close()
    },
  )

  await t.test('a call with the password proves its own address, and no other one', async (t) => {
    const calling = await openTestCalling(await open())
    const it = await tools(calling)
    const id = await it.make('ours', ['8.8.8.0/24'])
    await it.call(id, '8.8.8.8')
    t.equal(await it.at('8.8.8.8'), id)
    t.equal(await it.at('::ffff:8.8.8.8'), id)
    t.equal(await it.at('8.8.8.9'), null, 'its neighbour in the range may be somebody else')
    t.strictSame(await it.pending(id), ['8.8.8.0/24'])

    const theirs = await it.make('theirs', ['8.8.8.0/24'])
    t.equal(await it.approve(theirs), null, 'a single proof does not keep staff from approving a range')
    t.equal(await it.at('8.8.8.8'), theirs, 'and what staff approved goes first')
    await it.set(theirs, { status: 'disabled' }, null)
    t.equal(await it.at('8.8.8.8'), id)
    await it.set(id, {}, ['9.9.9.0/24'])
    t.equal(await it.at('8.8.8.8'), null, 'the address is no longer on the list')

    for (let n = 0; n < 100; n++) await storeProof(it.db, id, key(`9.9.9.${n}`), it.clock.wall() + n)
    const { length } = await it.db.selectFrom('sipTrunkProofs').selectAll().execute()
    t.equal(length, 64, 'the oldest are forgotten')
    t.equal(await it.at('9.9.9.99'), id)
    t.equal(await it.at('9.9.9.1'), null)
    await calling.close()
  })

  await t.test('an address from which several trunks call with passwords tells nothing', async (t) => {
    const calling = await openTestCalling(await open())
    const it = await tools(calling)
    const [id, digest] = [
      await it.make('theirs', ['8.8.8.8']),
      await it.make('ours', [], { inboundAuth: 'digest' }),
    ]
    await it.call(id, '8.8.8.8')
    t.equal(await it.at('8.8.8.8'), id)
    await it.call(digest, '8.8.8.8')
    t.equal(await it.at('8.8.8.8'), null, 'the other one is asked for its password, and gets its own calls')
    await it.call(id, '8.8.8.8')
    t.equal(await it.at('8.8.8.8'), null)
    it.clock.advance(400 * 86_400_000)
    t.equal(await it.at('8.8.8.8'), null, 'also after an idle year')
    const elsewhere = openTrunkCallers(it.db, calling.deps.rootKey, it.clock)
    t.equal(await elsewhere.byAddress('8.8.8.8', 'x'), null, 'and in a process that saw none of the calls')
    for (let n = 0; n < 64; n++) {
      it.clock.advance(3_600_000)
      await it.call(digest, `9.9.9.${n}`)
      await it.call(digest, '8.8.8.8')
    }
    t.equal(await it.at('8.8.8.8'), null, 'an address that is used stays among the newest')
    await it.set(digest, { status: 'disabled' }, null)
    t.equal(await it.at('8.8.8.8'), id, 'then it is theirs alone')
    await calling.close()
  })

  await t.test('which trunks keep an address from identifying one of them', async (t) => {
    const calling = await openTestCalling(await open())
    const it = await tools(calling)
    const id = await it.make('ours', ['8.8.8.8'])
    await it.call(id, '8.8.8.8')
    const sibling = await it.make('ours', ['8.8.8.8'])
    await it.call(sibling, '8.8.8.8')
    t.equal(await it.at('8.8.8.8'), id, 'the dialled number tells trunks of one organization apart')
    const rows: (readonly [Parameters<typeof it.make>[0], Partial<SipTrunkRow>])[] = [
      ['ours', { inboundAuth: 'digest' }],
      ['theirs', { inboundAuth: 'both' }],
      ['theirs', {}],
    ]
    for (const [whose, more] of rows) {
      const other = await it.make(whose, ['8.8.8.8'], more)
      t.equal(await it.at('8.8.8.8'), id)
      await it.call(other, '8.8.8.8')
      t.equal(await it.at('8.8.8.8'), null, `${whose} ${more.inboundAuth}`)
      await it.set(other, { status: 'disabled' }, null)
    }
    t.equal(await it.at('8.8.8.8'), id, 'a disabled trunk uses no address')
    const stranger = await it.make('theirs', ['8.8.8.8'])
    await it.call(stranger, '8.8.8.8')
    t.equal(await it.approve(id), null)
    t.equal(await it.at('8.8.8.8'), id, 'what staff approved needs no proof')
    await calling.close()
  })

  await t.test('the trunk file takes addresses of customers, and gives its own back', async (t) => {
    const calling = await openTestCalling(await open())
    const it = await tools(calling)
    const attacker = await it.make('theirs', ['203.0.113.0/28', '198.51.100.1'])
    await it.approve(attacker)
    await storeProof(it.db, attacker, key('203.0.113.5'), it.clock.wall())
    t.equal(await it.at('203.0.113.5'), attacker)
    const carrier = { name: 'carrier', inbound: { auth: 'ip_acl', addresses: ['203.0.113.0/24'] } }
    await it.load([carrier])
    const { id } = await it.db
      .selectFrom('sipTrunks')
      .select('id')
      .where('source', '=', 'file')
      .executeTakeFirstOrThrow()
    t.equal(await it.at('203.0.113.5'), id, 'also where the customer proved the address')
    t.equal(await it.at('198.51.100.1'), attacker, 'what does not overlap stays')
    t.strictSame(await it.pending(attacker), ['203.0.113.0/28'])
    t.match(await it.approve(attacker), { code: 'conflict' }, 'staff cannot give away what the file has')

    const rows = () => it.db.selectFrom('sipTrunkRanges').selectAll().orderBy('first').execute()
    const before = await rows()
    await it.load([carrier])
    t.strictSame(await rows(), before, 'the same file again changes nothing')

    const organization = calling.owner.organizationId
    const elsewhere = (await it.row(attacker)).organizationId
    const twice = [
      { ...carrier, organization },
      { ...carrier, name: 'again', organization: elsewhere },
    ]
    await t.rejects(it.load(twice), {
      code: 'config_invalid',
      message:
        /trunks\[0\]\.inbound\.addresses: 203\.0\.113\.0\/24 belongs to a trunk of another organization/,
    })
    await it.load([{ ...carrier, name: 'again', organization: elsewhere }])
    t.not(await it.at('203.0.113.5'), id, 'a trunk that left the file holds no address any more')
    await it.load([])
    t.equal(await it.at('203.0.113.5'), attacker, 'its proof counts again')
    t.equal(await it.at('203.0.113.6'), null, 'the rest waits')
    t.equal(await it.approve(attacker), null, 'the file claims it no longer')
    t.equal(await it.at('203.0.113.6'), attacker)
    await calling.close()
  })
})
