import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import { ConsultTalk, type TalkLine } from './consult-talk.js'

const SAY_MS = 4_000
const BRIEF = { text: 'A caller asks about an order.', keys: 'Say yes or press 1.' }

function open(answer: (talk: readonly TalkLine[]) => Promise<string | null> = async () => 'It is late.') {
  const clock = new VirtualClock()
  const said: string[] = []
  const decisions: boolean[] = []
  const talk = new ConsultTalk(
    {
      ...{ callId: 'call_1', clock, log: silentLog },
      say: (text) => {
        said.push(text)
        return new Promise((done) => clock.after(SAY_MS, done))
      },
      answer,
      decided: (accepted) => decisions.push(accepted),
    },
    BRIEF,
  )
  return { clock, said, decisions, talk, run: (ms: number) => clock.advanceAsync(ms, 100) }
}

t.test('words count from the end of the brief on', async (t) => {
  const { talk, decisions, run, said } = open()
  t.same(said, ['A caller asks about an order. Say yes or press 1.'])
  talk.heard('Yes.', 500)
  await run(SAY_MS - 500)
  talk.heard('Yes.', 300)
  await run(1_000)
  t.equal(talk.speaking, false)
  talk.heard('Yes.', 2_000)
  t.same(decisions, [], 'a greeting over the brief, or one that began before its end, decides nothing')
  talk.heard('Yes.', 300)
  t.same(decisions, [true])
  talk.end()
  talk.heard('No.', 300)
  t.same(decisions, [true], 'the talk is over')
})

t.test('a person declines by words', async (t) => {
  const { talk, decisions, run } = open()
  await run(5_000)
  talk.heard('Not now, call me later.', 300)
  t.same(decisions, [false])
})

t.test('a person asks back and then decides', async (t) => {
  const asked: (readonly TalkLine[])[] = []
  const { talk, decisions, said, run } = open(async (lines) => {
    asked.push([...lines])
    return 'Two days late.'
  })
  await run(5_000)
  talk.heard('How late is it?', 900)
  await run(1_000)
  t.same(asked, [
    [
      { by: 'agent', text: BRIEF.text },
      { by: 'person', text: 'How late is it?' },
    ],
  ])
  t.equal(said.at(-1), 'Two days late.')
  talk.heard('Yes', 100)
  t.same(decisions, [], 'an echo of the answer decides nothing')
  await run(SAY_MS)
  talk.heard('Okay, connect the caller.', 300)
  t.same(decisions, [true])
})

t.test('without an answer the person hears how to decide', async (t) => {
  for (const answer of [async () => null, () => Promise.reject(new Error('the model is gone'))]) {
    const { talk, said, run } = open(answer)
    await run(5_000)
    talk.heard('Who is it?', 300)
    await run(SAY_MS + 100)
    t.equal(said.at(-1), BRIEF.keys)
  }
})

t.test('two questions in a row get one answer, and questions are bounded', async (t) => {
  let asked = 0
  const { clock, talk, said, run } = open(
    () =>
      new Promise((resolve) => {
        asked++
        clock.after(1_000, () => resolve('An answer.'))
      }),
  )
  await run(5_000)
  talk.heard('Who is it?', 300)
  await run(500)
  talk.heard('And what about?', 300)
  await run(3_000)
  t.equal(asked, 2)
  t.equal(said.filter((text) => text === 'An answer.').length, 1)
  for (let i = 0; i < 10; i++) {
    await run(6_000)
    talk.heard('What else?', 300)
  }
  await run(6_000)
  t.equal(asked, 6)
  t.equal(said.at(-1), BRIEF.keys)
})
