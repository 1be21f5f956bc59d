import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { insertSecret } from '../secrets/store.js'
import { openVault } from '../secrets/vault.js'

const errorOf = (answer: { body: unknown }) =>
  (answer.body as { error: { code: string; details?: Record<string, unknown> } }).error

const BOT = 'wss://bot.example.com/talk'
const STREAM = 'tls://bot.example.com:9092'

await onEachDialect(t, async (t, open) => {
  const calling = await openTestCalling(await open())
  const { send, numberId, deps } = calling
  const patch = (json: unknown, key?: string) =>
    send('PATCH', `/v1/numbers/${numberId}`, { json, ...(key === undefined ? {} : { key }) })
  const endpoint = (fields: object) => ({ mediaEndpoint: { type: 'static', url: BOT, ...fields } })

  await t.test('a media endpoint beside the agent, which stays bound', async (t) => {
    const agent = dataOf(await send('POST', '/v1/agents', { json: { name: 'A' } }))
    await patch({ agentId: agent.id })
    const routed = await patch({
      routingMode: 'byo_ws',
      ...endpoint({ format: 'linear16', sampleRate: 16_000, customParameters: { plan: 'gold' } }),
    })
    t.match(dataOf(routed), {
      routingMode: 'byo_ws',
      agentId: agent.id,
      mediaEndpoint: {
        type: 'static',
        url: BOT,
        format: 'linear16',
        sampleRate: 16_000,
        authSecretId: null,
        customParameters: { plan: 'gold' },
      },
    })
    t.equal((await patch({ mediaEndpoint: null })).status, 422, 'routed to it: it cannot be taken away')
    t.match(dataOf(await patch({ routingMode: 'svc_agent' })), {
      agentId: agent.id,
      mediaEndpoint: { url: BOT },
    })
    t.match(dataOf(await patch({ routingMode: 'byo_ws' })), { mediaEndpoint: { url: BOT } }, 'the stored one')
    t.match(dataOf(await patch({ routingMode: 'svc_agent', mediaEndpoint: null })), { mediaEndpoint: null })
    t.equal(errorOf(await patch({ routingMode: 'byo_sip' })).code, 'conflict')
  })

  await t.test('every bot type supports only its own audio formats', async (t) => {
    const natural: Readonly<Record<string, readonly [string, number]>> = {
      static: ['linear16', 8000],
      twilio: ['mulaw', 8000],
      plivo: ['mulaw', 8000],
      vobiz: ['mulaw', 8000],
      exotel: ['linear16', 8000],
      telnyx: ['mulaw', 8000],
      vonage: ['linear16', 8000],
      jambonz: ['linear16', 8000],
      audiosocket: ['linear16', 8000],
      chan_websocket: ['mulaw', 8000],
      chan_websocket_json: ['mulaw', 8000],
    }
    for (const [type, [format, sampleRate]] of Object.entries(natural)) {
      const url = type === 'audiosocket' ? STREAM : BOT
      const mediaEndpoint = { type, url, format, sampleRate }
      t.match(dataOf(await patch(endpoint({ type, url }))), { mediaEndpoint }, type)
    }
    const wrong: readonly [object, string][] = [
      [{ type: 'twilio', format: 'linear16' }, 'format'],
      [{ type: 'exotel', format: 'opus' }, 'format'],
      [{ type: 'telnyx', format: 'g722', sampleRate: 8000 }, 'sampleRate'],
      [{ type: 'telnyx', format: 'opus', sampleRate: 24_000 }, 'sampleRate'],
      [{ type: 'chan_websocket', customParameters: { a: '1' } }, 'customParameters'],
      [{ type: 'exotel', format: 'alaw' }, 'format'],
      [{ type: 'plivo', format: 'linear16', sampleRate: 24_000 }, 'sampleRate'],
      [{ type: 'static', format: 'mulaw', sampleRate: 16_000 }, 'sampleRate'],
      [{ type: 'twilio', url: `${BOT}?a=1` }, 'url'],
      [{ url: 'ws://bot.example.com/' }, 'url'],
      [{ url: 'wss://10.0.0.1/' }, 'url'],
      [{ url: 'wss://user:pass@bot.example.com/' }, 'url'],
      [{ url: 'wss:bot.example.com/' }, 'url'],
      [{ url: 'wss://bot.example.com:0/' }, 'url'],
      [{ url: 'wss://nowhere.invalid/' }, 'url'],
      [{ url: `${BOT}#part` }, 'url'],
      [{ url: 'wss://[::ffff:127.0.0.1]/' }, 'url'],
      [{ url: 'wss://169.254.169.254/' }, 'url'],
      [{ url: STREAM }, 'url'],
      ...[
        BOT,
        'tcp://bot.example.com:9092',
        'tls://bot.example.com',
        'tls://10.0.0.1:9092',
        'tls://[::1]:9092',
        'tls://:9092',
        'tls:bot.example.com:9092',
        'tls://user@bot.example.com:9092',
        'tls://nowhere.invalid:9092',
        `${STREAM}/talk`,
        `${STREAM}?a=1`,
      ].map((url): [object, string] => [{ type: 'audiosocket', url }, 'url']),
      [{ type: 'audiosocket', url: STREAM, format: 'mulaw' }, 'format'],
      [{ type: 'audiosocket', url: STREAM, customParameters: { a: '1' } }, 'customParameters'],
      [{ type: 'audiosocket', url: STREAM, authSecretId: 'sec_01JZ0000000000000000000000' }, 'authSecretId'],
    ]
    for (const [fields, field] of wrong) {
      const answer = await patch(endpoint(fields))
      t.equal(answer.status, 422, JSON.stringify(fields))
      t.match(errorOf(answer), { code: 'unprocessable_entity', details: { path: `mediaEndpoint.${field}` } })
    }
    for (const fields of [
      { type: 'other' },
      { format: 'mp3' },
      { customParameters: { 'a b': 'x' } },
      { customParameters: { a: 'x;y=z' } },
      { customParameters: { a: 1 } },
      { extra: true },
      { url: ' wss://bot.example.com/' },
      { url: 'http://bot.example.com/' },
      { url: 'https://bot.example.com/' },
      { sampleRate: 44_100 },
      { type: 'jambonz', sampleRate: 11_025 },
      { type: 'audiosocket', url: STREAM, sampleRate: 48_000 },
    ]) {
      t.equal((await patch(endpoint(fields))).status, 400, JSON.stringify(fields))
    }
  })

  await t.test('a PATCH keeps omitted fields; another type starts with defaults', async (t) => {
    await patch({ routingMode: 'svc_agent', mediaEndpoint: null })
    for (const [fields, path] of [
      [{ sampleRate: 16_000 }, 'mediaEndpoint.type'],
      [{ type: 'static' }, 'mediaEndpoint.url'],
    ] as const) {
      t.match(errorOf(await patch({ mediaEndpoint: fields })), {
        code: 'validation_error',
        details: { issues: [{ path, reason: 'is required' }] },
      })
    }
    const merged = async (mediaEndpoint: object) => dataOf(await patch({ mediaEndpoint })).mediaEndpoint
    const whole = {
      type: 'static',
      url: BOT,
      format: 'linear16',
      sampleRate: 16_000,
      authSecretId: null,
      customParameters: { a: '1', b: '2' },
    }
    t.strictSame(await merged(whole), whole)
    t.strictSame(await merged({ sampleRate: 24_000 }), { ...whole, sampleRate: 24_000 })
    t.strictSame(await merged({ customParameters: { c: '3' } }), {
      ...whole,
      sampleRate: 24_000,
      customParameters: { c: '3' },
    })
    t.strictSame(await merged({ format: 'mulaw' }), {
      ...whole,
      format: 'mulaw',
      sampleRate: 8000,
      customParameters: { c: '3' },
    })
    t.equal(
      (await patch({ mediaEndpoint: { sampleRate: 16_000 } })).status,
      422,
      'and what comes of it is checked',
    )
    t.equal((await patch({ mediaEndpoint: { type: 'vonage' } })).status, 400)
    t.strictSame(await merged({ type: 'vonage', url: BOT }), {
      ...whole,
      type: 'vonage',
      sampleRate: 8000,
      customParameters: {},
    })
  })

  await t.test('the rate in the URL of an Exotel bot is used', async (t) => {
    const url = `${BOT}?sample-rate=16000`
    t.match(dataOf(await patch(endpoint({ type: 'exotel', url }))), { mediaEndpoint: { sampleRate: 16_000 } })
    t.match(errorOf(await patch(endpoint({ type: 'exotel', url, sampleRate: 8000 }))), {
      details: { path: 'mediaEndpoint.sampleRate' },
    })
    const odd = await patch(endpoint({ type: 'exotel', url: `${BOT}?sample-rate=11025` }))
    t.match(errorOf(odd), { details: { path: 'mediaEndpoint.sampleRate' } })
  })

  await t.test('a secret that a number uses cannot be deleted', async (t) => {
    t.match(errorOf(await patch(endpoint({ authSecretId: 'sec_01JZ0000000000000000000000' }))), {
      code: 'not_found',
      details: { resource: 'secret', path: 'mediaEndpoint.authSecretId' },
    })
    const vault = openVault(deps.rootKey, 'secret-encryption')
    const { organizationId } = calling.owner
    const stored = await deps.db.transaction().execute((trx) =>
      insertSecret(
        trx,
        vault,
        {
          organizationId,
          name: 'bot',
          value: 'a-bearer-of-some-length',
          hosts: ['bot.example.com'],
          createdBy: 'usr_x',
        },
        deps.clock.wall(),
      ),
    )
    const secret = stored?.id ?? ''
    t.match(dataOf(await patch(endpoint({ authSecretId: secret }))), {
      mediaEndpoint: { authSecretId: secret },
    })
    const uses = () => deps.db.selectFrom('secretUses').selectAll().where('secretId', '=', secret).execute()
    t.match(await uses(), [{ usedByType: 'number', usedById: numberId }])
    await patch({ label: 'unchanged' })
    t.equal((await uses()).length, 1)
    await patch({ mediaEndpoint: null, routingMode: 'svc_agent' })
    t.same(await uses(), [])
    const other = await calling.anotherOrganization()
    t.equal((await patch(endpoint({ authSecretId: secret }), other.testKey)).status, 404)
  })

  await t.test('outbound calls', async (t) => {
    const body = { to: '+919876543210', numberId }
    const place = (more = {}) => send('POST', '/v1/calls', { json: { ...body, ...more } })
    await patch({
      routingMode: 'byo_ws',
      ...endpoint({ type: 'twilio', customParameters: { a: '1', b: '2' } }),
    })
    const classify = (senderClassification: string | null) =>
      deps.db
        .updateTable('organizations')
        .set({ senderClassification })
        .where('id', '=', calling.owner.organizationId)
        .execute()
    await classify(null)
    t.match(errorOf(await place()), { code: 'unprocessable_entity' }, 'no classification yet')
    await classify('transactional')
    const agent = dataOf(await send('POST', '/v1/agents', { json: { name: 'B' } }))
    t.match(errorOf(await place({ agentId: agent.id })), {
      code: 'unprocessable_entity',
      details: { path: 'agentId' },
    })
    const placed = dataOf(await place({ variables: { b: '3' } }))
    t.match(placed, {
      routingMode: 'byo_ws',
      agentId: null,
      agentVersionId: null,
      purpose: 'transactional',
      ratePaisePerMinute: 200,
    })
    const dialled = calling.control.dialled.at(-1)
    t.match(dialled?.plan.party, {
      kind: 'bot',
      bot: {
        type: 'twilio',
        url: BOT,
        format: 'mulaw',
        sampleRate: 8000,
        secret: null,
        direction: 'outbound',
        to: '+919876543210',
        customParameters: { a: '1', b: '3' },
        callId: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
      },
    })
    await patch(endpoint({ type: 'audiosocket', url: STREAM }))
    t.match(errorOf(await place({ variables: { b: '3' } })), {
      code: 'unprocessable_entity',
      details: { path: 'variables' },
    })
    await patch(endpoint({ type: 'plivo' }))
    for (const variables of [{ b: 'x;y=z' }, { 'b;c': 'x' }, { 'b=c': 'x' }]) {
      t.match(errorOf(await place({ variables })), {
        code: 'unprocessable_entity',
        details: { path: 'variables' },
      })
    }
    await patch(endpoint({ type: 'twilio' }))
    const checks = await deps.db.selectFrom('checks').select('trigger').distinct().execute()
    t.same(checks, [{ trigger: 'byo' }])
    for (let i = 1; i < 5; i++) t.equal((await place()).status, 201)
    const full = await place()
    t.equal(full.status, 429)
    t.match(errorOf(full), {
      code: 'concurrent_call_limit_reached',
      details: { pool: 'byoCalls', inUse: 5, limit: 5 },
    })
    await patch({ routingMode: 'svc_agent' })
    await calling.publishAgent({})
    t.equal((await place()).status, 201, 'agents have a pool of their own')
    t.match(dataOf(await send('GET', '/v1/limits')), {
      concurrency: { byoCalls: { inUse: 5 }, agentCalls: { inUse: 1 } },
    })
  })
  await calling.close()
})
