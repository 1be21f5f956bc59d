import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'

const code = (answer: { body: unknown }) => (answer.body as { error: { code: string } }).error.code
const details = (answer: { body: unknown }) =>
  (answer.body as { error: { details: Record<string, unknown> } }).error.details

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { send, clock } = calling
  const json = (body: unknown) => ({ json: body })
  const http = { method: 'GET', url: 'https://example.com/x' }

  await t.test('a new agent is a draft with every default', async (t) => {
    const made = await send('POST', '/v1/agents', json({ name: 'Asha' }))
    t.equal(made.status, 201)
    t.match(dataOf(made), {
      id: /^agt_/,
      name: 'Asha',
      description: null,
      purpose: 'transactional',
      publishedVersion: null,
      latestVersion: null,
      hasUnpublishedChanges: true,
      numberIds: [],
      systemPrompt: '',
      llmModel: 'parley-rules-1',
      voice: { ttsModel: 'espeak-ng', ttsVoice: 'asha', languages: ['en-IN'] },
      callSettings: {
        maxCallSeconds: 600,
        nudges: { enabled: true, hangupAfter: true, steps: [{ afterSeconds: 10 }, { afterSeconds: 20 }] },
        voicemail: { enabled: true, windowSeconds: 8 },
        transfer: { handoff: 'cold', ringTimeoutSeconds: 25, requestPhrases: true, dtmfKey: null },
        background: { sound: 'none', volume: 0 },
      },
      deletedAt: null,
    })
    const read = await send('GET', `/v1/agents/${dataOf(made).id}`)
    t.same(read.body, made.body)
  })

  await t.test('a part of the name finds agents, and a name is seen', async (t) => {
    for (const name of ['Desk 100%', 'desk_two']) await send('POST', '/v1/agents', json({ name }))
    const found = async (search: string) => {
      const answer = await send('GET', `/v1/agents?search=${encodeURIComponent(search)}`)
      return (answer.body as { data: { name: string }[] }).data.map(({ name }) => name).toSorted()
    }
    t.same(await found('DESK'), ['Desk 100%', 'desk_two'])
    t.same(await found('%'), ['Desk 100%'], 'a sign of the pattern language stands for itself')
    t.same(await found('k_t'), ['desk_two'])
    t.equal((await send('POST', '/v1/agents', json({ name: '   ' }))).status, 400)
  })

  await t.test('draft, publish, versions', async (t) => {
    const made = await send('POST', '/v1/agents', json({ name: 'B', systemPrompt: 'Hello {{who}}.' }))
    const path = `/v1/agents/${dataOf(made).id}`

    const early = await send('POST', `${path}/publish`)
    t.equal(early.status, 422)
    t.match(details(early), { path: 'systemPrompt', undeclared: ['who'] })

    await send('PATCH', path, json({ callSettings: { openingLine: { text: 'From {{a b}}.' } } }))
    const malformed = await send('POST', `${path}/publish`)
    t.equal(malformed.status, 422)
    t.same(details(malformed), { path: 'callSettings.openingLine.text' })
    await send('PATCH', path, json({ callSettings: { openingLine: null } }))

    const declared = { inputVariables: [{ name: 'who', required: true }] }
    t.equal((await send('PATCH', path, json(declared))).status, 200)
    const first = await send('POST', `${path}/publish`, json({ note: 'first' }))
    t.equal(first.status, 201)
    t.match(dataOf(first), { id: /^agv_/, version: 1, note: 'first', systemPrompt: 'Hello {{who}}.' })
    t.match(dataOf(await send('GET', path)), {
      publishedVersion: 1,
      latestVersion: 1,
      hasUnpublishedChanges: false,
    })
    const again = await send('POST', `${path}/publish`)
    t.equal(again.status, 409)
    t.equal(code(again), 'conflict')

    await send('PATCH', path, json({ callSettings: { maxCallSeconds: 60 } }))
    t.equal(dataOf(await send('GET', path)).hasUnpublishedChanges, true)
    await send('PATCH', path, json({ callSettings: { maxCallSeconds: 600 } }))
    t.equal(dataOf(await send('GET', path)).hasUnpublishedChanges, false, 'changed back: nothing to publish')

    await send('PATCH', path, json({ callSettings: { maxCallSeconds: 60 } }))
    t.equal(dataOf(await send('POST', `${path}/publish`)).version, 2)
    const versions = await send('GET', `${path}/versions`)
    t.same(
      itemsOf(versions).map((version) => version.version),
      [2, 1],
    )
    const old = await send('GET', `${path}/versions/1`)
    t.match(dataOf(old), {
      version: 1,
      createdBy: { type: 'key', id: /^key_/ },
      callSettings: { maxCallSeconds: 600 },
    })
    for (const version of ['3', '0', 'x', '1.0', '-1', '99999999999']) {
      t.equal((await send('GET', `${path}/versions/${version}`)).status, 404, version)
    }
    const page = await send('GET', `${path}/versions?limit=1`)
    const { cursor } = (page.body as { meta: { pagination: { cursor: string } } }).meta.pagination
    const rest = await send('GET', `${path}/versions?limit=1&cursor=${cursor}`)
    t.same(
      itemsOf(rest).map((version) => version.version),
      [1],
    )
  })

  await t.test('PATCH of a state that is not the newest one', async (t) => {
    const made = dataOf(await send('POST', '/v1/agents', json({ name: 'D', systemPrompt: 'x' })))
    const patch = (updatedAt: unknown, systemPrompt: string) =>
      send('PATCH', `/v1/agents/${made.id}?ifUpdatedAt=${updatedAt}`, json({ systemPrompt }))
    const first = await patch(made.updatedAt, 'first')
    t.match(first, { status: 200, body: { data: { systemPrompt: 'first' } } })
    t.not(dataOf(first).updatedAt, made.updatedAt, 'also within a millisecond')
    t.match(await patch(made.updatedAt, 'second'), { status: 409, body: { error: { code: 'conflict' } } })
    t.match(await send('GET', `/v1/agents/${made.id}`), { body: { data: { systemPrompt: 'first' } } })
    t.equal((await patch(dataOf(first).updatedAt, 'third')).status, 200)
    t.equal((await patch('yesterday', 'fourth')).status, 400)
  })

  await t.test('PATCH merges objects, replaces arrays, clears with null', async (t) => {
    const made = await send(
      'POST',
      '/v1/agents',
      json({
        name: 'C',
        description: 'text',
        systemPrompt: 'x',
        voice: { ttsVoice: 'ravi' },
        callSettings: { openingLine: { text: 'Hello' }, nudges: { enabled: false } },
        outputVariables: [{ name: 'a', type: 'string' }],
      }),
    )
    const path = `/v1/agents/${dataOf(made).id}`
    const changed = await send(
      'PATCH',
      path,
      json({
        description: null,
        voice: { languages: ['or-IN', 'en-IN'] },
        callSettings: { openingLine: null, nudges: { hangupAfter: false } },
        outputVariables: [{ name: 'b', type: 'number' }],
        evaluationCriteria: [{ name: 'Polite', prompt: 'Was it polite?' }],
      }),
    )
    t.equal(changed.status, 200)
    t.match(dataOf(changed), {
      description: null,
      voice: { ttsVoice: 'ravi', languages: ['od-IN', 'en-IN'] },
      callSettings: { openingLine: null, nudges: { enabled: false, hangupAfter: false } },
      outputVariables: [{ name: 'b' }],
      evaluationCriteria: [{ id: /.+/, name: 'Polite' }],
    })
    const at = (url: string) => ({ tools: [{ name: 'a', description: 'x', http: { ...http, url } }] })
    const credential = (auth: object) => ({
      tools: [{ name: 'a', description: 'x', http: { ...http, auth: { secretId: 'sec_1', ...auth } } }],
    })
    const bad: readonly [unknown, string][] = [
      [{}, ''],
      [{ name: null }, 'name'],
      [{ systemPrompt: null }, 'systemPrompt'],
      [{ purpose: 'service' }, 'purpose'],
      [{ callSettings: { maxCallSeconds: 29 } }, 'callSettings.maxCallSeconds'],
      [{ callSettings: { maxCallSeconds: 3601 } }, 'callSettings.maxCallSeconds'],
      [{ callSettings: { voicemail: { windowSeconds: 21 } } }, 'callSettings.voicemail.windowSeconds'],
      [{ callSettings: { transfer: { ringTimeoutSeconds: 9 } } }, 'callSettings.transfer.ringTimeoutSeconds'],
      [{ callSettings: { typo: 1 } }, 'callSettings.typo'],
      [{ name: 'x'.repeat(81) }, 'name'],
      [{ systemPrompt: 'x'.repeat(32_001) }, 'systemPrompt'],
      [{ knowledgeBaseIds: Array.from({ length: 11 }, () => 'kb_1') }, 'knowledgeBaseIds'],
      [{ inputVariables: [{ name: '1x' }] }, 'inputVariables[0].name'],
      [{ inputVariables: Array.from({ length: 51 }, (_, i) => ({ name: `v${i}` })) }, 'inputVariables'],
      [
        {
          outputVariables: Array.from({ length: 31 }, (_, i) => ({ name: `v${i}`, type: 'string' })),
        },
        'outputVariables',
      ],
      [
        { evaluationCriteria: Array.from({ length: 21 }, (_, i) => ({ name: `c${i}`, prompt: 'p' })) },
        'evaluationCriteria',
      ],
      [{ tools: [{ name: 'Bad', description: 'x', preset: 'end_call' }] }, 'tools[0].name'],
      [
        {
          tools: Array.from({ length: 33 }, (_, i) => ({
            name: `t${i}`,
            description: 'x',
            preset: 'end_call',
          })),
        },
        'tools',
      ],
      [{ voice: { languages: ['fr-FR'] } }, 'voice.languages[0]'],
      [{ voice: { languages: [] } }, 'voice.languages'],
      [{ inputVariables: [{ name: 'a' }, { name: 'a' }] }, 'inputVariables[1].name'],
      [
        {
          tools: [
            { name: 'a', description: 'x', preset: 'end_call' },
            { name: 'a', description: 'x', preset: 'end_call' },
          ],
        },
        'tools[1].name',
      ],
      [{ outputVariables: [{ name: 'a', type: 'enum' }] }, 'outputVariables[0].enumValues'],
      [{ knowledgeBaseIds: ['kb_1', 'kb_1'] }, 'knowledgeBaseIds[1]'],
      [
        {
          callSettings: {
            transfer: {
              destinations: Array.from({ length: 21 }, (_, i) => ({ destinationId: `tdst_${i}` })),
            },
          },
        },
        'callSettings.transfer.destinations',
      ],
      [
        {
          callSettings: {
            transfer: { destinations: [{ destinationId: 'tdst_1' }, { destinationId: 'tdst_1' }] },
          },
        },
        'callSettings.transfer.destinations[1].destinationId',
      ],
      [{ callSettings: { transfer: { dtmfKey: 'A' } } }, 'callSettings.transfer.dtmfKey'],
      [{ callSettings: { background: { volume: 1.1 } } }, 'callSettings.background.volume'],
      [{ callSettings: { background: { sound: 'beach' } } }, 'callSettings.background.sound'],
      [
        { tools: [{ name: 'a', description: 'x', http: { ...http, timeoutMs: 20_001 } }] },
        'tools[0].http.timeoutMs',
      ],
      [
        { tools: [{ name: 'a', description: 'x', http: { ...http, headers: { Host: 'x' } } }] },
        'tools[0].http.headers.Host',
      ],
      [at('https:example.com'), 'tools[0].http.url'],
      [at('https:\\\\example.com'), 'tools[0].http.url'],
      [at('https://example.com/\n'), 'tools[0].http.url'],
      [at(' https://example.com/'), 'tools[0].http.url'],
      [credential({ type: 'bearer', header: 'Content-Length' }), 'tools[0].http.auth.header'],
      [credential({ type: 'api_key', name: 'two words' }), 'tools[0].http.auth.name'],
      [
        credential({ type: 'none', secondary: { in: 'header', name: 'host', secretId: 'sec_1' } }),
        'tools[0].http.auth.secondary.name',
      ],
    ]
    for (const [body, issue] of bad) {
      const answer = await send('PATCH', path, json(body))
      t.equal(answer.status, 400, JSON.stringify(body).slice(0, 80))
      t.equal(code(answer), 'validation_error')
      const issues = details(answer).issues as { path: string }[]
      t.ok(
        issues.some(({ path }) => path === issue),
        `${issue} in ${JSON.stringify(issues).slice(0, 200)}`,
      )
    }
    t.same((await send('GET', path)).body, changed.body, 'nothing of that was stored')
    const url = 'HTTPS://Example.com:443/a b/../c?q={{x}}'
    const parsed = { http: { url: 'https://example.com/c?q={{x}}' } }
    const tools = [{ name: 'a', description: 'x', http: { ...http, url } }]
    t.match(dataOf(await send('PATCH', path, json({ tools }))), { tools: [parsed] }, 'a URL as it is sent')
  })

  await t.test('catalogue errors, contradictions and unknown references name the path', async (t) => {
    const tool = (more: object) => ({ tools: [{ name: 'lookup', description: 'Looks up', ...more }] })
    const rows: readonly [object, string][] = [
      [{ voice: { ttsVoice: 'nobody' } }, 'voice.ttsVoice'],
      [{ voice: { ttsModel: 'nothing' } }, 'voice.ttsModel'],
      [{ voice: { sttModel: 'nothing' } }, 'voice.sttModel'],
      [{ voice: { languages: ['hi-IN'], sttLanguage: 'en-IN' } }, 'voice.sttLanguage'],
      [{ voice: { sttLanguage: 'ta-IN' } }, 'voice.sttLanguage'],
      [{ llmModel: 'gpt-4o-mini' }, 'llmModel'],
      [{ ttsOptions: { pace: 3.9 } }, 'ttsOptions.pace'],
      [
        { callSettings: { transfer: { defaultDestinationId: 'tdst_1' } } },
        'callSettings.transfer.defaultDestinationId',
      ],
      [
        {
          callSettings: {
            transfer: { destinations: [{ destinationId: 'tdst_1', fallbackDestinationId: 'tdst_1' }] },
          },
        },
        'callSettings.transfer.destinations[0].fallbackDestinationId',
      ],
      [tool({}), 'tools[0]'],
      [tool({ mock: { enabled: false } }), 'tools[0]'],
      [tool({ connectionId: 'cxn_1', preset: 'end_call' }), 'tools[0].connectionId'],
      [tool({ http, preset: 'end_call' }), 'tools[0].http'],
      [
        tool({ http: { ...http, auth: { type: 'bearer' } }, mock: { enabled: true } }),
        'tools[0].http.auth.secretId',
      ],
      [
        tool({ http: { ...http, auth: { type: 'api_key', secretId: 'sec_1' } }, mock: { enabled: true } }),
        'tools[0].http.auth.name',
      ],
    ]
    for (const [body, path] of rows) {
      const answer = await send('POST', '/v1/agents', json({ name: 'X', ...body }))
      t.equal(answer.status, 422, path)
      t.equal(code(answer), 'unprocessable_entity')
      t.equal(details(answer).path, path)
    }
    const hindi = await send(
      'POST',
      '/v1/agents',
      json({ name: 'H', voice: { languages: ['hi-IN', 'en-IN'] } }),
    )
    t.match(dataOf(hindi), { voice: { sttLanguage: 'hi-IN' } }, 'recognition follows the first language')
    const path = `/v1/agents/${dataOf(hindi).id}`
    const other = await send('PATCH', path, json({ voice: { languages: ['ta-IN'] } }))
    t.match(details(other), { path: 'voice.sttLanguage' })
    for (const [body, at] of [
      [{ inputVariables: [{ name: '__proto__' }] }, 'inputVariables[0].name'],
      [{ outputVariables: [{ name: '__proto__', type: 'string' }] }, 'outputVariables[0].name'],
      [
        tool({ mock: { enabled: true }, parameters: [{ name: '__proto__', type: 'string' }] }),
        'tools[0].parameters[0].name',
      ],
    ] as const) {
      const answer = await send('POST', '/v1/agents', json({ name: 'X', ...body }))
      t.equal(answer.status, 400, at)
      t.match(details(answer), { issues: [{ path: at, reason: 'is a reserved name' }] })
    }
    const unknown: readonly [object, object][] = [
      [{ knowledgeBaseIds: ['kb_1'] }, { resource: 'knowledge_base', path: 'knowledgeBaseIds[0]' }],
      [
        { callSettings: { transfer: { destinations: [{ destinationId: 'tdst_1' }] } } },
        {
          resource: 'transfer_destination',
          path: 'callSettings.transfer.destinations[0].destinationId',
        },
      ],
      [tool({ http, connectionId: 'cxn_1' }), { resource: 'connection', path: 'tools[0].connectionId' }],
    ]
    for (const [body, expected] of unknown) {
      const answer = await send('POST', '/v1/agents', json({ name: 'X', ...body }))
      t.equal(answer.status, 404)
      t.equal(code(answer), 'not_found')
      t.same(details(answer), expected)
    }
  })

  await t.test('the whole configuration is stored, published and rolled back', async (t) => {
    const full = fullConfiguration()
    const made = await send('POST', '/v1/agents', json({ name: 'Full', ...full }))
    t.equal(made.status, 201, JSON.stringify(made.body).slice(0, 300))
    t.match(dataOf(made), full)
    const path = `/v1/agents/${dataOf(made).id}`
    t.equal((await send('POST', `${path}/publish`)).status, 201)
    t.match(dataOf(await send('GET', `${path}/versions/1`)), full)
    await send('PATCH', path, json({ tools: [], voice: { sttMode: 'transcribe' } }))
    t.equal((await send('POST', `${path}/publish`)).status, 201)
    t.same(dataOf(await send('GET', `${path}/versions/2`)).tools, [])
    t.equal((await send('POST', `${path}/rollback`, json({ version: 1 }))).status, 201)
    t.match(dataOf(await send('GET', path)), { ...full, publishedVersion: 3, hasUnpublishedChanges: false })
  })

  await t.test('concurrent changes are all applied', async (t) => {
    const made = await send('POST', '/v1/agents', json({ name: 'D' }))
    const path = `/v1/agents/${dataOf(made).id}`
    const answers = await Promise.all([
      send('PATCH', path, json({ name: 'D2' })),
      send('PATCH', path, json({ systemPrompt: 'P' })),
      send('PATCH', path, json({ callSettings: { businessName: 'Shop' } })),
    ])
    t.same(
      answers.map((answer) => answer.status),
      [200, 200, 200],
    )
    t.match(dataOf(await send('GET', path)), {
      name: 'D2',
      systemPrompt: 'P',
      callSettings: { businessName: 'Shop' },
    })
    const published = await Promise.all([1, 2, 3].map(() => send('POST', `${path}/publish`)))
    t.same(published.map((answer) => answer.status).sort(), [201, 409, 409], 'one version, not three')
  })

  await t.test('agents are shared by the environments, not by organizations', async (t) => {
    const id = await calling.publishAgent()
    const other = await calling.anotherOrganization()
    t.equal((await send('GET', `/v1/agents/${id}`, { key: calling.api.liveKey })).status, 200)
    for (const [method, path] of [
      ['GET', `/v1/agents/${id}`],
      ['PATCH', `/v1/agents/${id}`],
      ['POST', `/v1/agents/${id}/publish`],
      ['GET', `/v1/agents/${id}/versions`],
      ['GET', `/v1/agents/${id}/versions/1`],
    ] as const) {
      const answer = await send(method, path, {
        key: other.testKey,
        ...(method === 'PATCH' ? { json: { name: 'Mine' } } : {}),
      })
      t.equal(answer.status, 404, `${method} ${path}`)
    }
    t.same(itemsOf(await send('GET', '/v1/agents', { key: other.testKey })), [])
    const made = await send('POST', '/v1/agents', { key: other.testKey, json: { name: 'Theirs' } })
    t.equal(dataOf(made).purpose, 'promotional', 'an unset classification counts as promotional')
    // Numbers belong to one environment: the live key sees none of the test environment.
    t.same(dataOf(await send('GET', `/v1/agents/${id}`)).numberIds, [calling.numberId])
    t.same(dataOf(await send('GET', `/v1/agents/${id}`, { key: calling.api.liveKey })).numberIds, [])
  })

  await t.test('a paged list is complete while agents are created', async (t) => {
    const before = new Set<unknown>()
    for (let cursor = ''; ; ) {
      const page = await send('GET', `/v1/agents?limit=3${cursor}`)
      for (const agent of itemsOf(page)) {
        t.notOk(before.has(agent.id), 'no agent twice')
        before.add(agent.id)
      }
      clock.advance(1)
      await send('POST', '/v1/agents', json({ name: 'Later' }))
      const { pagination } = (page.body as { meta: { pagination: { cursor: string | null } } }).meta
      if (pagination.cursor === null) break
      cursor = `&cursor=${pagination.cursor}`
    }
    const all = await send('GET', '/v1/agents?limit=100')
    const later = itemsOf(all).filter((agent) => agent.name !== 'Later')
    t.ok(later.every((agent) => before.has(agent.id)))
  })
  await calling.close()
})

