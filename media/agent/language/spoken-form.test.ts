import t from 'tap'
import { languageData } from './language-data.js'
import { spokenForm } from './spoken-form.js'

const CASES: readonly (readonly [language: string, written: string, spoken: string])[] = [
  ['en-IN', 'It costs ₹1,25,000 in all.', 'It costs 1 lakh 25 thousand rupees in all.'],
  ['en-IN', 'Pay Rs. 500 or Rs 99.50 now.', 'Pay 500 rupees or 99 rupees 50 paise now.'],
  ['en-IN', 'INR 2,50,00,000', '2 crore 50 lakh rupees'],
  ['en-IN', 'Only ₹1.', 'Only 1 rupee.'],
  ['hi-IN', 'कुल ₹1,25,500 है।', 'कुल 1 लाख 25 हज़ार 500 रुपये है।'],
  ['ta-IN', '₹75,000', '75 ஆயிரம் ரூபாய்'],
  ['en-IN', 'Call +91 98765 43210 today.', 'Call plus 9 1, 9 8 7 6 5, 4 3 2 1 0 today.'],
  ['en-IN', 'Call 9876543210.', 'Call 9 8 7 6 5, 4 3 2 1 0.'],
  ['en-IN', 'Your OTP is 482913.', 'Your OTP is 4 8 2 9 1 3.'],
  ['en-IN', 'Order number 77123 is ready.', 'Order number 7 7 1 2 3 is ready.'],
  ['en-IN', 'Ticket #40917', 'Ticket 4 0 9 1 7'],
  ['en-IN', 'On 2026-12-24 at 10:30', 'On 24 December 2026 at 10:30'],
  ['hi-IN', 'दिनांक 05/01/2027 को', 'दिनांक 5 जनवरी 2027 को'],
  ['en-IN', 'On 45/13/2026', 'On 45/13/2026'],
  ['en-IN', 'Write to a.rao@clinic.co.in please.', 'Write to a dot rao at clinic dot co dot in please.'],
  ['en-IN', 'See www.parley.in/help', 'See www dot parley dot in slash help'],
  [
    'en-IN',
    'Dr. Rao & Mr. Das, e.g. at 9 a.m., approx. 5%',
    'Doctor Rao and Mister Das, for example at 9 AM, approximately 5 percent',
  ],
  ['en-IN', 'There are 12,500 seats and 9,999 guests.', 'There are 12 thousand 500 seats and 9999 guests.'],
  ['en-IN', 'We open at 9 and have 3.5 stars.', 'We open at 9 and have 3.5 stars.'],
  ['en-IN', 'Room 4021 on floor 12.', 'Room 4021 on floor 12.'],
  ['en-IN', 'In 2026.', 'In 2026.'],
  ['en-IN', 'Nothing to change here', 'Nothing to change here'],
]

t.test('written text and its spoken form', async (t) => {
  for (const [language, written, spoken] of CASES) t.equal(spokenForm(written, language), spoken)
})

t.test('the spoken form does not change when applied twice', async (t) => {
  for (const [language, written] of CASES) {
    const once = spokenForm(written, language)
    t.equal(spokenForm(once, language), once, once)
  }
})

t.test('every language has all number words and twelve months', async (t) => {
  const tags = ['en', 'hi', 'bn', 'ta', 'te', 'kn', 'ml', 'mr', 'gu', 'pa', 'od'].map((tag) => `${tag}-IN`)
  const lakhs = tags.map((tag) => languageData(tag).spokenForm.lakh)
  t.equal(new Set(lakhs).size >= 9, true, 'each its own')
  for (const tag of tags) {
    t.equal(languageData(tag).spokenForm.months.length, 12, tag)
    for (const word of Object.values(languageData(tag).spokenForm).flat()) t.not(word, '', tag)
  }
  t.same(languageData('xx-XX').spokenForm, languageData('en-IN').spokenForm)
})
