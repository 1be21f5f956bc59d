import { createHash } from 'node:crypto'
import t from 'tap'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openPaymentsRig } from '../../fixtures/payments/payments-rig.js'
import { istMidnight } from '../base/ist.js'
import { NO_TAX } from '../billing/gst.js'
import { writeObject } from '../objects/whole-object.js'
import { insertTopup } from '../payments/topup-store.js'
import { invoiceDocument } from './document.js'
import { readInvoiceFile } from './file.js'
import { issueDocument } from './issue.js'

await onEachDialect(t, async (t, open) => {
  const rig = await openPaymentsRig(await open())
  const { api, deps, clock } = rig.calling
  const { organizationId } = rig.calling.owner
  const live = (path: string) => rig.calling.send('GET', path, { key: api.liveKey })

  await t.test('a paid top-up has an invoice, for live keys of its organization', async (t) => {
    const { id: topupId } = await rig.topUp()
    const orderId = rig.razorpay.orders[0]?.id ?? ''
    const payment = {
      id: 'pay_1',
      orderId,
      amount: 118_000,
      currency: 'INR',
      status: 'captured',
      refunded: 0,
    } as const
    rig.razorpay.putPayment(payment)
    await rig.notify(rig.razorpay.event('payment.captured', { paymentId: 'pay_1' }))
    const [listed] = itemsOf(await live('/v1/invoices'))
    t.match(listed, {
      number: 'PI/24-25/000001',
      kind: 'invoice',
      specimen: false,
      supplier: { gstin: '29AAGCB7383J1Z4' },
      recipient: { name: 'आशा क्लिनिक', stateCode: '29', gstin: null },
      placeOfSupply: '29',
      lines: [{ sac: '998423', ratePercent: 18, taxablePaise: 100_000 }],
      cgstPaise: 9_000,
      sgstPaise: 9_000,
      igstPaise: 0,
      totalPaise: 118_000,
      topupId,
    })
    t.same(dataOf(await live(`/v1/invoices/${listed?.id}`)), listed)
    t.same(itemsOf(await rig.calling.send('GET', '/v1/invoices')), [], 'the test environment has none')
    t.equal((await rig.calling.send('GET', `/v1/invoices/${listed?.id}`)).status, 404)
    const { liveKey } = await rig.calling.anotherOrganization()
    t.equal((await rig.calling.send('GET', `/v1/invoices/${listed?.id}`, { key: liveKey })).status, 404)
    t.equal(itemsOf(await live('/v1/invoices?from=2025-01-15&to=2025-01-15')).length, 1)
    t.equal(itemsOf(await live('/v1/invoices?to=2025-01-14')).length, 0)
    t.equal((await live('/v1/invoices?from=yesterday')).status, 400)

    const url = `${api.url}/v1/invoices/${listed?.id}/invoice.pdf`
    const pdf = await fetch(url, { headers: { authorization: `Bearer ${api.liveKey}` } })
    t.match(pdf.headers.get('content-disposition'), 'PI-24-25-000001.pdf')
    t.match(Buffer.from(await pdf.arrayBuffer()).toString('latin1'), /^%PDF-/)
    const row = await deps.db.selectFrom('invoices').selectAll().executeTakeFirstOrThrow()
    const text = JSON.stringify(invoiceDocument(row, null))
    for (const part of ['आशा क्लिनिक', '29 Karnataka', 'CGST 9 %', '₹ 1,180.00', '433212345678'])
      t.match(text, part)
    t.notMatch(text, 'IGST')
  })

  await t.test('numbers have no gap, and begin again with the financial year', async (t) => {
    const { db, settings } = deps
    const [rate] = settings.gst.rates
    if (rate === undefined) throw new Error('no rate')
    const recipient = { name: 'A', address: 'B', city: null, pincode: null, stateCode: '29', gstin: null }
    const wanted = { organizationId, gateway: 'razorpay', amountPaise: 10_000, tax: NO_TAX, rate, recipient }
    const issue = async (cause: string, now: number, fails = false) => {
      const topup = await insertTopup(db, { ...wanted, createdBy: 'usr', expiresAt: now }, now)
      const content = { recipient, placeOfSupply: '29', rate, paymentId: cause, bankReference: null }
      return db.transaction().execute(async (trx) => {
        const fields = { kind: 'credit_note', specimen: false, topupId: topup.id, original: null } as const
        const amount = { taxablePaise: 10_000, tax: NO_TAX }
        const one = {
          organizationId,
          ...fields,
          ...amount,
          cause: `refund:${cause}` as const,
          gst: settings.gst,
          content,
        }
        const row = await issueDocument(trx, one, now)
        const again = await issueDocument(trx, one, now)
        if (again.id !== row.id) throw new Error('issued twice')
        if (fails) throw new Error('the money did not move')
        return row.number
      })
    }
    const march = istMidnight('2026-04-01') - 1
    t.equal(await issue('a', march), 'PC/25-26/000001')
    await t.rejects(issue('b', march, true), /did not move/)
    const numbers = await Promise.all(['c', 'd', 'e', 'f'].map((cause) => issue(cause, march)))
    t.same(
      numbers.toSorted(),
      [2, 3, 4, 5].map((seq) => `PC/25-26/00000${seq}`),
    )
    t.equal(await issue('g', march + 1), 'PC/26-27/000001')
    t.ok(clock.wall() < march)
  })

  await t.test('a document is drawn once: a later release serves the same bytes', async (t) => {
    const { db, objects } = deps
    const [first, second] = await db.selectFrom('invoices').selectAll().orderBy('id').execute()
    if (first === undefined || second === undefined) throw new Error('no invoices')
    const later: typeof deps = {
      ...deps,
      pdf: { render: (document) => deps.pdf.render({ ...document, footer: `${document.footer}, new form` }) },
    }
    const bytes = Buffer.from(await readInvoiceFile(deps, first, null))
    t.ok(bytes.equals(await readInvoiceFile(later, first, null)))
    const files = () => db.selectFrom('invoiceFiles').selectAll().orderBy('invoiceId').execute()
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    t.match(await files(), [{ invoiceId: first.id, sha256 }])
    await t.rejects(db.updateTable('invoiceFiles').set({ sha256: '' }).execute(), /immutable/)

    const key = `invoices/${first.id}/${sha256}.pdf`
    for (const damage of [() => objects.delete(key), () => writeObject(objects, key, Buffer.from('%PDF-'))]) {
      await damage()
      await t.rejects(readInvoiceFile(later, first, null), { code: 'storage_failed' })
      t.ok(bytes.equals(await readInvoiceFile(deps, first, null)), 'the release that drew it draws it again')
      t.ok(bytes.equals(await readInvoiceFile(later, first, null)))
    }

    const [one, other] = await Promise.all(
      [deps, later].map((release) => readInvoiceFile(release, second, null)),
    )
    t.ok(Buffer.from(one ?? []).equals(other ?? new Uint8Array()), 'of two releases at once one draws it')
    t.equal((await files()).length, 2)
    const keys: string[] = []
    for await (const object of objects.list(`invoices/${second.id}/`)) keys.push(object.key)
    t.equal(keys.length, 1)
  })
  await rig.close()
})
