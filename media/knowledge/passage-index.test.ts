import MiniSearch from 'minisearch'
import t from 'tap'
import { lettersOf, speltIn } from './letters.js'
import { withNumbers } from './numbers.js'
import { buildIndex, PassageIndex } from './passage-index.js'
import { passagesOf } from './passages.js'
import { questionTerms } from './question-terms.js'
import { areAlike, soundOf } from './sound.js'
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
    'charg',
    'pay',
    'status',
    'किस्त',
    'दर',
  ])
  for (const [first = '', ...others] of [
    ['ফি', 'ফির'],
    ['ঋণ', 'ঋণের', 'ঋণে'],
    ['কিস্তি', 'কিস্তিগুলো', 'কিস্তির'],
    ['close', 'closing', 'closed', 'closes'],
    ['send', 'sent', 'sending'],
    ['deliver', 'delivery', 'deliveries', 'delivered'],
    ['cancel', 'cancelled', 'canceled', 'cancellation'],
    ['install', 'installation', 'installed'],
    ['organize', 'organise', 'organising'],
    ['cheque', 'check', 'checks'],
    ['verify', 'verification'],
    ['relate', 'relation', 'relational'],
    ['பணம்', 'பணத்தை', 'பணத்தில்'],
    ['வீடு', 'வீட்டை', 'வீட்டில்', 'வீட்டிலிருந்து'],
    ['கட்டணம்', 'கட்டணங்கள்', 'கட்டணத்தைச்'],
  ]) {
    for (const other of others) t.equal(stemOf(other), stemOf(first), `${other} and ${first}`)
  }
  t.end()
})

t.test('English words have the stems of Porter2', (t) => {
  // From the sample vocabulary of the algorithm.
  for (const [word, stem] of Object.entries({
    ...{
      consistency: 'consist',
      consolation: 'consol',
      consolingly: 'consol',
      conspicuous: 'conspicu',
      conspired: 'conspir',
    },
    ...{
      constancy: 'constanc',
      knack: 'knack',
      kneel: 'kneel',
      knightly: 'knight',
      knots: 'knot',
      knopp: 'knopp',
    },
    ...{
      generously: 'generous',
      generate: 'generat',
      hopping: 'hop',
      hoping: 'hope',
      ties: 'tie',
      cries: 'cri',
      gas: 'gas',
    },
    ...{
      luxuriated: 'luxuri',
      hopeful: 'hope',
      electricity: 'electr',
      rationalization: 'ration',
      succeed: 'succeed',
    },
  })) {
    t.equal(stemOf(word), stem, word)
  }
  t.end()
})

t.test('numbers that are said are numbers', (t) => {
  for (const [said, written] of Object.entries({
    ...{
      'thirty days': '30 days',
      'twenty five thousand rupees': '25000 thousand rupees',
      'one two three': '1 2 3',
    },
    ...{
      '5 lakh': '500000 lakh',
      'two hundred fifty': '250 hundred',
      '0420 7': '0420 7',
      'two crore five lakh': '20500000 crore lakh',
    },
    ...{
      'पाँच लाख': '500000 लाख',
      'डेढ़ सौ रुपये': '150 सौ रुपये',
      'साढ़े तीन सौ': '350 सौ',
      'पौने दो लाख': '175000 लाख',
    },
    ...{ 'साढ़े तीन': '3 5', 'চল্লিশ টাকা': '40 টাকা', 'மூன்று நாள்': '3 நாள்', 'तीस दिन': '30 दिन', सवा: 'सवा' },
  })) {
    t.same(withNumbers(wordsOf(said)), wordsOf(written), said)
  }
  t.end()
})

