import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { signInMember } from '../../fixtures/api/signed-in.js'
import { openReceiver } from '../../fixtures/api/webhooks.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import type { HttpToolAuth, HttpToolRequest } from '../../media/agent/agent-spec.js'
import { silentLog } from '../../media/base/log.js'
import { createSecretHosts } from '../db/migrations/0011-secret-hosts.js'
import { openEgress } from '../net/egress.js'
import { openAgentTools } from '../tools/runner.js'
import { serviceTools } from '../tools/service-tools.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details: Record<string, unknown> } }).error
const json = (body: unknown) => ({ json: body })

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  const { api, send, deps, numberId, owner } = calling
  const { db } = deps
  const admin = await signInMember(api, owner.organizationId, 'admin')
  let made = 0
  const makeSecret = async (...hosts: string[]): Promise<string> => {
    const body = { name: `Secret ${++made}`, value: 'abcdefgh12345678', hosts }
    return String(dataOf(await admin.send('POST', '/v1/secrets', json(body))).id)
  }
  const makeConnection = async (baseUrl: string, secretId: string | null): Promise<string> => {
    const body = { name: `Connection ${++made}`, baseUrl, secretId }
    const answer = await admin.send('POST', '/v1/integrations/connections', json(body))
    return String(dataOf(answer).id)
  }
  const tool = (url: string, more: object = {}) => ({
    tools: [{ name: 'lookup', description: 'x', http: { method: 'GET', url, ...more } }],
  })
  const bearer = (secretId: string) => ({ auth: { type: 'bearer', secretId } })
  const added = async (secretId: string) =>
    itemsOf(await admin.send('GET', '/v1/organization/audit-log?limit=100'))
      .filter(({ action, subject }) => {
        return action === 'secret.host_added' && (subject as { id: string }).id === secretId
      })
      .map(({ actor, after }) => [(actor as { type: string }).type, (after as { host: string }).host])
  const refusedAt = (answer: { status: number; body: unknown }) =>
    answer.status === 422 ? errorOf(answer).details : answer.body

  await t.test('a key sends a secret to the hosts of the secret only', async (t) => {
    const secretId = await makeSecret('crm.example.com')
    const agent = await send(
      'POST',
      '/v1/agents',
      json({ name: 'A', systemPrompt: 'x', ...tool('https://crm.example.com/a', bearer(secretId)) }),
    )
    t.equal(agent.status, 201)
    const path = `/v1/agents/${dataOf(agent).id}`
    const elsewhere = 'https://other.example.com/a'
    const secondary = { type: 'none', secondary: { in: 'query', name: 'k', secretId } }
    for (const body of [tool(elsewhere, bearer(secretId)), tool(elsewhere, { auth: secondary })]) {
      t.same(refusedAt(await send('PATCH', path, json(body))), { path: 'tools[0].http.url' })
      t.same(refusedAt(await send('POST', '/v1/agents', json({ name: 'B', ...body }))), {
        path: 'tools[0].http.url',
      })
    }
    t.equal((await send('PATCH', path, json(tool(elsewhere)))).status, 200, 'without the secret')
    t.equal(
      (await send('PATCH', path, json(tool('https://crm.example.com/b', bearer(secretId))))).status,
      200,
    )
    t.same(await added(secretId), [['key', 'crm.example.com']], 'one entry for two saves')
    t.equal((await send('POST', `${path}/publish`)).status, 201)

    const hosts = await admin.send('PUT', `/v1/secrets/${secretId}`, json({ hosts: ['*.example.org'] }))
    t.match(hosts, { status: 200, body: { data: { hosts: ['*.example.org'], last4: '5678' } } })
    await send('PATCH', path, json({ systemPrompt: 'y' }))
    t.same(refusedAt(await send('POST', `${path}/publish`)), { path: 'tools[0].http.url' })
    t.same(refusedAt(await send('POST', `${path}/rollback`, json({ version: 1 }))), {
      path: 'tools[0].http.url',
    })
    t.equal((await send('PUT', `/v1/secrets/${secretId}`, json({ hosts: ['a.example'] }))).status, 401)
  })

  await t.test('a tool stays below the base URL of its connection', async (t) => {
    const secretId = await makeSecret('crm.example.com')
    const connectionId = await makeConnection('https://crm.example.com/v1', secretId)
    t.same(await added(secretId), [['user', 'crm.example.com']])
    const named = (url: string) => ({
      tools: [{ name: 'lookup', description: 'x', connectionId, http: { method: 'GET', url } }],
    })
    const agent = await send(
      'POST',
      '/v1/agents',
      json({ name: 'C', ...named('https://crm.example.com/v1/x') }),
    )
    t.equal(agent.status, 201)
    for (const url of [
      'https://other.example.com/v1/x',
      'https://crm.example.com/v2',
      'https://crm.example.com:8443/v1',
    ]) {
      const answer = await send('PATCH', `/v1/agents/${dataOf(agent).id}`, json(named(url)))
      t.same(refusedAt(answer), { path: 'tools[0].http.url' }, url)
    }
    const connection = `/v1/integrations/connections/${connectionId}`
    const moved = await admin.send('PATCH', connection, json({ baseUrl: 'https://other.example.com/' }))
    t.same(refusedAt(moved), { path: 'baseUrl' })
    const another = await makeSecret('another.example.com')
    t.same(refusedAt(await admin.send('PATCH', connection, json({ secretId: another }))), { path: 'baseUrl' })

    await admin.send('PUT', `/v1/secrets/${secretId}`, json({ hosts: ['another.example.com'] }))
    const tested = await admin.send('POST', `${connection}/test`)
    t.match(dataOf(tested), { ok: false, status: null, error: 'secret_host_not_allowed' })
  })

  await t.test('the secret of a bot does not follow its URL', async (t) => {
    const secretId = await makeSecret('bot.example.com')
    const mediaEndpoint = { type: 'static', url: 'wss://bot.example.com/talk', authSecretId: secretId }
    const patch = (body: object) => send('PATCH', `/v1/numbers/${numberId}`, json(body))
    t.equal((await patch({ routingMode: 'byo_ws', mediaEndpoint })).status, 200)
    t.same(await added(secretId), [['key', 'bot.example.com']])
    const moved = { mediaEndpoint: { url: 'wss://other.example.com/talk' } }
    t.same(refusedAt(await patch(moved)), { path: 'mediaEndpoint.url' })
    await db.updateTable('organizations').set({ senderClassification: 'transactional' }).execute()
    const place = () => send('POST', '/v1/calls', json({ to: '+919876543210', numberId }))
    t.equal((await place()).status, 201)
    await admin.send('PUT', `/v1/secrets/${secretId}`, json({ hosts: ['other.example.com'] }))
    t.same(refusedAt(await place()), { path: 'numberId' }, 'nothing is sent to the earlier host')
    t.equal((await patch({ routingMode: 'svc_agent', mediaEndpoint: null })).status, 200)
  })

  await t.test('a secret of an earlier release keeps the hosts that it is sent to', async (t) => {
    const [tools, bots, connected, unused] = [
      await makeSecret('crm.example.com', 'old.example.com'),
      await makeSecret('bot.example.com'),
      await makeSecret('crm.example.com'),
      await makeSecret('crm.example.com'),
    ] as const
    const config = (path: string) => tool(`https://crm.example.com/${path}`, bearer(tools))
    const agent = await send(
      'POST',
      '/v1/agents',
      json({ name: 'D', systemPrompt: 'x', ...tool('https://old.example.com/', bearer(tools)) }),
    )
    const path = `/v1/agents/${dataOf(agent).id}`
    await send('POST', `${path}/publish`)
    await send('PATCH', path, json(config('a')))
    await send('POST', `${path}/publish`)
    const mediaEndpoint = { type: 'static', url: 'wss://bot.example.com/talk', authSecretId: bots }
    await send('PATCH', `/v1/numbers/${numberId}`, json({ mediaEndpoint }))
    await makeConnection('https://crm.example.com/v1', connected)

    await db.schema.dropTable('secretHosts').execute()
    await db.schema.alterTable('secrets').dropColumn('hosts').execute()
    await createSecretHosts(db as never)
    const pairs = await db
      .selectFrom('secretHosts')
      .select(['secretId', 'host', 'inherited'])
      .where('secretId', 'in', [tools, bots, connected, unused])
      .execute()
    t.same(
      pairs.map(({ secretId, host }) => `${secretId} ${host}`).toSorted(),
      [`${tools} crm.example.com`, `${bots} bot.example.com`, `${connected} crm.example.com`].toSorted(),
      'the draft and the published version count, an older version does not',
    )

    t.equal((await send('PATCH', path, json(config('b')))).status, 200, 'a stored pair still works')
    t.same(
      await added(tools),
      [
        ['key', 'crm.example.com'],
        ['key', 'old.example.com'],
      ],
      'and is not new',
    )
    const elsewhere = tool('https://other.example.com/', bearer(tools))
    t.same(refusedAt(await send('PATCH', path, json(elsewhere))), { path: 'tools[0].http.url' })
    t.same(refusedAt(await send('POST', `${path}/rollback`, json({ version: 1 }))), {
      path: 'tools[0].http.url',
    })
    const inSession = await admin.send('PATCH', path, json(tool('https://crm.example.com/', bearer(unused))))
    t.same(refusedAt(inSession), { path: 'tools[0].http.url' }, 'a secret without hosts is not sent')

    const put = (id: string, body: object) => admin.send('PUT', `/v1/secrets/${id}`, json(body))
    t.same(refusedAt(await put(unused, { value: 'a-newer-value-1' })), { path: 'hosts' })
    t.match(dataOf(await put(tools, { value: 'a-newer-value-1' })), { hosts: ['crm.example.com'] })
    t.match(dataOf(await put(unused, { hosts: ['Crm.example.com', '*.example.com', 'crm.example.com'] })), {
      hosts: ['crm.example.com', '*.example.com'],
    })
    t.equal(
      (await admin.send('PATCH', path, json(tool('https://crm.example.com/', bearer(unused))))).status,
      200,
    )
  })

  await t.test('during a call', async (t) => {
    await calling.publishAgent()
    const placed = await send('POST', '/v1/calls', json({ to: '+919876543210', numberId }))
    const callId = String(dataOf(placed).id)
    const system = await openReceiver()
    const egress = openEgress({ allowPrivate: true })
    t.teardown(async () => {
      egress.close()
      await system.close()
    })
    const warnings: unknown[] = []
    const tools = openAgentTools({
      db,
      rootKey: deps.rootKey,
      egress,
      clock: calling.clock,
      log: { ...silentLog, warn: (fields: unknown) => warnings.push(fields) },
      services: serviceTools({}),
      knowledge: deps.knowledge,
    })
    const run = (url: string, auth: Partial<HttpToolAuth> | null, connectionId: string | null = null) => {
      const request: HttpToolRequest = {
        method: 'GET',
        url,
        timeoutMs: 8000,
        headers: {},
        bodyFormat: 'json',
        bodyRoot: null,
        auth:
          auth === null
            ? null
            : {
                type: 'bearer',
                in: null,
                name: null,
                header: null,
                secretId: null,
                secondary: null,
                ...auth,
              },
        connectionId,
      }
      const action = { kind: 'http', request } as const
      return tools.run(callId, { name: 'lookup', description: 'x', parameters: [], speech: {}, action }, {})
    }
    const local = await makeSecret('127.0.0.1')
    const foreign = await makeSecret('crm.example.com')
    const refused = /^Failed \(secret_host_not_allowed\): .* Nothing was sent\.$/

    t.match(await run(system.url, { secretId: foreign }), refused)
    t.match(
      await run(system.url, { secretId: local, secondary: { in: 'header', name: 'x', secretId: foreign } }),
      refused,
    )
    const connectionId = await makeConnection('https://crm.example.com/v1', foreign)
    t.match(await run(system.url, null, connectionId), refused)
    const open = await makeConnection('https://crm.example.com/v1', null)
    t.match(await run(system.url, { secretId: local }, open), refused, 'outside the connection')
    t.same(system.received, [])
    t.match(warnings, [{ callId, tool: 'lookup', reason: 'secret_host_not_allowed' }])

    t.equal(await run(system.url, { secretId: local }), 'Done (200).')
    t.match(system.received, [{ headers: { authorization: 'Bearer abcdefgh12345678' } }])
    t.match(await run(system.url, { secretId: 'sec_01JZ0000000000000000000000' }), /credentials .* are gone/)
  })
  await calling.close()
})
