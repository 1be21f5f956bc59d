import t from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { dataOf } from '../../fixtures/api/second-factor.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { readWallet } from '../wallet/store.js'
import { adjustmentOperations } from './adjustment-api.js'

/** The default limit is 100,000 rupees. */
const LIMIT = 10_000_000

interface Adjustment {
  readonly id: string
  readonly status: string
  readonly requestedBy: string
  readonly decidedBy: string | null
}

t.test('large adjustments of a wallet need a second member of staff', async (t) => {
  await onEachDialect(t, async (t, open, _engine) => {
    const database = await open()
    const api = await openUsersApi({ database, operations: adjustmentOperations })
    const { db } = database
    const [asha, ravi] = [await api.staff(), await api.staff()]
    const balance = async () =>
      Number((await readWallet(db, api.organizationId, api.clock.wall())).balancePaise)
    const adjust = (amountPaise: number, reference: string, who = asha) =>
      who.browser.send('POST', `/v1/staff/organizations/${api.organizationId}/wallet/adjustments`, {
        json: { amountPaise, reference, reason: 'A bank transfer' },
      })
    const made = async (amountPaise: number, reference: string, who = asha) =>
      dataOf<{ adjustment: Adjustment }>(await adjust(amountPaise, reference, who), 200).adjustment
    const decide = (id: string, decision: string, who = ravi) =>
      who.browser.send('POST', `/v1/staff/wallet-adjustments/${id}/decision`, {
        json: { decision, reason: 'The bank confirms it' },
      })
    const audit = async () =>
      (
        await db
          .selectFrom('auditEntries')
          .where('organizationId', '=', api.organizationId)
          .where('action', 'like', 'staff.wallet%')
          .select(['action', 'actorId'])
          .orderBy('createdAt')
          .orderBy('id')
          .execute()
      ).map(({ action, actorId }) => [action, actorId === asha.userId ? 'asha' : 'ravi'])

    t.match(await made(LIMIT, 'T-1'), { status: 'applied', decidedBy: null }, 'the limit itself is free')
    t.equal(await balance(), LIMIT)

    const split = await made(1, 'T-2')
    t.match(split, { status: 'pending' }, 'several adjustments of a day count together')
    t.match(await made(-1, 'T-3', ravi), { status: 'pending' }, 'in each direction, whoever makes them')
    t.equal(await balance(), LIMIT, 'no money moved')
    t.match(await adjust(5, 'T-2'), { status: 409 }, 'the reference waits already')
    t.match(await adjust(LIMIT, 'T-1'), { status: 409 }, 'the reference was used')

    t.match(await decide(split.id, 'approved', asha), { status: 403, body: { error: { code: 'forbidden' } } })
    t.equal(await balance(), LIMIT)
    t.match(dataOf(await decide(split.id, 'approved'), 200), { status: 'approved', decidedBy: ravi.userId })
    t.equal(await balance(), LIMIT + 1)
    t.match(await decide(split.id, 'approved'), { status: 409 }, 'once')
    t.match(await decide(split.id, 'rejected'), { status: 409 })
    t.same(await audit(), [
      ['staff.wallet_adjusted', 'asha'],
      ['staff.wallet_adjustment_requested', 'asha'],
      ['staff.wallet_adjustment_requested', 'ravi'],
      ['staff.wallet_adjusted', 'ravi'],
    ])

    // A session ends after 12 hours without a request.
    for (let third = 0; third < 3; third++) {
      api.clock.advance(8 * 3_600_000 + 1)
      for (const who of [asha, ravi]) await who.browser.send('GET', '/v1/staff/wallet-adjustments')
    }
    t.match(await made(2, 'T-4'), { status: 'applied' }, 'the next day; what two approved does not count')
    const large = await made(LIMIT + 1, 'T-5')
    t.match(large, { status: 'pending' })
    t.match(await decide(large.id, 'rejected', asha), { status: 200 }, 'whoever asked may take it back')
    t.match(await decide(large.id, 'approved'), { status: 409 })
    t.match(await made(LIMIT + 2, 'T-5'), { status: 'pending' }, 'a rejected reference is free again')

    const taken = await made(-3 * LIMIT, 'T-6')
    t.match(
      await decide(taken.id, 'approved'),
      { status: 409, body: { error: { message: /does not cover/ } } },
      'the balance is checked when the money moves',
    )
    const listed = await ravi.browser.send('GET', '/v1/staff/wallet-adjustments?status=pending')
    t.match(
      dataOf<{ reference: string; requestedByEmail: string }[]>(listed, 200).map((row) => row.reference),
      ['T-6', 'T-5', 'T-3'],
      'it still waits',
    )
    t.equal(await balance(), LIMIT + 3)
    t.match((await api.latestMailTo(ravi.email)).subject, /waits for a second person/)

    const raced = await made(LIMIT + 7, 'T-7')
    const third = await api.staff()
    const answers = await Promise.all([ravi, third].map((who) => decide(raced.id, 'approved', who)))
    t.same(answers.map(({ status }) => status).sort(), [200, 409], 'of two approvals one counts')
    t.equal(await balance(), 2 * LIMIT + 10)

    for (let i = 0; i < 17; i++) t.match(await made(LIMIT + 1, `Q-${i}`), { status: 'pending' })
    t.match(await adjust(LIMIT + 1, 'Q-17'), { status: 409, body: { error: { message: /20 adjustments/ } } })
    await api.close()
    await database.close()
  })
})