t.test('letters and digits that are said one by one are joined', (t) => {
  const parts = (text: string) => speltIn(wordsOf(text)).map((run) => run.parts)
  t.same(parts('pee zero four two zero error'), [['p', '0420']])
  t.same(parts('the code a b dash one double five please'), [['ab', '155']])
  t.same(parts('call 1800 000 7780 or 1912'), [['18000007780']])
  t.same(parts('ई फोर लिखा है'), [['e', '4']])
  t.same(parts('घर के दो कमरे'), [], 'a word that only connects is no letter')
  for (const [word = '', ...letters] of [
    ['यूपीआई', 'upi'],
    ['केवाईसी', 'kyc'],
    ['এটিএম', 'atm'],
    ['ஆர்டிஓ', 'rto', 'rdo'],
    ['ஜிஎஸ்டி', 'gst', 'gsd'],
    ['எஸ்பிஐ', 'spi', 'sbi'],
    ['दुकान'],
    ['loan'],
  ]) {
    t.same(lettersOf(wordsOf(word)[0] ?? ''), letters, word)
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
  for (const [a, b, alike] of [
    ['mnk', 'mnkm', true],
    ['mnkm', 'mnk', true],
    ['krtpk', 'krtk', true],
    ['krtpk', 'krspk', true],
    ['krtpk', 'kstpn', false],
    ['krtk', 'krtkmns', false],
    ['kr', 'krt', false],
    ['krt', 'krs', false],
  ] as const) {
    t.equal(areAlike(a, b), alike, `${a} and ${b}`)
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

t.test('a long question walks through the sounds a few times only', (t) => {
  const walked: string[] = []
  const vocabulary = {
    hasWord: () => false,
    hasSound: () => false,
    alike: (key: string) => {
      walked.push(key)
      return []
    },
  }
  const consonants = [...'bcdgjkmnprst']
  const text = consonants.flatMap((a) => consonants.map((b) => `${a}a${b}${a}o${b}a`)).join(' ')
  const { sounds } = questionTerms(text, { weight: 1, optional: false }, vocabulary)
  t.ok(sounds.length > 30, `${sounds.length} sounds`)
  t.equal(walked.length, 12)
  t.end()
})

t.test('the index finds numbers, codes, abbreviations and compounds as they are said', (t) => {
  const passages = [
    ['Payment', 'Pay within 30 days at 1800 000 7780.'],
    ['No claim bonus', 'The discount is 20 percent.'],
    ['Clubhouse', 'Send the form FW-399 before you come.'],
    ['Check-up', 'यूपीआई से भुगतान करें।'],
    ['மணி', 'வண்டி 5 மணிக்கும் புறப்படும்.'],
  ].map(([heading = '', text = '']) => ({ text, heading, page: null }))
  const index = new PassageIndex(buildIndex([{ id: 'doc_1', name: 'a.md', passages }]))
  const best = (text: string) => index.search({ text }, 1)[0]?.index ?? null
  for (const [question, passage] of [
    ['thirty days', 0],
    ['तीस दिन', 0],
    ['18000007780', 0],
    ['one eight zero zero zero zero zero seven seven eight zero', 0],
    ['what is ncb', 1],
    ['club house', 2],
    ['who sent it', 2],
    ['three double nine', 2],
    ['checkup', 3],
    ['upi', 3],
    ['manikku', 4],
    ['zebra', null],
  ] as const) {
    t.equal(best(question), passage, question)
  }
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

t.test('indexes of earlier releases are searched by their own rules', (t) => {
  const found = (bytes: Buffer, text: string) => new PassageIndex(bytes).search({ text }, 1)[0]
  const matched = (bytes: Buffer, text: string) => found(bytes, text)?.matched ?? []
  t.match(found(earlierIndex(1, ['late fee is 450 rupee', 'other']), 'late fees'), { index: 0, score: 1 })
  t.match(found(earlierIndex(2, ['other', 'late fee is 450 rupee']), 'late fees'), {
    ...{ documentId: 'doc_1', documentName: 'a.md', index: 1, score: 1, matched: ['words', 'sounds'] },
  })
  const house = buildIndex([
    { id: 'doc_1', name: 'a.md', passages: [{ text: 'வீட', heading: '', page: null }] },
  ])
  t.ok(matched(house, 'வீட்டில்').includes('words'))
  t.ok(matched(earlierIndex(3, ['வீட']), 'வீட்டில்').includes('words'))
  t.notOk(matched(earlierIndex(2, ['வீட']), 'வீட்டில்').includes('words'), 'version 2 has whole words')
  t.ok(matched(earlierIndex(3, ['charge']), 'charges').includes('words'))
  t.notOk(matched(earlierIndex(3, ['charg']), 'charges').includes('words'), 'version 3 has other stems')
  t.same(matched(earlierIndex(3, ['30']), 'thirty'), [], 'version 3 knows no numbers as words')
  t.end()
})

/** Returns an index as earlier releases stored it. The texts have stems already. */
function earlierIndex(version: 1 | 2 | 3, texts: readonly string[]): Buffer {
  const index = new MiniSearch({
    fields: ['words', 'headingWords', 'sounds', 'headingSounds', 'questions'],
    tokenize: (text) => text.split(' ').filter((term) => term !== ''),
    processTerm: (term) => term,
  })
  for (const [id, words] of texts.entries()) {
    const sounds = wordsOf(words).flatMap((word) => soundOf(word) ?? [])
    index.add({ id, words, headingWords: '', sounds: sounds.join(' '), headingSounds: '', questions: '' })
  }
  const passages = texts.map((text, at) => ({ text, heading: '', page: null, document: 0, index: at }))
  const documents = [{ id: 'doc_1', name: 'a.md' }]
  const json = Buffer.from(JSON.stringify({ version, documents, passages, words: index.toJSON() }))
  if (version === 1) return json
  const head = Buffer.from('PKI2\0\0\0\0')
  head.writeUInt32LE(json.length, 4)
  return Buffer.concat([head, json])
}
