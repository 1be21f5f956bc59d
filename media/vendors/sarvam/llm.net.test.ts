import t from 'tap'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { systemClock } from '../../base/clock.js'
import { silentLog } from '../../base/log.js'
import { sarvamLanguageModel } from './llm.js'

t.test('chat completions: on the HTTP API, without reasoning first', async (t) => {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  const host = fake.baseUrl.replace(/^http/, 'ws').replace(/\/v1$/, '')
  const model = sarvamLanguageModel(
    { baseUrl: host, apiKey: 'secret-key', languageField: 'language_code' },
    { clock: systemClock, log: silentLog },
  )
  t.equal(model.id, 'sarvam')
  const text = await new Promise<string>((resolve, reject) => {
    let said = ''
    model.generate(
      { model: 'sarvam-105b-conversations', messages: [{ role: 'user', content: 'Hi' }], tools: [] },
      {
        text: (delta) => {
          said += delta
        },
        toolCalls: () => {},
        done: () => resolve(said),
        failed: reject,
      },
    )
  })
  t.ok(text.length > 0)
  const request = fake.requests[0]
  t.equal(request?.path, '/v1/chat/completions')
  t.equal(request?.headers.authorization, 'Bearer secret-key')
  const body = JSON.parse(request?.body.toString('utf8') ?? '')
  t.equal(body.reasoning_effort, null)
  t.equal(body.model, 'sarvam-105b-conversations')
})
