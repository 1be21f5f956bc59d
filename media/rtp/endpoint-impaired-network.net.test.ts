import t from 'tap'
import { listen } from '../../fixtures/audio/speech-match.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { boxedCall } from '../../fixtures/rtp/impaired-call.js'
import { type Bound, NETWORK_ROWS, returnedAsSaid, SPOKEN } from '../../fixtures/rtp/impairment-table.js'

assertNothingLeft(t)

for (const row of NETWORK_ROWS) {
  t.test(`through a network with ${row.name}`, async (t) => {
    const source = row.call.source ?? SPOKEN
    const call = await boxedCall({ source, time: 'virtual', ...row.call })
    const judge = (what: string, heard: Int16Array, latestMs: number, bound: Bound): void => {
      const got = listen(source, heard, { earliestMs: -40, latestMs })
      const { found, segmentalSnrDb: snr, spectralDb: spectral, delayMs, pieces } = got
      t.ok(found >= bound.found, `${what}: ${(100 * found).toFixed(0)} % of ${pieces} pieces found`)
      t.ok(snr >= bound.snrDb, `${what}: segmental SNR ${snr.toFixed(1)} dB`)
      t.ok(spectral <= bound.spectralDb, `${what}: spectral distance ${spectral.toFixed(2)} dB`)
      t.ok(delayMs[2] <= bound.delayMs, `${what}: delays of ${delayMs} ms`)
    }
    judge('heard on arrival', call.ear, 120, row.ear)
    judge('played', call.said, 420, row.echo)
    const { concealedFrames, packetsSent } = call.stats
    const share = concealedFrames / packetsSent
    t.ok(share <= row.concealed, `${(100 * share).toFixed(2)} % of the frames made up`)
    const { snrDb, frames } = returnedAsSaid(call)
    if (row.call.rate === undefined)
      t.ok(
        frames > 150 && snrDb > 33,
        `the peer got what was said: ${snrDb.toFixed(1)} dB in ${frames} frames`,
      )
    t.strictSame(row.check?.(call) ?? [], [])
  })
}
