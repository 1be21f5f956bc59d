import t from 'tap'
import { begun, saying } from '../../../fixtures/rigs/conversation-starts.js'
import { Outages } from '../../../fixtures/vendors/outages.js'

/* Recogniser, model and voice that fail, stall or are late: what the caller hears. */

t.test(
  'the final text is late: the partial text is answered, the final text is not a second turn',
  async (t) => {
    const rig = await begun()
    rig.callerSound(0, {
      ms: 900,
      text: 'Are you open?',
      partials: [[500, 'Are you open']],
      finalAfterMs: 1500,
    })
    await rig.until(() => rig.requests.length === 1)
    const end = rig.eventsOf('turn').length
    t.equal(end, 0)
    t.same(rig.contextLines(), ['user: Are you open'])
    await rig.run(6000)
    t.equal(rig.requests.length, 1)
    t.same(rig.eventSummary(), ['caller: Are you open', 'trace', 'agent: Answer 1.'])
    t.equal(rig.close(), 0)
  },
)

t.test('no text arrives: the agent asks, and the late text is answered', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: 'Are you open?', finalAfterMs: 2200 })
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs < 900 + 1500, 'within the deadline')
  t.same(rig.eventSummary(), ['trouble speech_to_text vendor_stalled'])
  await rig.until(() => rig.requests.length === 1)
  t.equal(rig.contextLines().at(-1), 'user: Are you open?')
  t.match(rig.contextLines()[0], /interrupted/)
  t.equal(rig.close(), 0)
})

t.test('the recogniser fails and is reopened; repeated failures end the call with a goodbye', async (t) => {
  const rig = await begun()
  rig.callerSound(0, { ms: 900, text: null })
  await rig.run(700)
  rig.failStt()
  await rig.run(600)
  t.equal(rig.openStreams, 1)
  t.same(rig.eventSummary(), ['trouble speech_to_text vendor_failed'])
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /say it again/)
  rig.failStt()
  await rig.run(400)
  rig.failStt()
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.eventsOf('finished')[0]?.why, 'provider_failure')
  t.match(rig.turns('agent').at(-1)?.heardText, /Goodbye/)
  t.equal(rig.clock.pending, 0)
})

t.test('no recogniser works: the agent asks to repeat, offers DTMF, says goodbye', async (t) => {
  const rig = await begun()
  for (let i = 1; i <= 3; i++) {
    rig.callerSound(300, { ms: 900, text: null })
    await rig.until(() => rig.turns('agent').length === i)
  }
  const [first, second, third] = rig.turns('agent').map(({ heardText }) => heardText)
  t.match(first, /say it again/)
  t.match(second, /use the keys/)
  t.match(third, /Goodbye/)
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.eventsOf('finished')[0]?.why, 'provider_failure')
  t.equal(rig.close(), 0)
})

t.test('a slow model: a filler, then its reply', async (t) => {
  const outages = new Outages({ 'language_model main': 'slow' })
  const rig = await begun({
    vendors: (own, rig) => {
      const { languageModel } = outages.vendors(own, rig)
      // Its declared deadline is longer than a caller would wait in silence.
      return { ...own, languageModel: (id) => ({ ...languageModel(id), firstTokenDeadlineMs: 3000 }) }
    },
  })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs <= 900 + 300 + 100 + 1200 + 200, `spoke at ${rig.nowMs} ms`)
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, 'One moment please. Answer of main.')
  t.equal(outages.times('language_model', 'main'), 1, 'asked once')
  t.equal(rig.eventsOf('trouble').length, 0)
  t.equal(rig.close(), 0)
})

t.test('a stalled model: an apology within 1.5 s, then the reply of the second attempt', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 60_000, text: 'never' }])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.requests.length === 1)
  const asked = rig.nowMs
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs - asked <= 1300, `${rig.nowMs - asked} ms`)
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'trouble language_model vendor_stalled',
    'caller: Are you open?',
    'trace',
    'agent: Sorry, I am having trouble. One moment please. Answer 2.',
  ])
  t.same(rig.contextLines(), ['user: Are you open?'])
  t.equal(rig.close(), 0)
})

