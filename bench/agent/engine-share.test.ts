import t from 'tap'
import type { TurnWaits } from '../vendors/messages.js'
import { engineShare, partRows, replyRow } from './engine-share.js'
import type { TurnSample } from './job.js'

const turn: TurnSample = {
  from: '+919810000000',
  clip: 'test-u01-clean',
  onsetMs: 8000,
  offsetMs: 10_000,
  replyMs: 11_200,
  early: false,
}
const waits: TurnWaits = {
  from: turn.from,
  flushMs: 10_310,
  finalMs: 10_560,
  askedMs: 10_563,
  sentenceMs: 10_963,
  speakMs: 10_965,
  audioMs: 11_185,
}

t.test('three parts, and together what is left of the whole without policy and vendors', async (t) => {
  const share = engineShare(turn, [waits])
  t.match(share, { totalMs: 1200, ingestMs: 10, decideMs: 5, askMs: 3, emitMs: 15, ms: 30 })
  if (share === null) return
  const { totalMs, ms, transcriptionMs, modelMs, speechMs } = share
  t.equal(totalMs - 300 - transcriptionMs - modelMs - speechMs, ms)
  t.match(replyRow('R_engine', [share], {}), { p50: 30, max: 30, n: 1, pass: true })
  const rows = partRows('R_engine', [share], {})
  t.same(
    rows.map(({ id, p50, gate }) => [id, p50, gate]),
    [
      ['R_engine@ingest', 10, {}],
      ['R_engine@decide', 5, {}],
      ['R_engine@emit', 15, {}],
    ],
  )
})

t.test('a reply counts if the host was in time while the engine worked on it', async (t) => {
  // The vendors' wait from 10,563 to 10,963 ms is not the engine's.
  t.not(engineShare(turn, [waits], new Set([106, 107, 108])), null)
  t.equal(engineShare(turn, [waits], new Set([103])), null)
  t.equal(engineShare(turn, [waits], new Set([105])), null)
  t.equal(engineShare(turn, [waits], new Set([109])), null)
  t.equal(engineShare(turn, [waits], new Set([111])), null)
})

t.test('the caller’s own reply counts: not another call’s, an earlier or a later one', async (t) => {
  const other = { ...waits, from: '+919810000001', audioMs: 11_199 }
  const before = { ...waits, audioMs: 9_000 }
  const after = { ...waits, audioMs: 11_300 }
  t.equal(engineShare(turn, [before, waits, other, after])?.emitMs, 15)
  t.equal(engineShare(turn, [before, other, after]), null)
  t.equal(engineShare({ ...turn, replyMs: null }, [waits]), null)
  t.equal(engineShare({ ...turn, early: true }, [waits]), null)
})
