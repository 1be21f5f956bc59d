import t from 'tap'
import type { TurnTrace } from '../../../media/agent/conversation-events.js'
import { callLatency } from './latency.js'

const trace = (speechEndMs: number, firstPacketMs: number | null): TurnTrace => ({
  turnId: 1,
  speechEndMs,
  vadStopMs: null,
  sttFinalMs: null,
  decidedMs: speechEndMs,
  modelFirstTokenMs: null,
  firstSentenceMs: null,
  ttsFirstAudioMs: null,
  firstPacketMs,
})

t.test('nearest-rank percentiles of the delays', async (t) => {
  const traces = [100, 500, 300, 200, 400].map((wait) => trace(1_000, 1_000 + wait))
  t.same(callLatency(traces, 42.4), { firstAudioMs: 42, turnP50Ms: 300, turnP95Ms: 500 })
})

t.test('replies that were never sent do not count', async (t) => {
  t.same(callLatency([trace(1_000, null), trace(1_000, 1_250)], 0), {
    firstAudioMs: 0,
    turnP50Ms: 250,
    turnP95Ms: 250,
  })
})

t.test('a call without agent audio has none', async (t) => {
  t.equal(callLatency([], null), null)
  t.same(callLatency([], 10), { firstAudioMs: 10, turnP50Ms: null, turnP95Ms: null })
})
