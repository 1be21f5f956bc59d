import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import type { TurnDetector } from '../../vad/turn-detector.js'

interface Question {
  readonly ms: number
  /** Audio processed until then (ms). */
  readonly heardMs: number
  answer(likely: number): void
}

/** A turn detector with scripted answers. */
function scripted() {
  const questions: Question[] = []
  let heardMs = 0
  let withdrawn = 0
  let closed = false
  const model: TurnDetector = {
    open: (rate) => ({
      push: (pcm) => {
        heardMs += (pcm.length * 1000) / rate
      },
      ask: (ms, answer) => questions.push({ ms, heardMs, answer }),
      withdraw: () => {
        withdrawn++
      },
      close: () => {
        closed = true
      },
    }),
  }
  return { model, questions, closed: () => closed, withdrawn: () => withdrawn }
}

/**
 * Returns the time (ms) at which the language model is asked. The estimate arrives 40 ms after the question.
 */
async function asked(text: string, likely: number | null): Promise<number> {
  const { model, questions } = scripted()
  const rig = new ConversationRig({ turnDetector: model })
  await rig.start()
  rig.callerSound(1000, { ms: 900, text, finalAfterMs: 60 })
  await rig.until(() => questions.length === 1)
  if (likely !== null) {
    await rig.run(40)
    questions[0]?.answer(likely)
  }
  await rig.until(() => rig.requests.length === 1)
  const atMs = rig.clock.now()
  rig.close()
  return atMs
}

t.test("the detector is asked early in each pause, only in the caller's turn", async (t) => {
  const { model, questions, closed, withdrawn } = scripted()
  const rig = new ConversationRig({ turnDetector: model, spec: { openingLine: 'Hello, how can I help?' } })
  await rig.start()
  // A cough over the agent's phrase is no pause of a caller.
  rig.callerSound(300, { ms: 120, text: '' })
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(questions.length, 0)
  rig.modelScripts.push([
    { after: 0, text: 'Yes.' },
    { after: 0, done: true },
  ])
  rig.callerSound(1000, { ms: 600, text: 'My number is', finalAfterMs: 60 })
  rig.callerSound(1850, { ms: 700, text: 'nine eight seven six', finalAfterMs: 60 })
  await rig.until(() => rig.requests.length === 1)
  // The model did not answer, so that no pause is asked about again.
  t.equal(questions.length, 2, 'one for each pause')
  t.equal(withdrawn(), 2, 'when the caller goes on, and when the turn is decided')
  const [first, second] = questions
  t.ok(first !== undefined && first.ms > 600 && first.ms <= 600 + 160 + 300, `${first?.ms}`)
  // The second question covers the whole turn, not only the last part.
  t.ok(second !== undefined && second.ms > 1550 && second.ms <= 1550 + 160 + 300, `${second?.ms}`)
  rig.close()
  t.ok(closed())
  second?.answer(1)
})

t.test('the estimate shortens or extends the wait; without one the words decide', async (t) => {
  const plain = await asked('I want to book and', null)
  const complete = await asked('I want to book.', null)
  t.ok((await asked('I want to book and', 1)) < plain - 300)
  t.ok((await asked('I want to book and', 0)) > plain + 400)
  t.ok((await asked('I want to book.', 0.1)) > complete + 800)
  t.equal(await asked('I want to book.', 1), complete)
})

t.test('a pause is asked about again while the turn is open, and the newest answer counts', async (t) => {
  const { model, questions, withdrawn } = scripted()
  const rig = new ConversationRig({ turnDetector: model })
  await rig.start()
  rig.callerSound(1000, { ms: 900, text: 'I want to book and', finalAfterMs: 60 })
  await rig.until(() => questions.length === 1)
  const firstAtMs = rig.nowMs
  questions[0]?.answer(0)
  await rig.until(() => questions.length === 2)
  t.ok(rig.nowMs - firstAtMs >= 260 && rig.nowMs - firstAtMs <= 320, `${rig.nowMs - firstAtMs}`)
  t.equal(rig.requests.length, 0)
  // Far later than any fixed deadline: the turn still waits for more words, so the answer counts.
  await rig.run(200)
  questions[1]?.answer(1)
  await rig.run(100)
  t.equal(rig.requests.length, 1, 'it is over at once')
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(questions.length, 2)
  t.equal(withdrawn(), 0)
  rig.close()
})

t.test('a late estimate changes nothing', async (t) => {
  const { model, questions } = scripted()
  const rig = new ConversationRig({ turnDetector: model })
  await rig.start()
  rig.callerSound(1000, { ms: 900, text: 'I want to book.', finalAfterMs: 60 })
  await rig.until(() => rig.requests.length === 1)
  questions[0]?.answer(0)
  await rig.until(() => rig.turns('agent').length === 1)
  t.equal(rig.requests.length, 1)
  rig.close()
  questions[0]?.answer(0)
  t.equal(rig.turns('caller').length, 1)
})
