import t from 'tap'
import { DEFAULT_SPEC } from '../../../fixtures/rigs/conversation-rig.js'
import { initialTurnState, step } from './turn-machine.js'
import { policyFor } from './turn-policy.js'
import type { TurnInput, TurnState } from './turn-types.js'

const POLICY = policyFor(DEFAULT_SPEC, {
  finalDeadlineMs: 1500,
  firstTokenDeadlineMs: 1200,
  understandsSpeech: true,
  partials: true,
})

const COMPLETE = 'I would like to book an appointment.'
const OPEN = 'I would like to book an appointment and'

/** Returns the session time (ms) at which the words are answered. */
function answeredAtMs(inputs: readonly TurnInput[], from: TurnState = initialTurnState) {
  let state = from
  let due: number | null = null
  const feed = (input: TurnInput): number | null => {
    const { next, effects } = step(state, input, POLICY)
    state = next
    for (const effect of effects) {
      if (effect.type === 'startTimer' && effect.name === 'final') due = input.atMs + effect.ms
      if (effect.type === 'cancelTimers') due = null
      if (effect.type === 'ask') return input.atMs
    }
    return null
  }
  for (const input of inputs) {
    const asked = feed(input)
    if (asked !== null) return { at: asked, state }
  }
  const at = due ?? Number.NaN
  return {
    at: feed({ type: 'timer', turn: state.caller?.id ?? 0, name: 'final', atMs: at }) ?? Number.NaN,
    state,
  }
}

/** A caller who speaks from 1 s to 2 s. The final text arrives 250 ms after the offset. */
function said(text: string, ...judged: readonly TurnInput[]): readonly TurnInput[] {
  const inputs: readonly TurnInput[] = [
    { type: 'start', opening: false, atMs: 0 },
    { type: 'onset', fromMs: 1000, atMs: 1060 },
    { type: 'offset', lastVoicedMs: 2000, atMs: 2300 },
    { type: 'final', text, words: null, atMs: 2550 },
    ...judged,
  ]
  return [...inputs].sort((a, b) => a.atMs - b.atMs)
}

const sound = (likely: number, at = 2260, lastVoicedMs = 2000): TurnInput => ({
  type: 'turnEstimate',
  lastVoicedMs,
  probability: likely,
  atMs: at,
})

const waited = (text: string, ...judged: readonly TurnInput[]) =>
  answeredAtMs(said(text, ...judged)).at - 2000

t.test('without an estimate the words alone decide', async (t) => {
  t.equal(waited(COMPLETE), 550, 'as soon as the text is there')
  t.equal(waited(OPEN), POLICY.waitMs.open.usual)
})

t.test('the turn detector moves the wait between its limits', async (t) => {
  t.equal(waited(COMPLETE, sound(0.5)), 550, 'a model that does not know changes nothing')
  t.equal(waited(OPEN, sound(0.5)), POLICY.waitMs.open.usual)
  t.equal(waited(COMPLETE, sound(1)), 550)
  t.equal(waited(COMPLETE, sound(0)), POLICY.waitMs.closed.ifContinuing)
  t.equal(waited(OPEN, sound(0)), POLICY.waitMs.open.ifContinuing)
  // Not before the text arrives.
  t.equal(waited(OPEN, sound(1)), 550)
  t.equal(waited('nine eight seven', sound(1)), POLICY.waitMs.spelling.ifFinished)
  let before = Number.POSITIVE_INFINITY
  for (let likely = 0; likely <= 1; likely += 0.125) {
    const now = waited(OPEN, sound(likely))
    t.ok(now <= before, `surer is never later (${likely})`)
    before = now
  }
})

