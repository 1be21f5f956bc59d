import t from 'tap'
import { DEFAULT_SPEC } from '../../../fixtures/rigs/conversation-rig.js'
import { answering, begun } from '../../../fixtures/rigs/conversation-starts.js'
import type { TurnTakingSpec } from '../agent-spec.js'
import { policyFor } from './turn-policy.js'
import { TURN_PRESETS, waitLimits } from './turn-presets.js'

/* Each setting of turn taking, by what the caller hears. */

function turnTaking(
  preset: TurnTakingSpec['preset'],
  { maxWaitMs = null, minMs = null, minWords = 0 }: Partial<Record<string, number | null>> = {},
): TurnTakingSpec {
  return { preset, maxWaitMs, interruption: { minMs, minWords: minWords ?? 0 } }
}

/** Returns the time (ms) from the caller's last sound to the question to the model. */
async function answeredAfter(text: string, spec: TurnTakingSpec): Promise<number> {
  const rig = await begun({ spec: { turnTaking: spec } })
  rig.callerSound(200, { ms: 900, text })
  const from = rig.nowMs + 1100
  await rig.until(() => rig.requests.length === 1, 10_000)
  const waited = rig.nowMs - from
  rig.close()
  return waited
}

/** Returns the length (ms) of a sound without words that interrupted the agent. */
async function interruptedAfter(spec: TurnTakingSpec): Promise<number> {
  const rig = await answering({ spec: { turnTaking: spec } }, false)
  const onset = rig.nowMs
  rig.callerSound(0, { ms: 2500, text: 'Stop please' })
  await rig.until(() => rig.eventsOf('interrupted').length === 1)
  const after = rig.nowMs - onset
  rig.close()
  return after
}

t.test('the presets wait longer, and yield later, from fast to patient', async (t) => {
  const open = 'I would like to book an appointment and'
  const waits: number[] = []
  const sounds: number[] = []
  for (const preset of ['fast', 'balanced', 'patient'] as const) {
    waits.push(await answeredAfter(open, turnTaking(preset)))
    sounds.push(await interruptedAfter(turnTaking(preset)))
  }
  // Steps of the virtual clock are frames of 20 ms.
  for (const [index, ms] of [600, 960, 1500].entries()) {
    t.ok(Math.abs((waits[index] ?? 0) - ms) <= 40, `${waits[index]} ms, ${ms} expected`)
  }
  for (const [index, ms] of [500, 700, 900].entries()) {
    t.ok(Math.abs((sounds[index] ?? 0) - ms) <= 60, `${sounds[index]} ms, ${ms} expected`)
  }
})

t.test('balanced is the default', (t) => {
  const limits = {
    finalDeadlineMs: 1500,
    firstTokenDeadlineMs: 1200,
    understandsSpeech: true,
    partials: true,
  }
  const usual = policyFor(DEFAULT_SPEC, limits)
  const balanced = policyFor({ ...DEFAULT_SPEC, turnTaking: turnTaking('balanced') }, limits)
  t.same(balanced.waitMs, usual.waitMs)
  t.equal(balanced.confirmSpeechMs, usual.confirmSpeechMs)
  t.equal(balanced.maxAgentSilenceMs, 2300)
  const slow = policyFor({ ...DEFAULT_SPEC, turnTaking: turnTaking('balanced', { maxWaitMs: 4000 }) }, limits)
  t.equal(slow.maxAgentSilenceMs, 4300, 'the agent is not late before its own wait is over')
  t.end()
})

t.test('maxWaitMs caps every wait, and raises those for unfinished words', async (t) => {
  for (const preset of ['fast', 'balanced', 'patient'] as const) {
    const short = waitLimits(preset, 300)
    for (const limits of Object.values(short)) for (const ms of Object.values(limits)) t.ok(ms <= 300)
    const long = waitLimits(preset, 4000)
    t.same(long.closed, TURN_PRESETS[preset].waitMs.closed)
    t.equal(long.open.maxFromPauses, 4000)
    t.equal(long.spelling.ifContinuing, 4000)
  }
  const open = 'I would like to book an appointment and'
  const waited = await answeredAfter(open, turnTaking('patient', { maxWaitMs: 400 }))
  t.ok(waited <= 600, `${waited} ms: the detector, the recogniser and no more`)
})

t.test('minMs is the sound that interrupts', async (t) => {
  const quick = await interruptedAfter(turnTaking('balanced', { minMs: 200 }))
  const slow = await interruptedAfter(turnTaking('balanced', { minMs: 1500 }))
  t.ok(Math.abs(quick - 200) <= 80, `${quick} ms`)
  t.ok(Math.abs(slow - 1500) <= 80, `${slow} ms`)
})

t.test('fewer words than minWords do not interrupt', async (t) => {
  const wait = { ms: 500, text: 'Wait please', partials: [[200, 'Wait']] } as const
  const stopped = await answering()
  stopped.callerSound(0, wait)
  await stopped.until(() => stopped.eventsOf('interrupted').length === 1)
  stopped.close()

  const patient = await answering({ spec: { turnTaking: turnTaking('balanced', { minWords: 3 }) } })
  patient.callerSound(0, wait)
  await patient.until(() => patient.eventsOf('resumed').length === 1)
  await patient.until(() => patient.turns('agent').length === 1)
  t.equal(patient.eventsOf('interrupted').length, 0)
  t.equal(patient.requests.length, 1)
  patient.close()

  const enough = await answering({ spec: { turnTaking: turnTaking('balanced', { minWords: 3 }) } })
  enough.callerSound(0, { ms: 900, text: 'Wait a minute please', partials: [[500, 'Wait a minute']] })
  await enough.until(() => enough.eventsOf('interrupted').length === 1)
  enough.close()
})

t.test('a protected opening is spoken to its end, and what was said meanwhile is answered', async (t) => {
  const openingLine = 'This call is recorded. Good morning, this is Asha from Sunrise Dental.'
  const rig = await begun({ spec: { openingLine, openingProtected: true } })
  rig.callerSound(300, { ms: 900, text: 'Who is calling please?', partials: [[200, 'Who']] })
  await rig.until(() => rig.requests.length === 1, 15_000)
  t.equal(rig.eventsOf('interrupted').length, 0)
  t.equal(rig.turns('agent')[0]?.heardText, openingLine)
  t.same(rig.contextLines(), [`assistant: ${openingLine}`, 'user: Who is calling please?'])
  t.equal(rig.close(), 0)

  const agreeing = await begun({ spec: { openingLine, openingProtected: true } })
  agreeing.callerSound(300, { ms: 450, text: 'Hello?' })
  await agreeing.until(() => agreeing.turns('agent').length === 1, 15_000)
  await agreeing.run(1500)
  t.equal(agreeing.requests.length, 0, 'a greeting is no question')
  agreeing.close()
})
