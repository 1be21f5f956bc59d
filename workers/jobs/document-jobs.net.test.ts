import { setImmediate as endOfTurn } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { POLL_MS } from '../../fixtures/host/deadlines.js'
import {
  docx,
  HOSTILE_PDFS,
  pdf,
  pdfInFont,
  pdfOfManyPages,
  pdfWithObjectStream,
} from '../../fixtures/knowledge/documents.js'
import { systemClock } from '../../media/base/clock.js'
import { PassageIndex } from '../../media/knowledge/passage-index.js'
import { DocumentJobs } from './document-jobs.js'

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const PDF = 'application/pdf'
const MIB = 1024 * 1024
const ENTITY = '<!DOCTYPE a [<!ENTITY b "c">]>'

const jobs = new DocumentJobs({ clock: systemClock })
t.teardown(() => jobs.close())
const texts = async (contentType: string, bytes: Uint8Array): Promise<readonly string[] | string> => {
  const outcome = await jobs.read('org', contentType, bytes)
  return outcome.kind === 'refused' ? outcome.reason : outcome.passages.map(({ text }) => text)
}

t.test('each type is read', async (t) => {
  t.same(await texts('text/plain', Buffer.from('One.\n\nTwo.')), ['One.\nTwo.'])
  t.same(await texts('text/plain', Buffer.from('\ufeffशुल्क', 'utf16le')), ['शुल्क'])
  t.same(await texts('text/plain', Buffer.from([0x63, 0x61, 0x66, 0xe9])), ['café'])
  t.same(await texts('text/csv', Buffer.from('Plan,Price\nGold,500\nSilver,300')), [
    'Plan: Gold; Price: 500\nPlan: Silver; Price: 300',
  ])
  t.same(await texts('text/html', Buffer.from('<nav>Menu</nav><p>A&amp;B</p><script>x()</script>')), ['A&B'])
  t.same(await texts(DOCX, docx(['Refunds take five days.'])), ['Refunds take five days.'])
  t.same(await texts(PDF, await pdf(['The fee is 450 rupees.'])), ['The fee is 450 rupees.'])
  const { passages } = (await jobs.read('org', PDF, await pdf(['The first page.', 'The second page.']))) as {
    passages: readonly { page: number }[]
  }
  t.same(
    passages.map(({ page }) => page),
    [1],
    'short pages share a passage, which begins on the first',
  )
})

t.test('a hostile document is refused with a reason, and the next one is read', async (t) => {
  const zeros = Buffer.alloc(70 * MIB)
  const cases: readonly (readonly [string, Uint8Array, RegExp])[] = [
    [DOCX, docx(['a'], { more: [{ name: 'word/a.bin', content: zeros, statedBytes: 10 }] }), /far more data/],
    [DOCX, docx(['&b;'], { prologue: ENTITY }), /XML entities/],
    [DOCX, docx(['&b;'], { prologue: `<!--${' '.repeat(5000)}-->${ENTITY}` }), /XML entities/],
    [DOCX, docx(['&b;'], { prologue: `<!--${'-'.repeat(200_001)}-->${ENTITY}` }), /XML entities/],
    [DOCX, docx(['&b;'], { prologue: `<?a ${'?'.repeat(5000)}?>${ENTITY}` }), /XML entities/],
    [DOCX, docx([`&b;${ENTITY}`]), /XML entities/],
    [DOCX, docx(['a'], { prologue: `<!-- ${ENTITY}` }), /damaged/],
    [DOCX, docx(['a'], { more: [{ name: 'x', content: Buffer.from('x'), flags: 1 }] }), /password/],
    [DOCX, Buffer.from('PK\u0003\u0004 nothing else'), /damaged/],
    [PDF, Buffer.from('%PDF-1.7 nothing else'), /damaged/],
    [PDF, await pdf(['secret'], 'a password'), /password/],
    [PDF, pdfOfManyPages(10_001), /10001 pages/],
    [PDF, pdfOfManyPages(3), /no text/],
    [PDF, HOSTILE_PDFS.nestedArrays(), /damaged/],
    [PDF, HOSTILE_PDFS.deepTree(), /no text/],
    [PDF, HOSTILE_PDFS.cycle(), /damaged/],
    [PDF, pdfWithObjectStream(1), /no text/],
    [PDF, pdfInFont('KrutiDev010', 'vkidk [kkrk lfØ; gS'), /before Unicode/],
    [PDF, pdfInFont('ABCDEF+Shree-Dev-0708', 'vkidk [kkrk lfØ; gS'), /before Unicode/],
    ['text/csv', Buffer.from(`a\n"${'x'.repeat(200_000)}"`), /not valid CSV/],
    ['text/plain', Buffer.from(' \n '), /no text/],
    ['image/png', Buffer.from('x'), /cannot be read/],
  ]
  for (const [contentType, bytes, reason] of cases) t.match(await texts(contentType, bytes), reason)
  t.same(await texts('text/plain', Buffer.from('Still here.')), ['Still here.'])
})

