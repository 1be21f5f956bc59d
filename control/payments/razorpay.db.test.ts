import t from 'tap'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { KEY_SECRET, OLD_WEBHOOK_SECRET } from '../../fixtures/payments/fake-razorpay.js'
import { openPaymentsRig, type PaymentsRig } from '../../fixtures/payments/payments-rig.js'
import type { FakePayment } from '../../fixtures/payments/razorpay-frames.js'
import { readWallet } from '../wallet/store.js'
import { holdReason } from '../wallet/view.js'
import { razorpaySignature } from './razorpay/webhook.js'

const PAID = 118_000
const HOUR_MS = 3_600_000

/** The newest order, with a payment in the given state. */
function pay(rig: PaymentsRig, fields: Partial<FakePayment> = {}): string {
  const order = rig.razorpay.orders.at(-1)
  const id = fields.id ?? `pay_${order?.id}`
  const made = {
    id,
    orderId: order?.id ?? '',
    amount: PAID,
    currency: 'INR',
    status: 'captured',
    refunded: 0,
  } as const
  rig.razorpay.putPayment({ ...made, ...fields })
  return id
}

/** Mails to the newest member of the staff. */
async function staffMails({ staff, calling }: PaymentsRig): Promise<number> {
  const { db } = calling.deps
  const { email } = await db
    .selectFrom('users')
    .select('email')
    .where('id', '=', staff.userId)
    .executeTakeFirstOrThrow()
  return (await db.selectFrom('mails').select('id').where('recipient', '=', email).execute()).length
}

const kinds = async (rig: PaymentsRig) => (await rig.exceptions()).map(({ kind }) => kind).toSorted()

