import t from 'tap'
import { alignWords, plainText } from './word-timing.js'

const said = (text: string, marks: readonly (readonly [number, number])[]): unknown =>
  alignWords(
    text,
    marks.map(([position, atMs]) => ({ position, atMs })),
  ).map(({ textOffset, length, atMs }) => [text.slice(textOffset, textOffset + length), atMs])

t.test('code points become UTF-16 units', async (t) => {
  // The picture is one code point and two units.
  t.same(
    said('Hi 👍 you', [
      [1, 0],
      [6, 300],
    ]),
    [
      ['Hi', 0],
      ['you', 300],
    ],
  )
  t.same(
    said('नमस्ते, कौन', [
      [1, 0],
      [9, 600],
    ]),
    [
      ['नमस्ते,', 0],
      ['कौन', 600],
    ],
  )
})

t.test('parts of a number, repeated, backward and foreign marks', async (t) => {
  t.same(
    said('owe 250 & 3.5% now', [
      [1, 0],
      [5, 100],
      [6, 200],
      [9, 300],
      [11, 400],
      [12, 500],
      [12, 600],
      [11, 700],
      [16, 650],
      [99, 900],
    ]),
    [
      ['owe', 0],
      ['250', 100],
      ['&', 300],
      ['3.5%', 400],
      ['now', 650],
    ],
  )
  t.same(
    said('a  b', [
      [1, 0],
      [2, 50],
      [4, 90],
    ]),
    [
      ['a', 0],
      ['b', 50],
    ],
    'a mark on the blank belongs to the next word',
  )
  t.same(said('', [[1, 0]]), [])
})

t.test('times never run backward', async (t) => {
  t.same(
    said('a b c', [
      [1, 100],
      [3, 80],
      [5, 200],
    ]),
    [
      ['a', 100],
      ['b', 100],
      ['c', 200],
    ],
  )
})

t.test('characters that eSpeak would read as markup become blanks, one for one', async (t) => {
  const text = 'a <b>&amp; [[x]] 👍\u{1F3FD} \u0000é\r\nनी'
  const plain = plainText(text)
  t.equal(plain, 'a  b  amp;   x       é \nनी')
  t.equal([...plain].length, [...text].length)
  t.equal(plainText('क्‍ष ന്‍'), 'क्‍ष ന്‍', 'joiners of Indian scripts stay')
})
