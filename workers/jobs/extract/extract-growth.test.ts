import t from 'tap'
import { passagesOf } from '../../../media/knowledge/passages.js'
import { csvBlocks } from './csv.js'
import { htmlBlocks } from './html.js'
import { rejoined } from './pdf.js'

/*
 * Documents for which work that doubles with each cell, or that grows with the square of a length, does not end within
 * this test.
 */

const LONG = 400_000

t.test('empty cells at the end of a row', async (t) => {
  const cells = '<td></td>'.repeat(60)
  t.same(htmlBlocks(`<table><tr><td>Fee</td>${cells}<td>x</td></tr></table>`).length, 1)
  t.match(htmlBlocks(`<table><tr><td>Fee</td>${cells}</tr></table>`), [{ text: 'Fee' }])
  t.match(htmlBlocks(`<p>a${' |'.repeat(LONG)} b`), [{ text: / b$/ }])
  t.match(htmlBlocks('<table><tr><td>a</td><td>b</td><td></td></tr></table>'), [{ text: 'a | b' }])
})

t.test('signs that positioned glyphs leave behind', async (t) => {
  t.equal(rejoined('श ुल् क क ी'), 'शुल्क की')
  t.equal(rejoined('a  b c'), 'a  b c')
  t.equal(rejoined(' a '), ' a ')
  const signs = `क${'\u093f'.repeat(LONG)}`
  t.equal(rejoined(`${signs} x`), `${signs} x`)
  t.equal(rejoined(`${'क '.repeat(LONG)}ि`).length, 2 * LONG, 'the last space goes')
})

t.test('quotes and spaces behind the end of a sentence', async (t) => {
  for (const part of ['"', '" ', ')', ']\t']) {
    const text = `One.${part.repeat(LONG)}Two.`
    const passages = passagesOf([{ text, level: null, page: null }])
    t.ok(
      passages.length > 100 && passages.every((passage) => passage.text.length <= 800),
      JSON.stringify(part),
    )
  }
})

t.test('a wide header row repeated by many short rows', async (t) => {
  const header = Array.from({ length: 150 }, (_, i) => `${i}${'x'.repeat(500)}`).join(',')
  const row = `${'1,'.repeat(149)}1\n`
  t.throws(() => csvBlocks(`${header}\n${row.repeat(400)}`), /20 million characters/)
  t.equal(csvBlocks(`${header}\n${row.repeat(10)}`).length, 10)
})
