import { Counter, Histogram, type Registry } from 'prom-client'
import type { RtpStats } from '../../media/rtp/stats.js'

const MOS = [2, 2.5, 3, 3.5, 3.8, 4, 4.2, 4.4]
const SHARES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]

/** The leg of the caller, or one of a person of a transfer or takeover. */
export type LegLabel = 'first' | 'further'

/** Metrics of the media quality of the legs of calls, recorded when the calls end. */
export class MediaMetrics {
  readonly #mos: Histogram
  readonly #loss: Histogram
  readonly #jitter: Histogram
  readonly #roundTrip: Histogram
  readonly #packets: Counter

  constructor(registry: Registry) {
    const byDirection = { registers: [registry], labelNames: ['leg', 'direction'] }
    this.#mos = new Histogram({
      ...byDirection,
      name: 'parley_call_mos',
      help: 'Estimated MOS of ended calls (E-model), by leg and direction.',
      buckets: MOS,
    })
    this.#loss = new Histogram({
      ...byDirection,
      name: 'parley_call_loss_ratio',
      help: 'Packet loss ratio of ended calls, by leg and direction.',
      buckets: SHARES,
    })
    this.#jitter = new Histogram({
      ...byDirection,
      name: 'parley_call_jitter_seconds',
      help: 'Jitter of ended calls, by leg and direction.',
      buckets: SECONDS,
    })
    this.#roundTrip = new Histogram({
      registers: [registry],
      name: 'parley_call_round_trip_seconds',
      help: 'Round-trip time of ended calls whose peers sent RTCP reports, by leg.',
      labelNames: ['leg'],
      buckets: SECONDS,
    })
    this.#packets = new Counter({
      registers: [registry],
      name: 'parley_rtp_packets_total',
      help: 'RTP packets of ended calls, by leg and fate.',
      labelNames: ['leg', 'fate'],
    })
  }

  legEnded(leg: LegLabel, stats: RtpStats): void {
    const { quality } = stats
    const packets = {
      sent: stats.packetsSent,
      received: stats.packetsReceived,
      lost: stats.lost,
      late: stats.late,
      refused: stats.refused,
    }
    // `lost` is negative if more packets arrived than were expected (RFC 3550, duplicates).
    for (const [fate, count] of Object.entries(packets)) {
      this.#packets.inc({ leg, fate }, Math.max(0, count))
    }
    if (quality === undefined || stats.packetsReceived === 0) return
    for (const direction of ['heard', 'sent'] as const) {
      const values = quality[direction]
      if (values === null) continue
      for (const [histogram, value] of [
        [this.#mos, values.mos],
        [this.#loss, values.loss],
        [this.#jitter, values.jitterMs / 1000],
      ] as const) {
        if (Number.isFinite(value)) histogram.observe({ leg, direction }, value)
      }
    }
    if (quality.rttMs !== null) this.#roundTrip.observe({ leg }, quality.rttMs / 1000)
  }
}
