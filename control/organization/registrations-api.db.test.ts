import t from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { operations } from '../app/operations.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const issuesOf = (answer: { body: unknown }) =>
  (errorOf(answer).details.issues as { path: string }[]).map(({ path }) => path)
const json = (body: unknown) => ({ json: body })

const VERIFICATION = '/v1/organization/verification'
const DECLARATIONS = '/v1/organization/robocall-declarations'
const SENDERS = '/v1/organization/sender-ids'

const SUBMISSION = {
  legalName: 'Asha Clinics Private Limited',
  entityType: 'private_limited',
  gstin: '27AAPFU0939F1ZV',
  pan: 'AAPFU0939F',
  registeredAddress: { address: '1 Marine Drive', city: 'Mumbai', pincode: '400001', stateCode: '27' },
  authorisedPerson: { name: 'A Person', email: 'a@example.com', phone: '+919876543210' },
}
const DECLARATION = {
  provider: 'airtel',
  reference: 'AD/2025/17',
  objective: 'Appointment reminders by an automatic agent.',
  callerIds: ['+919000000100', '+918040000000'],
  declaredOn: '2025-01-10',
  effectiveFrom: '2025-01-12',
}
const SENDER = {
  series: '1600',
  e164: '+911600110001',
  category: 'service',
  dltHeaderId: '1105000000000000001',
}

