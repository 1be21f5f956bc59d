import t from 'tap'
import { type Openness, openness } from './completeness.js'

const TABLE: readonly (readonly [string, Openness])[] = [
  ['', 'closed'],
  ['I would like to book an appointment.', 'closed'],
  ['Is it open on Sunday?', 'closed'],
  ['Who are you with?', 'closed'],
  ['Yes', 'closed'],
  ['I want to book an appointment and', 'open'],
  ['I want to book an appointment, and.', 'open'],
  ['It was because', 'open'],
  ['Well, um', 'open'],
  ['My name is', 'open'],
  ['I wanted to ask you,', 'open'],
  ['Let me think...', 'open'],
  ['मुझे बुकिंग करनी है और', 'open'],
  ['मुझे बुकिंग करनी है', 'closed'],
  ['मेरा नंबर नौ आठ सात', 'spelling'],
  ['mujhe appointment chahiye lekin', 'open'],
  ['నాకు అపాయింట్‌మెంట్ కావాలి కానీ', 'open'],
  ['எனக்கு வேண்டும் ஆனால்', 'open'],
  ['আমি আসব কিন্তু', 'open'],
  ['My number is 98 76 5', 'spelling'],
  ['98765 43210', 'closed'],
  ['nine eight seven', 'spelling'],
  ['nine eight seven six five four three two one zero', 'closed'],
  ['The code is 4 8 2 9 1 3', 'closed'],
  ['the pin is 4021', 'closed'],
  ['my number is nine eight seven six five four', 'spelling'],
  ['at 5', 'closed'],
  ['anita dot rao at', 'spelling'],
  ['anita at gmail', 'spelling'],
  ['anita at gmail dot com', 'closed'],
  ['write to anita@gmail', 'spelling'],
]

t.test('what a caller says last tells whether more is coming', async (t) => {
  for (const [text, expected] of TABLE) t.equal(openness(text), expected, text)
})
