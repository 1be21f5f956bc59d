import t from 'tap'
import { TURNS } from '../../../fixtures/turns/catalogue.js'
import { enginePolicy, judgeAll, vadOnlyPolicy } from '../../../fixtures/turns/quality.js'
import { spokenCalls } from '../../../fixtures/turns/spoken-calls.js'
import { loadVad } from '../../vad/vad.js'
import { VAD_STOP_MS } from './turn-policy.js'

t.test('the sets share no turn and cover the eleven languages', async (t) => {
  const texts = TURNS.map(({ pieces }) => pieces.join(' '))
  t.equal(new Set(texts).size, texts.length)
  t.equal(new Set(TURNS.filter(({ set }) => set === 'test').map(({ language }) => language)).size, 11)
})

t.test('end-of-turn detection is better than silence alone', async (t) => {
  const [calls, vad] = await Promise.all([spokenCalls('test', 1), loadVad()])
  for (const stopMs of [VAD_STOP_MS, 600, 1000]) {
    const plain = judgeAll(calls, vad, vadOnlyPolicy, stopMs)
    const ours = judgeAll(calls, vad, enginePolicy, stopMs)
    const told = `${stopMs} ms: ${(100 * ours.cutShare).toFixed(1)} % cut, ${ours.waitMs.toFixed(0)} ms; plain ${(100 * plain.cutShare).toFixed(1)} %, ${plain.waitMs.toFixed(0)} ms`
    t.ok(ours.cutShare < plain.cutShare * 0.85, told)
    t.ok(ours.waitMs < plain.waitMs + 120, told)
    t.same(
      ours.judged.filter(({ waitMs }) => waitMs === null).map(({ turn }) => turn.words),
      [],
      'every turn is answered',
    )
    if (stopMs !== VAD_STOP_MS) continue
    t.ok(plain.cutShare > 0.35, 'the set is hard for a detector of speech alone')
    t.ok(ours.cutShare < plain.cutShare / 2, told)
  }
})
