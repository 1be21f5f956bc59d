import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { openPaymentsRig } from '../../fixtures/payments/payments-rig.js'
import { exportInvoices } from '../cli/invoices-export.js'
import { importInvoices } from '../cli/invoices-import.js'
import { invoiceDocument } from './document.js'
import { findRegistration } from './register.js'

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

/** A document in the schema INV-01, as far as an answer of a portal repeats it. */
interface Exported {
  readonly DocDtls: { readonly Typ: string; readonly No: string; readonly Dt: string }
  readonly SellerDtls: { readonly Gstin: string }
  readonly BuyerDtls: { readonly Gstin: string }
  readonly ValDtls: { readonly TotInvVal: number }
}

const irnOf = ({ DocDtls }: Exported) => createHash('sha256').update(DocDtls.No).digest('hex')

/** Returns the answer of a portal about a document. `said` replaces facts of the signed QR code. */
function answerTo(document: Exported, said: object = {}) {
  const facts = {
    ...{ SellerGstin: document.SellerDtls.Gstin, BuyerGstin: document.BuyerDtls.Gstin },
    ...{ DocNo: document.DocDtls.No, DocTyp: document.DocDtls.Typ, DocDt: document.DocDtls.Dt },
    ...{ TotInvVal: document.ValDtls.TotInvVal, ItemCnt: 1, MainHsnCode: '998423' },
    ...{ Irn: irnOf(document), IrnDt: '2025-01-16 11:05:00', ...said },
  }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = [part({ alg: 'RS256' }), part({ data: JSON.stringify(facts), iss: 'NIC' }), 'c'.repeat(342)]
  return {
    ...{ AckNo: 112_010_036_563_310, AckDt: '2025-01-16 11:05:00', Irn: irnOf(document) },
    ...{ SignedInvoice: 'e30.e30.c2ln', SignedQRCode: token.join('.'), Status: 'ACT' },
  }
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

  await t.test('a registered document gets its IRN and its PDF', async (t) => {
    const { api, deps, clock } = rig.calling
    const answers = join(t.testdirName, 'answers.json')
    t.testdir({})
    const bring = (entries: unknown) => {
      writeFileSync(answers, typeof entries === 'string' ? entries : JSON.stringify(entries))
      return importInvoices(db, [answers], clock)
    }
    const [credited, billed] = written() as unknown as [Exported, Exported]
    const find = async (number: string) =>
      db.selectFrom('invoices').selectAll().where('number', '=', number).executeTakeFirstOrThrow()
    const row = await find(billed.DocDtls.No)
    const live = (path: string) => rig.calling.send('GET', path, { key: api.liveKey })
    const pdf = async (id: string) => {
      const headers = { authorization: `Bearer ${api.liveKey}` }
      return fetch(`${api.url}/v1/invoices/${id}/invoice.pdf`, { headers })
    }
    const states = async () =>
      itemsOf(await live('/v1/invoices')).map(({ number, eInvoice }) => [number, eInvoice])
    const pending = { status: 'pending', irn: null, ackNo: null, ackAt: null }
    t.same(
      new Map((await states()) as [string, unknown][]),
      new Map<string, unknown>([
        ['PI/24-25/000001', null],
        ['PI/24-25/000002', pending],
        ['PC/24-25/000001', pending],
      ]),
    )
    t.match(await live(`/v1/invoices/${row.id}/invoice.pdf`), {
      status: 409,
      body: { error: { code: 'conflict', details: { eInvoice: 'pending' } } },
    })
    const [unregistered] = itemsOf(await live('/v1/invoices')).filter(({ eInvoice }) => eInvoice === null)
    t.equal((await pdf(String(unregistered?.id))).status, 200)

    const answer = answerTo(billed)
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ ...answer, SignedQRCode: '' }, /entry 1: there is no signed QR code/],
      [{ ...answer, SignedQRCode: 'e30.e30' }, /entry 1: the signed QR code cannot be read/],
      [{ ...answer, SignedQRCode: 'e30.e30.c2ln' }, /entry 1: the signed QR code cannot be read/],
      [{ ...answer, SignedQRCode: answer.SignedQRCode + 'c'.repeat(3_000) }, /cannot be read/],
      [answerTo(billed, { DocNo: 'PI/24-25/000009' }), /000009: no document has this number/],
      [answerTo(billed, { DocNo: 'PI/24-25/000001' }), /000001: the signed QR code states BuyerGstin/],
      [{ ...answer, Status: 'CNL' }, /PI\/24-25\/000002: the portal states the status CNL/],
      [{ ...answer, Irn: 'abc' }, /the IRN has not 64 hexadecimal digits/],
      [{ ...answer, AckNo: '1.12E+14' }, /the acknowledgement number has not 6 to 20 digits/],
      [{ ...answer, AckDt: '2025-02-30 11:05:00' }, /the acknowledgement date is not like/],
      [{ ...answer, Irn: 'a'.repeat(64) }, /states Irn [0-9a-f]{64} instead of a{64}/],
      [answerTo(billed, { TotInvVal: 1_180.01 }), /states TotInvVal 1180.01 instead of 1180/],
      [answerTo(billed, { DocDt: '16/01/2025', DocTyp: 'CRN' }), /DocTyp CRN instead of INV, DocDt 16/],
      [answerTo(billed, { SellerGstin: GSTIN }), /states SellerGstin/],
    ]
    for (const [entry, reason] of wrong) {
      const { text, complete } = await bring([entry])
      t.match(text, reason)
      t.match(text, /^0 documents registered, 0 were registered before, 1 answers refused/)
      t.notOk(complete)
    }
    t.equal((await pdf(row.id)).status, 409, 'a refused answer registers nothing')

    const both = await bring([answer, 'no answer', answerTo(billed, { TotInvVal: 1 }), answerTo(credited)])
    t.match(both.text, /^2 documents registered, 0 were registered before, 2 answers refused\.\n/)
    t.match(both.text, /entry 2: there is no signed QR code\.\nRefused, entry 3, PI/)
    const { irn } = (await findRegistration(db, row.id)) ?? {}
    t.equal(irn, answer.Irn)
    const registered = {
      status: 'registered',
      irn,
      ackNo: '112010036563310',
      ackAt: '2025-01-16T05:35:00.000Z',
    }
    t.same(dataOf(await live(`/v1/invoices/${row.id}`)).eInvoice, registered)
    const csv = [
      'Doc No,IRN,Ack No.,Ack Date,Signed QR Code',
      `x,${irn?.toUpperCase()},112010036563310,16/01/2025 11:05:00,${answer.SignedQRCode}`,
    ]
    const lines = csv.join('\r\n')
    for (const text of [lines, `sep=;\r\n${lines.replaceAll(',', ';')}`]) {
      t.same(await bring(`\uFEFF${text}\r\n`), {
        text: '0 documents registered, 1 were registered before, 0 answers refused.',
        complete: true,
      })
    }
    const other = { ...answerTo(billed, { Irn: 'b'.repeat(64) }), Irn: 'b'.repeat(64) }
    t.match(
      (await bring(other)).text,
      new RegExp(`entry 1, PI/24-25/000002: the document has the IRN ${irn}`),
    )

    const set = { irn: 'c'.repeat(64) }
    await t.rejects(db.updateTable('invoiceRegistrations').set(set).execute(), /immutable/)
    await t.rejects(db.deleteFrom('invoiceRegistrations').execute(), /immutable/)
    const audit = await db
      .selectFrom('auditEntries')
      .select(['subjectId', 'after'])
      .where('action', '=', 'invoice.registered')
      .execute()
    t.equal(audit.length, 2)
    const after = audit.find(({ subjectId }) => subjectId === row.id)?.after ?? ''
    t.same(JSON.parse(after), { number: row.number, irn, ackNo: '112010036563310' })

    const first = Buffer.from(await (await pdf(row.id)).arrayBuffer())
    t.ok(
      first.equals(Buffer.from(await (await pdf(row.id)).arrayBuffer())),
      'each download has the same bytes',
    )
    const sha256 = createHash('sha256').update(first).digest('hex')
    t.equal((await findRegistration(db, row.id))?.sha256, sha256)
    await t.rejects(db.updateTable('invoiceRegistrations').set({ sha256: '' }).execute(), /immutable/)
    const { blocks } = invoiceDocument(row, await findRegistration(db, row.id))
    t.ok(blocks.some((block) => block.kind === 'qr' && block.text === answer.SignedQRCode))
    for (const part of [answer.Irn, '112010036563310 of 2025-01-16, 11:05:00'])
      t.match(JSON.stringify(blocks), part)
    t.same(await exportInvoices(db, days), { text: `0 documents written to ${out}.`, complete: true })
    t.same(deps.settings.gst.eInvoicesFrom, '2025-01-01')

    const nothing = [[], '', 'IRN,Ack No\n']
    for (const content of nothing) await t.rejects(bring(content), /has no answers/)
    await t.rejects(bring('[{'), /is not valid JSON/)
    await t.rejects(bring('a,"b'), /is neither JSON nor CSV/)
    await t.rejects(importInvoices(db, [join(answers, 'none')]), /cannot be read/)
    await t.rejects(importInvoices(db, []), /give one file/)
  })

  await t.test('a special economic zone bears IGST in the state of the supplier', async (t) => {
    const zone = { ...REGISTERED, stateCode: '29', gstin: '29AAGCB7383J1Z4', sez: true }
    t.equal((await bill(zone)).status, 200)
    await pay()
    t.match(await exportInvoices(db, days), { text: /^1 documents/, complete: true })
    t.match(written(), [
      {
        TranDtls: { SupTyp: 'SEZWP', IgstOnIntra: 'N' },
        BuyerDtls: { Gstin: zone.gstin, Pos: '29' },
        ValDtls: { IgstVal: 180, CgstVal: 0, SgstVal: 0, TotInvVal: 1_180 },
      },
    ])
    const row = await db
      .selectFrom('invoices')
      .selectAll()
      .where('number', '=', 'PI/24-25/000003')
      .executeTakeFirstOrThrow()
    t.match(
      JSON.stringify(invoiceDocument(row, null)),
      'SEZ DEVELOPER FOR AUTHORISED OPERATIONS ON PAYMENT OF',
    )
    const { api } = rig.calling
    const path = `/v1/invoices/${row.id}`
    const seen = dataOf(await rig.calling.send('GET', path, { key: api.liveKey }))
    t.match(seen, { recipient: { gstin: zone.gstin, sez: true }, igstPaise: 18_000, cgstPaise: 0 })
    t.equal((await bill({ ...REGISTERED, sez: false })).status, 200)
  })

  await t.test('what the portal would refuse is named and left out', async (t) => {
    await bill({ ...REGISTERED, name: 'A' })
    await pay()
    const { text, complete } = await exportInvoices(db, days)
    t.notOk(complete)
    t.match(text, /Not in the file: PI\/24-25\/000004: the name of the recipient has not 3 to 100 characters/)
    t.equal(written().length, 1)
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
