import t from 'tap'
import { begun, saying } from '../../../fixtures/rigs/conversation-starts.js'
import type { SpeechToText, TextToSpeech } from '../vendor-ports.js'

/* Vendors that are slower than usual, and how long a conversation learns to wait for them. */

const SLOW_MODEL_MS = 2600

t.test('a slow model is given the time that it needs, after two attempts', async (t) => {
  const rig = await begun()
  const slow = () => [
    { after: SLOW_MODEL_MS, text: 'We are open.' },
    { after: 0, done: true as const },
  ]
  for (let n = 0; n < 4; n++) rig.modelScripts.push(slow())
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 3, 'two attempts were given up')
  t.equal(rig.eventsOf('trouble').length, 2)
  t.match(rig.turns('agent')[0]?.heardText, /We are open\.$/)
  rig.callerSound(300, saying('Really?'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.requests.length, 4, 'asked once')
  t.equal(rig.eventsOf('trouble').length, 2)
  t.equal(rig.turns('agent')[1]?.heardText, 'One moment please. We are open.')
  t.equal(rig.close(), 0)
})

t.test('a deadline that the operator set is kept', async (t) => {
  const rig = await begun({
    vendors: (own) => ({
      ...own,
      languageModel: (id) => ({
        ...own.languageModel(id),
        firstTokenDeadlineMs: 4000,
        deadlineSet: true,
      }),
    }),
  })
  for (let n = 0; n < 3; n++) {
    rig.modelScripts.push([
      { after: 3800, text: 'We are open.' },
      { after: 0, done: true },
    ])
  }
  for (let n = 1; n <= 3; n++) {
    rig.callerSound(300, saying('Are you open?'))
    await rig.until(() => rig.turns('agent').length === n)
  }
  t.equal(rig.requests.length, 3)
  t.equal(rig.eventsOf('trouble').length, 0)
  t.equal(rig.close(), 0)
})

t.test('a slow voice before the embedded one is given more time', async (t) => {
  const used: string[] = []
  const rig = await begun({
    vendors: (own) => ({
      ...own,
      textToSpeech: (id): TextToSpeech => {
        const voice = own.textToSpeech(id)
        return {
          ...voice,
          firstAudioDeadlineMs: 900,
          speak: (request, events) => {
            used.push(id)
            return voice.speak(request, events)
          },
        }
      },
    }),
  })
  const say = async (n: number) => {
    used.length = 0
    rig.speechScripts.length = 0
    rig.speechScripts.push({ firstMs: 1400 })
    rig.callerSound(300, saying('Are you open?'))
    await rig.until(() => rig.turns('agent').length === n)
  }
  await say(1)
  t.same(used, ['main', 'embedded'])
  // A call on another thread waited in vain, too.
  rig.breakers.adopt({ key: 'text_to_speech main ', waitedMs: 1800 })
  await say(2)
  t.same(used, ['main'])
  t.equal(rig.close(), 0)
})

t.test('the wait for a final text is learnt from those that came', async (t) => {
  const rig = await begun({
    vendors: (own) => ({
      ...own,
      speechToText: (id): SpeechToText => own.speechToText(id),
    }),
  })
  const key = 'speech_to_text main '
  for (let n = 1; n <= 31; n++) {
    rig.callerSound(100, { ms: 400, text: 'Are you open?', finalAfterMs: 200 })
    await rig.until(() => rig.turns('agent').length === n)
  }
  const learnt = rig.breakers.deadlines.of(key, { leastMs: 100, usualMs: 1500, mostMs: 2200 })
  t.ok(learnt > 200 && learnt < 400, `${learnt} ms`)
  t.equal(rig.close(), 0)
})
