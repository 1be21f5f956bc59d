import t from 'tap'
import { dataOf, openTestCalling } from '../../fixtures/api/calling.js'
import { LIVE_MODELS, LIVE_MODELS_ENV } from '../../fixtures/api/live-models.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { insertNumber } from '../numbers/store.js'
import { AgentConfig, defaultConfig } from './config.js'
import { testOnlyModel } from './live-models.js'

t.test('the sandbox models are named with their path; the embedded voice is no sandbox', async (t) => {
  const { voice } = defaultConfig
  t.match(testOnlyModel(defaultConfig), { path: 'llmModel', message: /parley-rules-1/ })
  t.match(testOnlyModel({ ...defaultConfig, llmModel: 'other' }), {
    path: 'voice.sttModel',
    message: /parley-sandbox/,
  })
  const live = { ...defaultConfig, llmModel: 'other', voice: { ...voice, sttModel: 'other' } }
  t.equal(testOnlyModel(AgentConfig.parse(live)), null)
  t.equal(live.voice.ttsModel, 'espeak-ng')
})

await onEachDialect(t, async (t, open) => {
  await t.test('agents with sandbox models and live numbers', async (t) => {
    const calling = await openTestCalling(await open(), { env: LIVE_MODELS_ENV })
    const { api, deps, owner, send } = calling
    const { liveKey: key } = api
    const to = '+911171366900'
    const number = await insertNumber(
      deps.db,
      { ...owner, environment: 'live', e164: to, label: 'L', provider: 'x', region: 'DL', numberType: 'l' },
      0,
    )
    const bind = (agentId: string | null) =>
      send('PATCH', `/v1/numbers/${number?.id}`, { key, json: { agentId } })
    const refused = (path: string) => ({ status: 422, code: 'unprocessable_entity', details: { path } })
    const result = async (answer: ReturnType<typeof send>) => {
      const { status, body } = await answer
      return { status, ...(body as { error?: { code: string; details: unknown } }).error }
    }
    const publish = (id: string) => send('POST', `/v1/agents/${id}/publish`, { key })

    const sandbox = await calling.publishAgent()
    t.match(await result(bind(sandbox)), refused('agentId'), 'a published sandbox agent')
    const made = dataOf(await send('POST', '/v1/agents', { json: { name: 'D', systemPrompt: 'x' } }))
    const draft = String(made.id)
    t.equal((await bind(draft)).status, 200, 'a draft can be bound')
    t.match(await result(publish(draft)), refused('llmModel'), 'and not published')
    await send('PATCH', `/v1/agents/${draft}`, { json: { llmModel: LIVE_MODELS.llmModel } })
    t.match(await result(publish(draft)), refused('voice.sttModel'))
    await send('PATCH', `/v1/agents/${draft}`, { json: LIVE_MODELS })
    t.equal((await publish(draft)).status, 201)

    const sandboxDraft = { llmModel: 'parley-rules-1', voice: { sttModel: 'parley-sandbox' } }
    await send('PATCH', `/v1/agents/${draft}`, { json: sandboxDraft })
    t.match(await result(publish(draft)), refused('llmModel'), 'a later version as well')
    await bind(null)
    t.equal((await publish(draft)).status, 201, 'the number is free')
    t.equal((await send('POST', `/v1/agents/${draft}/rollback`, { json: { version: 1 } })).status, 201)
    t.equal((await bind(draft)).status, 200)
    t.match(
      await result(send('POST', `/v1/agents/${draft}/rollback`, { json: { version: 2 } })),
      refused('llmModel'),
    )

    t.match(
      await result(
        send('POST', '/v1/calls', {
          key,
          json: { to: '+919876543210', numberId: number?.id, agentId: sandbox },
        }),
      ),
      refused('agentId'),
      'a live call by another agent than the one of the number',
    )
    await calling.close()
  })
})
