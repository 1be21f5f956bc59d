import { Counter, Histogram, type Registry } from 'prom-client'
import type { RtpStats } from '../../media/rtp/stats.js'

const MOS = [2, 2.5, 3, 3.5, 3.8, 4, 4.2, 4.4]
const SHARES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]

/** Metrics of the media quality of calls, recorded when they end. */
export class MediaMetrics {
  readonly #mos: Histogram
  readonly #loss: Histogram
  readonly #jitter: Histogram
  readonly #roundTrip: Histogram
  readonly #packets: Counter

  constructor(registry: Registry) {
    const byDirection = { registers: [registry], labelNames: ['direction'] }
    this.#mos = new Histogram({
      ...byDirection,
      name: 'parley_call_mos',
      help: 'Estimated MOS of ended calls (E-model), by direction.',
      buckets: MOS,
    })
    this.#loss = new Histogram({
      ...byDirection,
      name: 'parley_call_loss_ratio',
      help: 'Packet loss ratio of ended calls, by direction.',
      buckets: SHARES,
    })
    this.#jitter = new Histogram({
      ...byDirection,
      name: 'parley_call_jitter_seconds',
      help: 'Jitter of ended calls, by direction.',
      buckets: SECONDS,
    })
    this.#roundTrip = new Histogram({
      registers: [registry],
      name: 'parley_call_round_trip_seconds',
      help: 'Round-trip time of ended calls whose peers sent RTCP reports.',
      buckets: SECONDS,
    })
    this.#packets = new Counter({
      registers: [registry],
      name: 'parley_rtp_packets_total',
      help: 'RTP packets of ended calls, by fate.',
      labelNames: ['fate'],
    })
  }

  callEnded(stats: RtpStats): void {
    const { quality } = stats
    const packets = {
      sent: stats.packetsSent,
      received: stats.packetsReceived,
      lost: stats.lost,
      late: stats.late,
      refused: stats.refused,
    }
    // `lost` is negative if more packets arrived than were expected (RFC 3550, duplicates).
    for (const [fate, count] of Object.entries(packets)) this.#packets.inc({ fate }, Math.max(0, count))
    if (quality === undefined || stats.packetsReceived === 0) return
    for (const direction of ['heard', 'sent'] as const) {
      const values = quality[direction]
      if (values === null) continue
      for (const [histogram, value] of [
        [this.#mos, values.mos],
        [this.#loss, values.loss],
        [this.#jitter, values.jitterMs / 1000],
      ] as const) {
        if (Number.isFinite(value)) histogram.observe({ direction }, value)
      }
    }
    if (quality.rttMs !== null) this.#roundTrip.observe(quality.rttMs / 1000)
  }
}
