import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dataOf, itemsOf, openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { inProcessReader } from '../../fixtures/knowledge/in-process.js'
import { SearchResultText } from '../../media/agent/llm/retrieval.js'
import { silentLog } from '../../media/base/log.js'
import { projectRoot } from '../../media/base/project-root.js'
import type { DocumentReader } from '../../workers/jobs/document-jobs.js'
import { rootKeyOf } from '../base/root-key.js'
import { openJobRunner } from '../jobs/runner.js'
import { openEgress } from '../net/egress.js'
import { writeObject } from '../objects/whole-object.js'
import { openAgentTools } from '../tools/runner.js'
import { serviceTools } from '../tools/service-tools.js'
import { sweepUploads } from '../uploads/store.js'
import { buildHandler } from './build-job.js'
import { sweepKnowledge } from './retention.js'

const DAY_MS = 24 * 3_600_000
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const BROKEN = Buffer.from('PK\u0003\u0004 broken')
const models = { embedder: null, questions: null }
const FEES = '# Fees\n\nThe late fee is 450 rupees.\n\n# Branches\n\nThe Pune branch opens at ten.'

await onEachDialect(t, async (t, open) => {
  const database = await open()
  const calling = await openTestCalling(database)
  const { clock, deps } = calling
  const { db, objects } = deps
  const send = async (method: string, path: string, json?: object) =>
    calling.send(method, `/v1/knowledge-bases${path}`, json === undefined ? {} : { json })
  const created = async (name = 'Help') => String(dataOf(await send('POST', '', { name })).id)
  const upload = async (base: string, content: string | Uint8Array, contentType = 'text/markdown') => {
    const bytes = Buffer.from(content)
    const file = { fileName: 'Fees.md', contentType, bytes: bytes.length }
    const answer = await send('POST', `/${base}/documents/upload-url`, file)
    t.equal(answer.status, 201)
    const { document, upload } = dataOf(answer) as unknown as {
      document: { id: string; status: string }
      upload: { url: string; headers: Record<string, string> }
    }
    t.equal(document.status, 'awaiting_upload')
    const put = await fetch(upload.url, { method: 'PUT', body: bytes, headers: upload.headers })
    return { id: document.id, status: put.status }
  }
  const build = async (base: string, reader: DocumentReader = inProcessReader) => {
    const answer = await send('POST', `/${base}/build`)
    t.equal(answer.status, 202)
    await runJobs(reader)
    return dataOf(await send('GET', `/${base}/builds/${(dataOf(answer).build as { id: string }).id}`))
  }
  const runJobs = async (documents: DocumentReader) => {
    const handlers = [buildHandler({ db, objects, clock, log: silentLog, documents, models })]
    const runner = openJobRunner({ db, clock, log: silentLog, handlers })
    await runner.idle()
    await runner.close()
  }
  const objectKeys = async () => {
    const keys: string[] = []
    for (const prefix of ['knowledge/', 'documents/']) {
      for await (const { key } of objects.list(prefix)) keys.push(key)
    }
    return keys
  }

  await t.test(
    'pages that cannot be read are left out and named, also of a text that was stored before',
    async (t) => {
      const base = await created()
      const file = (name: string) => readFileSync(join(projectRoot, 'fixtures/oddities/documents', name))
      const mixed = await upload(base, file('second-page-unread.pdf'), 'application/pdf')
      const unread = await upload(base, file('hindi-pdfkit.pdf'), 'application/pdf')
      const warnings = [/^Fees\.md: The words of page 2 cannot be read: .* They are left out\./]
      const built = { status: 'completed', chunkCount: 1, warnings }
      t.match(await build(base), built)
      t.match(dataOf(await send('GET', `/${base}/documents/${mixed.id}`)), { status: 'ready', error: null })
      t.match(dataOf(await send('GET', `/${base}/documents/${unread.id}`)), {
        status: 'error',
        error: /^The words of page 1 cannot be read: the vowel signs stand in the order/,
      })
      const refused: DocumentReader = {
        ...inProcessReader,
        read: () => Promise.reject(new Error('read again')),
      }
      await send('DELETE', `/${base}/documents/${unread.id}`)
      t.match(await build(base, refused), built, 'the stored text keeps its warnings')
      const stored = await db
        .selectFrom('knowledgeDocuments')
        .select('textKey')
        .where('id', '=', mixed.id)
        .executeTakeFirstOrThrow()
      const earlier = [{ text: '\u0000\u0000', heading: '', page: 1, line: null }]
      await writeObject(objects, String(stored.textKey), Buffer.from(JSON.stringify(earlier)))
      t.match(await build(base), built, 'a text that was not judged is read again')
    },
  )

  await t.test('a document is uploaded, built and found', async (t) => {
    const base = await created()
    t.match(dataOf(await send('GET', `/${base}`)), { status: 'empty', deliveryMode: 'pending', docCount: 0 })
    t.match(await send('GET', `/${base}/search?query=fee`), {
      status: 409,
      body: { error: { code: 'knowledge_base_not_ready', details: { knowledgeBaseIds: [base] } } },
    })
    t.equal((await send('POST', `/${base}/build`)).status, 422, 'no documents')
    const { id, status } = await upload(base, FEES)
    t.equal(status, 204)
    t.match(dataOf(await send('GET', `/${base}/documents/${id}`)), { status: 'uploaded', chunkCount: null })
    t.match(await build(base), { status: 'completed', documents: 1, documentsDone: 1, chunkCount: 2 })
    t.match(dataOf(await send('GET', `/${base}`)), {
      status: 'ready',
      deliveryMode: 'inline',
      docCount: 1,
      totalBytes: FEES.length,
      chunkCount: 2,
    })
    t.match(itemsOf(await send('GET', `/${base}/documents`)), [{ id, status: 'ready', chunkCount: 2 }])
    t.match(itemsOf(await send('GET', `/${base}/search?query=how+much+is+the+late+fee&limit=1`)), [
      {
        text: 'The late fee is 450 rupees.',
        heading: 'Fees',
        documentId: id,
        index: 0,
        page: null,
        matched: ['words', 'sounds'],
      },
    ])
    t.same(itemsOf(await send('GET', `/${base}/search?query=zebra`)), [])
    const [event] = itemsOf(await calling.send('GET', '/v1/events?type=knowledge.build.completed'))
    const { payload } = dataOf(await calling.send('GET', `/v1/events/${event?.id}`))
    t.match(payload, { environment: null, data: { knowledgeBase: { id: base }, build: { documents: 1 } } })
  })

  await t.test('a document that cannot be read says why; the last good build serves', async (t) => {
    const base = await created()
    const good = await upload(base, FEES)
    await build(base)
    const bad = await upload(base, BROKEN, DOCX)
    t.match(await build(base), { status: 'completed', documents: 2, chunkCount: 2 })
    t.match(dataOf(await send('GET', `/${base}/documents/${bad.id}`)), { status: 'error', error: /damaged/ })
    t.equal((await send('DELETE', `/${base}/documents/${good.id}`)).status, 204)
    t.match(await build(base), { status: 'failed', error: /None of the documents/ })
    t.match(dataOf(await send('GET', `/${base}`)), { status: 'ready', error: null, chunkCount: 2 })
    t.equal(itemsOf(await send('GET', `/${base}/search?query=late+fee&limit=1`)).length, 1)
    const other = await created()
    await upload(other, BROKEN, DOCX)
    await build(other)
    t.match(dataOf(await send('GET', `/${other}`)), { status: 'error', error: /None of/, chunkCount: null })
    const events = itemsOf(await calling.send('GET', '/v1/events?type=knowledge.build.failed'))
    t.equal(events.length, 2, 'one event for each build that failed')
    const { payload } = dataOf(await calling.send('GET', `/v1/events/${events[0]?.id}`))
    t.match(payload, { data: { knowledgeBase: { id: other }, build: { error: /None of the documents/ } } })
  })

  await t.test('one build of a base at a time', async (t) => {
    const base = await created()
    await upload(base, FEES)
    const answers = await Promise.all([send('POST', `/${base}/build`), send('POST', `/${base}/build`)])
    t.same(answers.map(({ status }) => status).sort(), [202, 409])
    t.equal(dataOf(await send('GET', `/${base}`)).status, 'processing')
    await runJobs(inProcessReader)
    t.equal(itemsOf(await send('GET', `/${base}/builds`)).length, 1)
  })

  await t.test('after a crash a build goes on with the documents that are left', async (t) => {
    const base = await created()
    await upload(base, FEES)
    await upload(base, `${FEES} Again.`)
    await send('POST', `/${base}/build`)
    let reads = 0
    const crashing: DocumentReader = {
      ...inProcessReader,
      read: (...file) => {
        if (++reads === 2) throw new Error('killed')
        return inProcessReader.read(...file)
      },
    }
    const handlers = [buildHandler({ db, objects, clock, log: silentLog, documents: crashing, models })]
    const runner = openJobRunner({ db, clock, log: silentLog, handlers })
    await runner.idle()
    t.match(itemsOf(await send('GET', `/${base}/builds`)), [{ status: 'processing', documentsDone: 1 }])
    t.equal(dataOf(await send('GET', `/${base}`)).chunkCount, null, 'nothing is half visible')
    clock.advance(60_000)
    await runner.idle()
    await runner.close()
    t.equal(reads, 3, 'the first document was not read again')
    t.match(itemsOf(await send('GET', `/${base}/builds`)), [{ status: 'completed', documentsDone: 2 }])
  })

  await t.test('an index over a limit of its build is told, and is not repeated', async (t) => {
    const base = await created()
    await upload(base, FEES)
    await send('POST', `/${base}/build`)
    const reason = 'The 2 passages of the documents (60 characters) take more than 300 seconds to index.'
    let built = 0
    await runJobs({
      ...inProcessReader,
      index: async () => {
        built++
        return { kind: 'refused', reason }
      },
    })
    t.match(itemsOf(await send('GET', `/${base}/builds`)), [{ status: 'failed', error: reason }])
    t.equal(built, 1)
  })

  await t.test('types and sizes are checked before and while the bytes arrive', async (t) => {
    const base = await created()
    const ask = (json: object) => send('POST', `/${base}/documents/upload-url`, json)
    const bytes = 20 * 1024 * 1024 + 1
    t.match(await ask({ fileName: 'a', contentType: 'text/plain', bytes }), {
      status: 413,
      body: { error: { code: 'document_too_large' } },
    })
    t.equal((await ask({ fileName: 'a', contentType: 'image/png', bytes: 1 })).status, 400)
    const wrong: readonly (readonly [string, Uint8Array])[] = [
      ['text/plain', Buffer.from('%PDF-1.7 a PDF document')],
      ['text/csv', Buffer.from([0x50, 0x4b, 0x03, 0x04, 0, 0, 0, 0])],
      ['text/plain', Buffer.from([1, 2, 0, 4, 5, 6, 7, 8])],
      [DOCX, Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1, 1, 1, 1])],
    ]
    for (const [contentType, content] of wrong) {
      t.equal((await upload(base, content, contentType)).status, 422, contentType)
    }
    const first = dataOf(await ask({ fileName: 'b', contentType: 'text/plain', bytes: 3 }))
    const again = dataOf(await ask({ fileName: 'b', contentType: 'text/plain', bytes: 3 }))
    t.match(
      again,
      { document: { id: (first.document as { id: string }).id } },
      'a new address, the same document',
    )
  })

  await t.test('agents are attached in their drafts, and a base in use stays', async (t) => {
    const base = await created()
    await upload(base, FEES)
    await build(base)
    const agent = await calling.publishAgent()
    t.match(await send('PATCH', `/${base}`, { agentIds: [agent], name: 'Prices' }), {
      status: 200,
      body: { data: { name: 'Prices', agentCount: 1 } },
    })
    t.match(itemsOf(await send('GET', `/${base}/agents`)), [
      { id: agent, inDraft: true, inPublished: false, publishedVersion: 1 },
    ])
    t.match(await send('PATCH', `/${base}`, { agentIds: ['agt_none'] }), { status: 404 })
    const version = dataOf(await calling.send('POST', `/v1/agents/${agent}/publish`))
    t.match(version.knowledge, [{ id: base, buildId: /^bld_/, mode: 'inline' }])
    t.match(await send('PATCH', `/${base}`, { agentIds: [] }), { body: { data: { agentCount: 1 } } })
    t.equal((await send('DELETE', `/${base}`)).status, 409, 'the published version uses it')
    await calling.send('POST', `/v1/agents/${agent}/publish`)
    t.equal((await send('DELETE', `/${base}`)).status, 204)
    t.equal((await send('GET', `/${base}`)).status, 404)
  })

  await t.test('a call gets small bases in its prompt and a search over large ones', async (t) => {
    const [small, large, unbuilt] = [await created('Small'), await created('Large'), await created('Unbuilt')]
    await upload(small, FEES)
    await upload(large, `${FEES}\n\n${'A long sentence about something else. '.repeat(700)}`)
    await build(small)
    t.match(await build(large), { status: 'completed' })
    t.equal(dataOf(await send('GET', `/${large}`)).deliveryMode, 'search')
    await calling.publishAgent({ knowledgeBaseIds: [small, large] })
    const call = { to: '+919000000010', numberId: calling.numberId }
    t.equal((await calling.send('POST', '/v1/calls', { json: call })).status, 201)
    const party = calling.control.dialled.at(-1)?.plan.party
    t.match(party, {
      kind: 'agent',
      agent: {
        knowledge: [{ mode: 'inline', name: 'Small', text: /The late fee is 450 rupees/ }],
        tools: [{ name: '#knowledge', action: { kind: 'knowledge', bases: [{ id: large }] } }],
      },
    })
    const tool = party?.kind === 'agent' ? party.agent.tools[0] : undefined
    if (tool === undefined) throw new Error('the agent has no search')
    const [placed] = itemsOf(await calling.send('GET', '/v1/calls'))
    const tools = openAgentTools({
      ...{ db, clock, log: silentLog, knowledge: deps.knowledge, services: serviceTools({}) },
      ...{ rootKey: rootKeyOf(Buffer.alloc(32, 7)), egress: openEgress({ allowPrivate: false }) },
    })
    const searched = async (query: string) => {
      const result = await tools.run(String(placed?.id), tool, { query, context: '' })
      return SearchResultText.parse(JSON.parse(result))
    }
    const fee = { text: 'The late fee is 450 rupees.', heading: 'Fees', knowledgeBaseId: large }
    t.match(await searched('late fee'), { passages: [{ ...fee, documentName: 'Fees.md' }], more: false })
    t.same(await searched('zebra'), { passages: [], more: false, near: false })
    // The build that the call began with goes with the next one and the sweep.
    await build(large)
    while (await sweepKnowledge(db, Date.now() + 2 * DAY_MS, objects));
    t.match(await searched('what is the fee'), { passages: [fee] }, 'the build that serves now is searched')
    t.match(await tools.run('call_nobody', tool, { query: 'late fee' }), /^Failed: the call is not known/)
    await calling.publishAgent({ knowledgeBaseIds: [unbuilt] })
    t.match(await calling.send('POST', '/v1/calls', { json: call }), {
      status: 409,
      body: { error: { code: 'knowledge_base_not_ready', details: { knowledgeBaseIds: [unbuilt] } } },
    })
  })

  await t.test('other organizations have none of it', async (t) => {
    const base = await created()
    const { id } = await upload(base, FEES)
    const { testKey: key } = await calling.anotherOrganization()
    const paths = ['', '/documents', `/documents/${id}`, '/builds', '/agents', '/search?query=fee']
    for (const path of paths) {
      t.equal((await calling.send('GET', `/v1/knowledge-bases/${base}${path}`, { key })).status, 404, path)
    }
    t.equal((await calling.send('POST', `/v1/knowledge-bases/${base}/build`, { key })).status, 404)
    t.equal(
      (await calling.send('DELETE', `/v1/knowledge-bases/${base}/documents/${id}`, { key })).status,
      404,
    )
    t.equal((await calling.send('DELETE', `/v1/knowledge-bases/${base}`, { key })).status, 404)
    const agent = { name: 'Other', systemPrompt: 'x', knowledgeBaseIds: [base] }
    t.equal((await calling.send('POST', '/v1/agents', { key, json: agent })).status, 404)
  })

  await t.test('the sweeps leave the objects that serve', async (t) => {
    const { db: tables } = deps
    await tables.deleteFrom('knowledgeUses').execute()
    for (const { id } of itemsOf(await send('GET', '?limit=100'))) {
      await send('DELETE', `/${id}`)
    }
    const base = await created()
    const kept = await upload(base, FEES)
    const gone = await upload(base, `${FEES} Gone.`)
    await build(base)
    await send('DELETE', `/${base}/documents/${gone.id}`)
    await build(base)
    await send('POST', `/${base}/documents/upload-url`, {
      fileName: 'x',
      contentType: 'text/plain',
      bytes: 9,
    })
    // Objects have the time of the file system.
    const later = Date.now() + 2 * DAY_MS
    clock.advance(2 * DAY_MS)
    await sweepUploads(db, objects, clock.wall())
    await sweepKnowledge(db, later, objects)
    t.same(
      (await objectKeys()).map((key) => key.replace(/^documents.*/, 'document').replace(/bld_\w+/, 'bld')),
      [`knowledge/${base}/bld.index`, `knowledge/${base}/${kept.id}.v1.json`, 'document'],
    )
    t.match(itemsOf(await send('GET', `/${base}/documents`)), [{ id: kept.id, status: 'ready' }])
    t.equal(itemsOf(await send('GET', `/${base}/search?query=late+fee&limit=1`)).length, 1)
  })

  await calling.close()
})
