import { readManifest } from '../../fixtures/speech/manifest.js'
import type { Turn } from '../../media/agent/conversation-events.js'
import type { CallEvent } from '../../signalling/call/call-events.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged } from '../lib/judged-time.js'
import { PROFILES } from '../vendors/messages.js'
import type { VoiceVendor } from '../vendors/open.js'
import { wordIndex, wordMs } from '../vendors/vocabulary.js'
import { spread } from './engine-share.js'
import type { InterruptSample, ReceivedWord } from './job.js'
import { openRig, type Rig, text } from './rig.js'

const FEW = { calls: 8, turns: 8 }
const MANY = { calls: 25, turns: 4 }
/** All words of the vocabulary: longer than any caller waits before speaking. */
const REPLY_SECONDS = 8
/** An interruption in the engine's trace belongs to a caller's interruption at most this long before it. */
const SAME_MS = 2_500

interface Outcome {
  readonly pauses: readonly number[]
  readonly flushes: readonly number[]
  readonly errors: readonly { readonly words: number; readonly ms: number }[]
  readonly context: Readonly<Record<string, unknown>>
}

/**
 * Measures B_pause, B_flush and H_err on one set of interruptions: with few calls (one TTS vendor with word
 * times, one without) and with many calls.
 */
export async function measureBargeIn(probe: Probe): Promise<Measured[]> {
  const timed = await measure('timed', FEW, probe)
  const plain = await measure('plain', FEW, probe)
  const many = await measure('timed', MANY, probe)
  const few = joined(timed, plain)
  const at = `@${MANY.calls}calls`
  return [
    ...rows('', few),
    ...rows(at, many),
    mistakes('H_err', few),
    mistakes('H_err@timed', timed),
    mistakes('H_err@plain', plain),
    mistakes(`H_err${at}`, many),
  ]
}

export const BARGE_IN_IDS = [
  ...['B_pause', 'B_flush', 'H_err'].flatMap((id) => [id, `${id}@${MANY.calls}calls`]),
  'H_err@timed',
  'H_err@plain',
]

function rows(at: string, { pauses, flushes, context }: Outcome): Measured[] {
  return [figure(`B_pause${at}`, spread(pauses), context), figure(`B_flush${at}`, spread(flushes), context)]
}

/** Counts words in the transcript that were not completely on the wire, and the reverse. */
function mistakes(id: string, { errors, context }: Outcome): Measured {
  const ms = spread(errors.map((error) => error.ms))
  return figure(id, spread(errors.map(({ words }) => words)), {
    ...context,
    // The transcript has whole words only: it may miss up to one word that was partly on the wire.
    msP50: ms.p50,
    msP99: ms.p99,
  })
}

function joined(a: Outcome, b: Outcome): Outcome {
  return {
    pauses: [...a.pauses, ...b.pauses],
    flushes: [...a.flushes, ...b.flushes],
    errors: [...a.errors, ...b.errors],
    context: { voices: [a.context, b.context] },
  }
}

async function measure(
  speech: VoiceVendor,
  { calls, turns }: { readonly calls: number; readonly turns: number },
  probe: Probe,
): Promise<Outcome> {
  const rig = await openRig({
    profile: PROFILES.zero,
    replySeconds: REPLY_SECONDS,
    record: true,
    voice: 'words',
    speech,
  })
  try {
    // Clips long enough to count as an interruption: a single syllable may be a backchannel.
    const clips = readManifest()
      .filter((entry) => entry.set === 'test' && entry.kind === 'speech' && entry.words.length > 2)
      .map((entry) => entry.clip)
    const result = await rig.call({ kind: 'interrupt', calls, turnsPerCall: turns, clips })
    const stopped = result.interrupts.filter(({ lastSpeechMs }) => lastSpeechMs !== null)
    const { late } = await probe.judge()
    const cuts = await cutsOf(rig, result.speechStarts)
    const flushes: number[] = []
    const errors: { words: number; ms: number }[] = []
    for (const sample of stopped) {
      const cut = cuts.get(sample.from)?.find(({ atMs }) => belongs(sample, atMs))
      if (cut === undefined || sample.lastSpeechMs === null) continue
      const stoppedMs = stopOf(sample.stopsMs, sample.lastSpeechMs, cut)
      if (isJudged(late, cut.atMs, stoppedMs)) flushes.push(stoppedMs - cut.atMs)
      errors.push(mistakeOf(sample.receivedWords, cut.heard))
    }
    return {
      pauses: stopped.flatMap(({ onsetMs, lastSpeechMs }) =>
        lastSpeechMs === null || !isJudged(late, onsetMs, lastSpeechMs) ? [] : [lastSpeechMs - onsetMs],
      ),
      flushes,
      errors,
      context: {
        calls,
        wordTimes: speech === 'timed',
        attempts: result.interrupts.length,
        neverStopped: result.interrupts.length - stopped.length,
        errors: result.errors,
      },
    }
  } finally {
    await rig.close()
  }
}

