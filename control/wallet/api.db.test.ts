import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInMember, signInStaff } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { hold, post, reverse } from './ledger.js'

const DAY_MS = 86_400_000
const json = (body: unknown) => ({ json: body })
const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { api, send, clock } = calling
  const { db } = calling.deps
  const { organizationId } = calling.owner
  const live = (path: string) => send('GET', path, { key: api.liveKey })
  const staff = await signInStaff(api)
  const owner = await signInMember(api, organizationId, 'owner')
  const base = `/v1/staff/organizations/${organizationId}/wallet`
  const adjust = (body: object) =>
    staff.send('POST', `${base}/adjustments`, json({ reference: 'T-1', reason: 'Goodwill.', ...body }))

  await t.test('the test environment shows simulated money', async (t) => {
    t.match(dataOf(await send('GET', '/v1/wallet')), {
      balancePaise: 1_000_000,
      heldPaise: 0,
      currency: 'INR',
      ratePaisePerMinute: 500,
      minCallBalancePaise: 1_200,
      environment: 'test',
    })
    t.same(itemsOf(await send('GET', '/v1/wallet/ledger')), [])
    t.match(dataOf(await send('GET', '/v1/wallet/usage')), { totalSpentPaise: 0, addedPaise: 0 })
  })

  await t.test('an organization without money has an empty wallet', async (t) => {
    t.match(dataOf(await live('/v1/wallet')), {
      balancePaise: 0,
      thresholdPaise: 50_000,
      onHold: false,
      holdReason: null,
      environment: 'live',
    })
    t.same(itemsOf(await live('/v1/wallet/ledger')), [])
  })

  await t.test('staff adjusts the balance, once for each reference', async (t) => {
    const adjusted = await adjust({ amountPaise: 60_000 })
    t.equal(adjusted.status, 200)
    t.match(dataOf(adjusted), { wallet: { balancePaise: 60_000, heldPaise: 0 } })
    const repeated = await adjust({ amountPaise: 60_000 })
    t.match(errorOf(repeated), { code: 'conflict', details: { entryId: /^led_/, amountPaise: 60_000 } })
    const tooMuch = await adjust({ amountPaise: -60_001, reference: 'T-2' })
    t.match(errorOf(tooMuch), { code: 'conflict', details: { availablePaise: 60_000 } })
    for (const amountPaise of [0, 0.5, '5', 1_000_000_001]) {
      t.equal((await adjust({ amountPaise, reference: 'T-3' })).status, 400, String(amountPaise))
    }
    t.match(dataOf(await live('/v1/wallet')), { balancePaise: 60_000 })
    t.match(itemsOf(await live('/v1/wallet/ledger')), [
      {
        id: /^led_/,
        seq: 1,
        type: 'adjustment',
        category: 'adjustments',
        amountPaise: 60_000,
        balanceAfterPaise: 60_000,
        currency: 'INR',
        reference: { type: 'adjustment', id: 'T-1' },
        reversesEntryId: null,
      },
    ])
    const [entry] = itemsOf(await owner.send('GET', '/v1/organization/audit-log?limit=1'))
    t.match(entry, {
      action: 'staff.wallet_adjusted',
      reason: 'Goodwill.',
      before: { balancePaise: 0 },
      after: { balancePaise: 60_000 },
    })
  })

  await t.test('staff puts the wallet on hold', async (t) => {
    const set = (onHold: boolean) =>
      staff.send('PUT', `${base}/hold`, json({ onHold, reason: 'payment_dispute' }))
    t.match(dataOf(await set(true)), { wallet: { onHold: true, holdReason: 'payment_dispute' } })
    t.match(dataOf(await live('/v1/wallet')), { onHold: true, holdReason: 'payment_dispute' })
    t.match(dataOf(await set(false)), { wallet: { onHold: false, holdReason: null } })
  })

  await t.test('the threshold is set in a session with the right to pay', async (t) => {
    const set = (who: typeof owner, thresholdPaise: unknown) =>
      who.send('PATCH', '/v1/wallet/settings', json({ thresholdPaise }))
    const viewer = await signInMember(api, organizationId, 'viewer')
    t.equal((await set(viewer, 1)).status, 403)
    t.equal((await set(owner, -1)).status, 400)
    t.match(dataOf(await set(owner, 70_000)), { thresholdPaise: 70_000, environment: 'live' })
    const [low] = itemsOf(await live('/v1/events?type=wallet.balance.low'))
    t.match(low, { environment: 'live', subjectType: 'wallet', subjectId: organizationId })
    const { payload } = dataOf(await live(`/v1/events/${low?.id}`)) as { payload: object }
    t.match(payload, {
      data: { wallet: { balancePaise: 60_000, thresholdPaise: 70_000, currency: 'INR' } },
      links: { self: /\/v1\/wallet$/ },
    })
  })

  await t.test(
    'usage by category, period and agent; a reversal counts where its original does',
    async (t) => {
      const spend = (id: string, type: 'call' | 'number_rental', paise: number, agentId: string | null) =>
        db.transaction().execute((trx) =>
          post(
            trx,
            organizationId,
            {
              type,
              amountPaise: -paise,
              cause: id,
              description: id,
              reference: { type: 'call', id },
              agentId,
            },
            clock.wall(),
          ),
        )
      const old = await spend('old', 'call', 400, 'agt_a')
      clock.advance(8 * DAY_MS)
      await spend('new', 'call', 850, 'agt_a')
      await spend('other', 'call', 100, 'agt_b')
      await spend('rent', 'number_rental', 5_000, null)
      await db.transaction().execute((trx) => reverse(trx, old, 'Denied', clock.wall()))
      const usage = async (query: string) => dataOf(await live(`/v1/wallet/usage${query}`))
      const [calls, numbers] = ['calls', 'numbers'].map((category) => ({ category }))
      t.match(await usage('?period=7d'), {
        period: '7d',
        agentId: null,
        totalSpentPaise: 5_950,
        categories: [
          { ...calls, spentPaise: 950, entries: 2 },
          { ...numbers, spentPaise: 5_000, entries: 1 },
          { category: 'compliance', spentPaise: 0, entries: 0 },
          { category: 'adjustments', spentPaise: 0, entries: 0 },
        ],
      })
      t.match(await usage(''), {
        period: '30d',
        totalSpentPaise: 5_950 - 60_000,
        categories: [{ spentPaise: 950, entries: 4 }, {}, {}, { spentPaise: -60_000, entries: 1 }],
      })
      t.match(await usage('?period=all&agent_id=agt_b'), {
        from: null,
        agentId: 'agt_b',
        totalSpentPaise: 100,
        addedPaise: 0,
        categories: [
          { spentPaise: 100, entries: 1 },
          { spentPaise: 0, entries: 0 },
        ],
      })
      t.equal((await live('/v1/wallet/usage?period=1d')).status, 400)
    },
  )

  await t.test('the ledger in pages, newest first', async (t) => {
    const seen: number[] = []
    for (let cursor = ''; ; ) {
      const answer = await live(`/v1/wallet/ledger?limit=2${cursor}`)
      seen.push(...itemsOf(answer).map(({ seq }) => Number(seq)))
      const { pagination } = (answer.body as { meta: { pagination: { cursor: string | null } } }).meta
      if (pagination.cursor === null) break
      cursor = `&cursor=${encodeURIComponent(pagination.cursor)}`
    }
    t.same(seen, [6, 5, 4, 3, 2, 1])
  })

  await t.test('the ledger as CSV, newest first', async (t) => {
    const download = async (key: string) => {
      const url = `${api.url}/v1/wallet/ledger/export.csv`
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
      t.match(response.headers.get('content-disposition'), /ledger\.csv/)
      return (await response.text()).replace('\uFEFF', '').trimEnd().split('\r\n')
    }
    const [head = '', ...rows] = await download(api.liveKey)
    t.match(head, /^seq,id,createdAt,type,category,amountPaise,balanceAfterPaise,/)
    t.same(
      rows.map((row) => [row.split(',')[0], row.split(',')[3], row.split(',')[5]]),
      [
        ['6', 'reversal', '400'],
        ['5', 'number_rental', '-5000'],
        ['4', 'call', '-100'],
        ['3', 'call', '-850'],
        ['2', 'call', '-400'],
        ['1', 'adjustment', '60000'],
      ],
    )
    t.same(await download(api.testKey), [head], 'the test environment has none')
  })

  await t.test('held money is shown', async (t) => {
    await db
      .transaction()
      .execute((trx) => hold(trx, organizationId, { type: 'call', id: 'call_x' }, 1_200, clock.wall()))
    t.match(dataOf(await live('/v1/wallet')), { heldPaise: 1_200 })
  })

  await calling.close()
})
