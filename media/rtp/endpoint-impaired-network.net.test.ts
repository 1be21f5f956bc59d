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

assertNothingLeft(t)

for (const row of IMPAIRMENT_CASES) {
  t.test(`through a network with ${row.name}`, async (t) => {
    const source = row.call.source ?? SPEECH
    const call = await runImpairedCall({ source, ...row.call })
    const judge = (what: string, heard: Int16Array, latestMs: number, bound: QualityBounds): void => {
      const got = matchSpeech(source, heard, { earliestMs: -40, latestMs })
      const { found, segmentalSnrDb: snr, spectralDb: spectral, delayMs, pieces } = got
      t.ok(found >= bound.found, `${what}: ${(100 * found).toFixed(0)} % of ${pieces} pieces found`)
      t.ok(snr >= bound.snrDb, `${what}: segmental SNR ${snr.toFixed(1)} dB`)
      t.ok(spectral <= bound.spectralDb, `${what}: spectral distance ${spectral.toFixed(2)} dB`)
      t.ok(delayMs[2] <= bound.delayMs, `${what}: delays of ${delayMs} ms`)
    }
    judge('heard on arrival', call.received, 120, row.received)
    judge('played', call.sent, 420, row.returned)
    const { concealedFrames, packetsSent } = call.stats
    const share = concealedFrames / packetsSent
    t.ok(share <= row.concealed, `${(100 * share).toFixed(2)} % of the frames made up`)
    const { snrDb, frames } = returnedAgainstSent(call)
    if (row.call.rate === undefined)
      t.ok(
        frames > 150 && snrDb > 33,
        `the peer got what was said: ${snrDb.toFixed(1)} dB in ${frames} frames`,
      )
    t.strictSame(row.check?.(call) ?? [], [])
  })
}
