import {
  confusionOf,
  confusionTable,
  correctCount,
  finalVerdict,
} from '../../fixtures/answering-machine/confusion-table.js'
import {
  type DetectedAnswer,
  detectAnswer,
  synthesiseAnswers,
} from '../../fixtures/answering-machine/detect.js'
import { loadVad } from '../../media/vad/vad.js'
import { figure, type Measured } from '../lib/figures.js'
import { percentile, rounded } from '../lib/statistics.js'

/**
 * A_answer: measures how often the kind of answerer is detected on the held-out items of
 * fixtures/answering-machine, with the real detectors and an error-free recogniser. Prints the confusion
 * table. Runs on virtual time.
 */
export async function measureAnsweringMachine(say: (line: string) => void): Promise<Measured[]> {
  const vad = await loadVad()
  const judged = (await synthesiseAnswers('test')).map((answer) => detectAnswer(answer, vad))
  const confusion = confusionOf(judged)
  for (const line of confusionTable(confusion)) say(line)
  for (const one of judged.filter((answer) => finalVerdict(answer) !== answer.item.answeredBy)) {
    say(`  ${one.item.answeredBy}, taken for ${finalVerdict(one)}: ${JSON.stringify(one.item.parts)}`)
  }
  const known = judged.flatMap(knownAfterMs)
  return [
    figure(
      'A_answer',
      { n: judged.length, value: rounded((100 * correctCount(judged)) / judged.length) },
      {
        confusion,
        // From the last sound of a person's greeting; includes the 500 ms wait.
        personKnownAfterMs: { p50: rounded(percentile(known, 0.5)), p99: rounded(percentile(known, 0.99)) },
        humanCalledVoicemail: confusion.human.voicemail,
      },
    ),
  ]
}

function knownAfterMs({ item, greetingEndMs, verdicts }: DetectedAnswer): number[] {
  const first = verdicts.find(({ by }) => by === 'human')
  return item.answeredBy === 'human' && first?.evidence === 'greeting' && first.atMs >= greetingEndMs
    ? [first.atMs - greetingEndMs]
    : []
}
