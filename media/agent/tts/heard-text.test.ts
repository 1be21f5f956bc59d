import t from 'tap'
import { heardText, heardWords, resumeOffset, type SpokenSentence } from './heard-text.js'

const RATE = 8000
const TEXT = 'We open at nine.'
/** One second of audio with words at 0, 200, 450 and 600 ms. */
const timed: SpokenSentence = {
  text: TEXT,
  written: null,
  start: 0,
  samples: 8000,
  voiced: 8000,
  complete: true,
  words: [
    { offset: 0, length: 2, sample: 0 },
    { offset: 3, length: 4, sample: 1600 },
    { offset: 8, length: 2, sample: 3600 },
    { offset: 11, length: 5, sample: 4800 },
  ],
}
const untimed: SpokenSentence = { ...timed, words: [] }

t.test('with word times: the words that ended were heard', async (t) => {
  const heard = (sent: number) => heardText([timed], sent, RATE)
  t.equal(heard(0), '')
  t.equal(heard(1599), '')
  t.equal(heard(1600), 'We')
  t.equal(heard(3600), 'We open')
  t.equal(heard(4800), 'We open at')
  t.equal(heard(7999), 'We open at')
  t.equal(heard(8000), TEXT)
  t.equal(heardText([{ ...timed, voiced: 6400 }], 6400, RATE), TEXT, 'the pause at its end is not needed')
})

t.test('without word times: proportional, cut to whole words', async (t) => {
  const heard = (sent: number) => heardText([untimed], sent, RATE)
  t.equal(heard(0), '')
  t.equal(heard(500), '')
  t.equal(heard(1200), 'We')
  t.equal(heard(4200), 'We open')
  t.equal(heard(7900), 'We open at')
  t.equal(heard(8000), TEXT)
  let last = ''
  for (let sent = 0; sent <= 8000; sent += 10) {
    const now = heard(sent)
    t.ok(now.startsWith(last), 'grows')
    t.ok(TEXT.startsWith(now))
    last = now
  }
})

t.test('a sentence still in synthesis is not heard to its end', async (t) => {
  t.equal(heardText([{ ...untimed, complete: false, samples: 2000 }], 2000, RATE), 'We')
  t.ok(heardText([{ ...untimed, complete: false, samples: 8000 }], 8000, RATE).length < TEXT.length)
})

t.test('sentences follow each other; one without audio does not hide the next', async (t) => {
  const second = { ...timed, start: 8000, words: timed.words.map((w) => ({ ...w, sample: w.sample + 8000 })) }
  t.equal(heardText([timed, second], 8000, RATE), TEXT)
  t.equal(heardText([timed, second], 11_700, RATE), `${TEXT} We open`)
  const silent: SpokenSentence = {
    text: '...',
    written: null,
    start: 8000,
    samples: 0,
    voiced: 0,
    complete: true,
    words: [],
  }
  t.equal(heardText([timed, silent, second], 16_000, RATE), `${TEXT} ${TEXT}`)
})

t.test('words with their samples, null without word times', async (t) => {
  t.same(heardWords([timed], 3700, RATE), [
    { text: 'We', startSample: 0, endSample: 1600 },
    { text: 'open', startSample: 1600, endSample: 3600 },
  ])
  t.same(heardWords([timed], 8000, RATE)?.at(-1), { text: 'nine.', startSample: 4800, endSample: 8000 })
  t.equal(heardWords([untimed], 8000, RATE), null)
  t.same(heardWords([timed], 0, RATE), [])
})

t.test('an interrupted sentence continues with the unfinished word', async (t) => {
  const offset = resumeOffset({ ...timed, samples: 4000 }, RATE)
  t.equal(TEXT.slice(offset), 'at nine.')
  t.equal(resumeOffset({ ...untimed, samples: 100 }, RATE), 0)
})

t.test('words without a mark of their own share the time of the mark before them', async (t) => {
  const gaps: SpokenSentence = {
    ...timed,
    text: 'Oh, we open at 9 30.',
    words: [
      { offset: 4, length: 2, sample: 400 },
      { offset: 12, length: 2, sample: 4000 },
    ],
  }
  const words = heardWords([gaps], 8000, RATE)
  t.equal(words?.map(({ text }) => text).join(' '), gaps.text, 'every word of the text')
  t.strictSame(words?.[0], { text: 'Oh,', startSample: 400, endSample: 1600 })
  t.strictSame(words?.at(-1), { text: '30.', startSample: 6000, endSample: 8000 })
  t.ok(words?.every((word, i) => word.startSample === (words[i - 1]?.endSample ?? 400)))
  t.equal(
    heardWords([gaps], 4100, RATE)
      ?.map(({ text }) => text)
      .join(' '),
    heardText([gaps], 4100, RATE),
    'also when the sentence was cut',
  )
})

t.test('the transcript has the written form; a number counts when all of it was spoken', async (t) => {
  const bill: SpokenSentence = {
    ...timed,
    text: 'Pay 1 lakh 25 thousand rupees now.',
    written: 'Pay ₹1,25,000 now.',
    words: [
      { offset: 0, length: 3, sample: 0 },
      { offset: 4, length: 17, sample: 1000 },
      { offset: 23, length: 6, sample: 4000 },
      { offset: 30, length: 4, sample: 6000 },
    ],
  }
  t.equal(heardText([bill], 4000, RATE), 'Pay')
  t.equal(heardText([bill], 6000, RATE), 'Pay ₹1,25,000')
  t.equal(heardText([bill, { ...timed, start: 8000 }], 8000, RATE), 'Pay ₹1,25,000 now.')
  t.same(heardWords([bill], 8000, RATE), [
    { text: 'Pay', startSample: 0, endSample: 1000 },
    { text: '₹1,25,000', startSample: 1000, endSample: 6000 },
    { text: 'now.', startSample: 6000, endSample: 8000 },
  ])
})
