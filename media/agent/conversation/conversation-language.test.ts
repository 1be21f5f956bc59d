import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import type { AgentSpec } from '../agent-spec.js'
import { enginePhrases } from '../tts/phrases.js'

const BOTH: Partial<AgentSpec> = {
  languages: ['en-IN', 'hi-IN'],
  textToSpeech: { vendor: 'main', model: null, voice: 'v', pace: 1, languages: ['en-IN', 'hi-IN'] },
}
const ENGLISH = 'I would like to book an appointment for tomorrow.'
const HINDI = 'मुझे कल शाम को कितने बजे आना है'
const ANSWER = 'आप पाँच बजे आ सकते हैं।'

/** A call that switched from English to Hindi. */
async function switched(spec: Partial<AgentSpec> = {}, hears?: (language: string) => readonly string[]) {
  const rig = new ConversationRig({
    spec: { ...BOTH, ...spec },
    ...(hears ? { sttLanguagesFor: hears } : {}),
  })
  await rig.start()
  rig.callerSound(200, { ms: 900, text: ENGLISH, language: 'en-IN' })
  await rig.until(() => rig.turns('agent').length === 1)
  rig.modelScripts.push([
    { after: 100, text: ANSWER },
    { after: 0, done: true },
  ])
  rig.callerSound(300, { ms: 900, text: HINDI, language: 'hi-IN' })
  await rig.until(() => rig.turns('agent').length === 2)
  return rig
}

const prompt = (rig: ConversationRig): string => String(rig.requests.at(-1)?.messages[0]?.content)

t.test('voice, context and transcript follow the language of the caller', async (t) => {
  const rig = await switched()
  t.match(rig.requests[0]?.messages[0]?.content, /The caller speaks English now: answer in English\./)
  t.match(prompt(rig), /The caller speaks Hindi now: answer in Hindi, written in Devanagari/)
  t.same(
    rig.eventsOf('turn').map(({ turn }) => turn.language),
    ['en-IN', 'en-IN', 'hi-IN', 'hi-IN'],
  )
  t.equal(rig.spoken.find(({ text }) => text === ANSWER)?.language, 'hi-IN')
  // Code-mixing does not switch back.
  rig.callerSound(300, { ms: 600, text: 'Okay, Friday confirm', language: 'en-IN' })
  await rig.until(() => rig.turns('agent').length === 3)
  t.match(prompt(rig), /speaks Hindi now/)
  t.equal(rig.turns('caller')[2]?.language, 'hi-IN')
  rig.callerSound(300, { ms: 600, text: 'Can we speak English please?' })
  await rig.until(() => rig.turns('agent').length === 4)
  t.match(prompt(rig), /speaks English now/)
  t.equal(rig.close(), 0)
})

t.test('romanised words of the reply are spoken in their language', async (t) => {
  const rig = await switched()
  rig.modelScripts.push([
    { after: 100, text: 'Aap kal subah aa sakte hain. Doctor Rao will see you.' },
    { after: 0, done: true },
  ])
  rig.callerSound(300, { ms: 900, text: 'और सुबह का समय मिलेगा क्या' })
  await rig.until(() => rig.turns('agent').length === 3)
  t.same(
    rig.spoken.slice(-2).map(({ language }) => language),
    ['hi-IN', 'en-IN'],
  )
  t.equal(rig.close(), 0)
})

t.test("the engine's phrases, fillers and nudges follow the language", async (t) => {
  const rig = await switched({
    tools: [
      {
        name: 'slots',
        description: 'Free places',
        parameters: [],
        speech: { 'en-IN': 'Let me look.', 'hi-IN': 'मैं देखती हूँ।' },
        action: { kind: 'transfer_call' },
      },
    ],
    nudges: { enabled: true, hangupAfter: false, steps: [{ afterSeconds: 5, text: 'Hello?' }] },
  })
  await rig.until(() => rig.spoken.some(({ text }) => text === enginePhrases('hi-IN').stillThere), 12_000)
  t.equal(rig.spoken.at(-1)?.language, 'hi-IN')
  // A model that stays down: apology and goodbye in Hindi.
  rig.modelScripts.push([], [], [])
  rig.callerSound(100, { ms: 900, text: 'मुझे दोबारा बताइए कब आना है' })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  const said = rig.turns('agent').at(-1)?.heardText ?? ''
  t.match(said, /माफ़ कीजिए/)
  t.match(said, /तकनीकी समस्या/)
  t.equal(rig.close(), 0)
})

