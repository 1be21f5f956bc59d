import t from 'tap'
import { dataOf } from '../../fixtures/api/calling.js'
import { signInMember } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openPaymentsRig } from '../../fixtures/payments/payments-rig.js'

await onEachDialect(t, async (t, open) => {
  const rig = await openPaymentsRig(await open(), 'sandbox')
  const { api, deps } = rig.calling
  const { organizationId } = rig.calling.owner
  const create = (who: typeof rig.owner, amountPaise: unknown = 50_000) =>
    who.send('POST', '/v1/wallet/topups', { json: { amountPaise } })

  await t.test('who may start a top-up, and of how much', async (t) => {
    const [viewer, billing] = [
      await signInMember(api, organizationId, 'viewer'),
      await signInMember(api, organizationId, 'billing'),
    ]
    t.equal((await create(viewer)).status, 403)
    t.equal((await create(billing)).status, 201)
    for (const amount of [9_999, 50_000_001, 10_000.5, '10000']) {
      t.equal((await create(billing, amount)).status, 400, String(amount))
    }
    const withKey = await api.send('POST', '/v1/wallet/topups', {
      key: api.liveKey,
      json: { amountPaise: 10_000 },
    })
    t.match(withKey, { status: 401, body: { error: { code: 'unauthenticated' } } })
  })

  await t.test('the page of the sandbox pays, declines and refunds', async (t) => {
    const topup = dataOf(await create(rig.owner))
    const page = String(topup.checkoutUrl)
    const press = async (outcome: string) => {
      const answer = await fetch(page, {
        method: 'POST',
        body: new URLSearchParams({ outcome }),
        redirect: 'manual',
      })
      t.equal(answer.status, 303)
      await rig.jobs.idle()
      return [await rig.status(topup.id), await rig.balance()]
    }
    const shown = async () => {
      const html = await (await fetch(page)).text()
      t.match(html, 'no real money', 'says that it is the sandbox')
      t.match(html, 'href="../dashboard/live/wallet"', 'leads back')
      const outcomes = [...html.matchAll(/value="(\w+)"( class="second")?/g)]
      return outcomes.map(([, outcome, second]) => `${outcome}${second === undefined ? '' : ' (second)'}`)
    }
    t.same(await shown(), ['pay', 'decline (second)'])
    t.same(await press('decline'), ['failed', 0])
    t.same(await press('nonsense'), ['failed', 0])
    t.same(await press('pay'), ['paid', 50_000])
    t.same(await shown(), ['refund_half (second)', 'refund_rest (second)'], 'nothing to pay any more')
    t.match(await (await fetch(page)).text(), '<dt>Paid</dt>')
    t.same(await press('pay'), ['paid', 50_000])
    t.same(await press('refund_half'), ['partially_refunded', 25_000])
    t.same(await press('refund_rest'), ['refunded', 0])
    t.same(await shown(), [])
    t.match(dataOf(await rig.owner.send('GET', `/v1/wallet/topups/${topup.id}`)), {
      status: 'refunded',
      checkoutUrl: null,
    })
    const documents = await deps.db.selectFrom('invoices').selectAll().orderBy('seq').execute()
    t.match(
      documents,
      [1, 2, 3].map((seq) => ({ number: `TST/24-25/00000${seq}`, specimen: 1 })),
      'its documents are specimens with a series of their own',
    )
  })

  await t.test('billing details are needed first', async (t) => {
    await rig.owner.send('PATCH', '/v1/organization', {
      json: { billing: { address: null, stateCode: null } },
    })
    t.match(await create(rig.owner), {
      status: 422,
      body: { error: { code: 'billing_details_required', details: { missing: ['address', 'stateCode'] } } },
    })
  })

  await t.test('a top-up of another organization does not exist', async (t) => {
    const { organizationId: other } = await rig.calling.anotherOrganization()
    const stranger = await signInMember(api, other, 'owner')
    const { id } = await deps.db.selectFrom('topups').select('id').limit(1).executeTakeFirstOrThrow()
    t.equal((await stranger.send('GET', `/v1/wallet/topups/${id}`)).status, 404)
  })

  await rig.close()
})
