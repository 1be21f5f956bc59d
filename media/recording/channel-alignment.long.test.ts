import { join } from 'node:path'
import t from 'tap'
import { recordLeg } from '../../fixtures/rtp/recorded-leg.js'

t.setTimeout(600_000)

t.test('three minutes under jitter, loss and duplicates: the channels stay within 20 ms', async (t) => {
  const leg = await recordLeg({
    path: join(t.testdir(), 'call.wav'),
    seconds: 180,
    impairments: { seed: 8, jitterMs: 30, loss: 0.01, duplicates: 0.01 },
  })
  const shifts = [...leg.caller, ...leg.agent]
    .filter(({ correlation }) => correlation > 0.5)
    .map(({ wireMs, recordedMs }) => recordedMs - wireMs)
  t.ok(shifts.length > 200, `${shifts.length} bursts found`)
  const spread = Math.max(...shifts) - Math.min(...shifts)
  t.ok(spread < 20, `the channels are ${spread.toFixed(1)} ms apart at most`)
})
