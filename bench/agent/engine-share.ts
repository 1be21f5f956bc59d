import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { figure, type Measured, part } from '../lib/figures.js'
import { isJudged, type LateWindows, NO_LATE_WINDOWS } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import type { TurnWaits } from '../vendors/messages.js'
import type { TurnSample } from './job.js'

/** How the time of one reply was spent (ms), without the silence policy and the vendors' time. */
export interface Share {
  readonly clip: string
  /** Labelled end of the caller's speech to the agent's first sound, everything included. */
  readonly totalMs: number
  /** Sum of the three parts. */
  readonly ms: number
  /** End of speech to the request for its final text: transport and detector. */
  readonly ingestMs: number
  /** Final text to the model request, plus first sentence to the synthesis request. */
  readonly decideMs: number
  /** The part of it before the model request. */
  readonly askMs: number
  /** First synthesised audio to the packet at the caller. */
  readonly emitMs: number
  /** Time of the vendors. */
  readonly transcriptionMs: number
  readonly modelMs: number
  readonly speechMs: number
}

/**
 * Returns null for a turn without a reply, if not all requests of its reply were recorded, or if the host was late while
 * the engine worked on it.
 */
export function engineShare(
  turn: TurnSample,
  waits: readonly TurnWaits[],
  hostLate: LateWindows = NO_LATE_WINDOWS,
): Share | null {
  if (turn.replyMs === null || turn.early) return null
  const { replyMs, offsetMs } = turn
  // The reply's speech is the caller's last one that left a vendor before it was received.
  const own = waits
    .filter(({ from, audioMs }) => from === turn.from && audioMs >= offsetMs && audioMs <= replyMs)
    .at(-1)
  if (own === undefined) return null
  const judged = (
    [
      [offsetMs + VAD_STOP_MS, own.flushMs],
      [own.finalMs, own.askedMs],
      [own.sentenceMs, own.speakMs],
      [own.audioMs, replyMs],
    ] as const
  ).every(([fromMs, toMs]) => isJudged(hostLate, fromMs, toMs))
  if (!judged) return null
  const ingestMs = own.flushMs - offsetMs - VAD_STOP_MS
  const askMs = own.askedMs - own.finalMs
  const decideMs = askMs + (own.speakMs - own.sentenceMs)
  const emitMs = replyMs - own.audioMs
  return {
    clip: turn.clip,
    totalMs: replyMs - offsetMs,
    ms: ingestMs + decideMs + emitMs,
    ingestMs,
    decideMs,
    askMs,
    emitMs,
    transcriptionMs: own.finalMs - own.flushMs,
    modelMs: own.sentenceMs - own.askedMs,
    speechMs: own.audioMs - own.speakMs,
  }
}

/** Returns the row of R_engine or of one of its variants. */
export function replyRow(
  id: string,
  shares: readonly Share[],
  context: Readonly<Record<string, unknown>>,
): Measured {
  const values = shares.map(({ ms }) => ms)
  return figure(id, spread(values), {
    ...context,
    // Labels are set on the clean signal. In noise the softest end is inaudible: an end detected before the
    // label counts below zero.
    labels: 'clean signal',
    belowZero: values.filter((value) => value < 0).length,
    totalP50: rounded(
      percentile(
        shares.map(({ totalMs }) => totalMs),
        0.5,
      ),
    ),
  })
}

/** Returns the three parts of `id` as rows of their own, without gates. */
export function partRows(
  id: string,
  shares: readonly Share[],
  context: Readonly<Record<string, unknown>>,
): Measured[] {
  return [
    part(`${id}@ingest`, spread(shares.map(({ ingestMs }) => ingestMs)), context),
    part(`${id}@decide`, spread(shares.map(({ decideMs }) => decideMs)), context),
    part(`${id}@emit`, spread(shares.map(({ emitMs }) => emitMs)), context),
  ]
}

/** Returns count, median, 99th percentile and maximum. */
export function spread(values: readonly number[]): { n: number; p50: number; p99: number; max: number } {
  return {
    n: values.length,
    p50: rounded(percentile(values, 0.5)),
    p99: rounded(percentile(values, 0.99)),
    max: rounded(maximum(values)),
  }
}
