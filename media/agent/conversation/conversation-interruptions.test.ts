import t from 'tap'
import { answering, begun, LONG_ANSWER, saying } from '../../../fixtures/rigs/conversation-starts.js'

/* Sounds that interrupt the agent, sounds that only pause it, and noise. */

const FRAME_MS = 20

t.test(
  'an interruption by words: the rest is never sent, the context holds only what was heard',
  async (t) => {
    const rig = await answering()
    const onset = rig.nowMs
    rig.callerSound(0, {
      ms: 1400,
      text: 'Wait, how much does it cost?',
      partials: [[160, 'Wait']],
    })
    await rig.until(() => !rig.agentSounding)
    t.ok(rig.nowMs - onset <= 120, `paused ${rig.nowMs - onset} ms after the onset`)
    await rig.until(() => rig.eventsOf('interrupted').length === 1)
    const sent = rig.sentSamples()
    const synthesised = rig.spoken.length
    await rig.until(() => rig.requests.length === 2)
    t.equal(rig.sentSamples(), sent, 'not a sample after the pause')
    t.equal(rig.spoken.length, synthesised, 'no sentence of the old answer is synthesised')
    const agent = rig.turns('agent')[0]
    t.equal(agent?.text, LONG_ANSWER)
    t.ok(agent?.cutAtMs)
    t.match(agent?.heardText, /^We are open from/)
    t.ok((agent?.heardText.length ?? 99) < 40)
    t.same(rig.contextLines(), [
      'user: When are you open?',
      `assistant: ${agent?.heardText} [interrupted by the caller]`,
      'user: Wait, how much does it cost?',
    ])
    // The heard words are those whose audio was sent before the cut.
    const heardMs = (agent?.endMs ?? 0) - (agent?.startMs ?? 0)
    const charsSent = heardMs / 60
    t.ok((agent?.heardText.length ?? 0) <= charsSent)
    t.ok((agent?.heardText.length ?? 0) > charsSent - 12, 'to the word')
    await rig.until(() => rig.turns('agent').length === 2)
    t.same(rig.eventSummary().slice(3, 7), [
      `agent: ${agent?.heardText} |`,
      'caller: Wait, how much does it cost?',
      'trace',
      'agent: Answer 2.',
    ])
    t.equal(rig.close(), 0)
  },
)

t.test('an interruption by a long sound without partial texts', async (t) => {
  const rig = await answering({}, false)
  const onset = rig.nowMs
  rig.callerSound(0, { ms: 1500, text: 'Stop please' })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  t.ok(rig.nowMs - onset >= 700 && rig.nowMs - onset <= 760)
  const cut = rig.eventsOf('interrupted')[0]?.atMs ?? 0
  t.ok(cut - onset <= 100, 'the cut is where the sound stopped, not where it was decided')
  await rig.until(() => rig.requests.length === 2)
  t.match(rig.contextLines()[1], /^assistant: We are open from [a-z ]* ?\[interrupted by the caller\]$/)
  t.equal(rig.close(), 0)
})

t.test('a cough pauses the speech, which resumes at the same sample', async (t) => {
  const rig = await answering()
  const from = rig.nowMs
  rig.callerSound(0, { ms: 240, text: '' })
  await rig.until(() => !rig.agentSounding)
  await rig.until(() => rig.agentSounding)
  const gap = rig.nowMs - FRAME_MS - (from + 240)
  t.ok(gap < 400, `gap ${gap} ms after the sound ended`)
  t.equal(rig.eventsOf('resumed').length, 1)
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: When are you open?', 'trace', 'resumed', `agent: ${LONG_ANSWER}`])
  t.equal(rig.eventsOf('interrupted').length, 0)
  t.equal(rig.requests.length, 1, 'nothing to answer')
  // The ramp of the first sentence continues over the gap.
  const first = rig.frames.findIndex(({ pcm }) => pcm)
  const heard = rig.frames.slice(first).flatMap(({ pcm }) => (pcm ? [...pcm.slice(40)] : []))
  const pauseFrame = rig.frames.findIndex(({ atMs, pcm }) => atMs > from && !pcm)
  const before = rig.frames[pauseFrame - 2]?.pcm?.at(-1) ?? 0
  const after = rig.frames.slice(pauseFrame).find(({ pcm }) => pcm)?.pcm?.[40] ?? 0
  t.equal((after - 1000 - (before - 1000) + 30_000) % 30_000, 41, 'next sample, after the 5 ms fade-in')
  t.ok(heard.length > 0)
  t.equal(rig.close(), 0)
})

t.test('a backchannel is transcribed and is not a turn', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 500, text: 'Mm-hmm.', partials: [[300, 'mm-hmm']], finalAfterMs: 80 })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), [
    'caller: When are you open?',
    'trace',
    'resumed',
    'caller: Mm-hmm.',
    `agent: ${LONG_ANSWER}`,
  ])
  t.equal(rig.requests.length, 1)
  t.equal(rig.close(), 0)
})

t.test('words that come after a false resume still interrupt', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 300, text: 'No, Monday.', finalAfterMs: 700 })
  await rig.until(() => rig.eventsOf('resumed').length === 1)
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.contextLines().at(-1), 'user: No, Monday.')
  t.equal(rig.close(), 0)
})

