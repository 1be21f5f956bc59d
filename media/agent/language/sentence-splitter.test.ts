import t from 'tap'
import { SentenceSplitter } from './sentence-splitter.js'

/** Splits the text in chunks of `size` characters. */
function split(text: string, size = 3): string[] {
  const splitter = new SentenceSplitter()
  const out: string[] = []
  for (let i = 0; i < text.length; i += size) out.push(...splitter.push(text.slice(i, i + size)))
  return [...out, ...splitter.end()]
}

t.test('the sentences do not depend on the chunks', async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['Sure. I can help you with that today.', ['Sure.', 'I can help you with that today.']],
    [
      'Dr. Rao sees you at 3.30 p.m. on Monday. Is that fine?',
      ['Dr. Rao sees you at 3.30 p.m. on Monday.', 'Is that fine?'],
    ],
    [
      'It costs Rs. 500 in all, e.g. for a check. Shall I book it?',
      ['It costs Rs. 500 in all, e.g. for a check.', 'Shall I book it?'],
    ],
    ['Ask for A. K. Sharma at the desk. He knows.', ['Ask for A. K. Sharma at the desk.', 'He knows.']],
    ['नमस्ते। मैं आपकी क्या मदद कर सकती हूँ? बताइए।', ['नमस्ते।', 'मैं आपकी क्या मदद कर सकती हूँ?', 'बताइए।']],
    ['ठीक है।कल सुबह दस बजे का समय खाली है।', ['ठीक है।', 'कल सुबह दस बजे का समय खाली है।']],
    ['He said "Come at nine." Then he left the room.', ['He said "Come at nine."', 'Then he left the room.']],
    ['Really?! Yes, that is really what he told me.', ['Really?!', 'Yes, that is really what he told me.']],
    ['First line\nSecond line is a longer one\n', ['First line', 'Second line is a longer one']],
    ['1. Open the door. 2. Close the door again.', ['1. Open the door.', '2. Close the door again.']],
    ['no mark at the end', ['no mark at the end']],
    ['', []],
    ['   ', []],
  ]
  for (const [text, expected] of cases) {
    for (const size of [1, 2, 3, 7, 1000]) t.same(split(text, size), expected, `${text} by ${size}`)
  }
})

t.test('the first sentence is returned at once, later short ones are joined', async (t) => {
  const splitter = new SentenceSplitter()
  t.same(splitter.push('Yes. '), ['Yes.'])
  t.same(splitter.push('No. '), [])
  t.same(splitter.push('Maybe so. '), [])
  t.same(splitter.push('It depends on the weather of the day. '), [
    'No. Maybe so. It depends on the weather of the day.',
  ])
  t.same(splitter.push('Right. '), [])
  t.same(splitter.end(), ['Right.'])
})

t.test('text without an end is cut at a clause, else between words', async (t) => {
  const clause = `${'word '.repeat(18)}end, ${'more '.repeat(40)}`
  const parts = split(clause, 5)
  t.equal(parts[0], `${'word '.repeat(18)}end,`)
  for (const part of parts) t.ok(part.length <= 240, `${part.length}`)
  t.equal(parts.join(' '), clause.trim())
  const solid = split('x'.repeat(600), 50)
  t.ok(solid.every((part) => part.length <= 240))
  t.equal(solid.join(''), 'x'.repeat(600))
  const emoji = split('😀'.repeat(200), 7)
  t.notOk(
    emoji.some((part) => /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/.test(part)),
    'no half character',
  )
})
