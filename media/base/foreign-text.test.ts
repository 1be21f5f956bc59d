import t from 'tap'
import { cleanText, parseForeignJson } from './foreign-text.js'

t.test('NUL characters and unpaired surrogates are replaced, all other text is kept', async (t) => {
  t.equal(cleanText('a\0b'), 'a\ufffdb')
  t.equal(cleanText('\ud83d and \ude00'), '\ufffd and \ufffd')
  for (const text of ['', 'नमस्ते', '😀', 'a\n\tb', '\ufffd']) t.equal(cleanText(text), text)
})

t.test('strings of parsed JSON are clean at every depth', async (t) => {
  t.strictSame(parseForeignJson('{"a":["x\\u0000y",{"b":"\\uD83D"}],"c":"\\ud83d\\ude00","d":1}'), {
    a: ['x\ufffdy', { b: '\ufffd' }],
    c: '😀',
    d: 1,
  })
  t.strictSame(parseForeignJson('{"a":"\\\\u0000"}'), { a: '\\u0000' }, 'an escaped backslash is text')
  t.strictSame(parseForeignJson('"\\u0916"'), 'ख')
  t.throws(() => parseForeignJson('{"a":"\\u0000"'), SyntaxError)
})
