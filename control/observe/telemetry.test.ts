import t from 'tap'
import { EMPTY_RTP_STATS } from '../../fixtures/rtp/empty-stats.js'
import type { RtpStats } from '../../media/rtp/stats.js'
import { openTelemetry } from './telemetry.js'
import type { CallSpan } from './tracing.js'

const quality = (mos: number): NonNullable<RtpStats['quality']> => ({
  rttMs: 30,
  heard: { loss: 0, jitterMs: 2, mos, discarded: 0, burstDensity: 0, gapDensity: 0 },
  sent: null,
})

t.test('the legs of persons have metrics and trace events of their own', async (t) => {
  const spans: CallSpan[] = []
  const telemetry = openTelemetry({
    request: () => {},
    call: (span) => spans.push(span),
    close: async () => {},
  })
  const first = { ...EMPTY_RTP_STATS, packetsSent: 100, packetsReceived: 90, quality: quality(4.3) }
  const person = { ...EMPTY_RTP_STATS, packetsSent: 40, packetsReceived: 30, lost: 5, quality: quality(2.1) }
  const silent = { ...EMPTY_RTP_STATS, packetsSent: 7 }
  const legs = [
    { leg: 'person-1', rtp: person },
    { leg: 'person-2', rtp: silent },
  ]
  const ending = { by: 'callee', cause: 'transfer_completed', fault: 'none' } as const
  const call = { callId: 'call_1', seq: 1, at: 1_000, ending, recording: null }
  telemetry.call({ ...call, type: 'ended', rtp: first, legs })
  telemetry.call({ ...call, callId: 'call_2', type: 'ended', rtp: null })
  const metrics = await telemetry.metrics()
  for (const line of [
    'parley_rtp_packets_total{leg="first",fate="received"} 90',
    'parley_rtp_packets_total{leg="further",fate="received"} 30',
    'parley_rtp_packets_total{leg="further",fate="sent"} 47',
    'parley_rtp_packets_total{leg="further",fate="lost"} 5',
    'parley_call_mos_sum{leg="first",direction="heard"} 4.3',
    'parley_call_mos_sum{leg="further",direction="heard"} 2.1',
    'parley_call_mos_count{leg="further",direction="heard"} 1',
    'parley_call_round_trip_seconds_count{leg="further"} 1',
  ]) {
    t.ok(metrics.split('\n').includes(line), line)
  }
  t.same(
    spans.map(({ callId, rtp, legs }) => [callId, rtp?.packetsSent ?? null, legs.length]),
    [
      ['call_1', 100, 2],
      ['call_2', null, 0],
    ],
  )
})
