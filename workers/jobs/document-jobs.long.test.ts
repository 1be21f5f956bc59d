import t from 'tap'
import { HOSTILE_PDFS, pdfOfManyPages, pdfWithObjectStream } from '../../fixtures/knowledge/documents.js'
import { systemClock } from '../../media/base/clock.js'
import { DocumentJobs } from './document-jobs.js'

/* PDF bombs under the limits of the service, each of them a small file. */

const BOMBS: Readonly<Record<string, () => Buffer>> = {
  'an object stream of a gibibyte': () => pdfWithObjectStream(1024),
  'drawings that double forty times': HOSTILE_PDFS.doublingForms,
  'as many pages as are allowed': () => pdfOfManyPages(10_000),
}

const jobs = new DocumentJobs({ clock: systemClock })
t.teardown(() => jobs.close())

for (const [name, make] of Object.entries(BOMBS)) {
  t.test(name, { timeout: 300_000 }, async (t) => {
    const bytes = make()
    t.ok(bytes.length < 4 * 1024 * 1024, `${bytes.length} bytes`)
    // Which limit comes first depends on the host.
    const reason = /^The document (takes (more than a minute|too much memory) to read|contains no text)/
    t.match(await jobs.read('org', 'application/pdf', bytes), { kind: 'refused', reason })
    t.match(await jobs.read('org', 'text/plain', Buffer.from('Still here.')), { kind: 'passages' })
  })
}