interface Cut {
  /** Time of the engine's decision on the bench's clock. */
  readonly atMs: number
  readonly heard: string
}

/**
 * Returns the interruptions of each caller as the engine traced them. The engine reports session time. The
 * offset to the bench's clock is found from the first packets of replies, which have a session time in the
 * trace and an arrival time here; the fastest packet gives the offset.
 */
async function cutsOf(
  rig: Rig,
  speechStarts: Readonly<Record<string, readonly number[]>>,
): Promise<Map<string, Cut[]>> {
  const cuts = new Map<string, Cut[]>()
  for (const [callId, from] of await callers(rig)) {
    const events = rig.service.events.filter((event) => event.callId === callId)
    const offset = sessionStart(events, speechStarts[from] ?? [])
    if (offset === null) continue
    const turns = new Map<number, Turn>()
    for (const event of events) {
      if (event.type === 'turn' && event.turn.speaker === 'agent') turns.set(event.turn.id, event.turn)
    }
    cuts.set(
      from,
      events.flatMap((event) =>
        event.type === 'interrupted'
          ? [{ atMs: event.atMs + offset, heard: turns.get(event.turnId)?.heardText ?? '' }]
          : [],
      ),
    )
  }
  return cuts
}

function mistakeOf(onWire: readonly ReceivedWord[], heard: string): { words: number; ms: number } {
  const believed = heard.split(/\s+/).flatMap((word) => (wordIndex(word) < 0 ? [] : [wordIndex(word)]))
  const believedMs = believed.reduce((sum, index) => sum + wordMs(index), 0)
  // The packet at the border of two words may match either.
  const whole = onWire.filter(({ index, packets }) => packets >= wordMs(index) / 20 - 1)
  const heardMs = onWire.reduce((sum, { packets }) => sum + packets * 20, 0)
  return { words: Math.abs(believed.length - whole.length), ms: Math.abs(believedMs - heardMs) }
}

/** Returns the end of speech that the decision caused: an agent that paused and resumed has earlier ends. */
function stopOf(stopsMs: readonly number[], lastSpeechMs: number, { atMs }: Cut): number {
  const away = (stop: number): number => Math.abs(stop - atMs)
  return stopsMs.reduce((best, stop) => (away(stop) < away(best) ? stop : best), lastSpeechMs)
}

function belongs(sample: InterruptSample, decidedMs: number): boolean {
  return decidedMs >= sample.onsetMs && decidedMs - sample.onsetMs < SAME_MS
}

/** Returns the bench time of session time 0. */
export function sessionStart(events: readonly CallEvent[], starts: readonly number[]): number | null {
  const told = events.flatMap((event) =>
    event.type === 'trace' && event.trace.firstPacketMs !== null ? [event.trace.firstPacketMs] : [],
  )
  // The opening has no trace. Every candidate pair is tried; the offset that most pairs confirm within a few
  // ms is correct.
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

/** Returns the ids of all calls with the caller's number. */
export async function callers(rig: Rig): Promise<[callId: string, from: string][]> {
  const answer = await rig.service.api('GET', '/v1/calls?limit=100')
  if (typeof answer !== 'object' || answer === null || !('data' in answer) || !Array.isArray(answer.data)) {
    throw new Error('the list of calls is no list')
  }
  return answer.data.map((call: unknown) => [text(call, 'id'), text(call, 'from')])
}
