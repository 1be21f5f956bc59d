import t, { type Test } from 'tap'
import { embeddingBody } from '../../../fixtures/vendors/embedding-frames.js'
import { jsonReply, openFakeOpenAi } from '../../../fixtures/vendors/fake-openai.js'
import { errorBody } from '../../../fixtures/vendors/openai-frames.js'
import { systemClock } from '../../base/clock.js'
import { VendorConnections } from '../shared/vendor-connections.js'
import { type EmbeddingSettings, openEmbedder } from './embeddings.js'

async function setUp(t: Test, settings: Partial<EmbeddingSettings> = {}) {
  const fake = await openFakeOpenAi()
  const connections = new VendorConnections()
  t.teardown(async () => {
    await connections.close()
    await fake.close()
  })
  const given = { baseUrl: fake.baseUrl, apiKey: 'sk-1', model: 'text-embedding-3-small', dimensions: 3 }
  const rest = { questionPrefix: '', passagePrefix: '', deadlineMs: 1000 }
  const embedder = openEmbedder({ ...given, ...rest, ...settings }, { clock: systemClock, connections })
  const { signal } = new AbortController()
  return { fake, embedder, embed: (texts: string[]) => embedder.embed('passage', texts, signal) }
}

t.test('texts become vectors in their order', async (t) => {
  const { fake, embedder, embed } = await setUp(t)
  const body = `{"object":"list","data":[
    {"object":"embedding","index":1,"embedding":[0,-0.5,0.25]},
    {"object":"embedding","index":0,"embedding":[1,0,0]}],
    "model":"text-embedding-3-small","usage":{"prompt_tokens":11,"total_tokens":11}}`
  fake.enqueue('embeddings', jsonReply(body))
  const { vectors, tokens } = await embed(['one', 'two'])
  t.same(
    vectors.map((vector) => [...vector]),
    [
      [127, 0, 0],
      [0, -127, 64],
    ],
  )
  t.equal(tokens, 11)
  t.equal(embedder.id, 'text-embedding-3-small/3')
  const [request] = fake.requests
  t.equal(request?.headers.authorization, 'Bearer sk-1')
  t.same(JSON.parse(request?.body.toString() ?? ''), {
    model: 'text-embedding-3-small',
    input: ['one', 'two'],
    encoding_format: 'float',
    dimensions: 3,
  })
})

t.test('a model gets its prefixes, and no length when none is set', async (t) => {
  const { fake, embedder } = await setUp(t, {
    ...{ model: 'multilingual-e5-small', dimensions: null, apiKey: null },
    ...{ questionPrefix: 'query:', passagePrefix: 'passage:' },
  })
  fake.setDefault('embeddings', jsonReply(embeddingBody('e5', [[1, 2]], 0)))
  const { signal } = new AbortController()
  await embedder.embed('question', ['fees'], signal)
  await embedder.embed('passage', ['fees'], signal)
  const bodies = fake.requests.map(({ body }) => JSON.parse(body.toString()))
  t.same(bodies, [
    { model: 'multilingual-e5-small', input: ['query: fees'], encoding_format: 'float' },
    { model: 'multilingual-e5-small', input: ['passage: fees'], encoding_format: 'float' },
  ])
  t.equal(fake.requests[0]?.headers.authorization, undefined)
  t.equal(embedder.id, 'multilingual-e5-small//passage:', 'other prefixes are other vectors')
})

t.test('what is wrong is said', async (t) => {
  const { fake, embed } = await setUp(t)
  for (const [body, message] of [
    [embeddingBody('m', [[1, 2]], 0), /2 dimensions, and PARLEY_EMBEDDINGS_DIMENSIONS is 3/],
    [embeddingBody('m', [], 0), /0 vectors for 1 texts/],
    [embeddingBody('m', [[0, 0, 0]], 0), /a vector of zeros/],
    ['{"data":[{"index":0,"embedding":"AACAPw=="}]}', /another form/],
    ['<html>', /invalid JSON/],
  ] as const) {
    fake.enqueue('embeddings', jsonReply(body))
    await t.rejects(embed(['one']), { code: 'vendor_failed', message, retryable: false })
  }
  fake.enqueue('embeddings', jsonReply(errorBody('The model `x` does not exist'), 404))
  await t.rejects(embed(['one']), { code: 'vendor_rejected', message: /404: The model `x` does not exist/ })
  fake.setDefault('embeddings', jsonReply(errorBody('Rate limit reached'), 429, { 'retry-after-ms': '1' }))
  await t.rejects(embed(['one']), { code: 'vendor_rate_limited', retryable: true })
})