await onEachDialect(t, async (t, open) => {
  // Organizations that share a service see their own money only.
  const shared = await openPaymentsRig(await open())
  const start = () => shared.another()

  await t.test('a payment is credited once, whatever arrives how often in which order', async (t) => {
    const rig = await start()
    const topup = await rig.topUp()
    t.match(topup, { amountPaise: 100_000, taxPaise: 18_000, payablePaise: PAID, status: 'created' })
    t.match(rig.razorpay.orders.at(-1), { amount: PAID, currency: 'INR', receipt: topup.id })
    const paymentId = pay(rig, { status: 'authorized' })
    const authorized = rig.razorpay.event('payment.authorized', { paymentId })
    pay(rig)
    const captured = rig.razorpay.event('payment.captured', { paymentId })
    // Captured arrives before authorized, and each of the three several times.
    const paid = rig.razorpay.event('order.paid', { paymentId })
    for (const event of [captured, authorized, captured, paid, authorized, paid]) {
      t.equal(await rig.notify(event), 200)
      t.equal(await rig.status(topup.id), 'paid')
    }
    t.same(await rig.entries(), [['topup', 100_000]])
    t.match(await rig.exceptions(), [])
    const { db } = rig.calling.deps
    const invoice = await db.selectFrom('invoices').selectAll().executeTakeFirstOrThrow()
    t.match(invoice, {
      number: 'PI/24-25/000001',
      kind: 'invoice',
      taxablePaise: 100_000,
      cgstPaise: 9_000,
      sgstPaise: 9_000,
      igstPaise: 0,
      totalPaise: PAID,
      specimen: 0,
    })
    const entry = await db.selectFrom('ledgerEntries').selectAll().executeTakeFirstOrThrow()
    t.equal(entry.invoiceId, invoice.id)
    await t.rejects(db.updateTable('invoices').set({ totalPaise: 1 }).execute(), /immutable/)
    await t.rejects(db.deleteFrom('invoices').execute(), /immutable/)
  })

  await t.test('a payment that failed may be captured later', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const paymentId = pay(rig, { status: 'failed' })
    await rig.notify(rig.razorpay.event('payment.failed', { paymentId }))
    t.equal(await rig.status(id), 'failed')
    t.same(await rig.entries(), [])
    pay(rig)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    t.equal(await rig.status(id), 'paid')
    t.equal(await rig.balance(), 100_000)
  })

  await t.test('a top-up without an event is found by asking, also after its page has expired', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const { clock } = rig.calling
    clock.advance(25 * HOUR_MS)
    await rig.jobs.idle()
    t.equal(await rig.status(id), 'expired')
    pay(rig)
    clock.advance(HOUR_MS)
    await rig.jobs.idle()
    t.equal(await rig.status(id), 'paid')
    t.equal(await rig.balance(), 100_000)
    const waiting = await rig.calling.deps.db.selectFrom('jobs').select('lane').execute()
    t.notOk(
      waiting.some(({ lane }) => lane === id),
      'a paid top-up is not polled',
    )
  })

  await t.test('signatures: wrong, of another body, with an old secret', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    const event = rig.razorpay.event('payment.captured', { paymentId })
    t.equal(await rig.notify({ ...event, signature: '0'.repeat(64) }), 401)
    t.equal(await rig.notify({ ...event, signature: '' }), 401)
    t.equal(await rig.notify({ ...event, body: event.body.replace('118000', '218000') }), 401)
    t.same(await rig.entries(), [])
    t.equal(await rig.notify(rig.razorpay.event('payment.captured', { paymentId }, OLD_WEBHOOK_SECRET)), 200)
    t.equal(await rig.status(id), 'paid')
    const unknown = await rig.calling.api.send('POST', '/v1/payment-callbacks/stripe', {
      key: null,
      raw: '{}',
    })
    t.equal(unknown.status, 404)
  })

  await t.test('an authentic event that does not match is kept and not credited', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const before = await staffMails(rig)
    const foreign = pay(rig, { id: 'pay_foreign', orderId: 'order_of_another_system' })
    t.equal(await rig.notify(rig.razorpay.event('payment.captured', { paymentId: foreign })), 200)
    t.equal(await rig.notify(rig.razorpay.event('payment.captured', { paymentId: foreign })), 200)
    const odd = JSON.stringify({ event: 'subscription.charged', payload: {} })
    const secret = OLD_WEBHOOK_SECRET
    t.equal(await rig.notify({ body: odd, signature: razorpaySignature(secret, odd) }), 200)
    const less = pay(rig, { id: 'pay_less', amount: PAID - 1 })
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId: less }))
    const dollars = pay(rig, { id: 'pay_usd', currency: 'USD' })
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId: dollars }))
    t.equal(await rig.status(id), 'created')
    t.same(await rig.entries(), [])
    const parked = ['amount_mismatch', 'amount_mismatch', 'unknown_event', 'unknown_order']
    t.same(await kinds(rig), parked)
    // The right payment is credited, and a second one is kept.
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId: pay(rig) }))
    t.equal(await rig.status(id), 'paid')
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId: pay(rig, { id: 'pay_twice' }) }))
    t.same(await rig.entries(), [['topup', 100_000]])
    t.same(await kinds(rig), ['amount_mismatch', 'amount_mismatch', 'second_payment', ...parked.slice(2)])
    t.equal((await staffMails(rig)) - before, 5, 'staff got one mail for each')

    await t.test('staff refunds what was not credited, once', async (t) => {
      const found = (await rig.exceptions()).find(({ kind }) => kind === 'second_payment')
      const resolve = (resolution: string, exceptionId = found?.id) =>
        rig.staff.send('POST', `/v1/staff/payment-exceptions/${exceptionId}/resolve`, {
          json: { resolution, reason: 'Paid twice.' },
        })
      t.match(dataOf(await resolve('refund')), { resolution: 'refund', reason: 'Paid twice.' })
      t.equal((await resolve('refund')).status, 409)
      t.match(rig.razorpay.refundRequests, [{ paymentId: 'pay_twice', key: found?.id, amount: PAID }])
      const order = (await rig.exceptions()).find(({ kind }) => kind === 'unknown_order')
      t.equal((await resolve('refund', order?.id)).status, 409)
      t.equal((await resolve('dismiss', order?.id)).status, 200)
      t.equal((await rig.exceptions()).filter(({ resolution }) => resolution === null).length, 3)
      const left = await rig.staff.send('GET', '/v1/staff/payment-exceptions?resolved=false')
      t.notOk((left.body as { data: { id: string }[] }).data.some(({ id }) => id === found?.id))
      for (const { id: contested } of (await rig.exceptions()).filter(
        ({ kind, resolution }) => kind === 'amount_mismatch' && resolution === null,
      )) {
        const answers = await Promise.all([resolve('refund', contested), resolve('dismiss', contested)])
        t.strictSame(answers.map(({ status }) => status).sort(), [200, 409], 'one of two decisions counts')
        const { resolution } = (await rig.exceptions()).find(({ id }) => id === contested) ?? {}
        const moved = rig.razorpay.refundRequests.filter(({ key }) => key === contested).length
        t.equal(moved, resolution === 'refund' ? 1 : 0, 'and money moves for it alone')
      }
    })
  })

  await t.test('refunds: in parts, once each, pending, failed, and a credit note for each', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    const refund = async (refundId: string, amount: number, status: 'pending' | 'processed' | 'failed') => {
      rig.razorpay.putRefund({ id: refundId, paymentId, amount, status })
      const event = rig.razorpay.event(`refund.${status === 'pending' ? 'created' : status}`, {
        paymentId,
        refundId,
      })
      await rig.notify(event)
      await rig.notify(event)
    }
    await refund('rfnd_1', 50_000, 'pending')
    t.equal(await rig.status(id), 'partially_refunded')
    t.same((await rig.entries()).at(-1), ['topup_refund', -42_374], 'the halves of the tax are equal: 7626')
    await refund('rfnd_1', 50_000, 'failed')
    t.equal(await rig.status(id), 'paid')
    t.same((await rig.entries()).at(-1), ['reversal', 42_374])
    await refund('rfnd_2', 59_000, 'processed')
    await refund('rfnd_3', 59_000, 'processed')
    t.equal(await rig.status(id), 'refunded')
    t.equal(await rig.balance(), 0)
    const documents = await rig.calling.deps.db
      .selectFrom('invoices')
      .selectAll()
      .where('organizationId', '=', rig.organizationId)
      .orderBy('seq')
      .execute()
    const notes = documents.filter(({ kind }) => kind === 'credit_note')
    t.same(
      notes.map(({ number, totalPaise }) => [number, totalPaise]),
      [
        ['PC/24-25/000001', 59_000],
        ['PC/24-25/000002', 59_000],
      ],
    )
    const invoice = documents.find(({ kind }) => kind === 'invoice')
    t.ok(notes.every(({ originalInvoiceId }) => originalInvoiceId === invoice?.id))
    t.equal(
      notes.reduce((sum, { cgstPaise, sgstPaise }) => sum + cgstPaise + sgstPaise, 0),
      18_000,
    )
  })

  await t.test('a refund and a dispute are asked about until they are decided', async (t) => {
    const rig = await start()
    const { deps, clock } = rig.calling
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    const polls = async () => {
      const rows = await deps.db
        .selectFrom('jobs')
        .select(['dueAt', 'payload'])
        .where('lane', '=', String(id))
        .execute()
      return rows.map(({ dueAt, payload }) => [payload, (dueAt - clock.wall()) / 60_000])
    }
    const pass = async (ms: number) => {
      clock.advance(ms)
      await rig.jobs.idle()
    }
    await pass(HOUR_MS)
    t.same(await polls(), [], 'a paid top-up is not polled')
    const refund = { id: 'rfnd_unheard', paymentId, amount: 59_000 }
    rig.razorpay.putRefund({ ...refund, status: 'pending' })
    await rig.notify(rig.razorpay.event('refund.created', { paymentId, refundId: refund.id }))
    t.equal(await rig.balance(), 50_000)
    t.same(await polls(), [['poll', 10]])
    await pass(4 * HOUR_MS)
    t.same(await polls(), [['poll', 60]], 'the intervals grow with the age')
    await pass(20 * 24 * HOUR_MS)
    t.same(await polls(), [['poll', 24 * 60]], 'to a day')
    rig.razorpay.putRefund({ ...refund, status: 'failed' })
    await pass(24 * HOUR_MS)
    t.equal(await rig.status(id), 'paid', 'found without an event')
    t.equal(await rig.balance(), 100_000)
    t.same(await polls(), [])

    const dispute = { id: 'disp_unheard', paymentId, amount: PAID, phase: 'chargeback' }
    rig.razorpay.putDispute({ ...dispute, status: 'open' })
    await rig.notify(rig.razorpay.event('payment.dispute.created', { paymentId, disputeId: dispute.id }))
    t.same(await polls(), [['poll', 10]])
    // As an older version has left it.
    await deps.db.deleteFrom('jobs').where('lane', '=', String(id)).execute()
    rig.razorpay.putDispute({ ...dispute, status: 'under_review' })
    await pass(24 * HOUR_MS)
    t.match(await polls(), [['poll', Number]], 'the job of the day adds the poll')
    rig.razorpay.putDispute({ ...dispute, status: 'won' })
    await pass(24 * HOUR_MS)
    t.match(await readWallet(deps.db, rig.organizationId, clock.wall()), { onHold: 0, disputeHold: null })
    t.equal(await rig.status(id), 'paid')
    t.same(await polls(), [])
  })

  await t.test('an authentic event is no proof: the gateway is asked', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    const claimed = rig.razorpay.event('payment.captured', { paymentId })
    pay(rig, { status: 'failed' })
    t.equal(await rig.notify(claimed), 200)
    t.equal(await rig.status(id), 'failed', 'the payment of the event was not captured')
    pay(rig, { amount: PAID - 1 })
    t.equal(await rig.notify(claimed), 200)
    t.same(await rig.entries(), [], 'the gateway names another amount than the event')
    t.same(await kinds(rig), ['amount_mismatch'])

    pay(rig)
    await rig.notify(claimed)
    rig.razorpay.putRefund({ id: 'rfnd_replay', paymentId, amount: PAID, status: 'processed' })
    await rig.notify(rig.razorpay.event('refund.processed', { paymentId, refundId: 'rfnd_replay' }))
    const spent = [
      ['topup', 100_000],
      ['topup_refund', -100_000],
    ]
    t.same(await rig.entries(), spent)
    // Razorpay signs no time, so that a recorded event stays authentic.
    rig.calling.clock.advance(40 * HOUR_MS)
    t.equal(await rig.notify(claimed), 200)
    t.same(await rig.entries(), spent, 'an old event moves no money again')
    t.equal(await rig.status(id), 'refunded')
  })

  await t.test('a disputed payment stops calls until it is decided', async (t) => {
    const rig = await start()
    const { deps, clock } = rig.calling
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    const dispute = async (
      disputeId: string,
      status: 'open' | 'under_review' | 'won' | 'lost' | 'closed',
      phase = 'chargeback',
      amount = PAID,
    ) => {
      rig.razorpay.putDispute({ id: disputeId, paymentId, amount, phase, status })
      const name = status === 'open' ? 'created' : status
      await rig.notify(rig.razorpay.event(`payment.dispute.${name}`, { paymentId, disputeId }))
      const wallet = await readWallet(deps.db, rig.organizationId, clock.wall())
      return [wallet.onHold, holdReason(wallet), await rig.status(id)]
    }
    t.same(await dispute('disp_0', 'open', 'retrieval'), [0, null, 'paid'], 'documents are asked for')
    t.same(await dispute('disp_1', 'open'), [1, 'payment_dispute', 'disputed'])
    t.same(await dispute('disp_1', 'under_review'), [1, 'payment_dispute', 'disputed'])
    t.same(await dispute('disp_1', 'won'), [0, null, 'paid'])
    t.same(await dispute('disp_1', 'open'), [0, null, 'paid'], 'an old report changes nothing')
    t.same(
      await dispute('disp_2', 'open', 'pre_arbitration'),
      [1, 'payment_dispute', 'disputed'],
      'it came back',
    )
    t.same(await dispute('disp_3', 'open', 'chargeback', 1_180), [1, 'payment_dispute', 'disputed'])
    t.same(
      await dispute('disp_3', 'closed', 'chargeback', 1_180),
      [1, 'payment_dispute', 'disputed'],
      'another is open',
    )
    t.same(await dispute('disp_2', 'lost', 'pre_arbitration', 59_000), [
      1,
      'payment_dispute_lost',
      'disputed',
    ])
    t.equal(await rig.balance(), 50_000)
    t.match(await kinds(rig), ['dispute_lost'])
    const audit = await rig.owner.send('GET', '/v1/organization/audit-log?limit=10')
    const actions = (audit.body as { data: { action: string }[] }).data.map(({ action }) => action)
    t.equal(actions.filter((action) => action === 'wallet.hold_set').length, 3)

    const [lost] = await rig.exceptions()
    const decide = async (resolution: string) =>
      (
        await rig.staff.send('POST', `/v1/staff/payment-exceptions/${lost?.id}/resolve`, {
          json: { resolution, reason: 'The bank keeps the money' },
        })
      ).status
    const notes = () =>
      deps.db
        .selectFrom('invoices')
        .innerJoin('ledgerEntries', 'ledgerEntries.invoiceId', 'invoices.id')
        .select(['invoices.kind', 'taxablePaise', 'cgstPaise', 'sgstPaise', 'totalPaise', 'amountPaise'])
        .where('topupId', '=', String(id))
        .where('kind', '=', 'credit_note')
        .execute()
    t.same(await notes(), [], 'staff decides')
    t.equal(await decide('refund'), 409)
    t.same(await notes(), [])
    t.equal(await decide('credit_note'), 200)
    const note = { taxablePaise: 50_000, cgstPaise: 4_500, sgstPaise: 4_500, totalPaise: 59_000 }
    t.match(await notes(), [{ ...note, amountPaise: -50_000 }], 'the entry of the dispute names it')
    t.equal(await decide('credit_note'), 409)
    const { organizationId } = await deps.db
      .selectFrom('topups')
      .select('organizationId')
      .where('id', '=', String(id))
      .executeTakeFirstOrThrow()
    const path = `/v1/staff/organizations/${organizationId}/invoices`
    const answer = await rig.staff.send('GET', `${path}?kind=credit_note`)
    t.match(answer, { status: 200 }, JSON.stringify(answer.body))
    const seen = itemsOf(answer)
    t.equal(seen.at(0)?.topupId, id, 'staff sees the note')
    t.ok(seen.every(({ kind }) => kind === 'credit_note'))
    t.ok(itemsOf(await rig.staff.send('GET', path)).some(({ kind }) => kind === 'invoice'))
    t.equal((await rig.calling.send('GET', path)).status, 401, 'a key of the organization does not')
    t.equal((await notes()).length, 1)
  })

  await t.test(
    'a lost dispute takes what the gateway took, and a request for documents nothing',
    async (t) => {
      const rig = await start()
      const { deps, clock } = rig.calling
      const { id } = await rig.topUp()
      const paymentId = pay(rig)
      await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
      const lose = async (disputeId: string, phase: string, deducted: number) => {
        rig.razorpay.putDispute({ id: disputeId, paymentId, amount: 59_000, phase, status: 'lost', deducted })
        await rig.notify(rig.razorpay.event('payment.dispute.lost', { paymentId, disputeId }))
        const { balancePaise, disputeHold } = await readWallet(deps.db, rig.organizationId, clock.wall())
        return [balancePaise, disputeHold, await rig.status(id)]
      }
      t.same(await lose('disp_asked', 'retrieval', 0), [100_000, null, 'paid'])
      t.same(await kinds(rig), [])
      t.same(await lose('disp_taken', 'retrieval', 59_000), [100_000, null, 'paid'], 'staff decides')
      t.match(await rig.exceptions(), [
        {
          kind: 'dispute_lost',
          subject: 'disp_taken:retrieval',
          amountPaise: 59_000,
          details: JSON.stringify({ claimedPaise: 59_000, phase: 'retrieval' }),
        },
      ])
      const hold = 'payment_dispute_lost'
      t.same(await lose('disp_taken', 'chargeback', 35_400), [70_000, hold, 'disputed'], 'part of the claim')
      t.same(await lose('disp_asked', 'pre_arbitration', 0), [70_000, hold, 'disputed'], 'nothing was taken')
      t.same((await rig.exceptions()).map(({ subject, amountPaise }) => [subject, amountPaise]).toSorted(), [
        ['disp_asked', 0],
        ['disp_taken', 35_400],
        ['disp_taken:retrieval', 59_000],
      ])
    },
  )

  await t.test('a refund that fails after a lost dispute gives no money back', async (t) => {
    const rig = await start()
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    const refund = async (status: 'pending' | 'failed') => {
      rig.razorpay.putRefund({ id: 'rfnd_late', paymentId, amount: PAID, status })
      const name = status === 'pending' ? 'created' : status
      await rig.notify(rig.razorpay.event(`refund.${name}`, { paymentId, refundId: 'rfnd_late' }))
    }
    const lose = async (disputeId: string, amount: number) => {
      rig.razorpay.putDispute({ id: disputeId, paymentId, amount, phase: 'chargeback', status: 'lost' })
      await rig.notify(rig.razorpay.event('payment.dispute.lost', { paymentId, disputeId }))
    }
    await refund('pending')
    await lose('disp_part', 35_400)
    await lose('disp_rest', 70_800)
    t.equal(await rig.balance(), 0, 'the refund has taken everything')
    const credited = async () => {
      const { db } = rig.calling.deps
      const rows = await db
        .selectFrom('invoices')
        .select('totalPaise')
        .where('topupId', '=', String(id))
        .where('kind', '=', 'credit_note')
        .orderBy('issuedAt')
        .orderBy('seq')
        .execute()
      return rows.map(({ totalPaise }) => totalPaise)
    }
    const exceptions = await rig.exceptions()
    const json = { resolution: 'credit_note', reason: 'The bank keeps the money' }
    const resolve = async (disputeId: string) => {
      const found = exceptions.find(({ subject }) => subject === disputeId)
      const path = `/v1/staff/payment-exceptions/${found?.id}/resolve`
      return (await rig.staff.send('POST', path, { json })).status
    }
    t.equal(await resolve('disp_part'), 409, 'it has taken nothing')
    await refund('failed')
    t.equal(await rig.balance(), 10_000, 'the bank keeps nine tenths')
    t.equal(await resolve('disp_part'), 200)
    t.equal(await resolve('disp_rest'), 200)
    t.same(await credited(), [35_400, 70_800])
    await refund('failed')
    t.same(await rig.entries(), [
      ['topup', 100_000],
      ['topup_refund', -100_000],
      ['reversal', 100_000],
      ['topup_refund', -30_000],
      ['topup_refund', -60_000],
    ])
    t.equal(await rig.status(id), 'disputed')
  })

  await t.test('the gateway does not answer', async (t) => {
    const rig = await start()
    const create = () => rig.owner.send('POST', '/v1/wallet/topups', { json: { amountPaise: 100_000 } })
    rig.razorpay.mode = 'down'
    t.match(await create(), { status: 503, body: { error: { code: 'provider_unavailable' } } })
    rig.razorpay.mode = 'garbled'
    t.match(await create(), { status: 503 })
    rig.razorpay.mode = 'up'
    const { id } = await rig.topUp()
    const paymentId = pay(rig)
    const event = rig.razorpay.event('payment.captured', { paymentId })
    rig.razorpay.mode = 'down'
    t.equal(await rig.notify(event), 200, 'the event is taken')
    t.equal(await rig.status(id), 'created')
    rig.razorpay.mode = 'up'
    rig.calling.clock.advance(2_000)
    await rig.jobs.idle()
    t.equal(await rig.status(id), 'paid', 'and the gateway is asked again')
  })

  await t.test('the settlement report of the day is compared with the ledger', async (t) => {
    const rig = await openPaymentsRig(await open())
    const { clock } = rig.calling
    await rig.topUp()
    const paymentId = pay(rig)
    clock.advance(11 * 60_000)
    await rig.jobs.idle()
    t.equal(await rig.balance(), 100_000, 'found without an event')
    const row = (fields: object) => ({
      ...{
        entity_id: paymentId,
        type: 'payment',
        debit: 0,
        credit: 115_215,
        amount: PAID,
        fee: 2_785,
        tax: 425,
      },
      ...{ settlement_id: 'setl_1', settlement_utr: 'AXISCN01', order_receipt: 'top_x', dispute_id: null },
      ...fields,
    })
    rig.razorpay.report.set('2025-01-15', [
      row({}),
      row({ entity_id: 'pay_lost' }),
      row({
        entity_id: 'rfnd_lost',
        type: 'refund',
        debit: 5_000,
        credit: 0,
        amount: 5_000,
        payment_id: paymentId,
      }),
      row({ entity_id: 'rfnd_auto', type: 'refund', amount: 5_000, payment_id: 'pay_never_captured' }),
      row({ entity_id: 'adj_1', type: 'adjustment', dispute_id: 'disp_lost', debit: 100, credit: 0 }),
    ])
    clock.advance(23 * HOUR_MS)
    await rig.jobs.idle()
    const expected = ['uncredited_payment', 'unknown_adjustment', 'unknown_refund', 'webhooks_stopped']
    t.same(await kinds(rig), expected)
    clock.advance(48 * HOUR_MS)
    await rig.jobs.idle()
    t.same(await kinds(rig), expected, 'each is reported once')
    const { deps } = rig.calling
    t.match(await deps.db.selectFrom('topups').selectAll().execute(), [{ settlementId: 'setl_1' }])
    // As if the report had never named it.
    await deps.db.updateTable('topups').set({ settlementId: null }).execute()
    rig.razorpay.report.clear()
    clock.advance(11 * 24 * HOUR_MS)
    await rig.jobs.idle()
    t.same(await kinds(rig), [...expected.slice(0, 3), 'unsettled_payment', 'webhooks_stopped'].toSorted())
    await rig.close()
  })

  await t.test('the report shows a deduction after a lost dispute that took nothing', async (t) => {
    const rig = await openPaymentsRig(await open())
    const { deps, clock } = rig.calling
    await rig.topUp()
    const paymentId = pay(rig)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId }))
    for (const [disputeId, deducted] of [
      ['disp_taken', 35_400],
      ['disp_nothing', 0],
    ] as const) {
      rig.razorpay.putDispute({
        ...{ id: disputeId, paymentId, amount: 59_000, phase: 'chargeback', status: 'lost', deducted },
      })
      await rig.notify(rig.razorpay.event('payment.dispute.lost', { paymentId, disputeId }))
    }
    const adjustment = (id: string, disputeId: string, debit: number) => ({
      ...{ entity_id: id, type: 'adjustment', debit, credit: 0, amount: debit, fee: 0, tax: 0 },
      ...{ settlement_id: 'setl_2', settlement_utr: 'AXISCN02', order_receipt: null, dispute_id: disputeId },
    })
    rig.razorpay.report.set('2025-01-15', [
      adjustment('adj_taken', 'disp_taken', 35_400),
      adjustment('adj_late', 'disp_nothing', 59_000),
    ])
    clock.advance(23 * HOUR_MS)
    await rig.jobs.idle()
    const found = await rig.exceptions()
    t.same(found.map(({ kind, subject }) => [kind, subject]).toSorted(), [
      ['dispute_lost', 'disp_nothing'],
      ['dispute_lost', 'disp_taken'],
      ['settlement_amount', 'adj_late'],
    ])
    t.match(
      found.find(({ kind }) => kind === 'settlement_amount'),
      {
        ...{ organizationId: rig.organizationId, amountPaise: 59_000 },
        details: JSON.stringify({
          ...{ settlementId: 'setl_2', receipt: null, disputeId: 'disp_nothing', deductedPaise: 0 },
        }),
      },
    )
    t.equal(await rig.balance(), 70_000, 'staff decides')
    const { disputeHold } = await readWallet(deps.db, rig.organizationId, clock.wall())
    t.equal(disputeHold, 'payment_dispute_lost')
    await rig.close()
  })

  await t.test('the checkout page leads to the gateway, and the browser comes back', async (t) => {
    const rig = await start()
    const { api } = rig.calling
    const topup = await rig.topUp()
    const page = String(topup.checkoutUrl)
    t.ok(page.startsWith(`${api.url}/pay/`))
    const shown = await fetch(page)
    const html = await shown.text()
    t.match(shown.headers.get('content-security-policy'), new URL(rig.razorpay.url).origin)
    t.match(html, `action="${rig.razorpay.url}/checkout/embedded"`)
    t.match(html, `name="order_id" value="${rig.razorpay.orders.at(-1)?.id}"`)
    t.match(html, `name="amount" value="${PAID}"`)
    t.match(html, '1,180.00')
    pay(rig)
    const orderId = String(rig.razorpay.orders.at(-1)?.id)
    const body = new URLSearchParams({
      razorpay_payment_id: `pay_${orderId}`,
      razorpay_order_id: orderId,
      razorpay_signature: razorpaySignature(KEY_SECRET, `${orderId}|pay_${orderId}`),
    })
    // From another site: no cookie, and the Origin of the gateway.
    const returned = await fetch(page, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: { origin: 'https://api.razorpay.com' },
    })
    t.equal(returned.status, 303)
    t.equal(returned.headers.get('location'), page)
    await rig.jobs.idle()
    t.equal(await rig.status(topup.id), 'paid')
    const after = await (await fetch(page)).text()
    t.match(after, 'is in your wallet')
    t.notMatch(after, '<form')
    t.equal((await fetch(`${page}x`)).status, 404)
  })
  await shared.close()
})
