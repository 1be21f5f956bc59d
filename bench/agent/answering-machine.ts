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
 * A_answer: how often it is known who or what answered, on the held-out items of fixtures/answers, with the
 * real detectors and a recogniser that errs not. Prints the confusion table. No clock of the host is involved.
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
        // From the last sound of a person's greeting; 500 ms of it are waited.
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