/** Every configuration field that requires no other resource, each different from its default. */
function fullConfiguration() {
  return {
    systemPrompt: 'You work for {{clinic}}.',
    llmModel: 'parley-rules-1',
    inputVariables: [{ name: 'clinic', description: 'Its name', required: true, default: 'Smile' }],
    outputVariables: [
      { name: 'mood', description: 'Of the caller', type: 'enum', enumValues: ['good', 'bad'] },
      { name: 'day', description: '', type: 'date', enumValues: [] },
    ],
    evaluationCriteria: [{ id: 'polite', name: 'Polite', prompt: 'Was it polite?' }],
    ttsOptions: { pace: 1.2 },
    voice: {
      languages: ['hi-IN', 'en-IN'],
      sttLanguage: 'hi-IN',
      sttMode: 'codemix',
      sttModel: 'parley-sandbox',
      ttsModel: 'espeak-ng',
      ttsVoice: 'ravi',
    },
    tools: [
      {
        name: 'book',
        description: 'Books a place',
        parameters: [{ name: 'day', description: '', required: true, type: 'string' }],
        connectionId: null,
        preset: null,
        speech: { 'en-IN': 'One moment at {{clinic}}.', 'hi-IN': 'Ek minute.' },
        mock: { enabled: false, response: 'booked' },
        http: {
          method: 'POST',
          url: 'https://example.com/book',
          timeoutMs: 3_000,
          headers: { 'X-Shop': 'a' },
          bodyFormat: 'form',
          bodyRoot: 'booking',
          auth: { type: 'none', in: null, name: null, header: null, secretId: null, secondary: null },
        },
      },
      ...['end_call', 'transfer_call', 'send_dtmf', 'opt_out', 'schedule_callback'].map((preset) => ({
        name: preset,
        description: 'A preset',
        parameters: [],
        connectionId: null,
        preset,
        speech: {},
        mock: { enabled: false, response: '' },
        http: null,
      })),
    ],
    callSettings: {
      businessName: 'Smile',
      openingLine: { text: 'Hello from {{clinic}}.' },
      inboundOpeningLine: { text: 'Welcome.' },
      hangupLine: { text: 'Bye.' },
      maxCallSeconds: 900,
      background: { sound: 'cafe', volume: 0.4 },
      nudges: {
        enabled: false,
        hangupAfter: false,
        steps: [{ afterSeconds: 7, line: { text: 'Hello?' } }],
      },
      voicemail: { enabled: false, windowSeconds: 12 },
      transfer: {
        handoff: 'warm',
        blindTransfers: true,
        defaultDestinationId: null,
        destinations: [],
        dtmfKey: '0',
        preTransferLine: { text: 'I connect you.' },
        afterMissLine: { text: 'Nobody is there.' },
        recordHumanSegment: true,
        requestPhrases: false,
        ringTimeoutSeconds: 40,
      },
    },
  }
}
