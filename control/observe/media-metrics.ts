import type { RtpStats } from '../../media/rtp/stats.js'
import { Counter, Histogram, type Metric } from './metric-registry.js'

const MOS = [2, 2.5, 3, 3.5, 3.8, 4, 4.2, 4.4]
const SHARES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]

/** Metrics of the media quality of calls, recorded when they end. */
export class MediaMetrics {
  readonly #mos = new Histogram('parley_call_mos', 'E-model estimate of a call, by direction.', MOS)
  readonly #loss = new Histogram('parley_call_loss_ratio', 'Packets of a call lost, by direction.', SHARES)
  readonly #jitter = new Histogram('parley_call_jitter_seconds', 'Jitter of a call, by direction.', SECONDS)
  readonly #roundTrip = new Histogram(
    'parley_call_round_trip_seconds',
    'By RTCP, where peers report.',
    SECONDS,
  )
  readonly #packets = new Counter('parley_rtp_packets_total', 'RTP packets of calls that ended, by fate.')

  readonly metrics: readonly Metric[] = [this.#mos, this.#loss, this.#jitter, this.#roundTrip, this.#packets]

  callEnded(stats: RtpStats): void {
    const { quality } = stats
    const packets = {
      sent: stats.packetsSent,
      received: stats.packetsReceived,
      lost: stats.lost,
      late: stats.late,
      refused: stats.refused,
    }
    for (const [fate, count] of Object.entries(packets)) this.#packets.add({ fate }, count)
    if (quality === undefined || stats.packetsReceived === 0) return
    for (const direction of ['heard', 'sent'] as const) {
      const values = quality[direction]
      if (values === null) continue
      this.#mos.observe({ direction }, values.mos)
      this.#loss.observe({ direction }, values.loss)
      this.#jitter.observe({ direction }, values.jitterMs / 1000)
    }
    if (quality.rttMs !== null) this.#roundTrip.observe({}, quality.rttMs / 1000)
  }
}