t.test('a model that only reasons counts as stalled', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: '<think>Let me' },
    ...Array.from({ length: 40 }, () => ({ after: 200, text: ' think' })),
  ])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.requests.length === 2)
  t.match(rig.eventsOf('trouble'), [{ part: 'language_model', code: 'vendor_stalled' }])
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /Answer 2\.$/)
  t.equal(rig.close(), 0)
})

t.test('a quick failure is retried silently', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 30, fail: 'HTTP 500' }])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'trouble language_model vendor_failed',
    'caller: Are you open?',
    'trace',
    'agent: Answer 2.',
  ])
  t.equal(rig.close(), 0)
})

t.test('a model that stays down: apology, goodbye, provider_failure, no dead air', async (t) => {
  const rig = await begun()
  for (let i = 0; i < 5; i++) rig.modelScripts.push([{ after: 30, fail: 'HTTP 500' }])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.equal(rig.requests.length, 5)
  const failedMs = rig.eventsOf('trouble').map(({ atMs }) => atMs)
  t.equal(failedMs.length, 5)
  t.ok((failedMs[4] ?? 0) - (failedMs[0] ?? 0) > 2400, `not given up within a moment: ${failedMs}`)
  t.ok((rig.turns('agent')[0]?.startMs ?? 0) - (failedMs[0] ?? 0) < 1000, 'the caller is told meanwhile')
  t.match(rig.turns('agent')[0]?.heardText, /^Sorry, I am having trouble.*Goodbye\.$/)
  t.equal(rig.eventsOf('finished')[0]?.why, 'provider_failure')
  t.ok(rig.longestSilence(900, rig.nowMs) < 3000)
  t.equal(rig.clock.pending, 0)
  await rig.run(200)
  t.notOk(rig.agentSounding)
})

t.test('a model that recovers within two seconds: an apology, then its answer', async (t) => {
  const rig = await begun()
  for (let i = 0; i < 4; i++) rig.modelScripts.push([{ after: 10, fail: 'HTTP 503' }])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /^Sorry, I am having trouble\. One moment please\. Answer 5\.$/)
  t.ok(rig.longestSilence(900, rig.nowMs) < 1500)
  t.same(rig.eventsOf('finished'), [])
  t.equal(rig.close(), 0)
})

t.test('a stream closes early: complete sentences are spoken, then the apology', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 100, text: 'We open at nine in the morning. On Sun' },
    { after: 50, fail: 'connection reset' },
  ])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(
    rig.turns('agent')[0]?.heardText,
    'We open at nine in the morning. Sorry, I am having trouble. One moment please.',
  )
  rig.callerSound(500, saying('And on Sunday?'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.turns('agent')[1]?.heardText, 'Answer 2.')
  t.equal(rig.close(), 0)
})

t.test('the model stalls after some sentences: no silence longer than 3 s', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([{ after: 100, text: 'We open at nine. ' }])
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.match(rig.turns('agent')[0]?.heardText, /^We open at nine\. Sorry/)
  t.ok(rig.longestSilence(900, rig.nowMs) < 3000)
  t.equal(rig.close(), 0)
})

t.test('synthesis: a retry, then the embedded voice for the rest of the call', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ fail: 'HTTP 500' }, { fail: 'HTTP 500' })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'trouble text_to_speech vendor_failed',
    'trouble text_to_speech vendor_failed',
    'caller: Are you open?',
    'trace',
    'agent: Answer 1.',
  ])
  t.same(
    rig.spoken.slice(-3).map(({ voice }) => voice),
    ['v', 'v', 'asha'],
  )
  rig.callerSound(300, saying('Good.'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.equal(rig.spoken.at(-1)?.voice, 'asha')
  t.equal(rig.close(), 0)
})

