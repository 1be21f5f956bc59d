import t from 'tap'
import { ANSWERS } from '../../../fixtures/answering-machine/catalogue.js'
import {
  confusionOf,
  confusionTable,
  correctCount,
} from '../../../fixtures/answering-machine/confusion-table.js'
import { detectAnswer, synthesiseAnswers } from '../../../fixtures/answering-machine/detect.js'
import { loadVad } from '../../vad/vad.js'

t.test('the sets have nothing in common', async (t) => {
  const said = ANSWERS.map(({ parts }) => JSON.stringify(parts)).filter((parts) => parts.includes('say'))
  t.equal(new Set(said).size, said.length)
  t.ok(ANSWERS.filter(({ set }) => set === 'test').length >= 40)
})

for (const set of ['tuning', 'test'] as const) {
  t.test(`confusion table of the ${set} set`, async (t) => {
    const vad = await loadVad()
    const judged = (await synthesiseAnswers(set)).map((answer) => detectAnswer(answer, vad))
    const confusion = confusionOf(judged)
    for (const line of confusionTable(confusion)) t.comment(line)
    t.ok(correctCount(judged) >= judged.length * 0.9, `${correctCount(judged)} of ${judged.length}`)
    // A person is never hung up on.
    t.equal(confusion.human.voicemail, 0)
    t.equal(confusion.human.fax, 0)
    t.same(
      judged.filter(
        ({ item, verdicts }) => item.answeredBy === 'human' && verdicts.some(({ by }) => by === 'voicemail'),
      ),
      [],
      'not for a moment either',
    )
  })
}
