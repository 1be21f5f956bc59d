import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { silentLog } from '../../media/base/log.js'
import type { PdfDocument } from './pdf/document.js'
import { PdfJobs } from './pdf-jobs.js'

assertNothingLeft(t)

const documentOf = (text: string): PdfDocument => ({
  title: 'Evidence',
  createdAt: 0,
  footer: 'Parley',
  blocks: [{ kind: 'paragraph', text }],
})

t.test('documents are rendered in another thread, and closing waits for them', async (t) => {
  const jobs = new PdfJobs({ log: silentLog })
  const one = jobs.render(documentOf('नमस्ते'))
  const tooLong = jobs.render(documentOf('x'.repeat(200_001)))
  const refused = t.rejects(tooLong, { code: 'overloaded', message: /200000 characters/ })
  const closing = jobs.close()
  t.equal(jobs.close(), closing)
  t.equal(Buffer.from(await one).toString('latin1', 0, 5), '%PDF-')
  await refused
  await closing
  await t.rejects(jobs.render(documentOf('late')), { code: 'closed' })
})

t.test('the queue is bounded', async (t) => {
  const jobs = new PdfJobs({ log: silentLog })
  const renders = Array.from({ length: 33 }, () => jobs.render(documentOf('x')))
  const results = await Promise.allSettled(renders)
  t.same(
    results.map(({ status }) => status),
    [...Array.from({ length: 32 }, () => 'fulfilled'), 'rejected'],
  )
  const last = results.at(-1)
  t.match(last, { reason: { code: 'overloaded', message: 'the PDF queue is full' } })
  await jobs.close()
})
