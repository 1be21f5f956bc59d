import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openPaymentsRig } from '../../fixtures/payments/payments-rig.js'
import { exportInvoices } from '../cli/invoices-export.js'
import { invoiceDocument } from './document.js'

const GSTIN = '27AAPFU0939F1ZV'
const REGISTERED = {
  ...{
    name: 'Asha Clinic LLP',
    address: `${'12 MG Road, '.repeat(10)}Fort`,
    city: 'Mumbai',
    pincode: '400001',
  },
  ...{ stateCode: '27', gstin: GSTIN },
}

await onEachDialect(t, async (t, open) => {
  const rig = await openPaymentsRig(await open(), 'razorpay', { eInvoicesFrom: '2025-01-01' })
  const { db } = rig.calling.deps
  const { owner, razorpay } = rig
  const bill = (billing: object) => owner.send('PATCH', '/v1/organization', { json: { billing } })
  const pay = async () => {
    await rig.topUp()
    const orderId = razorpay.orders.at(-1)?.id ?? ''
    const id = `pay_${orderId}`
    const paid = { id, orderId, amount: 118_000, currency: 'INR', status: 'captured', refunded: 0 } as const
    razorpay.putPayment(paid)
    await rig.notify(razorpay.event('payment.captured', { paymentId: id }))
    return id
  }
  const out = join(t.testdirName, `export.json`)
  t.testdir({})
  const days = ['--from', '2025-01-15', '--to', '2025-01-15', '--out', out]
  const written = () => JSON.parse(readFileSync(out, 'utf8')) as Record<string, unknown>[]

  await pay()
  t.same(await exportInvoices(db, days), { text: `0 documents written to ${out}.`, complete: true })
  t.same(written(), [], 'the recipient is not registered')

  await bill({ ...REGISTERED, city: null, pincode: null })
  const refused = await owner.send('POST', '/v1/wallet/topups', { json: { amountPaise: 100_000 } })
  t.match(refused, {
    status: 422,
    body: { error: { code: 'billing_details_required', details: { missing: ['city', 'pincode'] } } },
  })
  t.equal((await bill(REGISTERED)).status, 200)
  const paymentId = await pay()
  razorpay.putRefund({ id: 'rfnd_1', paymentId, amount: 59_000, status: 'processed' })
  await rig.notify(razorpay.event('refund.processed', { paymentId, refundId: 'rfnd_1' }))
  t.match(await exportInvoices(db, days), { text: /^2 documents/, complete: true })
  const [note, invoice] = written()
  t.match(invoice, {
    Version: '1.1',
    TranDtls: { TaxSch: 'GST', SupTyp: 'B2B', RegRev: 'N' },
    DocDtls: { Typ: 'INV', No: 'PI/24-25/000002', Dt: '15/01/2025' },
    SellerDtls: { Gstin: '29AAGCB7383J1Z4', LglNm: /^Parley/, Loc: 'Bengaluru', Pin: 560_025, Stcd: '29' },
    BuyerDtls: { Gstin: GSTIN, LglNm: 'Asha Clinic LLP', Pos: '27', Loc: 'Mumbai', Pin: 400_001, Stcd: '27' },
    ItemList: [
      {
        ...{ SlNo: '1', IsServc: 'Y', HsnCd: '998423', AssAmt: 1_000, GstRt: 18 },
        ...{ IgstAmt: 180, CgstAmt: 0, SgstAmt: 0, TotItemVal: 1_180 },
      },
    ],
    ValDtls: { AssVal: 1_000, IgstVal: 180, CgstVal: 0, SgstVal: 0, RndOffAmt: 0, TotInvVal: 1_180 },
  })
  t.notOk(invoice?.RefDtls)
  const { Addr1 = '', Addr2 = '' } = (invoice?.BuyerDtls ?? {}) as Record<string, string>
  t.equal(Addr1.length, 100)
  t.equal(Addr1 + Addr2, REGISTERED.address)
  t.match(note, {
    DocDtls: { Typ: 'CRN', No: 'PC/24-25/000001' },
    ValDtls: { AssVal: 500, IgstVal: 90, TotInvVal: 590 },
    RefDtls: { PrecDocDtls: [{ InvNo: 'PI/24-25/000002', InvDt: '15/01/2025' }] },
  })
  const rows = await db.selectFrom('invoices').selectAll().orderBy('series', 'desc').orderBy('seq').execute()
  const says = rows.map((row) =>
    JSON.stringify(invoiceDocument(row)).includes('with the IRN and the QR code'),
  )
  t.same(says, [false, true, true], 'the copies to the registered recipient say what is missing')

  await t.test('what the portal would refuse is named and left out', async (t) => {
    await bill({ ...REGISTERED, name: 'A' })
    await pay()
    const { text, complete } = await exportInvoices(db, days)
    t.notOk(complete)
    t.match(text, /Not in the file: PI\/24-25\/000003: the name of the recipient has not 3 to 100 characters/)
    t.equal(written().length, 2)
    for (const wrong of [
      ['--from', 'today'],
      ['--to', '2025-02-30'],
      ['--out', out],
    ]) {
      await t.rejects(exportInvoices(db, ['--from', '2025-01-01', ...wrong]), /must be a day/)
    }
    const nowhere = ['--from', '2025-01-01', '--to', '2025-01-31', '--out', join(out, 'below-a-file')]
    await t.rejects(exportInvoices(db, nowhere), /cannot be written/)
  })
  await rig.close()
})
