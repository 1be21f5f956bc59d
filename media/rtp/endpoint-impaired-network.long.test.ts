import t from 'tap'
import { matchSpeech } from '../../fixtures/audio/speech-match.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { runImpairedCall } from '../../fixtures/rtp/impaired-call.js'
import {
  IMPAIRMENT_CASES,
  type QualityBounds,
  returnedAgainstSent,
  SPEECH,
} from '../../fixtures/rtp/impairment-table.js'

/*
 * The cases of endpoint-impaired-network.net.test.ts in real time, several at once. The host adds jitter of
 * up to 8 ms (`HostTime`), and floods load this thread. The jitter buffers take both for network jitter, so
 * the audio is played later and stretched. Audio delivered on arrival is not affected.
 */
const AT_ONCE = 6
const ON_ARRIVAL: QualityBounds = { found: 0.1, snrDb: 3, spectralDb: 0.8, delayMs: 40 }
const PLAYED: QualityBounds = { found: 0.15, snrDb: 13, spectralDb: 1.6, delayMs: 180 }
const MADE_UP = 0.03

assertNothingLeft(t)

for (let from = 0; from < IMPAIRMENT_CASES.length; from += AT_ONCE) {
  const rows = IMPAIRMENT_CASES.slice(from, from + AT_ONCE)
  t.test(`in real time: ${rows.map(({ name }) => name).join('; ')}`, { timeout: 240_000 }, async (t) => {
    const calls = await Promise.all(
      rows.map(async (row) => {
        const source = row.call.source ?? SPEECH
        return { row, source, call: await runImpairedCall({ source, time: 'real', ...row.call }) }
      }),
    )
    for (const { row, source, call } of calls) {
      const judge = (
        what: string,
        heard: Int16Array,
        latestMs: number,
        bound: QualityBounds,
        slack: QualityBounds,
      ): void => {
        const got = matchSpeech(source, heard, { earliestMs: -400, latestMs })
        const note = `${row.name}, ${what}: ${JSON.stringify({ ...got, delays: undefined })}`
        t.ok(
          got.found >= bound.found - slack.found &&
            got.segmentalSnrDb >= bound.snrDb - slack.snrDb &&
            got.spectralDb <= bound.spectralDb + slack.spectralDb &&
            got.delayMs[2] <= bound.delayMs + slack.delayMs,
          note,
        )
      }
      judge('heard on arrival', call.received, 160, row.received, ON_ARRIVAL)
      judge('played', call.sent, 500, row.returned, PLAYED)
      const share = call.stats.concealedFrames / call.stats.packetsSent
      t.ok(share <= row.concealed + MADE_UP, `${row.name}: ${(100 * share).toFixed(2)} % made up`)
      const { snrDb } = returnedAgainstSent(call)
      if (row.call.rate === undefined)
        t.ok(snrDb > 33, `${row.name}: the peer got what was said, ${snrDb.toFixed(1)} dB`)
    }
  })
}
