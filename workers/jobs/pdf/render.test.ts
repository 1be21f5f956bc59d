import { inflateSync } from 'node:zlib'
import decodeQr from 'qr/decode.js'
import t from 'tap'
import type { PdfBlock, PdfDocument } from './document.js'
import { renderPdf } from './render.js'

function documentOf(blocks: readonly PdfBlock[]): PdfDocument {
  return { title: 'Invoice / चालान', createdAt: Date.UTC(2026, 2, 2), footer: 'Smile Dental Clinic', blocks }
}

const pagesOf = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type \/Page\n/g)?.length ?? 0

/** Returns the drawing commands of each page: content streams come first and have no other kind of stream's marks. */
function drawings(pdf: Buffer): string[] {
  const found: string[] = []
  for (let at = pdf.indexOf('stream\n'); at >= 0; at = pdf.indexOf('stream\n', at + 1)) {
    if (pdf.toString('latin1', at - 3, at) === 'end') continue
    const end = pdf.indexOf('\nendstream', at)
    const text = inflateSync(pdf.subarray(at + 7, end)).toString('latin1')
    if (/\bBT\b/.test(text)) found.push(text)
  }
  return found
}

type Rectangle = readonly [x: number, y: number, width: number, height: number]

/** Returns the rectangles of each QR code of a page, from its top left corner. */
function darkSquares(page: string): Rectangle[][] {
  return page.split('\nf\n').flatMap((part) => {
    const found = [...part.matchAll(/^([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) re$/gm)]
    const rectangles = found.map(([, ...sizes]) => sizes.map(Number) as unknown as Rectangle)
    const [first] = rectangles
    if (first === undefined) return []
    const top = first[1] - 4 * first[3]
    return [rectangles.map(([x, y, width, height]) => [x - 50, y - top, width, height] as const)]
  })
}

const TABLE: PdfBlock = {
  kind: 'table',
  columns: [
    { title: 'Description', share: 3 },
    { title: 'Amount', share: 1, align: 'right' },
  ],
  rows: Array.from({ length: 100 }, (_, index) => [`Calls of day ${index}`, `₹ ${index}.50`]),
}

t.test('a table goes on at the next page below its header, and each page has a footer', async (t) => {
  const pdf = await renderPdf(documentOf([TABLE]))
  t.equal(pdf.toString('latin1', 0, 5), '%PDF-')
  t.equal(pagesOf(pdf), 3)
  const pages = drawings(pdf)
  t.equal(pages.length, 3)
  const lines = pages.map((page) => page.match(/ l\n/g)?.length ?? 0)
  t.same(lines, [1, 1, 1], 'the line below the header on each page')
  const texts = pages.map((page) => page.match(/\bBT\b/g)?.length ?? 0)
  t.ok(
    texts.every((count) => count > 10),
    `${texts}`,
  )
})

t.test('nothing is drawn outside the page', async (t) => {
  const long: PdfBlock[] = [
    { kind: 'heading', text: 'Long words' },
    { kind: 'paragraph', text: `${'क्षत्रिय'.repeat(80)} ${'W'.repeat(900)}\n\n${'word '.repeat(300)}` },
    { kind: 'facts', rows: [['Name'.repeat(30), 'x'.repeat(2_000)]] },
    { kind: 'table', columns: [{ title: 'T', share: 1 }], rows: [['y'.repeat(20_000)], []] },
  ]
  const pdf = await renderPdf(documentOf(long))
  const pages = drawings(pdf)
  t.equal(pages.length, pagesOf(pdf))
  for (const page of pages) {
    // The position of each text: 1 0 0 1 x y Tm.
    for (const [, x, y] of page.matchAll(/1 0 0 1 ([\d.-]+) ([\d.-]+) Tm/g)) {
      if (Number(x) < 50 || Number(x) > 545.3 || Number(y) < 30 || Number(y) > 792) t.fail(`${x} ${y}`)
    }
  }
})

t.test('a long footer has up to three lines below the text', async (t) => {
  const footerLines = async (footer: string) => {
    const [page = ''] = drawings(await renderPdf({ ...documentOf([]), footer }))
    const below = [...page.matchAll(/1 0 0 1 ([\d.-]+) ([\d.-]+) Tm/g)].filter(([, x]) => Number(x) < 51)
    const heights = below.map(([, , y]) => Number(y)).filter((y) => y < 50)
    t.ok(
      heights.every((y) => y > 10),
      `${heights}`,
    )
    return new Set(heights).size
  }
  t.equal(await footerLines('Parley Services, PI/26-27/000001'), 1)
  t.equal(await footerLines(`${'Long Name '.repeat(12)}, PI/26-27/000001`), 2)
  t.equal(await footerLines('Long Name '.repeat(100)), 3)
})

t.test('the same document gives the same bytes', async (t) => {
  const document = documentOf([TABLE, { kind: 'paragraph', text: 'नमस्ते తెలుగు' }])
  t.ok((await renderPdf(document)).equals(await renderPdf(document)))
})

t.test('a document that is too long is refused', async (t) => {
  const refused = { code: 'overloaded' }
  await t.rejects(renderPdf(documentOf([{ kind: 'paragraph', text: 'x'.repeat(200_001) }])), refused)
  await t.rejects(renderPdf(documentOf([{ kind: 'paragraph', text: '\n'.repeat(60_000) }])), refused)
})

t.test('a QR code can be read from the page', async (t) => {
  const signed = `eyJhbGciOiJSUzI1NiJ9.${'aB3_'.repeat(170)}.${'c-9Z'.repeat(85)}x`
  const blocks: PdfBlock[] = Array.from({ length: 6 }, () => ({ kind: 'qr', text: signed, side: 142 }))
  const pages = drawings(await renderPdf(documentOf(blocks)))
  t.equal(pages.length, 2, 'a code that does not fit begins a page')
  const codes = pages.map(darkSquares)
  t.same(
    codes.map(({ length }) => length),
    [4, 2],
  )
  for (const code of codes.flat()) {
    const pixels = 4 * 142
    const data = new Uint8Array(pixels * pixels).fill(255)
    for (const [x, y, width, height] of code) {
      for (let row = Math.round(4 * y); row < Math.round(4 * (y + height)); row++)
        data.fill(0, row * pixels + Math.round(4 * x), row * pixels + Math.round(4 * (x + width)))
    }
    const rgb = Uint8Array.from({ length: 3 * data.length }, (_, index) => data[Math.floor(index / 3)] ?? 0)
    t.equal(decodeQr({ width: pixels, height: pixels, data: rgb }), signed)
  }
})
