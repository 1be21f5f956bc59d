import t from 'tap'
import { CsvParser, encodeCsv } from './csv.js'

async function encoded(...cells: (string | number | boolean | null)[]): Promise<string> {
  const columns = cells.map((value, index) => ({ name: `c${index}`, value: () => value }))
  async function* batches() {
    yield [{}]
  }
  let text = ''
  for await (const chunk of encodeCsv(columns, batches(), (row) => row))
    text += Buffer.from(chunk).toString('utf8')
  return text
}

const row = async (...cells: Parameters<typeof encoded>) => (await encoded(...cells)).split('\r\n')[1]

const parse = (...parts: string[]) => {
  const parser = new CsvParser()
  return [...parts.flatMap((part) => parser.push(part)), ...parser.end()]
}

t.test('encoding: byte order mark, header, quotes, CRLF', async (t) => {
  t.equal(await encoded('a', 1, true, null), '\uFEFFc0,c1,c2,c3\r\na,1,true,\r\n')
  t.equal(await row('a,b', 'say "hi"'), '"a,b","say ""hi"""')
  t.match(await encoded('two\r\nlines'), /"two\r\nlines"\r\n$/)
  t.equal(await row('नमस्ते'), 'नमस्ते')
})

t.test('encoding: text that a spreadsheet would run as a formula', async (t) => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\tx']) t.equal(await row(text), `'${text}`)
  t.equal(await row('a=1'), 'a=1')
  t.equal(await row(-5), '-5', 'a number is no text')
  const columns = [{ name: 'from', kind: 'e164' as const, value: (text: string) => text }]
  async function* batches() {
    yield ['+919876543210', '+91 98765', '=cmd()']
  }
  let text = ''
  for await (const chunk of encodeCsv(columns, batches(), (row) => row))
    text += Buffer.from(chunk).toString('utf8')
  t.same(text.split('\r\n').slice(1, 4), ['+919876543210', "'+91 98765", "'=cmd()"])
})

t.test('no rows: only the header', async (t) => {
  async function* batches(): AsyncGenerator<never[]> {}
  const chunks = []
  for await (const chunk of encodeCsv([{ name: 'id', value: () => null }], batches(), (row) => row))
    chunks.push(chunk)
  t.equal(Buffer.concat(chunks).toString('utf8'), '\uFEFFid\r\n')
})

t.test('parsing: however the text is cut', async (t) => {
  const text = '\uFEFFe164,name\r\n+91987,"Rao, ""Asha"""\r\n\r\n+91988,"two\r\nlines"\n,\n"",x'
  const expected = [
    { line: 1, cells: ['e164', 'name'] },
    { line: 2, cells: ['+91987', 'Rao, "Asha"'] },
    { line: 5, cells: ['+91988', 'two\r\nlines'] },
    { line: 6, cells: ['', ''] },
    { line: 7, cells: ['', 'x'] },
  ]
  t.same(parse(text), expected)
  t.same(parse(...text), expected)
  for (let at = 1; at < text.length; at++) t.same(parse(text.slice(0, at), text.slice(at)), expected)
  t.same(parse(''), [])
  t.same(parse('a\n""\n'), [
    { line: 1, cells: ['a'] },
    { line: 2, cells: [''] },
  ])
})

t.test('parsing: another delimiter', async (t) => {
  for (const delimiter of [';', '\t', '|']) {
    const parser = new CsvParser(delimiter)
    const text = `a${delimiter}"b${delimiter}c"${delimiter}1,5\n`
    t.match(parser.push(text), [{ line: 1, cells: ['a', `b${delimiter}c`, '1,5'] }])
  }
})

t.test('parsing: what is encoded', async (t) => {
  const cells = ['a,b', '"', '\n\r\n', 'x"y', '', ' ', '"",""']
  t.same(parse(await encoded(...cells))[1]?.cells, cells)
})

t.test('parsing: errors name the line', async (t) => {
  t.throws(() => parse('a\n"b'), { message: 'Line 2: a quote is not closed.' })
  t.throws(() => parse('a\nb"c'), { message: /^Line 2: a quote stands inside/ })
  t.throws(() => parse('"a"b'), { message: 'Line 1: text follows a closing quote.' })
  t.throws(() => parse('x'.repeat(65_537)), { message: /^Line 1: the row has more than 65536 characters/ })
})