await onEachDialect(t, async (t, open) => {
  const api = await openUsersApi({ database: await open(), operations })
  const { browser: admin } = await api.member('admin')
  const { browser: viewer } = await api.member('viewer')
  const stranger = await api.owner()
  const { db } = api.deps

  await t.test('a verification is submitted once, and sealed', async (t) => {
    const none = await viewer.send('GET', VERIFICATION)
    t.same(dataOf(none), {
      status: 'unverified',
      submittedAt: null,
      decidedAt: null,
      rejectionReason: null,
      submission: null,
    })
    const rows: readonly [object, string][] = [
      [{ legalName: '' }, 'legalName'],
      [{ legalName: '   ' }, 'legalName'],
      [{ entityType: 'club' }, 'entityType'],
      [{ gstin: '27AAPFU0939F1ZW' }, 'gstin'],
      [{ pan: 'AAPFU0939' }, 'pan'],
      [
        { registeredAddress: { ...SUBMISSION.registeredAddress, stateCode: '28' } },
        'registeredAddress.stateCode',
      ],
      [{ registeredAddress: null }, 'registeredAddress'],
      [{ authorisedPerson: { ...SUBMISSION.authorisedPerson, email: 'a' } }, 'authorisedPerson.email'],
      [
        { authorisedPerson: { ...SUBMISSION.authorisedPerson, phone: '+911800123456' } },
        'authorisedPerson.phone',
      ],
      [
        { authorisedPerson: { ...SUBMISSION.authorisedPerson, phone: '9876543210' } },
        'authorisedPerson.phone',
      ],
      [{ website: 'x' }, 'website'],
    ]
    for (const [change, path] of rows) {
      const answer = await admin.send('POST', VERIFICATION, json({ ...SUBMISSION, ...change }))
      t.equal(answer.status, 400, path)
      t.ok(issuesOf(answer).includes(path), path)
    }
    for (const [change, path] of [
      [{ registeredAddress: { ...SUBMISSION.registeredAddress, stateCode: '29' } }, 'gstin'],
      [{ pan: 'AAPFU0938F' }, 'pan'],
    ] as const) {
      const answer = await admin.send('POST', VERIFICATION, json({ ...SUBMISSION, ...change }))
      t.equal(answer.status, 422, path)
      t.equal(errorOf(answer).details.path, path)
    }
    const upload = await admin.send('POST', VERIFICATION, json({ ...SUBMISSION, documents: ['upl_1'] }))
    t.match(upload, {
      status: 404,
      body: { error: { details: { resource: 'upload', path: 'documents[0]' } } },
    })
    t.equal((await viewer.send('POST', VERIFICATION, json(SUBMISSION))).status, 403)
    t.equal((await api.send('POST', VERIFICATION, json(SUBMISSION))).status, 401)

    const answers = await Promise.all([1, 2, 3].map(() => admin.send('POST', VERIFICATION, json(SUBMISSION))))
    t.same(answers.map(({ status }) => status).sort(), [201, 409, 409], 'of three at once one is taken')
    const again = await admin.send('POST', VERIFICATION, json(SUBMISSION))
    t.match(errorOf(again), { code: 'conflict', details: { status: 'submitted' } })

    t.match(dataOf(await admin.send('GET', VERIFICATION)), {
      status: 'submitted',
      submittedAt: /Z$/,
      submission: { ...SUBMISSION, documents: [] },
    })
    t.equal(dataOf(await viewer.send('GET', VERIFICATION)).submission, null, 'not everybody’s business')
    t.equal(dataOf(await stranger.browser.send('GET', VERIFICATION)).status, 'unverified')
    const stored = JSON.stringify(await db.selectFrom('organizationVerifications').selectAll().execute())
    const log = JSON.stringify(await db.selectFrom('auditEntries').selectAll().execute())
    for (const text of [SUBMISSION.gstin, SUBMISSION.pan, SUBMISSION.authorisedPerson.phone]) {
      t.notMatch(stored, text, 'not readable in the database')
      t.notMatch(log, text, 'nor in the log')
    }
  })

  await t.test('declarations are added and withdrawn, never changed', async (t) => {
    const made = await admin.send('POST', DECLARATIONS, json(DECLARATION))
    t.equal(made.status, 201)
    t.match(dataOf(made), { id: /^rbd_/, ...DECLARATION, status: 'declared', withdrawnAt: null })
    const path = `${DECLARATIONS}/${dataOf(made).id}`

    // The clock stands at 15 January 2025, 10:00 IST.
    const rows: readonly [object, string][] = [
      [{ provider: '' }, 'provider'],
      [{ callerIds: [] }, 'callerIds'],
      [{ callerIds: ['9000000100'] }, 'callerIds[0]'],
      [{ callerIds: ['+919000000100', '+919000000100'] }, 'callerIds'],
      [{ declaredOn: '10-01-2025' }, 'declaredOn'],
      [{ declaredOn: '2025-02-30' }, 'declaredOn'],
      [{ declaredOn: '2025-01-16', effectiveFrom: '2025-01-16' }, 'declaredOn'],
      [{ effectiveFrom: '2025-01-09' }, 'effectiveFrom'],
      [{ withdrawnAt: null }, 'withdrawnAt'],
    ]
    for (const [change, issue] of rows) {
      const answer = await admin.send('POST', DECLARATIONS, json({ ...DECLARATION, ...change }))
      t.equal(answer.status, 400, JSON.stringify(change))
      t.ok(issuesOf(answer).includes(issue), JSON.stringify(issuesOf(answer)))
    }
    const today = { declaredOn: '2025-01-15', effectiveFrom: '2025-01-15' }
    api.clock.advance(1)
    t.equal((await admin.send('POST', DECLARATIONS, json({ ...DECLARATION, ...today }))).status, 201)

    const frozen = { message: /only added and withdrawn/ }
    await t.rejects(db.updateTable('robocallDeclarations').set({ objective: 'other' }).execute(), frozen)
    await t.rejects(db.deleteFrom('robocallDeclarations').execute(), frozen)
    const both = { objective: 'other', withdrawnAt: 1 }
    await t.rejects(db.updateTable('robocallDeclarations').set(both).execute(), frozen)

    t.equal((await viewer.send('POST', `${path}/withdraw`)).status, 403)
    t.equal((await stranger.browser.send('POST', `${path}/withdraw`)).status, 404)
    t.equal((await admin.send('POST', `${DECLARATIONS}/rbd_1/withdraw`)).status, 404)
    const gone = await admin.send('POST', `${path}/withdraw`)
    t.match(gone, { status: 200, body: { data: { status: 'withdrawn', withdrawnAt: /Z$/ } } })
    const twice = await admin.send('POST', `${path}/withdraw`)
    t.equal(twice.status, 409)
    t.same(errorOf(twice).details, { withdrawnAt: dataOf(gone).withdrawnAt })
    await t.rejects(
      db
        .updateTable('robocallDeclarations')
        .set({ withdrawnAt: null })
        .where('withdrawnAt', 'is not', null)
        .execute(),
      frozen,
    )
    t.same(
      itemsOf(await viewer.send('GET', DECLARATIONS)).map(({ status }) => status),
      ['declared', 'withdrawn'],
    )
    t.same(itemsOf(await stranger.browser.send('GET', DECLARATIONS)), [])
  })

  await t.test('sender ids match their series', async (t) => {
    const rows: readonly [object, number, string?][] = [
      [{}, 201],
      [{ series: '140', e164: '+911401234567', category: 'promotional' }, 201],
      [{ series: '1601', e164: '+911601330001', category: 'transactional' }, 201],
      [{ series: '1600', e164: '+911600220001', category: 'government' }, 201],
      [{ series: '160', e164: '+911600110002' }, 400, 'series'],
      [{ e164: '+911601110002' }, 400, 'e164'],
      [{ e164: '+919876543210' }, 400, 'e164'],
      [{ e164: '+9116001100011' }, 400, 'e164'],
      [{ category: 'promotional' }, 400, 'category'],
      [{ series: '140', e164: '+911401234568', category: 'service' }, 400, 'category'],
      [{ series: '1601', e164: '+911601330002', category: 'government' }, 400, 'category'],
      [{ dltHeaderId: '' }, 400, 'dltHeaderId'],
      [{ status: 'approved' }, 400, 'status'],
    ]
    for (const [change, status, issue] of rows) {
      api.clock.advance(1)
      const answer = await admin.send('POST', SENDERS, json({ ...SENDER, ...change }))
      t.equal(answer.status, status, JSON.stringify(change))
      if (issue !== undefined) t.ok(issuesOf(answer).includes(issue), JSON.stringify(issuesOf(answer)))
      else t.match(dataOf(answer), { id: /^sid_/, status: 'submitted', decidedAt: null })
    }
    const again = await admin.send('POST', SENDERS, json(SENDER))
    t.match(errorOf(again), { code: 'conflict', details: { e164: SENDER.e164 } })
    t.equal(
      (await stranger.browser.send('POST', SENDERS, json(SENDER))).status,
      201,
      'not decided yet: may ask',
    )
    t.equal((await viewer.send('POST', SENDERS, json(SENDER))).status, 403)
    t.equal((await api.send('GET', SENDERS)).status, 401)
    t.equal(itemsOf(await viewer.send('GET', SENDERS)).length, 4)
    t.equal(itemsOf(await stranger.browser.send('GET', SENDERS)).length, 1)
  })

  await t.test('all changes are in the log', async (t) => {
    const log = itemsOf(await admin.send('GET', '/v1/organization/audit-log?limit=100'))
    const count = (action: string) => log.filter((entry) => entry.action === action).length
    t.equal(count('verification.submitted'), 1)
    t.equal(count('robocall_declaration.declared'), 2)
    t.equal(count('robocall_declaration.withdrawn'), 1)
    t.equal(count('sender_id.submitted'), 4)
  })
  await api.close()
})