t.test('synthesis stalls: the embedded voice speaks after one deadline', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ stall: true })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.requests.length === 1)
  const asked = rig.nowMs
  await rig.until(() => rig.agentSounding)
  t.ok(rig.nowMs - asked < 1100)
  // The first timeout is tolerated, the second is not.
  const voices: string[][] = []
  for (const stall of [false, true, false]) {
    await rig.run(2000)
    if (stall) rig.speechScripts.push({ stall })
    const from = rig.spoken.length
    const before = rig.turns('agent').length
    rig.callerSound(300, saying('And on Sunday?'))
    await rig.until(() => rig.turns('agent').length > before)
    voices.push(rig.spoken.slice(from).map(({ voice }) => voice))
  }
  t.same(voices, [['v'], ['v', 'asha'], ['asha']])
  t.equal(rig.close(), 0)
})

t.test('synthesis fails within a sentence: the next voice speaks the rest', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 50, text: 'We open at nine and close at seven.' },
    { after: 0, done: true },
  ])
  rig.speechScripts.push({ breakAfterMs: 900, fail: 'reset', words: true }, { fail: 'reset' })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(
    rig.spoken.map(({ text }) => text).slice(-3),
    ['We open at nine and close at seven.', 'nine and close at seven.', 'nine and close at seven.'].map(
      (text) => text,
    ),
  )
  t.equal(rig.turns('agent')[0]?.heardText, 'We open at nine and close at seven.')
  t.equal(rig.close(), 0)
})

t.test('a synthesis slower than real time: gaps, but no lost word and no dead air', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 50, text: 'We open at nine and close at seven.' },
    { after: 0, done: true },
  ])
  rig.speechScripts.push({ speed: 0.7, words: true })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.turns('agent').length === 1)
  const turn = rig.turns('agent')[0]
  t.equal(turn?.heardText, 'We open at nine and close at seven.')
  t.ok(rig.longestSilence(turn?.startMs ?? 0, turn?.endMs ?? 0) < 200)
  t.equal(rig.eventsOf('trouble').length, 0)
  const words = turn?.words ?? []
  t.equal(words.length, 8)
  t.ok((words[7]?.startMs ?? 0) - (turn?.startMs ?? 0) > 29 * 60 * 1.2, 'word times are those of the wire')
  t.equal(rig.close(), 0)
})

t.test('the call ends when no voice works', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ fail: 'x' }, { fail: 'x' })
  rig.fallbackSpeechScripts.push({ fail: 'x' }, { fail: 'x' })
  rig.callerSound(0, saying('Are you open?'))
  await rig.until(() => rig.eventsOf('finished').length === 1)
  t.same(rig.eventSummary().slice(4), ['caller: Are you open?', 'finished provider_failure'])
  t.equal(rig.clock.pending, 0)
})

t.test('the call goes on when no voice says the line before a person', async (t) => {
  const rig = await begun()
  rig.speechScripts.push({ fail: 'x' }, { fail: 'x' })
  rig.fallbackSpeechScripts.push({ fail: 'x' }, { fail: 'x' })
  const line = rig.conversation.say?.({ text: 'A colleague joins us now.', last: false, now: true })
  await rig.until(() => rig.eventsOf('trouble').length === 4)
  t.equal(await line, 'failed')
  rig.callerSound(3000, saying('Are you there?'))
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary().slice(4), ['caller: Are you there?', 'trace', 'agent: Answer 1.'])
  t.equal(rig.close(), 0)
})

t.test('without recognition the agent says so once, and DTMF works', async (t) => {
  const rig = await begun({ understandsSpeech: false, spec: { openingLine: 'Hello.' } })
  await rig.until(() => rig.turns('agent').length === 1)
  rig.callerSound(300, saying('Hello, who is this?'))
  await rig.until(() => rig.turns('agent').length === 2)
  t.match(rig.turns('agent')[1]?.heardText, /keys of your phone/)
  rig.callerSound(300, saying('What?'))
  await rig.run(6000)
  t.equal(rig.turns('agent').length, 2, 'only once')
  rig.press('1')
  await rig.until(() => rig.turns('agent').length === 3)
  t.equal(rig.contextLines().at(-1), 'user: 1')
  t.equal(rig.eventsOf('trouble').length, 0)
  t.equal(rig.close(), 0)
})
