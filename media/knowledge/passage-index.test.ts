import t from 'tap'
import { buildIndex, PassageIndex } from './passage-index.js'
import { passagesOf } from './passages.js'
import { soundOf } from './sound.js'
import { toBytes } from './vectors.js'
import { stemOf, wordsOf } from './words.js'

t.test('words of Indian scripts stay whole, and spellings meet', (t) => {
  t.same(wordsOf('किस्त कटती है।'), ['किस्त', 'कटती', 'है'])
  t.same(wordsOf('फ़ॉर्म हाँ'), wordsOf('फॉर्म हां'))
  t.same(wordsOf('₹१,२५,०००.50'), ['125000', '50'])
  t.same(wordsOf('Café EMI-12B'), ['cafe', 'emi', '12', 'b'])
  t.same(wordsOf('க\u200cட்டணம்'), ['கட்டணம்'])
  t.same(['loans', 'charges', 'paying', 'status', 'किस्तें', 'दर'].map(stemOf), [
    'loan',
    'charge',
    'pay',
    'status',
    'किस्त',
    'दर',
  ])
  for (const [first = '', ...others] of [
    ['ফি', 'ফির'],
    ['ঋণ', 'ঋণের', 'ঋণে'],
    ['কিস্তি', 'কিস্তিগুলো', 'কিস্তির'],
    ['பணம்', 'பணத்தை', 'பணத்தில்'],
    ['வீடு', 'வீட்டை', 'வீட்டில்', 'வீட்டிலிருந்து'],
    ['கட்டணம்', 'கட்டணங்கள்', 'கட்டணத்தைச்'],
  ]) {
    for (const other of others) t.equal(stemOf(other), stemOf(first), `${other} and ${first}`)
  }
  t.end()
})

t.test('a word sounds the same in every script', (t) => {
  for (const [first = '', ...others] of [
    ['किस्त', 'kist', 'kisht', 'qist', 'কিস্তি', 'kisti'],
    ['கட்டணம்', 'kattanam', 'kadanam'],
    ['रिफंड', 'refund', 'rifund'],
    ['জরিমানা', 'jorimana', 'jarimana', 'ज़ुर्माना'],
    ['லோன்', 'loan', 'लोन', 'లోన్', 'ലോൺ', 'ਲੋਨ', 'લોન', 'ಲೋನ್', 'ଲୋନ'],
  ]) {
    for (const other of others) {
      t.equal(soundOf(wordsOf(other)[0] ?? ''), soundOf(wordsOf(first)[0] ?? ''), `${other} and ${first}`)
    }
  }
  t.equal(soundOf('450'), null)
  t.equal(soundOf('к'), null, 'another script')
  t.end()
})

t.test('passages end at headings, paragraphs and sentences', (t) => {
  const block = (text: string, level: number | null = null) => ({ text, level, page: null })
  t.same(
    passagesOf([
      block('Fees', 1),
      block('Late', 2),
      block('A.'),
      block('B.'),
      block('Other', 1),
      block('C.'),
    ]),
    [
      { text: 'A.\nB.', heading: 'Fees > Late', page: null },
      { text: 'C.', heading: 'Other', page: null },
    ],
  )
  const long = passagesOf([block('यह एक वाक्य है। '.repeat(100))])
  t.ok(long.length > 1 && long.every(({ text }) => text.length <= 800 && text.endsWith('।')))
  t.ok(passagesOf([block('x'.repeat(5000))]).every(({ text }) => text.length <= 800))
  t.same(passagesOf([block('Only a title', 1)]), [{ text: 'Only a title', heading: '', page: null }])
  t.end()
})

