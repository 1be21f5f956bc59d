import t, { type Test } from 'tap'
import { openUsersApi } from '../../fixtures/api/browser-session.js'
import { dataOf, itemsOf } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { operations } from '../app/operations.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const json = (body: unknown) => ({ json: body })

const PATH = '/v1/organization'
const BILLING = {
  name: 'Asha Clinics Private Limited',
  address: '1 MG Road',
  city: 'Bengaluru',
  pincode: '560001',
  stateCode: '29',
  gstin: '29AAGCB7383J1Z4',
}

await onEachDialect(t, async (t, open) => {
  const api = await openUsersApi({ database: await open(), operations })
  const { organizationId } = api
  const { browser: admin, userId } = await api.member('admin')
  const { browser: viewer } = await api.member('viewer')
  const stranger = await api.owner()
  const patch = (body: unknown) => admin.send('PATCH', PATH, json(body))

  await t.test('an organization starts with the defaults', async (t) => {
    const read = await viewer.send('GET', PATH)
    t.equal(read.status, 200)
    t.same(dataOf(read), {
      id: organizationId,
      name: 'My workspace',
      billing: {
        name: null,
        address: null,
        city: null,
        pincode: null,
        stateCode: null,
        gstin: null,
        sez: false,
      },
      senderClassification: 'transactional',
      verification: { status: 'unverified', submittedAt: null, decidedAt: null, rejectionReason: null },
      peId: null,
      robocallMode: 'block',
      windowNarrowing: null,
      campaignSharePercent: 70,
      monitoring: { test: 'listen_and_takeover', live: 'off', developers: false },
      requireSecondFactor: false,
      createdAt: dataOf(read).createdAt,
    })
    t.equal(dataOf(await stranger.browser.send('GET', PATH)).id, stranger.organizationId)
    t.equal(dataOf(await stranger.browser.send('GET', PATH)).senderClassification, null)
  })

  await t.test('billing data is merged, and its GSTIN matches its state', async (t) => {
    const whole = await patch({ billing: BILLING })
    t.equal(whole.status, 200)
    t.same(dataOf(whole).billing, { ...BILLING, sez: false })
    t.same(dataOf(await patch({ billing: { city: 'Bangalore' } })).billing, {
      ...BILLING,
      city: 'Bangalore',
      sez: false,
    })

    const contradictions: readonly [object, string][] = [
      [{ stateCode: '27' }, 'billing.gstin'],
      [{ stateCode: null }, 'billing.stateCode'],
      [{ gstin: '27AAPFU0939F1ZV' }, 'billing.gstin'],
      [{ gstin: '27AAPFU0939F1ZV', stateCode: '29' }, 'billing.gstin'],
      [{ gstin: null, sez: true }, 'billing.sez'],
    ]
    for (const [billing, path] of contradictions) {
      const answer = await patch({ billing })
      t.equal(answer.status, 422, JSON.stringify(billing))
      t.match(errorOf(answer), { code: 'unprocessable_entity', details: { path } })
    }
    t.match(dataOf(await patch({ billing: { sez: true } })).billing, { gstin: BILLING.gstin, sez: true })
    const unregistered = await patch({ billing: { gstin: null } })
    t.match(errorOf(unregistered), { details: { path: 'billing.sez' } }, 'a unit of a zone has a GSTIN')
    t.equal((await patch({ billing: { sez: false } })).status, 200)
    const moved = await patch({ billing: { gstin: '27AAPFU0939F1ZV', stateCode: '27' } })
    t.equal(moved.status, 200, 'both at once')
    t.equal((await patch({ billing: { gstin: null } })).status, 200)
    t.equal((await patch({ billing: { stateCode: null } })).status, 200, 'without a GSTIN the state may go')
    // A registration from before Daman and Diu was merged, and the address of today.
    const merged = await patch({ billing: { gstin: '25AAPFU0939F1ZZ', stateCode: '26' } })
    t.equal(merged.status, 200)
  })

  await t.test('rejected changes store nothing', async (t) => {
    const before = (await viewer.send('GET', PATH)).body
    const rows: readonly [unknown, string][] = [
      [{}, ''],
      [{ name: '' }, 'name'],
      [{ name: 'x'.repeat(81) }, 'name'],
      [{ name: null }, 'name'],
      [{ name: 'Asha\r\nClick here: http://evil.example' }, 'name'],
      [{ name: 'Asha\u0007' }, 'name'],
      [{ senderClassification: 'service' }, 'senderClassification'],
      [{ verification: { status: 'verified' } }, 'verification'],
      [{ billing: null }, 'billing'],
      [{ billing: { country: 'IN' } }, 'billing.country'],
      [{ billing: { name: '   ' } }, 'billing.name'],
      [{ billing: { pincode: '56000' } }, 'billing.pincode'],
      [{ billing: { pincode: '056001' } }, 'billing.pincode'],
      [{ billing: { stateCode: '25' } }, 'billing.stateCode'],
      [{ billing: { stateCode: '28' } }, 'billing.stateCode'],
      [{ billing: { stateCode: '96' } }, 'billing.stateCode'],
      [{ billing: { stateCode: 29 } }, 'billing.stateCode'],
      [{ billing: { stateCode: 'constructor' } }, 'billing.stateCode'],
      [{ billing: { gstin: '29AAGCB7383J1Z5' } }, 'billing.gstin'],
      [{ billing: { gstin: '29aagcb7383j1z4' } }, 'billing.gstin'],
      [{ peId: '123' }, 'peId'],
      [{ robocallMode: 'maybe' }, 'robocallMode'],
      [{ robocallMode: null }, 'robocallMode'],
      [{ campaignSharePercent: 9 }, 'campaignSharePercent'],
      [{ campaignSharePercent: 101 }, 'campaignSharePercent'],
      [{ campaignSharePercent: 50.5 }, 'campaignSharePercent'],
      [{ windowNarrowing: { startMinute: -1 } }, 'windowNarrowing.startMinute'],
      [{ windowNarrowing: { endMinute: 1441 } }, 'windowNarrowing.endMinute'],
      [{ windowNarrowing: { days: 1 } }, 'windowNarrowing.days'],
    ]
    for (const [body, path] of rows) {
      const answer = await patch(body)
      t.equal(answer.status, 400, JSON.stringify(body))
      const issues = errorOf(answer).details.issues as { path: string }[]
      t.ok(
        issues.some((issue) => issue.path === path),
        `${path} in ${JSON.stringify(issues)}`,
      )
    }
    t.same((await viewer.send('GET', PATH)).body, before)
  })

  await t.test('hours are narrowed, never widened', async (t) => {
    const rows: readonly [object, number, unknown][] = [
      [{ startMinute: 600 }, 200, { startMinute: 600, endMinute: 1260 }],
      [{ endMinute: 1200 }, 200, { startMinute: 600, endMinute: 1200 }],
      [{ startMinute: 540, endMinute: 1260 }, 200, { startMinute: 540, endMinute: 1260 }],
      [{ startMinute: 539 }, 422, 'windowNarrowing.startMinute'],
      [{ endMinute: 1261 }, 422, 'windowNarrowing.endMinute'],
      [{ startMinute: 0, endMinute: 1440 }, 422, 'windowNarrowing.startMinute'],
      [{ startMinute: 700, endMinute: 700 }, 422, 'windowNarrowing.endMinute'],
      [{ startMinute: 1000, endMinute: 700 }, 422, 'windowNarrowing.endMinute'],
    ]
    for (const [windowNarrowing, status, expected] of rows) {
      const answer = await patch({ windowNarrowing })
      t.equal(answer.status, status, JSON.stringify(windowNarrowing))
      if (status === 200) t.same(dataOf(answer).windowNarrowing, expected)
      else t.equal(errorOf(answer).details.path, expected)
    }
    t.equal(dataOf(await patch({ windowNarrowing: null })).windowNarrowing, null)
  })

  await t.test('the sender classification is the default of new agents', async (t) => {
    const put = (body: unknown) => admin.send('PUT', `${PATH}/sender-classification`, json(body))
    const old = dataOf(await api.send('POST', '/v1/agents', json({ name: 'Old' })))
    const set = await put({ senderClassification: 'service' })
    t.match(set, { status: 200, body: { data: { senderClassification: 'service' } } })
    t.equal(dataOf(await api.send('POST', '/v1/agents', json({ name: 'New' }))).purpose, 'service')
    t.equal(
      dataOf(await api.send('GET', `/v1/agents/${old.id}`)).purpose,
      'transactional',
      'others keep theirs',
    )
    for (const body of [{}, { senderClassification: null }, { senderClassification: 'government' }]) {
      t.equal((await put(body)).status, 400, JSON.stringify(body))
    }
  })

  await t.test('only owners and admins change it; a key never does', async (t) => {
    const writes: readonly [string, string, unknown][] = [
      ['PATCH', PATH, { name: 'Mine' }],
      ['PUT', `${PATH}/sender-classification`, { senderClassification: 'service' }],
      ['GET', `${PATH}/audit-log`, undefined],
    ]
    for (const [method, path, body] of writes) {
      const request = body === undefined ? {} : json(body)
      const keyed = await api.send(method, path, { ...request, key: api.liveKey })
      t.equal(keyed.status, 401, `${method} ${path} with a key`)
      t.equal(errorOf(keyed).code, 'unauthenticated')
      for (const role of ['developer', 'viewer', 'billing'] as const) {
        const { browser } = await api.member(role)
        const answer = await browser.send(method, path, request)
        t.equal(answer.status, 403, `${method} ${path} as ${role}`)
        t.equal(errorOf(answer).code, 'forbidden')
      }
    }
    t.equal((await api.send('GET', PATH)).status, 401)
    t.equal(
      (await (await api.staff()).browser.send('GET', PATH)).status,
      403,
      'staff have their own operations',
    )
  })

  await t.test('every change is in the log, with the changed values and nothing else', async (t) => {
    api.clock.advance(1000)
    const answer = await patch({ name: 'Renamed', campaignSharePercent: 40 })
    const [entry] = itemsOf(await admin.send('GET', `${PATH}/audit-log?limit=1`))
    t.match(entry, {
      id: /^aud_/,
      actor: { type: 'user', id: userId },
      action: 'organization.updated',
      subject: { type: 'organization', id: organizationId },
      reason: null,
      requestId: answer.headers.get('x-request-id'),
    })
    t.same(entry?.before, { name: 'My workspace', campaignSharePercent: 70 })
    t.same(entry?.after, { name: 'Renamed', campaignSharePercent: 40 })
    const theirs = itemsOf(await stranger.browser.send('GET', `${PATH}/audit-log`))
    t.notOk(theirs.some(({ subject }) => (subject as { id: string }).id === organizationId))
  })

  await t.test('keys and members are in the log too, without any secret', async (t) => {
    const { browser: owner } = await api.member('owner')
    const made = await admin.send(
      'POST',
      '/v1/api-keys',
      json({ name: 'K', environment: 'test', scopes: ['write'] }),
    )
    const id = dataOf(made).id
    await admin.send('PATCH', `/v1/api-keys/${id}`, json({ scopes: ['read'] }))
    const rolled = await admin.send('POST', `/v1/api-keys/${id}/roll`, json({ expireOldIn: '1h' }))
    await admin.send('DELETE', `/v1/api-keys/${dataOf(rolled).id}`)
    const { userId: member } = await api.member('viewer')
    await admin.send('PATCH', `/v1/organization/members/${member}`, json({ role: 'developer' }))
    await admin.send('DELETE', `/v1/organization/members/${member}`)
    await admin.send(
      'POST',
      '/v1/organization/invitations',
      json({ email: 'new@people.test', role: 'viewer' }),
    )
    const log = itemsOf(await owner.send('GET', `${PATH}/audit-log?limit=7`))
    t.match(
      log.map(({ action, before, after }) => [action, before, after]),
      [
        ['member.invited', null, { email: 'new@people.test', role: 'viewer' }],
        ['member.removed', { role: 'developer' }, null],
        ['member.role_changed', { role: 'viewer' }, { role: 'developer' }],
        ['api_key.deleted', { name: 'K' }, null],
        ['api_key.rolled', null, { replacedBy: dataOf(rolled).id }],
        ['api_key.narrowed', { scopes: ['read', 'write'] }, { scopes: ['read'] }],
        ['api_key.created', null, { name: 'K', environment: 'test', scopes: ['read', 'write'] }],
      ],
    )
    for (const { key } of [dataOf(made), dataOf(rolled)]) t.notMatch(JSON.stringify(log), String(key))
  })

  await t.test('webhook endpoints are in the log, and every reading of their secret', async (t) => {
    const path = '/v1/integrations/webhooks'
    const url = 'https://hooks.example.com/a'
    const made = dataOf(
      await api.send('POST', path, { key: api.liveKey, json: { url, events: ['call.completed'] } }),
    )
    await admin.send('PATCH', `${path}/${made.id}`, json({ enabled: false }))
    await admin.send('GET', `${path}/${made.id}/secret`)
    const rolled = dataOf(await admin.send('POST', `${path}/${made.id}/roll-secret`))
    await admin.send('POST', `${path}/${made.id}/roll-secret`)
    await admin.send('DELETE', `${path}/${made.id}`)
    const log = itemsOf(await admin.send('GET', `${PATH}/audit-log?limit=5`))
    t.match(
      log.map(({ action, actor, before, after }) => [
        action,
        (actor as { type: string }).type,
        before,
        after,
      ]),
      [
        ['webhook.deleted', 'user', null, null],
        ['webhook.secret_rolled', 'user', null, null],
        ['webhook.secret_read', 'user', null, null],
        ['webhook.updated', 'user', { enabled: true }, { enabled: false }],
        ['webhook.created', 'key', null, { url, events: ['call.completed'], description: null }],
      ],
    )
    t.ok(log.every(({ subject }) => (subject as { id: unknown }).id === made.id))
    for (const secret of [made.secret, rolled.secret]) t.notMatch(JSON.stringify(log), String(secret))
  })

  await t.test('the paged log is complete while it grows', async (t) => {
    const seen = new Set<unknown>()
    for (let cursor = ''; ; ) {
      const page = await admin.send('GET', `${PATH}/audit-log?limit=2${cursor}`)
      for (const entry of itemsOf(page)) {
        t.notOk(seen.has(entry.id), 'no entry twice')
        seen.add(entry.id)
      }
      api.clock.advance(1)
      await patch({ name: `N${seen.size}` })
      const { pagination } = (page.body as { meta: { pagination: { cursor: string | null } } }).meta
      if (pagination.cursor === null) break
      cursor = `&cursor=${pagination.cursor}`
    }
    const all = itemsOf(await admin.send('GET', `${PATH}/audit-log?limit=100`))
    const early = all.slice(all.length - seen.size)
    t.ok(early.every(({ id }) => seen.has(id)))
  })

  await t.test('concurrent changes are all applied', async (t) => {
    const answers = await Promise.all([
      patch({ name: 'Together' }),
      patch({ billing: { city: 'Mysuru' } }),
      patch({ robocallMode: 'warn' }),
      patch({ windowNarrowing: { startMinute: 600 } }),
      patch({ windowNarrowing: { endMinute: 1200 } }),
    ])
    t.same(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
    t.match(dataOf(await viewer.send('GET', PATH)), {
      name: 'Together',
      billing: { city: 'Mysuru' },
      robocallMode: 'warn',
      windowNarrowing: { startMinute: 600, endMinute: 1200 },
    })
  })

  await t.test(
    'the log and declarations cannot be changed, even with direct database access',
    async (t: Test) => {
      const { db } = api.deps
      const refused = { message: /only added to/ }
      await t.rejects(db.updateTable('auditEntries').set({ reason: 'x' }).execute(), refused)
      await t.rejects(db.updateTable('auditEntries').set({ actorId: 'usr_other' }).execute(), refused)
      await t.rejects(db.deleteFrom('auditEntries').execute(), refused)
      t.ok(itemsOf(await admin.send('GET', `${PATH}/audit-log?limit=100`)).length > 5)
    },
  )
  await api.close()
})