t.test('what only looks like a hostile document is read', async (t) => {
  const prologue = `<!-- ${ENTITY} --><?note ${ENTITY} ?>`
  const page = Buffer.from(`<page><![CDATA[${ENTITY}]]></page>`)
  const more = [{ name: 'customXml/item1.xml', content: page }]
  t.same(await texts(DOCX, docx(['a'], { prologue, more })), ['a'])
  t.same(await texts(PDF, pdfInFont('Times-Roman', 'The fee is 450.')), ['The fee is 450.'])
})

t.test('deep nesting costs nothing', async (t) => {
  const depth = 20_000
  t.same(await texts('text/html', Buffer.from(`${'<div>'.repeat(depth)}deep`)), ['deep'])
  t.match(await texts('text/markdown', Buffer.from(`${'>'.repeat(50_000)} deep`)), /no text/)
})

t.test('a document that takes too long or too much memory ends, and the next one is read', async (t) => {
  // A page whose content unpacks to many megabytes of operators.
  const bomb = bombPdf(deflateSync(Buffer.alloc(32 * MIB, 'BT (a) Tj ET\n')))
  for (const [limits, reason] of [
    [{ limitMs: 1 }, /more than a minute/],
    [{ limitBytes: MIB }, /too much memory/],
    // The reader of PDF documents alone needs more.
    [{ heapMib: 8 }, /too much memory/],
  ] as const) {
    const limited = new DocumentJobs({ clock: systemClock, ...limits })
    const outcome = await limited.read('org', PDF, bomb)
    t.match(outcome, { kind: 'refused', reason })
    await limited.close()
  }
})

t.test('an index is built, and what is closed rejects', async (t) => {
  const passage = { text: 'The late fee is 450 rupees.', heading: '', page: null }
  const built = await jobs.index('org', [{ id: 'doc_1', name: 'Fees', passages: [passage] }])
  if (built.kind === 'refused') throw new Error(built.reason)
  const [found] = new PassageIndex(Buffer.from(built.bytes)).search({ text: 'late fee' }, 1)
  t.match(found, { ...passage, documentId: 'doc_1' })
  const closed = new DocumentJobs({ clock: systemClock })
  await closed.close()
  await t.rejects(closed.read('org', 'text/plain', Buffer.from('a')), { code: 'closed' })
})

t.test('an index over a limit is refused with its size and the limit', async (t) => {
  const letters = 'bcdfghjklmnpqrst'
  // Each word occurs once: an index of 180,000 words takes far more than 16 MiB.
  const word = (number: number) =>
    number
      .toString(16)
      .padStart(6, '0')
      .replace(/./g, (digit) => letters[parseInt(digit, 16)] ?? '')
  const passages = Array.from({ length: 2_000 }, (_, n) => {
    const text = Array.from({ length: 90 }, (_, at) => word(90 * n + at)).join(' ')
    return { text, heading: '', page: null }
  })
  const documents = [{ id: 'doc_1', name: 'Fees', passages }]
  const size = /^The 2000 passages of the documents \(12\d{5} characters\) take more than /
  for (const [limits, afterMs, limit] of [
    [{ limitMs: 200 }, 200, /0\.2 seconds to index\. Delete documents\.$/],
    [{ limitBytes: MIB }, 250, /1 MiB of memory/],
    [{ heapMib: 16 }, 0, /16 MiB of memory/],
  ] as const) {
    const clock = new VirtualClock()
    const limited = new DocumentJobs({ clock, ...limits })
    const building = limited.index('org', documents)
    // The process begins in this turn, long before it has an index.
    await endOfTurn()
    clock.advance(afterMs)
    // On a loaded host it has no memory yet when that is looked at for the first time.
    const looks = setInterval(() => clock.advance(afterMs), POLL_MS)
    const built = await building.finally(() => clearInterval(looks))
    t.match(built, { kind: 'refused', reason: size })
    t.match(built, { reason: limit })
    await limited.close()
  }
})

function bombPdf(content: Buffer): Buffer {
  const head = Buffer.from(
    '%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n' +
      '2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n' +
      '3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>\nendobj\n' +
      `4 0 obj\n<< /Length ${content.length} /Filter /FlateDecode >>\nstream\n`,
  )
  return Buffer.concat([head, content, Buffer.from('\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF')])
}

t.test('owners take turns, and each has few places', async (t) => {
  const shared = new DocumentJobs({ clock: systemClock })
  const done: string[] = []
  const read = (owner: string, name: string): Promise<void> =>
    shared.read(owner, 'text/plain', Buffer.from(name)).then(
      () => void done.push(name),
      (error: { readonly code?: string }) => void done.push(`${name} ${error.code}`),
    )
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2'].map((name) => read(name.slice(0, 1), name))
  await Promise.all(all)
  t.equal(done.shift(), 'a5 overloaded', 'four of an owner wait or run')
  t.same(done, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  await read('a', 'a6')
  t.equal(done.at(-1), 'a6', 'the places are free again')
  await shared.close()
})