t.test('an estimate during the wait counts; a late or outdated one does not', async (t) => {
  t.equal(waited(OPEN, sound(1, 2700)), 700, 'the wait is over at once')
  t.equal(waited(OPEN, sound(0, 2700)), POLICY.waitMs.open.ifContinuing)
  t.equal(waited(COMPLETE, sound(0, 2600)), 550, 'answered already')
  t.equal(waited(COMPLETE, sound(0, 2260, 1700)), 550, 'of a pause inside of what was said')
  const { state } = answeredAtMs(said(COMPLETE))
  const late = step(state, sound(0, 2600), POLICY)
  t.same(late.effects, [])
  t.equal(late.next.unexpected, state.unexpected + 1)
  t.equal(late.next.phase, 'thinking')
})

t.test('the wait is longer for an interrupted caller, and shrinks with every complete turn', async (t) => {
  const first = answeredAtMs(said(COMPLETE))
  t.equal(first.at, 2550)
  let state = first.state
  const go = (inputs: readonly TurnInput[]) => {
    for (const input of inputs) state = step(state, input, POLICY).next
  }
  const reply = () => state.reply?.id ?? 0
  // The caller continues 500 ms after the last word, while the model is busy.
  go([
    { type: 'onset', fromMs: 2500, atMs: 2600 },
    { type: 'partial', text: 'on Friday', atMs: 2900 },
  ])
  t.equal(state.phase, 'callerSpeaking')
  t.equal(state.earlyAnswerPauseMs, 500)
  const offset: readonly TurnInput[] = [
    { type: 'offset', lastVoicedMs: 3500, atMs: 3800 },
    { type: 'final', text: 'on Friday.', words: null, atMs: 3850 },
  ]
  go(offset)
  t.equal(state.phase, 'waitingFinal', 'the same pause again would be waited out')
  go([{ type: 'timer', turn: state.caller?.id ?? 0, name: 'final', atMs: 4000 }])
  t.equal(state.phase, 'thinking')
  go([
    { type: 'sentence', turn: reply(), atMs: 4300 },
    { type: 'firstSample', turn: reply(), atMs: 4400 },
  ])
  t.equal(state.earlyAnswerPauseMs, 250)
  go([
    { type: 'modelDone', turn: reply(), next: 'nothing', atMs: 4500 },
    { type: 'drained', turn: reply(), atMs: 5500 },
    { type: 'onset', fromMs: 6000, atMs: 6060 },
    { type: 'offset', lastVoicedMs: 7000, atMs: 7300 },
  ])
  const again = answeredAtMs([{ type: 'final', text: COMPLETE, words: null, atMs: 7350 }], state)
  t.equal(again.at, 7350, 'no longer than the detector takes by now')
})

t.test('a question after a long wait does not count as a pause', async (t) => {
  const { state } = answeredAtMs(said(COMPLETE))
  let now = state
  for (const input of [
    { type: 'onset', fromMs: 5000, atMs: 5060 },
    { type: 'partial', text: 'hello are you there', atMs: 5400 },
  ] as const)
    now = step(now, input, POLICY).next
  t.equal(now.earlyAnswerPauseMs, 0)
})

t.test('a part of the number that the agent asked for is no answer yet', async (t) => {
  const answerTo = (question: string, text: string) => {
    let { state } = answeredAtMs(said(COMPLETE))
    const turn = state.reply?.id ?? 0
    for (const input of [
      { type: 'sentence', turn, text: question, atMs: 3000 },
      { type: 'firstSample', turn, atMs: 3100 },
      { type: 'modelDone', turn, next: 'nothing', atMs: 3200 },
      { type: 'drained', turn, atMs: 5000 },
      { type: 'onset', fromMs: 6000, atMs: 6060 },
      { type: 'offset', lastVoicedMs: 7000, atMs: 7300 },
    ] as const)
      state = step(state, input, POLICY).next
    return answeredAtMs([{ type: 'final', text, words: null, atMs: 7350 }], state).at - 7000
  }
  const MOBILE = 'May I have your mobile number?'
  t.equal(answerTo(MOBILE, 'nine eight seven six'), POLICY.waitMs.spelling.usual)
  t.equal(answerTo(MOBILE, '98765 43210'), 350)
  t.equal(answerTo('How many people are coming?', 'nine eight seven six'), 350)
})
