import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { silentLog } from '../../media/base/log.js'
import { parseTrunkFile } from '../config/trunk-file.js'
import { insertNumber } from '../numbers/store.js'
import { loadTrunks } from './load-trunks.js'
import { findCarrierTrunk } from './store.js'

const E164 = '+918047100001'

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  const { deps, clock } = calling
  const { db } = database
  const load = (over: object) =>
    loadTrunks(
      { db, rootKey: deps.rootKey, clock, log: silentLog, filePath: 'trunks.json' },
      parseTrunkFile(
        JSON.stringify({
          trunks: [
            {
              name: 'vobiz',
              gateway: { host: '7d2e41aa.sip.vobiz.ai' },
              inbound: { auth: 'ip_acl', addresses: ['13.233.44.61'] },
              ...over,
            },
          ],
        }),
        'trunks.json',
        {},
      ),
    )
  await load({ carrier: 'vobiz' })
  const trunk = await findCarrierTrunk(db, 'vobiz')
  t.equal(trunk?.name, 'vobiz')
  t.equal(await findCarrierTrunk(db, 'plivo'), null)

  const { organizationId } = await calling.anotherOrganization()
  const common = {
    organizationId,
    environment: 'live',
    label: 'L',
    region: 'KA',
    numberType: 'landline',
  } as const
  await insertNumber(db, { ...common, e164: E164, provider: 'vobiz' }, clock.wall())
  await insertNumber(db, { ...common, e164: '+918047100002', provider: 'plivo' }, clock.wall())
  const call = (to: string) =>
    deps.admission.admit({
      ...{ sipCallId: 'a', to, from: '+919876543210', trunkId: trunk?.id ?? null },
      ...{ sourceAddress: '13.233.44.61', sourcePort: 5060, transport: 'udp' },
      ...{ alternateTo: [], ticket: null, assertedIdentity: null, isPrivate: false },
    })
  // The number of another organization is reached, and has no agent yet.
  t.match(await call(E164), { admit: false, sip: 404, reason: 'no published agent answers the number' })
  t.match(await call('+918047100002'), { reason: 'no such number' }, 'a number of another carrier')
  await load({})
  t.equal(await findCarrierTrunk(db, 'vobiz'), null, 'the file no longer names the carrier')
  t.match(await call(E164), { reason: 'no such number' })
  await calling.close()
})
