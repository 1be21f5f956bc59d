import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { inProcessReader } from '../../fixtures/knowledge/in-process.js'
import { wordVectorReply } from '../../fixtures/vendors/embedding-frames.js'
import { eventStream, jsonReply, openFakeOpenAi } from '../../fixtures/vendors/fake-openai.js'
import { chatFrames, errorBody } from '../../fixtures/vendors/openai-frames.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openEmbedder } from '../../media/vendors/openai/embeddings.js'
import { openAiLanguageModel } from '../../media/vendors/openai/llm.js'
import { openJobRunner } from '../jobs/runner.js'
import type { BuildModels } from './build-extras.js'
import { buildHandler } from './build-job.js'
import { openQuestionVectors } from './question-vectors.js'

/** The fake model knows that these words mean the same. */
const ALIKE = new Map([
  ['जुर्माना', 'fee'],
  ['देर', 'late'],
])
const FEES = '# Fees\n\nThe late fee is 450 rupees.'
const BRANCHES = '# Branches\n\nThe Pune branch opens at ten.'

await onEachDialect(t, async (t, open) => {
  const fake = await openFakeOpenAi()
  const embedderOf = (model: string) =>
    openEmbedder(
      {
        ...{ baseUrl: fake.baseUrl, apiKey: null, model, dimensions: null },
        questionPrefix: '',
        passagePrefix: '',
        deadlineMs: 5000,
      },
      { clock: systemClock },
    )
  const vectors = openQuestionVectors(embedderOf('fake'), { clock: systemClock, log: silentLog })
  const calling = await openTestCalling(await open(), { questionVectors: vectors })
  const { clock, deps } = calling
  const { db, objects } = deps
  const ask = openAiLanguageModel(
    { baseUrl: fake.baseUrl, apiKey: null },
    { clock: systemClock, log: silentLog },
  )
  const questions = { model: 'fake-chat', languages: ['en', 'hi'], limit: 10, ask }
  const send = (method: string, path: string, json?: object) =>
    calling.send(method, `/v1/knowledge-bases${path}`, json === undefined ? {} : { json })
  const upload = async (base: string, content: string) => {
    const file = { fileName: 'a.md', contentType: 'text/markdown', bytes: Buffer.byteLength(content) }
    const { document, upload } = dataOf(
      await send('POST', `/${base}/documents/upload-url`, file),
    ) as unknown as {
      document: { id: string }
      upload: { url: string; headers: Record<string, string> }
    }
    await fetch(upload.url, { method: 'PUT', body: content, headers: upload.headers })
    return document.id
  }
  const build = async (base: string, models: BuildModels) => {
    const { build } = dataOf(await send('POST', `/${base}/build`)) as unknown as { build: { id: string } }
    const handlers = [
      buildHandler({ db, objects, clock, log: silentLog, documents: inProcessReader, models }),
    ]
    const runner = openJobRunner({ db, clock, log: silentLog, handlers })
    let idle = false
    const ended = runner.idle().then(() => {
      idle = true
    })
    // Pauses between the attempts of a request.
    while (!idle) {
      clock.advance(100)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await ended
    await runner.close()
    return dataOf(await send('GET', `/${base}/builds/${build.id}`))
  }
  const search = async (base: string, query: string) =>
    itemsOf(await send('GET', `/${base}/search?limit=3&query=${encodeURIComponent(query)}`))
  const requests = (path: string) => fake.requests.filter((request) => request.path === `/v1/${path}`).length
  fake.setDefault('embeddings', wordVectorReply(ALIKE))

  const base = String(dataOf(await send('POST', '', { name: 'Help' })).id)
  await t.test('a Hindi question finds an English passage by its meaning', async (t) => {
    await upload(base, FEES)
    await upload(base, BRANCHES)
    const embedder = embedderOf('fake')
    t.match(await build(base, { embedder, questions: null }), {
      status: 'completed',
      embeddingModel: 'fake',
      warnings: [],
      modelTokens: { embedding: 14, prompt: 0, completion: 0 },
    })
    t.match(await search(base, 'देर जुर्माना'), [{ text: /450/, matched: ['vectors'] }])
    t.match(await search(base, 'late fee'), [{ text: /450/, matched: ['words', 'sounds', 'vectors'] }])
    const before = requests('embeddings')
    await search(base, 'late fee')
    t.equal(requests('embeddings'), before, 'the vector of the same question is kept')
    t.match(await build(base, { embedder, questions: null }), { modelTokens: { embedding: 0 } })
    t.equal(requests('embeddings'), before, 'nothing has changed')
  })

  await t.test('a build is never searched with the vectors of another model', async (t) => {
    t.match(await build(base, { embedder: embedderOf('other'), questions: null }), {
      embeddingModel: 'other',
    })
    t.same(await search(base, 'देर जुर्माना'), [])
    t.match(await search(base, 'late fee'), [{ text: /450/, matched: ['words', 'sounds'] }])
    const kept = await db.selectFrom('knowledgeExtras').select('model').distinct().execute()
    t.same(kept, [{ model: 'other' }], 'the vectors of the earlier model are gone')
  })

  await t.test(
    'a vendor that is down costs a warning, and the next build asks for the rest only',
    async (t) => {
      const embedder = embedderOf('fake')
      const down = jsonReply(errorBody('The server is overloaded'), 503, { 'retry-after-ms': '1' })
      const before = requests('embeddings')
      fake.setDefault('embeddings', down)
      t.match(await build(base, { embedder, questions: null }), {
        status: 'completed',
        embeddingModel: null,
        warnings: [
          /^This build is searched by words only.*fake.*503: The server is overloaded.*2 of 2 passages/,
        ],
      })
      t.equal(requests('embeddings') - before, 8, 'each of four attempts is repeated once')
      t.match(await search(base, 'late fee'), [{ text: /450/, matched: ['words', 'sounds'] }])
      fake.setDefault('embeddings', jsonReply(errorBody('Incorrect API key provided'), 401))
      t.match(await build(base, { embedder, questions: null }), { warnings: [/401: Incorrect API key/] })
      fake.setDefault('embeddings', wordVectorReply(ALIKE))
      t.match(await build(base, { embedder, questions: null }), { embeddingModel: 'fake', warnings: [] })
      t.match(await search(base, 'देर जुर्माना'), [{ matched: ['vectors'] }])
      fake.setDefault('embeddings', down)
      t.match(await search(base, 'what is the late fee'), [{ matched: ['words', 'sounds'] }], 'words go on')
      fake.setDefault('embeddings', wordVectorReply(ALIKE))
    },
  )

  await t.test('questions are made once for each passage, up to the limit', async (t) => {
    const asked: string[] = []
    fake.setDefault('chat', ({ body }) => {
      const { messages } = JSON.parse(body.toString()) as { messages: { content: string }[] }
      asked.push(messages.at(-1)?.content ?? '')
      const made = /450/.test(asked.at(-1) ?? '') ? ['jurmana kitna hai', ' '] : []
      return eventStream(chatFrames(['```json\n', JSON.stringify(made), '\n```']))
    })
    t.match(await build(base, { embedder: null, questions: { ...questions, limit: 1 } }), {
      warnings: [/1 of 2 passages have no questions yet: a build asks about 1 passages/],
      modelTokens: { embedding: 0, prompt: 9, completion: 5 },
    })
    t.match(await build(base, { embedder: null, questions }), { warnings: [], embeddingModel: null })
    t.equal(asked.length, 2)
    t.match(asked.join(), /Passage:\na\.md\nFees\nThe late fee/)
    t.match(await search(base, 'जुर्माना'), [{ text: /450/, matched: ['questions'] }])
    await upload(base, '# Refunds\n\nRefunds take five days.')
    await build(base, { embedder: null, questions })
    t.equal(asked.length, 3, 'only the new passage')
    fake.setDefault('chat', eventStream(chatFrames(['I cannot help with that.'])))
    await upload(base, '# Pets\n\nPets cost extra.')
    t.match(await build(base, { embedder: null, questions }), {
      status: 'completed',
      warnings: [/1 of 4 passages have no questions of fake-chat: the model answered with something else/],
    })
    t.match(await search(base, 'pets'), [{ matched: ['words', 'sounds'] }])
    t.match(await search(base, 'जुर्माना'), [{ matched: ['questions'] }], 'the others keep theirs')
  })

  await t.test('what was made is deleted with its passages and its base', async (t) => {
    const count = async () => (await db.selectFrom('knowledgeExtras').select('hash').execute()).length
    const [newest] = itemsOf(await send('GET', `/${base}/documents`))
    const before = await count()
    await send('DELETE', `/${base}/documents/${itemsOf(await send('GET', `/${base}/documents`)).at(-1)?.id}`)
    t.ok(newest)
    await build(base, { embedder: embedderOf('fake'), questions })
    t.ok((await count()) > 0 && before > 0)
    const rows = await db.selectFrom('knowledgeExtras').select(['kind', 'hash']).execute()
    t.equal(rows.filter(({ kind }) => kind === 'vector').length, 3)
    t.equal((await send('DELETE', `/${base}`)).status, 204)
    t.equal(await count(), 0)
  })

  vectors.close()
  await calling.close()
  await fake.close()
})
