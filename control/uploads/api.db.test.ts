import { request } from 'node:http'
import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInMember } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { writeAddressToken } from '../base/signed-address.js'
import { sweepUploads, UNUSED_KEPT_MS } from './store.js'

const UPLOAD_URL = '/v1/organization/verification/upload-url'
const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(100_000, 'x')])
const SUBMISSION = {
  legalName: 'Smile Dental Clinic LLP',
  entityType: 'llp',
  registeredAddress: { address: '1 MG Road', city: 'Bengaluru', pincode: '560001', stateCode: '29' },
  authorisedPerson: { name: 'Asha Rao', email: 'asha@clinic.example', phone: '+919876543210' },
}

interface Wanted {
  readonly uploadId: string
  readonly upload: {
    readonly url: string
    readonly headers: Record<string, string>
    readonly expiresAt: string
  }
}

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  const { api, clock, deps, owner } = calling
  const { db, objects } = deps
  let admin = await signInMember(api, owner.organizationId, 'admin')
  const wanted = async (change: object = {}): Promise<Wanted> => {
    const json = { fileName: 'pan.pdf', contentType: 'application/pdf', bytes: PDF.length, ...change }
    const answer = await admin.send('POST', UPLOAD_URL, { json })
    t.equal(answer.status, 201)
    return dataOf(answer) as unknown as Wanted
  }
  const put = async ({ upload }: Wanted, body: Uint8Array, headers = upload.headers) => {
    const response = await fetch(upload.url, { method: 'PUT', body, headers })
    const text = await response.text()
    return { status: response.status, code: text === '' ? null : JSON.parse(text).error.code }
  }
  const stored = async (): Promise<string[]> => {
    const keys: string[] = []
    for await (const { key } of objects.list('documents/')) keys.push(key)
    return keys
  }

  await t.test('a document is uploaded, submitted and kept', async (t) => {
    const upload = await wanted()
    t.match(upload.upload, { method: 'PUT', headers: { 'content-type': 'application/pdf' } })
    t.equal(Date.parse(upload.upload.expiresAt), clock.wall() + 15 * 60_000)
    const submit = (documents: string[]) =>
      admin.send('POST', '/v1/organization/verification', { json: { ...SUBMISSION, documents } })
    t.match(await submit([upload.uploadId]), {
      status: 404,
      body: { error: { details: { resource: 'upload', path: 'documents[0]' } } },
    })
    t.same(await put(upload, PDF), { status: 204, code: null })
    t.same(await put(upload, PDF), { status: 409, code: 'conflict' }, 'an address takes one file')
    const other = await wanted()
    await put(other, PDF)
    t.match(await submit([upload.uploadId, 'upl_none']), {
      status: 404,
      body: { error: { details: { path: 'documents[1]' } } },
    })
    t.match(await submit([upload.uploadId]), { status: 201 })
    clock.advance(UNUSED_KEPT_MS + 1)
    // The session has ended meanwhile.
    admin = await signInMember(api, owner.organizationId, 'admin')
    await sweepUploads(db, objects, clock.wall())
    const keys = await stored()
    t.equal(keys.length, 1, 'the unused one is deleted')
    t.ok(keys[0]?.startsWith(`documents/${upload.uploadId}/`))
    t.same(await db.selectFrom('uploads').select(['id', 'state']).execute(), [
      { id: upload.uploadId, state: 'used' },
    ])
  })

  await t.test('the bytes must be of the stated type', async (t) => {
    const before = await stored()
    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0])
    const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0])
    const pdf = await wanted()
    const refused = { status: 422, code: 'unprocessable_entity' }
    t.same(await put(pdf, png), refused)
    t.same(await put(pdf, Buffer.from('%PDF')), refused, 'too short')
    t.same(await put(pdf, png, { 'content-type': 'image/png' }), refused, 'another type than announced')
    t.match(await put(pdf, png, { 'content-type': 'application/zip' }), {
      status: 400,
      code: 'bad_request',
    })
    t.same(await stored(), before)
    t.match(await put(pdf, PDF), { status: 204 }, 'a refused file does not use up the address')
    t.match(await put(await wanted({ contentType: 'image/png' }), png), { status: 204 })
    t.match(await put(await wanted({ contentType: 'image/jpeg' }), jpeg), { status: 204 })
  })

  await t.test('no more bytes than announced, and at most 10 MiB', async (t) => {
    const json = { fileName: 'a', contentType: 'application/pdf', bytes: 10 * 1024 * 1024 + 1 }
    t.match(await admin.send('POST', UPLOAD_URL, { json }), {
      status: 413,
      body: { error: { code: 'document_too_large' } },
    })
    const before = await stored()
    t.same(await put(await wanted({ bytes: PDF.length - 1 }), PDF), {
      status: 413,
      code: 'document_too_large',
    })
    t.same(await stored(), before)
  })

  await t.test(
    'a connection cut in the middle leaves nothing, and the address can be used again',
    async (t) => {
      const before = await stored()
      const upload = await wanted()
      const sent = request(upload.upload.url, {
        method: 'PUT',
        headers: { ...upload.upload.headers, 'content-length': PDF.length },
      })
      const failed = new Promise((resolve) => sent.once('error', resolve))
      await new Promise<void>((resolve) => sent.write(PDF.subarray(0, 50_000), () => resolve()))
      sent.destroy(new Error('cut'))
      await failed
      t.match(await put(upload, PDF), { status: 204 })
      t.equal((await stored()).length, before.length + 1)
    },
  )

  await t.test('a retry with an Idempotency-Key: the same answer, and other bytes are refused', async (t) => {
    const before = await stored()
    const upload = await wanted()
    const headers = { ...upload.upload.headers, 'idempotency-key': 'pan' }
    for (let i = 0; i < 2; i++) t.same(await put(upload, PDF, headers), { status: 204, code: null })
    const code = 'idempotency_key_reused_with_different_params'
    t.same(await put(upload, PDF.subarray(0, 1000), headers), { status: 422, code })
    t.equal((await stored()).length, before.length + 1)
  })

  await t.test('of two uploads at the same time one becomes the file', async (t) => {
    const before = await stored()
    const upload = await wanted()
    const answers = await Promise.all([put(upload, PDF), put(upload, PDF)])
    t.same(answers.map(({ status }) => status).sort(), [204, 409])
    t.equal((await stored()).length, before.length + 1)
  })

  await t.test('an address expires and is for uploads only', async (t) => {
    const upload = await wanted()
    const { rootKey, publicUrl } = deps
    const grant = { subject: upload.uploadId, expiresAt: clock.wall() + 1000 }
    const url = `${publicUrl()}/v1/uploads/${writeAddressToken(rootKey, 'recording', grant)}`
    t.same(await put({ ...upload, upload: { ...upload.upload, url } }, PDF), {
      status: 404,
      code: 'not_found',
    })
    clock.advance(15 * 60_000)
    t.same(await put(upload, PDF), { status: 404, code: 'not_found' })
  })

  await t.test('only owners and admins may upload; another organization cannot use the file', async (t) => {
    const developer = await signInMember(api, owner.organizationId, 'developer')
    const json = { fileName: 'a', contentType: 'application/pdf', bytes: 1 }
    t.equal((await developer.send('POST', UPLOAD_URL, { json })).status, 403)
    const upload = await wanted()
    await put(upload, PDF)
    const { organizationId } = await calling.anotherOrganization()
    const stranger = await signInMember(api, organizationId, 'owner')
    const answer = await stranger.send('POST', '/v1/organization/verification', {
      json: { ...SUBMISSION, documents: [upload.uploadId] },
    })
    t.equal(answer.status, 404)
    const unused = await db.selectFrom('uploads').select('state').where('id', '=', upload.uploadId).execute()
    t.same(unused, [{ state: 'stored' }])
  })

  await t.test('unused uploads are limited', async (t) => {
    const json = { fileName: 'a', contentType: 'application/pdf', bytes: 1 }
    let answer = await admin.send('POST', UPLOAD_URL, { json })
    for (let count = 0; count < 50 && answer.status === 201; count++) {
      answer = await admin.send('POST', UPLOAD_URL, { json })
    }
    t.match(answer, { status: 409, body: { error: { code: 'conflict' } } })
  })

  await calling.close()
})