t.test('the agent does not talk over a caller who continues after a breath', async (t) => {
  const rig = await answering()
  const from = rig.nowMs
  // Longer than the silence that resumes the agent, shorter than a VAD offset.
  rig.callerSound(0, { ms: 300, text: 'No, I meant the other one, on Sunday.' })
  rig.callerSound(580, { ms: 1200, text: '' })
  await rig.until(() => rig.eventsOf('resumed').length === 1)
  await rig.until(() => rig.agentSounding)
  await rig.until(() => !rig.agentSounding)
  t.ok(rig.nowMs - (from + 580) <= 80, `silent ${rig.nowMs - from - 580} ms after the caller went on`)
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  t.ok(rig.nowMs - from < 1200, 'what was said before the breath counts')
  t.ok((rig.eventsOf('interrupted')[0]?.atMs ?? 0) - from <= 620, 'the cut is where the agent stopped')
  await rig.until(() => rig.requests.length === 2)
  t.equal(rig.contextLines().at(-1), 'user: No, I meant the other one, on Sunday.')
  await rig.until(() => rig.turns('caller').length === 2)
  t.equal(rig.turns('caller')[1]?.startMs, from, 'one turn, from its beginning')
  t.equal(rig.close(), 0)
})

t.test('the last frame before a pause or an interruption is flushed early', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 300, text: 'No, Monday.', finalAfterMs: 700 })
  await rig.until(() => rig.flushEarlyMs.length === 1)
  t.ok(rig.agentSounding, 'the pause is told before the next frame')
  await rig.run(20)
  t.ok(rig.agentSounding)
  const [fade] = rig.frames.slice(-1)
  t.ok(fade?.pcm?.some((sample) => sample !== 0) && fade.pcm.slice(40).every((sample) => sample === 0))
  await rig.until(() => rig.eventsOf('resumed').length === 1)
  // Words interrupt it in mid-speech, without a pause.
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  t.equal(rig.flushEarlyMs.length, 2)
  await rig.run(20)
  const cut = rig.frames.at(-1)?.pcm
  t.ok(
    cut?.some((sample) => sample !== 0) && cut.slice(40).every((sample) => sample === 0),
    'it fades, no click',
  )
  await rig.run(20)
  t.notOk(rig.agentSounding)
  t.equal(rig.flushEarlyMs.length, 2)
  t.equal(rig.close(), 0)
})

t.test('a cough while the model generates delays the reply and does not cancel it', async (t) => {
  const rig = await begun()
  rig.modelScripts.push([
    { after: 300, text: 'Yes, we are.' },
    { after: 0, done: true },
  ])
  rig.callerSound(100, saying('Are you open?'))
  await rig.until(() => rig.requests.length === 1)
  rig.callerSound(150, { ms: 300, text: '' })
  await rig.until(() => rig.turns('agent').length === 1)
  t.same(rig.eventSummary(), ['caller: Are you open?', 'trace', 'agent: Yes, we are.'])
  t.equal(rig.requests.length, 1)
  t.equal(rig.close(), 0)
})

t.test('a hello during the opening does not stop it; a question does', async (t) => {
  const spec = { openingLine: 'Good morning, this is Asha from Sunrise Dental. Do you have a minute?' }
  const rig = await begun({ spec })
  rig.callerSound(300, { ms: 450, text: 'Hello?' })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.turns('agent')[0]?.heardText, spec.openingLine)
  t.equal(rig.turns('caller')[0]?.text, 'Hello?')
  t.equal(rig.requests.length, 0)
  t.equal(rig.close(), 0)

  const other = await begun({ spec })
  other.callerSound(300, { ms: 1200, text: 'Who is calling please?', partials: [[200, 'Who']] })
  await other.until(() => other.requests.length === 1)
  t.match(other.contextLines()[0], /^assistant: Good .*\[interrupted by the caller\]$/)
  t.equal(other.contextLines()[1], 'user: Who is calling please?')
  t.equal(other.close(), 0)
})

t.test('noise from the start of the call does not silence the agent', async (t) => {
  const openingLine = 'Good morning, this is Asha from Sunrise Dental.'
  const rig = await begun({ spec: { openingLine } })
  rig.callerSound(0, { ms: 60_000, text: '' })
  await rig.run(60)
  await rig.until(() => rig.turns('agent').some(({ heardText }) => heardText === openingLine), 15_000)
  t.ok(rig.nowMs < 10_000, `the whole greeting was heard after ${rig.nowMs} ms`)
  t.ok(rig.longestSilence(0, rig.nowMs) < 5500, 'silent no longer than it takes to call it noise')
  t.equal(rig.close(), 0)
})

t.test('noise interrupts the greeting and ends: the greeting is repeated', async (t) => {
  const openingLine = 'Good morning, this is Asha from Sunrise Dental.'
  const rig = await begun({ spec: { openingLine } })
  rig.callerSound(0, { ms: 1700, text: '', finalAfterMs: 100 })
  await rig.until(() => rig.turns('agent').some(({ heardText }) => heardText === openingLine), 15_000)
  t.ok(rig.longestSilence(0, rig.nowMs) < 2500, 'no dead air')
  t.equal(rig.requests.length, 0)
  t.equal(rig.eventsOf('interrupted').length, 1)
  t.equal(rig.close(), 0)
})

t.test('noise interrupts a reply and ends: the agent asks instead of staying silent', async (t) => {
  const rig = await answering()
  rig.callerSound(0, { ms: 1500, text: '' })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  const cutMs = rig.nowMs
  await rig.until(() => rig.agentSounding, 3000)
  t.ok(rig.nowMs - cutMs < 2000)
  await rig.until(() => rig.turns('agent').length === 2)
  t.match(rig.turns('agent')[1]?.heardText, /say it again/)
  // Only words interrupt now: the same noise over the next answer only pauses it.
  rig.modelScripts.push([
    { after: 100, text: LONG_ANSWER },
    { after: 0, done: true },
  ])
  rig.callerSound(300, saying('And on Sunday?'))
  await rig.until(() => rig.requests.length === 2)
  await rig.until(() => rig.agentSounding)
  t.equal(rig.close(), 0)
})