t.test('the index finds words, sounds, numbers, and what was said before', (t) => {
  const passage = (text: string, heading = '') => ({ text, heading, page: null })
  const documents = [
    { id: 'doc_1', name: 'a.md', passages: [passage('किस्त देर से भरने पर 450 रुपये जुर्माना लगता है।')] },
    {
      id: 'doc_2',
      name: 'b.md',
      passages: [passage('The form 26AS shows the tax.'), passage('Pets cost extra.', 'Pets')],
    },
  ]
  const bytes = buildIndex(documents)
  t.same(bytes, buildIndex(documents), 'the same documents make the same bytes')
  const index = new PassageIndex(bytes)
  const best = (text: string, context = '') => {
    const [found] = index.search({ text, context }, 1)
    return found === undefined ? null : `${found.documentId}:${found.index}`
  }
  t.equal(best('kist late jurmana'), 'doc_1:0')
  t.equal(best('450'), 'doc_1:0')
  t.equal(best('26AS'), 'doc_2:0')
  t.equal(best('pet'), 'doc_2:1')
  t.equal(best('and what does it cost', 'किस्त'), 'doc_2:1', 'the question counts more than the context')
  const score = (context: string) => index.search({ text: 'tax form', context }, 1)[0]?.score
  t.equal(score('a long story about many other things'), score(''), 'earlier words do not lower the score')
  t.equal(best('zebra'), null)
  t.equal(best(''), null)
  t.end()
})

t.test('questions made for a passage and vectors find what its words do not', (t) => {
  const passage = (text: string) => ({ text, heading: '', page: null })
  const passages = ['The late fee is 450 rupees.', 'Pets cost extra.', 'Branches open at ten.'].map(passage)
  const documents = [{ id: 'doc_1', name: 'a.md', passages }]
  const vectorsOf = (...rows: readonly (readonly number[])[]) => ({
    ...{ model: 'm/3', dimensions: 3 },
    bytes: Int8Array.from(rows.flatMap((row) => [...toBytes(row)])),
  })
  const bytes = buildIndex(documents, {
    vectors: vectorsOf([1, 0.1, 0], [0, 1, 0.1], [0.1, 0, 1]),
    questions: [['kitna jurmana lagega'], [], []],
  })
  const index = new PassageIndex(bytes)
  t.equal(index.vectorModel, 'm/3')
  t.match(index.search({ text: 'जुर्माना' }, 1), [{ index: 0, matched: ['questions'] }])
  const asked = { text: 'zzz', vector: toBytes([0, 2, 0]) }
  const [nearest, ...others] = index.search(asked, 3)
  t.match(nearest, { index: 1, matched: ['vectors'], text: 'Pets cost extra.' })
  t.ok((nearest?.score ?? 0) > 0.9, `score ${nearest?.score}`)
  t.same(others, [], 'what is no nearer than passages are to each other is no result')
  t.match(index.search({ ...asked, text: 'pets' }, 1), [
    { index: 1, matched: ['words', 'sounds', 'vectors'] },
  ])
  t.same(index.search({ text: 'zzz', vector: toBytes([1, 0]) }, 3), [], 'a vector of another length')
  t.equal(new PassageIndex(buildIndex(documents)).vectorModel, null)
  t.throws(() => toBytes([0, 0]), RangeError)
  t.throws(() => toBytes([1, Number.NaN, Number.POSITIVE_INFINITY]), RangeError)
  t.end()
})

t.test('an index of the earlier form is searched', (t) => {
  const passages = [{ text: 'The late fee is 450 rupees.', heading: '', page: null }]
  const bytes = buildIndex([{ id: 'doc_1', name: 'a.md', passages }])
  const json = JSON.parse(bytes.subarray(8).toString('utf8'))
  const { vectors: _vectors, hasQuestions: _questions, ...rest } = json
  const earlier = Buffer.from(JSON.stringify({ ...rest, version: 1 }))
  t.match(new PassageIndex(earlier).search({ text: 'late fee' }, 1), [{ documentId: 'doc_1', score: 1 }])
  const house = buildIndex([
    { id: 'doc_1', name: 'a.md', passages: [{ text: 'வீட', heading: '', page: null }] },
  ])
  const before = Buffer.from(house.toString('latin1').replace('"version":3', '"version":2'), 'latin1')
  const matches = (bytes: Buffer) => new PassageIndex(bytes).search({ text: 'வீட்டில்' }, 1)[0]?.matched ?? []
  t.ok(matches(house).includes('words'))
  t.notOk(matches(before).includes('words'), 'its words have the endings that it was built with')
  t.end()
})