t.test('completeness uses the word lists of the current language', async (t) => {
  const rig = await switched()
  // "hai lekin" is incomplete in Hindi and complete in English.
  const asked = rig.requests.length
  rig.callerSound(300, { ms: 700, text: 'mujhe kal aana hai lekin' })
  await rig.run(300 + 700 + 300 + 100 + 300)
  t.equal(rig.requests.length, asked, 'waited for')
  await rig.until(() => rig.requests.length === asked + 1)
  t.equal(rig.close(), 0)
})

t.test('a single-language recogniser is reopened in the new language without losing audio', async (t) => {
  const rig = await switched({}, (language) => [language])
  t.same(rig.sttLanguages, ['en-IN', 'hi-IN'])
  t.equal(rig.openStreams, 1, 'the old one is closed')
  const [from = -1] = rig.writtenMs
  t.ok(
    rig.writtenMs.every((atMs, index) => atMs === from + index * 20),
    'frame by frame, none twice, none missing',
  )
  rig.callerSound(300, { ms: 900, text: 'और सुबह का समय मिलेगा क्या' })
  await rig.until(() => rig.turns('agent').length === 3)
  t.equal(rig.sttLanguages.length, 2, 'and stays')
  t.equal(rig.close(), 0)
})

t.test('a multilingual recogniser is not reopened', async (t) => {
  const rig = await switched({}, () => ['en-IN', 'hi-IN'])
  t.same(rig.sttLanguages, ['en-IN'])
  t.equal(rig.close(), 0)
})

t.test('no recogniser for the language: reported once, the stream stays', async (t) => {
  const rig = await switched({
    speechToText: {
      vendor: 'main',
      model: null,
      language: 'en-IN',
      mode: 'transcribe',
      languages: ['en-IN'],
    },
  })
  t.same(rig.sttLanguages, ['en-IN'])
  t.match(rig.eventsOf('trouble'), [{ part: 'speech_to_text', code: 'vendor_rejected', vendor: 'main' }])
  t.equal(rig.eventsOf('trouble').length, 1)
  t.equal(rig.close(), 0)
})

t.test('a fallback voice speaks the new language, reported once', async (t) => {
  const rig = await switched({
    textToSpeech: { vendor: 'main', model: null, voice: 'v', pace: 1, languages: ['en-IN'] },
    fallbacks: {
      speechToText: [],
      languageModel: [],
      textToSpeech: [{ vendor: 'main', model: 'm2', voice: 'hindi', pace: 1, languages: ['hi-IN'] }],
    },
  })
  t.equal(rig.spoken.find(({ text }) => text === ANSWER)?.voice, 'hindi')
  rig.callerSound(300, { ms: 900, text: 'और सुबह का समय मिलेगा क्या' })
  rig.modelScripts.push([
    { after: 100, text: `${ANSWER} Please bring the card.` },
    { after: 0, done: true },
  ])
  await rig.until(() => rig.turns('agent').length === 3)
  t.same(
    rig.spoken.slice(-2).map(({ voice }) => voice),
    ['hindi', 'v'],
    'English is still spoken by its own voice',
  )
  t.match(rig.eventsOf('trouble'), [{ part: 'text_to_speech', code: 'vendor_rejected', instead: 'main' }])
  t.equal(rig.eventsOf('trouble').length, 1)
  t.equal(rig.close(), 0)
})

t.test('no hosted voice for the language: the embedded one, of the same gender', async (t) => {
  const rig = await switched({
    textToSpeech: { vendor: 'main', model: null, voice: 'v', pace: 1, gender: 'male', languages: ['en-IN'] },
  })
  t.equal(rig.spoken.find(({ text }) => text === ANSWER)?.voice, 'ravi')
  t.match(rig.eventsOf('trouble'), [{ part: 'text_to_speech', vendor: 'main', instead: 'embedded' }])
  t.equal(rig.close(), 0)
})

t.test('an agent with one language keeps it', async (t) => {
  const rig = new ConversationRig()
  await rig.start()
  rig.callerSound(200, { ms: 900, text: HINDI })
  await rig.until(() => rig.turns('agent').length === 1)
  t.notMatch(prompt(rig), /speaks/)
  t.equal(rig.turns('caller')[0]?.language, 'en-IN')
  t.equal(rig.close(), 0)
})

t.test('the failure phrases are prepared in the new language', async (t) => {
  const rig = await switched()
  await rig.run(2000)
  const { failure, goodbye } = enginePhrases('hi-IN')
  const ready = (line: string) => rig.spoken.some(({ text }) => line.startsWith(text))
  t.ok(ready(failure) && ready(goodbye), 'spoken ahead')
  const asked = rig.spoken.length
  rig.modelScripts.push([], [], [])
  rig.callerSound(100, { ms: 900, text: 'मुझे दोबारा बताइए कब आना है' })
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.spoken.length, asked, 'and not asked for again')
  t.equal(rig.close(), 0)
})
