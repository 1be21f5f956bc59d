import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { AnsweringMachineDetector, type AnswerVerdict } from './answering-machine-detector.js'
import { classifyGreeting } from './greeting-words.js'

/** Events of the first seconds, in order. */
type Step =
  | { readonly speech: readonly [fromMs: number, toMs: number]; readonly text?: string }
  | { readonly beep: number }
  | { readonly fax: number }

/**
 * Plays the steps like a conversation: 20 ms frames, offsets 300 ms after the last voiced sample, finals
 * after 400 ms.
 */
function listen(steps: readonly Step[], untilMs: number, windowMs = 8000) {
  const listener = new AnsweringMachineDetector(windowMs)
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
        if (step.text !== undefined && to + 400 === at) tell(listener.words(step.text, at, true), at)
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

t.test('a voicemail by its words, also after a short first sentence', async (t) => {
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

t.test('a voicemail of an unknown language by its beep', async (t) => {
  const { verdicts, listener } = listen([{ speech: [400, 9000], text: 'Xyz.' }, { beep: 9600 }], 20_000)
  t.match(verdicts, [
    { by: 'human', evidence: 'time' },
    { by: 'voicemail', evidence: 'beep', atMs: 9600 },
  ])
  t.equal(listener.settled, true)
})

t.test('a beep without a greeting is a network tone; a late beep is no voicemail', async (t) => {
  t.match(listen([{ beep: 300 }, { speech: [1000, 1600] }], 10_000).verdicts, [{ by: 'human' }])
  t.match(listen([{ speech: [400, 1000] }, { beep: 32_000 }], 40_000).verdicts, [{ by: 'human' }])
})

t.test('a screening service and a menu are reported and do not end the call', async (t) => {
  const screening = listen(
    [{ speech: [400, 3500], text: 'Please say your name and why you are calling.' }],
    12_000,
  )
  t.match(screening.verdicts, [{ by: 'screening', evidence: 'words' }])
  const menu = listen([{ speech: [400, 5000], text: 'For sales, press one.' }], 12_000)
  t.match(menu.verdicts, [{ by: 'ivr', evidence: 'words' }])
})

t.test('a long greeting is a person; silence is unknown; a fax tone is a fax', async (t) => {
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

t.test('an announcement spans its pauses; half a sentence of a person is not classified', async (t) => {
  const { verdicts } = listen(
    [
      { speech: [400, 2400], text: 'The customer you are trying to reach' },
      { speech: [2800, 4400], text: 'is out of coverage area.' },
    ],
    12_000,
  )
  t.match(verdicts.at(-1), { by: 'voicemail', evidence: 'words' })
  t.equal(classifyGreeting('I am driving, leave me a message', false), null)
  t.equal(classifyGreeting('leave me a message and I will call', false), 'voicemail')
})

t.test('a network tone is no greeting; speech after it is a person', async (t) => {
  const listener = new AnsweringMachineDetector(8000)
  const burst = (fromMs: number) => {
    listener.onset(fromMs)
    listener.offset(fromMs + 400)
    return listener.tick(fromMs + 400 + 520)
  }
  t.match(burst(500), { by: 'human' })
  const ringing = { type: 'progress', tone: 'ringback', plan: 'india', startMs: 500 } as const
  t.match(listener.detected(ringing), { by: 'unknown', evidence: 'tone' })
  t.equal(burst(3500), null)
  t.match(listener.words('Hello?', 6000, true), { by: 'human', evidence: 'words' })
  const other = new AnsweringMachineDetector(8000)
  t.equal(other.detected(ringing), null)
  other.onset(3500)
  other.offset(3900)
  t.match(other.tick(8000), { by: 'unknown', evidence: 'time' })
  // A voicemail stays a voicemail.
  t.match(other.words('Please leave a message after the tone', 8100, true), { by: 'voicemail' })
  t.equal(other.detected(ringing), null)
})

t.test('phrases in eleven languages; ordinary words are not classified', async (t) => {
  const table: readonly [string, ReturnType<typeof classifyGreeting>][] = [
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
    ['I am in a meeting, leave me a message on WhatsApp.', null],
    ['She is out. Would you like to leave a message?', null],
    ['Can I leave a message for him?', null],
    ['You can leave a message and I will call you.', 'voicemail'],
    ['You have reached the Green Park Hotel.', null],
    ['My father is not available right now.', null],
    ['थोड़ी देर बाद कॉल कीजिए।', null],
    ['I am the digital assistant of Ravi.', 'screening'],
    ['All our agents are busy.', 'ivr'],
    ['తెలుగు కోసం ఒకటి నొక్కండి', 'ivr'],
    ['மீண்டும் முயற்சிக்கவும்', 'voicemail'],
  ]
  for (const [text, expected] of table) t.equal(classifyGreeting(text), expected, text)
})

t.test('the model is informed about a talking machine', async (t) => {
  const rig = new ConversationRig({ spec: { voicemail: { enabled: true, windowSeconds: 8 } } })
  await rig.start()
  rig.callerSound(500, { ms: 3000, text: 'Please say your name and why you are calling.', finalAfterMs: 60 })
  await rig.until(() => rig.eventsOf('answered_by').some(({ by }) => by === 'screening'))
  rig.callerSound(4000, { ms: 900, text: 'Hello?', finalAfterMs: 60 })
  await rig.until(() => rig.requests.length > 0 && rig.contextLines().some((line) => line.includes('Hello?')))
  const told = rig.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${content}`) ?? []
  t.ok(
    told.some((line) => line.startsWith('system: A call-screening service answered')),
    told.join(' | '),
  )
  t.same(rig.eventsOf('finished'), [], 'the call goes on')
  rig.close()
})
