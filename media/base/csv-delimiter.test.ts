import t from 'tap'
import { csvDelimiter, withoutDelimiterLine } from './csv-delimiter.js'

t.test('one delimiter for the whole table', async (t) => {
  const rows = [
    ['a,b\n1,2\n', ','],
    ['a;b\n1,5;2,5\n', ';'],
    ['a,b\n"x;y;z",2\n', ','],
    ['a\tb\n1,5\t2;5\n', '\t'],
    ['a|b\n1|2\n', '|'],
    ['Name, first;Price\nx;1\ny;2\n', ';'],
    ['"a;b","c"\n1,2\n', ','],
    ['"a\n;;;;b",c\n1,2\n', ','],
    ['\n\na;b\n', ';'],
    ['sep=;\na,b\n', ';'],
    ['\ufeff"sep=\t"\r\na\tb\n', '\t'],
    ['Note\nOne, two; three\n', null],
    ['', null],
    [' \n', null],
    ['"open', null],
  ] as const
  for (const [text, delimiter] of rows) t.equal(csvDelimiter(text), delimiter, JSON.stringify(text))
  t.equal(csvDelimiter(`a;b\n${'1,2;3\n'.repeat(100_000)}`), ';')
})

t.test('the line that states the delimiter is no row', async (t) => {
  t.equal(withoutDelimiterLine('sep=;\r\na;b'), 'a;b')
  t.equal(withoutDelimiterLine('a;b\nsep=;'), 'a;b\nsep=;')
})
