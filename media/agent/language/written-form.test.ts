import fc from 'fast-check'
import t from 'tap'
import { spokenForm } from './spoken-form.js'
import { WrittenForm, wordCount } from './written-form.js'

const DUE = 'Your bill of ₹1,25,000 is due on 05/12/2026.'

t.test('a piece that was spoken in part was not said', async (t) => {
  const spoken = spokenForm(DUE, 'en-IN')
  t.equal(spoken, 'Your bill of 1 lakh 25 thousand rupees is due on 5 December 2026.')
  const form = new WrittenForm(DUE, spoken)
  t.equal(form.upTo(0), '')
  t.equal(form.upTo(3), 'Your bill of')
  t.equal(form.upTo(7), 'Your bill of')
  t.equal(form.upTo(8), 'Your bill of ₹1,25,000')
  t.equal(form.upTo(wordCount(spoken)), DUE)
})

t.test('pieces name the spoken words that say them', async (t) => {
  const form = new WrittenForm(
    'Call +91 98200 12345 & ask.',
    spokenForm('Call +91 98200 12345 & ask.', 'en-IN'),
  )
  t.same(form.piecesUpTo(99), [
    { text: 'Call', first: 0, last: 0 },
    { text: '+91 98200 12345 &', first: 1, last: 14 },
    { text: 'ask.', first: 15, last: 15 },
  ])
  t.same(form.piecesUpTo(14), [{ text: 'Call', first: 0, last: 0 }])
})

t.test('texts without a common word, and empty texts', async (t) => {
  t.equal(new WrittenForm('50%', '50 percent').upTo(1), '')
  t.equal(new WrittenForm('50%', '50 percent').upTo(2), '50%')
  t.equal(new WrittenForm('', '').upTo(0), '')
  t.same(new WrittenForm('', 'a').piecesUpTo(1), [])
})

t.test(
  'any text: what was said grows with the spoken words, and all of it is the written text',
  async (t) => {
    const word = fc.constantFrom(
      'pay',
      '₹500',
      '₹1,25,000.50',
      '12%',
      'code 44821',
      'a@b.in',
      '2026-12-05',
      'नमस्ते',
      'Dr. Rao',
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (parts) => {
        const written = parts.join(' ')
        const spoken = spokenForm(written, 'en-IN')
        const form = new WrittenForm(written, spoken)
        let last = ''
        for (let count = 0; count <= wordCount(spoken); count++) {
          const now = form.upTo(count)
          if (!now.startsWith(last) || !written.startsWith(now)) return false
          last = now
        }
        return last === written
      }),
    )
    t.pass('holds')
  },
)
