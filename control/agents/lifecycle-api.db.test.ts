import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInMember } from '../../fixtures/api/signed-in.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { breakerKey } from '../../media/agent/circuit-breaker.js'
import { insertNumber } from '../numbers/store.js'
import { defaultConfig } from './config.js'
import { noticeWarnings } from './notice.js'

const code = (answer: { body: unknown }) => (answer.body as { error: { code: string } }).error.code
const details = (answer: { body: unknown }) =>
  (answer.body as { error: { details: Record<string, unknown> } }).error.details

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { api, send, deps, clock, owner } = calling
  const { organizationId } = owner
  const admin = await signInMember(api, organizationId, 'admin')
  const json = (body: unknown) => ({ json: body })

  await t.test('rollback publishes a copy and replaces the draft; the purpose stays', async (t) => {
    const made = await send('POST', '/v1/agents', json({ name: 'R', systemPrompt: 'One.' }))
    const path = `/v1/agents/${dataOf(made).id}`
    const early = await send('POST', `${path}/rollback`, json({ version: 1 }))
    t.equal(early.status, 404)
    t.same(details(early), { resource: 'version', path: 'version' })
    await send('POST', `${path}/publish`)
    await send('PATCH', path, json({ systemPrompt: 'Two.' }))
    await send('POST', `${path}/publish`)
    await send('PATCH', path, json({ systemPrompt: 'Three.', callSettings: { maxCallSeconds: 60 } }))
    const put = await admin.send('PUT', `${path}/sender-classification`, {
      json: { senderClassification: 'service' },
    })
    t.match(put, { status: 200, body: { data: { purpose: 'service', publishedVersion: 2 } } })
    t.equal(dataOf(await send('GET', `${path}/versions/2`)).purpose, 'transactional', 'not live yet')

    const back = await send('POST', `${path}/rollback`, json({ version: 1 }))
    t.equal(back.status, 201)
    t.match(dataOf(back), {
      version: 3,
      systemPrompt: 'One.',
      purpose: 'service',
      note: 'Rollback to version 1',
      callSettings: { maxCallSeconds: 600 },
    })
    t.match(dataOf(await send('GET', path)), {
      publishedVersion: 3,
      latestVersion: 3,
      hasUnpublishedChanges: false,
      systemPrompt: 'One.',
      purpose: 'service',
    })
    t.match(dataOf(await send('GET', `${path}/versions/2`)), { systemPrompt: 'Two.' }, 'versions are kept')

    for (const body of [{}, { version: 0 }, { version: '1' }, { version: 1.5 }, { version: 1, x: 1 }]) {
      t.equal((await send('POST', `${path}/rollback`, json(body))).status, 400, JSON.stringify(body))
    }
    const both = await Promise.all(
      [1, 2].map((version) => send('POST', `${path}/rollback`, json({ version }))),
    )
    for (const answer of both) t.ok([201, 409].includes(answer.status), String(answer.status))
    const versions = itemsOf(await send('GET', `${path}/versions`)).map(({ version }) => version)
    t.same(
      versions,
      [...versions.keys()].map((index) => versions.length - index),
      'numbered without gaps',
    )
  })

  await t.test('a version whose voice left the catalogue cannot be restored', async (t) => {
    const made = await send('POST', '/v1/agents', json({ name: 'V', systemPrompt: 'x' }))
    const path = `/v1/agents/${dataOf(made).id}`
    await send('POST', `${path}/publish`)
    const { config } = await deps.db
      .selectFrom('agentVersions')
      .select('config')
      .where('agentId', '=', String(dataOf(made).id))
      .executeTakeFirstOrThrow()
    await deps.db
      .updateTable('agentVersions')
      .set({ config: config.replace('"ttsVoice":"asha"', '"ttsVoice":"gone"') })
      .where('agentId', '=', String(dataOf(made).id))
      .execute()
    const back = await send('POST', `${path}/rollback`, json({ version: 1 }))
    t.equal(back.status, 422)
    t.equal(details(back).path, 'voice.ttsVoice')
  })

  await t.test('an agent on a call is not deleted; a deleted one unbinds its numbers', async (t) => {
    const id = await calling.publishAgent()
    const path = `/v1/agents/${id}`
    const number = {
      organizationId,
      environment: 'live',
      e164: '+919000000199',
      label: 'L',
      provider: 'sandbox',
      region: 'KA',
      numberType: 'mobile',
    } as const
    const live = await insertNumber(deps.db, number, clock.wall())
    await deps.db
      .updateTable('numbers')
      .set({ agentId: id })
      .where('id', '=', live?.id ?? '')
      .execute()
    const placed = await send('POST', '/v1/calls', json({ to: '+919876543210', numberId: calling.numberId }))
    t.equal(placed.status, 201)
    const callId = String(dataOf(placed).id)

    const busy = await send('DELETE', path)
    t.equal(busy.status, 409)
    t.equal(code(busy), 'conflict')
    t.equal((await send('GET', path)).status, 200)

    await calling.emitCallEvent(callId, {
      type: 'ended',
      ending: { by: 'callee', cause: 'caller_hangup', fault: 'none' },
      rtp: null,
      recording: null,
    })
    t.equal((await send('DELETE', path)).status, 204)
    for (const [method, rest, body] of [
      ['GET', ''],
      ['GET', '/versions/2'],
      ['DELETE', ''],
      ['PATCH', '', { name: 'x' }],
      ['POST', '/publish'],
      ['POST', '/rollback', { version: 1 }],
    ] as const) {
      const answer = await send(method, `${path}${rest}`, body === undefined ? {} : json(body))
      t.equal(answer.status, 404, `${method} ${rest}`)
    }
    t.match(itemsOf(await send('GET', `${path}/versions`)), [{ version: 1 }], 'its versions are kept')
    t.match(dataOf(await send('GET', `${path}/versions/1`)), { version: 1, agentId: id })
    t.notOk(itemsOf(await send('GET', '/v1/agents?limit=100')).some((agent) => agent.id === id))
    t.equal(dataOf(await send('GET', `/v1/numbers/${calling.numberId}`)).agentId, null)
    const other = await send('GET', `/v1/numbers/${live?.id}`, { key: api.liveKey })
    t.equal(dataOf(other).agentId, null, 'in both environments')
    t.match(dataOf(await send('GET', `/v1/calls/${callId}`)), { agentId: id, agentVersion: 1 })
    const call = await send('POST', '/v1/calls', json({ to: '+919876543210', numberId: calling.numberId }))
    t.equal(call.status, 422, 'the number has no agent any more')
  })

  await t.test('a call keeps the version it started with', async (t) => {
    const id = await calling.publishAgent({ systemPrompt: 'First.' })
    const placed = await send('POST', '/v1/calls', json({ to: '+919876543210', numberId: calling.numberId }))
    const before = dataOf(placed)
    await send('PATCH', `/v1/agents/${id}`, json({ systemPrompt: 'Second.' }))
    await send('POST', `/v1/agents/${id}/publish`)
    const next = await send('POST', '/v1/calls', json({ to: '+919876543211', numberId: calling.numberId }))
    t.equal(dataOf(next).agentVersion, 2)
    await send('POST', `/v1/agents/${id}/rollback`, json({ version: 1 }))
    const after = dataOf(await send('GET', `/v1/calls/${before.id}`))
    t.equal(after.agentVersion, 1)
    t.equal(after.agentVersionId, before.agentVersionId)
    t.match(calling.control.dialled.at(-2)?.plan.party, { agent: { systemPrompt: 'First.' } })
    t.match(calling.control.dialled.at(-1)?.plan.party, { agent: { systemPrompt: 'Second.' } })
  })

  await t.test('secrets and connections referenced by tools', async (t) => {
    const secret = dataOf(
      await admin.send(
        'POST',
        '/v1/secrets',
        json({ name: 'crm', value: 'abcdefgh12345678', hosts: ['example.com', '*.example.com'] }),
      ),
    )
    const target = { name: 'CRM', baseUrl: 'https://crm.example.com/v1' }
    const connection = dataOf(await admin.send('POST', '/v1/integrations/connections', json(target)))
    const http = { method: 'GET', url: 'https://crm.example.com/v1/x' }
    const tool = (more: object, auth: object = {}) => ({
      name: 'lookup',
      description: 'Looks up',
      mock: { enabled: true, response: 'ok' },
      http: { ...http, auth: { type: 'bearer', secretId: secret.id, ...auth } },
      ...more,
    })
    const absent = 'sec_01JZ0000000000000000000000'
    for (const [tools, resource, path] of [
      [[tool({}, { secretId: absent })], 'secret', 'tools[0].http.auth.secretId'],
      [[tool({}, { secretId: 'nonsense' })], 'secret', 'tools[0].http.auth.secretId'],
      [
        [tool({}, { secondary: { in: 'header', name: 'x', secretId: absent } })],
        'secret',
        'tools[0].http.auth.secondary.secretId',
      ],
      [[tool({ connectionId: secret.id })], 'connection', 'tools[0].connectionId'],
    ] as const) {
      const answer = await send('POST', '/v1/agents', json({ name: 'T', tools }))
      t.equal(answer.status, 404, path)
      t.same(details(answer), { resource, path })
    }
    const other = await calling.anotherOrganization()
    const foreign = await send('POST', '/v1/agents', {
      key: other.testKey,
      json: { name: 'T', tools: [tool({})] },
    })
    t.equal(foreign.status, 404, 'another organization’s secret does not exist')

    const url = await send(
      'POST',
      '/v1/agents',
      json({ name: 'T', tools: [tool({ http: { ...http, url: 'https://10.0.0.1/' } })] }),
    )
    t.equal(url.status, 400)
    t.match(details(url), { issues: [{ path: 'tools[0].http.url', reason: /not a public address/ }] })

    const made = await send(
      'POST',
      '/v1/agents',
      json({ name: 'T', systemPrompt: 'x', tools: [tool({ connectionId: connection.id })] }),
    )
    t.equal(made.status, 201)
    const path = `/v1/agents/${dataOf(made).id}`
    await send('POST', `${path}/publish`)
    await send('PATCH', path, json({ tools: [] }))
    const listed = itemsOf(await admin.send('GET', '/v1/secrets')).find(({ id }) => id === secret.id)
    t.same(listed?.usedBy, [{ type: 'agent', id: dataOf(made).id }], 'the published version still uses it')
    t.match(await admin.send('DELETE', `/v1/secrets/${secret.id}`), {
      status: 409,
      body: { error: { code: 'conflict', details: { usedBy: [{ type: 'agent', id: dataOf(made).id }] } } },
    })
    t.match(await admin.send('DELETE', `/v1/integrations/connections/${connection.id}`), {
      status: 409,
      body: { error: { code: 'conflict', details: { agentIds: [dataOf(made).id] } } },
    })
    await send('POST', `${path}/publish`)
    t.equal((await admin.send('DELETE', `/v1/integrations/connections/${connection.id}`)).status, 204)
    t.equal((await admin.send('DELETE', `/v1/secrets/${secret.id}`)).status, 204)
    const back = await send('POST', `${path}/rollback`, json({ version: 1 }))
    t.equal(back.status, 422, 'the version names what is gone')
    t.equal(details(back).path, 'tools[0].connectionId')
  })

  await t.test('a deleted agent references nothing', async (t) => {
    const secret = dataOf(
      await admin.send(
        'POST',
        '/v1/secrets',
        json({ name: 'gone', value: 'abcdefgh12345678', hosts: ['example.com', '*.example.com'] }),
      ),
    )
    const auth = { type: 'bearer', secretId: secret.id }
    const tools = [
      {
        name: 'a',
        description: 'x',
        mock: { enabled: true },
        http: { method: 'GET', url: 'https://example.com/', auth },
      },
    ]
    const made = await send('POST', '/v1/agents', json({ name: 'T', tools }))
    t.equal((await admin.send('DELETE', `/v1/secrets/${secret.id}`)).status, 409)
    t.equal((await send('DELETE', `/v1/agents/${dataOf(made).id}`)).status, 204)
    t.equal((await admin.send('DELETE', `/v1/secrets/${secret.id}`)).status, 204)
  })

  await t.test('deleting a secret while an agent starts to use it', async (t) => {
    for (let round = 0; round < 5; round++) {
      const value = {
        name: `Race ${round}`,
        value: 'abcdefgh12345678',
        hosts: ['example.com', '*.example.com'],
      }
      const secret = dataOf(await admin.send('POST', '/v1/secrets', json(value)))
      const auth = { type: 'bearer', secretId: secret.id }
      const http = { method: 'GET', url: 'https://example.com/', auth }
      const tools = [{ name: 'a', description: 'x', mock: { enabled: true }, http }]
      const [made, deleted] = await Promise.all([
        send('POST', '/v1/agents', json({ name: 'Race', tools })),
        admin.send('DELETE', `/v1/secrets/${secret.id}`),
      ])
      const outcome = `${made.status} ${deleted.status}`
      t.ok(['201 409', '404 204', '409 204'].includes(outcome), outcome)
    }
  })

  await t.test('which role may set the purpose of an agent', async (t) => {
    const id = await calling.publishAgent()
    const path = `/v1/agents/${id}/sender-classification`
    const body = { json: { senderClassification: 'collections' } }
    t.equal((await send('PUT', path, body)).status, 401, 'not a key')
    for (const role of ['developer', 'viewer', 'billing'] as const) {
      const person = await signInMember(api, organizationId, role)
      t.equal((await person.send('PUT', path, body)).status, 403, role)
    }
    const other = await calling.anotherOrganization()
    const stranger = await signInMember(api, other.organizationId, 'owner')
    t.equal((await stranger.send('PUT', path, body)).status, 404)
    t.equal((await admin.send('PUT', path, { json: { senderClassification: 'spam' } })).status, 400)
    t.equal((await admin.send('PUT', path, { json: {} })).status, 400)
    t.equal((await admin.send('PUT', path, body)).status, 200)
    t.match(dataOf(await send('GET', `/v1/agents/${id}`)), {
      purpose: 'collections',
      hasUnpublishedChanges: true,
    })
    t.equal(dataOf(await send('POST', `/v1/agents/${id}/publish`)).purpose, 'collections')
    const [entry] = itemsOf(await admin.send('GET', '/v1/organization/audit-log?limit=1'))
    t.match(entry, {
      actor: { type: 'user', id: admin.userId },
      action: 'agent.sender_classification_set',
      subject: { type: 'agent', id },
      before: { senderClassification: 'transactional' },
      after: { senderClassification: 'collections' },
    })
  })

  await t.test('listed voices and models can be saved in an agent', async (t) => {
    const voices = await send('GET', '/v1/voices')
    t.equal(voices.status, 200)
    t.same((voices.body as { meta: unknown }).meta, { pagination: { cursor: null, hasMore: false } })
    const models = itemsOf(await send('GET', '/v1/models'))
    t.ok(models.every((model) => model.available === true))
    const failing = breakerKey('language_model', 'embedded', 'parley-rules-1')
    Object.assign(calling.deps, { openCircuits: async () => [failing] })
    t.match(itemsOf(await send('GET', '/v1/models')), [{ llmModel: 'parley-rules-1', available: false }])
    Object.assign(calling.deps, { openCircuits: async () => [] })
    for (const voice of itemsOf(voices)) {
      for (const { llmModel } of models) {
        const made = await send(
          'POST',
          '/v1/agents',
          json({
            name: 'C',
            llmModel,
            voice: {
              ttsModel: voice.ttsModel,
              ttsVoice: voice.ttsVoice,
              sttModel: (voice.sttModels as string[])[0],
              languages: voice.languages,
            },
            ttsOptions: { pace: voice.paceMax },
          }),
        )
        t.equal(made.status, 201, `${voice.ttsVoice} ${llmModel}`)
      }
    }
    t.equal((await send('GET', '/v1/voices?limit=1')).status, 400, 'the list is not paged')
  })

  await t.test('another organization’s agent is neither rolled back nor deleted', async (t) => {
    const id = await calling.publishAgent()
    const other = await calling.anotherOrganization()
    const key = other.testKey
    t.equal((await send('DELETE', `/v1/agents/${id}`, { key })).status, 404)
    t.equal((await send('POST', `/v1/agents/${id}/rollback`, { key, json: { version: 1 } })).status, 404)
    t.equal((await send('GET', `/v1/agents/${id}`)).status, 200)
  })

  await t.test(
    'a publication warns when live calls are recorded or may be monitored without a notice',
    async (t) => {
      const id = await calling.publishAgent()
      let version = 1
      const warnings = async (patch: object = {}) => {
        await send('PATCH', `/v1/agents/${id}`, json({ systemPrompt: `Version ${++version}`, ...patch }))
        const published = await send('POST', `/v1/agents/${id}/publish`)
        t.match(published, { status: 201 })
        return dataOf(published).warnings as { readonly code: string; readonly message: string }[]
      }
      const organization = (live: string) =>
        admin.send('PATCH', '/v1/organization', json({ monitoring: { live } }))
      const missing = { code: 'recording_notice_missing', path: 'callSettings.recordingNotice' }
      t.same(await warnings(), [])
      t.equal((await organization('listen')).status, 200)
      t.match(await warnings(), [{ ...missing, message: /may be monitored/ }])
      const recordingNotice = { text: 'This call is recorded.' }
      t.same(await warnings({ callSettings: { recordingNotice } }), [], 'the agent says so')
      await organization('off')

      // An agent with a live number is published with a model of a vendor only.
      const number = (change: object) =>
        deps.db.updateTable('numbers').set(change).where('id', '=', calling.numberId).execute()
      const about = { organizationId, agentId: id }
      await number({ agentId: id, recordCalls: 1 })
      t.same(await noticeWarnings(deps.db, about, defaultConfig), [], 'calls of the test environment')
      await number({ environment: 'live' })
      t.match(await noticeWarnings(deps.db, about, defaultConfig), [{ ...missing, message: /are recorded/ }])
      await number({ recordCalls: 0 })
      t.same(await noticeWarnings(deps.db, about, defaultConfig), [])
      await number({ environment: 'test' })
    },
  )
  await calling.close()
})
