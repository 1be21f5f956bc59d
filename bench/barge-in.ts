import { readManifest } from '../fixtures/speech/manifest.js'
import type { CallEvent } from '../signalling/events.js'
import { figure, type Measured } from './figures.js'
import type { CallerResult, InterruptSample } from './job.js'
import { PROFILES } from './providers.js'
import { openRig, type Rig, text } from './rig.js'
import { maximum, percentile, rounded } from './statistics.js'

const CALLS = 4
const TURNS = 15
/** Longer than any caller waits before speaking. */
const REPLY_SECONDS = 8
/** An interruption of the engine belongs to the caller's that is at most this long before it. */
const SAME_MS = 2_500

/** B_pause and B_flush, from one set of interruptions. */
export async function measureBargeIn(): Promise<Measured[]> {
  const rig = await openRig({ profile: PROFILES.zero, replySeconds: REPLY_SECONDS, record: true })
  try {
    // Words long enough to count as an interruption: a single syllable may be a backchannel.
    const clips = readManifest()
      .filter((entry) => entry.set === 'test' && entry.kind === 'speech' && entry.words.length > 2)
      .map((entry) => entry.clip)
    const result = await rig.call({ kind: 'interrupt', calls: CALLS, turnsPerCall: TURNS, clips })
    const pauses = result.interrupts.flatMap(({ onsetMs, lastSpeechMs }) =>
      lastSpeechMs === null ? [] : [lastSpeechMs - onsetMs],
    )
    const flushes = await flushDelays(rig, result)
    const context = { calls: CALLS, attempts: result.interrupts.length, errors: result.errors }
    return [
      figure(
        'B_pause',
        {
          n: pauses.length,
          p50: rounded(percentile(pauses, 0.5)),
          p99: rounded(percentile(pauses, 0.99)),
          max: rounded(maximum(pauses)),
        },
        { ...context, neverStopped: result.interrupts.length - pauses.length },
      ),
      figure(
        'B_flush',
        {
          n: flushes.length,
          p50: rounded(percentile(flushes, 0.5)),
          p99: rounded(percentile(flushes, 0.99)),
          max: rounded(maximum(flushes)),
        },
        context,
      ),
    ]
  } finally {
    await rig.close()
  }
}

/**
 * Last speech packet minus the decision that stopped it. The engine tells decisions in session time;
 * where that lies on our clock is found from the wire: the first packets of replies, which it tells
 * in session time too and which arrived here, the quickest of them being the offset.
 */
async function flushDelays(rig: Rig, result: CallerResult): Promise<number[]> {
  const delays: number[] = []
  for (const [callId, from] of await callers(rig)) {
    const events = rig.engine.events.filter((event) => event.callId === callId)
    const offset = sessionStart(events, result.speechStarts[from] ?? [])
    if (offset === null) continue
    const decisions = events.flatMap((event) => (event.type === 'interrupted' ? [event.atMs + offset] : []))
    for (const sample of result.interrupts) {
      const decidedMs = decisions.find((candidate) => belongs(sample, candidate))
      if (sample.from !== from || sample.lastSpeechMs === null || decidedMs === undefined) continue
      delays.push(sample.lastSpeechMs - decidedMs)
    }
  }
  return delays
}

function belongs(sample: InterruptSample, decidedMs: number): boolean {
  return decidedMs >= sample.onsetMs && decidedMs - sample.onsetMs < SAME_MS
}

/** Our clock at session time 0. */
export function sessionStart(events: readonly CallEvent[], starts: readonly number[]): number | null {
  const told = events.flatMap((event) =>
    event.type === 'trace' && event.trace.firstPacketMs !== null ? [event.trace.firstPacketMs] : [],
  )
  // The opening line has no trace; every candidate pair is tried, and the offset most pairs agree
  // on to a few ms is the true one.
  let best: { votes: number; offset: number } | null = null
  for (const start of starts) {
    for (const first of told) {
      const offset = start - first
      const agreeing = starts.flatMap((other) =>
        told.map((packet) => other - packet).filter((candidate) => Math.abs(candidate - offset) < 10),
      )
      if (best === null || agreeing.length > best.votes) {
        best = { votes: agreeing.length, offset: Math.min(...agreeing) }
      }
    }
  }
  return best?.offset ?? null
}

/** Ids of all calls with the caller's number. */
export async function callers(rig: Rig): Promise<[callId: string, from: string][]> {
  const answer = await rig.engine.api('GET', '/v1/calls?limit=100')
  if (typeof answer !== 'object' || answer === null || !('data' in answer) || !Array.isArray(answer.data)) {
    throw new Error('the list of calls is no list')
  }
  return answer.data.map((call: unknown) => [text(call, 'id'), text(call, 'from')])
}
