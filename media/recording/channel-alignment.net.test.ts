import { join } from 'node:path'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { recordLeg } from '../../fixtures/rtp/recorded-leg.js'

assertNothingLeft(t)

for (const jitterMs of [0, 40]) {
  t.test(`both channels match the time on the wire, jitter ${jitterMs} ms`, async (t) => {
    const leg = await recordLeg({
      path: join(t.testdir(), 'call.wav'),
      seconds: 7,
      impairments: { seed: 3, jitterMs },
    })
    t.ok(Math.abs(leg.durationMs - 7000) < 200, `${leg.durationMs} ms long`)
    // The jitter buffer needs a few packets to find the undelayed ones, so the first burst is skipped.
    const caller = leg.caller.slice(1)
    for (const { correlation } of [...caller, ...leg.agent]) t.ok(correlation > 0.9, `found: ${correlation}`)
    // A single shift fits all bursts: the time line of the recording against that of the network.
    const shifts = [...caller, ...leg.agent].map(({ wireMs, recordedMs }) => recordedMs - wireMs)
    const spread = Math.max(...shifts) - Math.min(...shifts)
    t.ok(spread < 20, `the channels are ${spread.toFixed(1)} ms apart at most`)
    const gaps = leg.packets.slice(1).map((packet, i) => packet.sequence - (leg.packets[i]?.sequence ?? 0))
    t.ok(
      gaps.every((gap) => gap === 1 || gap === -65535),
      'no packet missing, from start to end',
    )
  })
}
