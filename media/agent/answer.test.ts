import t from 'tap'
import { AnswerListener, type AnswerVerdict } from './answer.js'
import { spokenAnswer } from './answer-words.js'

/** What happens in the first seconds, in order of time. */
type Step =
  | { readonly speech: readonly [fromMs: number, toMs: number]; readonly text?: string }
  | { readonly beep: number }
  | { readonly fax: number }

/** Plays it as the shell does: 20 ms frames, an offset 300 ms after the last voiced sample, final texts 400 ms after. */
function listen(steps: readonly Step[], untilMs: number, windowMs = 8000) {
  const listener = new AnswerListener(windowMs)
  const verdicts: (AnswerVerdict & { atMs: number })[] = []
  const tell = (verdict: AnswerVerdict | null, atMs: number) => {
    if (verdict !== null) verdicts.push({ ...verdict, atMs })
  }
  for (let at = 0; at <= untilMs; at += 20) {
    for (const step of steps) {
      if ('beep' in step) {
        if (step.beep === at) tell(listener.beep(at), at)
      } else if ('fax' in step) {
        if (step.fax === at) tell(listener.fax(), at)
      } else {
        const [from, to] = step.speech
        if (from === at) listener.onset(from)
        if (to + 300 === at) listener.offset(to)
        if (step.text !== undefined && to + 400 === at) tell(listener.words(step.text, at), at)
      }
    }
    tell(listener.tick(at), at)
  }
  return { verdicts, listener }
}

t.test('a person says hello and waits', async (t) => {
  const { verdicts } = listen([{ speech: [600, 1400], text: 'Hello?' }], 40_000)
  t.match(verdicts, [{ by: 'human', evidence: 'greeting', atMs: 1900 }])
})

t.test('a recorder, by its words: also after a short first sentence', async (t) => {
  const { verdicts } = listen(
    [
      { speech: [400, 1200], text: 'Hi, this is Ravi.' },
      { speech: [1900, 4000], text: 'Please leave a message after the tone.' },
    ],
    20_000,
  )
  t.match(verdicts, [
    { by: 'human', atMs: 1700 },
    { by: 'voicemail', evidence: 'words', atMs: 4400 },
  ])
})

t.test('a recorder of an unknown language, by its tone', async (t) => {
  const { verdicts, listener } = listen([{ speech: [400, 9000], text: 'Xyz.' }, { beep: 9600 }], 20_000)
  t.match(verdicts, [
    { by: 'human', evidence: 'time' },
    { by: 'voicemail', evidence: 'beep', atMs: 9600 },
  ])
  t.equal(listener.over, true)
})

t.test('a tone without a greeting is the network, a late one no recorder', async (t) => {
  t.match(listen([{ beep: 300 }, { speech: [1000, 1600] }], 10_000).verdicts, [{ by: 'human' }])
  t.match(listen([{ speech: [400, 1000] }, { beep: 32_000 }], 40_000).verdicts, [{ by: 'human' }])
})

t.test('a screening service and a menu are told and do not end the call', async (t) => {
  const screening = listen(
    [{ speech: [400, 3500], text: 'Please say your name and why you are calling.' }],
    12_000,
  )
  t.match(screening.verdicts, [{ by: 'screening', evidence: 'words' }])
  const menu = listen([{ speech: [400, 5000], text: 'For sales, press one.' }], 12_000)
  t.match(menu.verdicts, [{ by: 'ivr', evidence: 'words' }])
})

t.test('somebody who talks on is a person; nobody is unknown; a fax is a fax', async (t) => {
  t.match(listen([{ speech: [500, 30_000] }], 40_000).verdicts, [
    { by: 'human', evidence: 'time', atMs: 8000 },
  ])
  t.match(listen([], 40_000).verdicts, [{ by: 'unknown', evidence: 'time', atMs: 8000 }])
  t.match(listen([{ fax: 2000 }, { beep: 2400 }], 40_000).verdicts, [{ by: 'fax', atMs: 2000 }])
})

t.test('words after the window say nothing about who answered', async (t) => {
  const said = 'I will leave a message after the tone, if you like.'
  t.match(listen([{ speech: [500, 1200] }, { speech: [15_000, 17_000], text: said }], 30_000).verdicts, [
    { by: 'human' },
  ])
})

t.test('phrases in the eleven languages; what people say is nobody’s', async (t) => {
  const table: readonly [string, ReturnType<typeof spokenAnswer>][] = [
    ['You have reached my voicemail.', 'voicemail'],
    ['The person you are calling is not available.', 'voicemail'],
    ['The subscriber you have dialled is switched off.', 'voicemail'],
    ['I can’t come to the phone right now.', 'voicemail'],
    ['कृपया बीप के बाद अपना संदेश छोड़ें।', 'voicemail'],
    ['बीपनंतर आपला संदेश ठेवा.', 'voicemail'],
    ['বিপ এর পর আপনার বার্তা রাখুন', 'voicemail'],
    ['பீப் ஒலிக்குப் பிறகு பேசவும்', 'voicemail'],
    ['బీప్ శబ్దం తర్వాత మాట్లాడండి', 'voicemail'],
    ['ಬೀಪ್ ಶಬ್ದದ ನಂತರ ಮಾತನಾಡಿ', 'voicemail'],
    ['ബീപ്പ് ശബ്ദത്തിന് ശേഷം സംസാരിക്കുക', 'voicemail'],
    ['બીપ પછી તમારો સંદેશ મૂકો', 'voicemail'],
    ['ਬੀਪ ਤੋਂ ਬਾਅਦ ਬੋਲੋ', 'voicemail'],
    ['ବିପ୍ ଶବ୍ଦ ପରେ କୁହନ୍ତୁ', 'voicemail'],
    ['Hi, state your name and the reason you are calling.', 'screening'],
    ['Please record your name and reason for calling.', 'screening'],
    ['For English, press 1. For Hindi, press 2.', 'ivr'],
    ['हिंदी के लिए एक दबाएं', 'ivr'],
    ['Hello?', null],
    ['Who is calling please?', null],
    ['Yes, speaking. What is it about?', null],
    ['हाँ जी, बोलिए।', null],
    ['I am busy, call me later.', null],
  ]
  for (const [text, expected] of table) t.equal(spokenAnswer(text), expected, text)
})
