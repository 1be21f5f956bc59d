import { VAD_STOP_MS } from '../../media/agent/turn/turn-policy.js'
import { figure, type Measured, part } from '../lib/figures.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'
import type { TurnWaits } from '../vendors/messages.js'
import type { TurnSample } from './job.js'

/** Where the time of one reply went, in ms, without the silence policy and what the vendors took. */
export interface Share {
  readonly clip: string
  /** Labelled end of the caller's speech to the agent's first sound, everything included. */
  readonly totalMs: number
  /** The three parts together. */
  readonly ms: number
  /** End of speech to the request for its text: transport, detector. */
  readonly ingestMs: number
  /** Text to the model's request, and its first sentence to the request for its sound. */
  readonly decideMs: number
  /** Of it, the part before the model. */
  readonly askMs: number
  /** First sound from the synthesis to the packet at the caller. */
  readonly emitMs: number
  /** What the vendors took. */
  readonly transcriptionMs: number
  readonly modelMs: number
  readonly speechMs: number
}

/** Null for a turn without a reply, or with one whose requests were not all seen. */
export function engineShare(turn: TurnSample, waits: readonly TurnWaits[]): Share | null {
  if (turn.replyMs === null || turn.early) return null
  const { replyMs, offsetMs } = turn
  // The reply's speech is the caller's last one that left a vendor before it was heard.
  const own = waits
    .filter(({ from, audioMs }) => from === turn.from && audioMs >= offsetMs && audioMs <= replyMs)
    .at(-1)
  if (own === undefined) return null
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

/** R_engine, or a sub-figure of it. */
export function replyRow(
  id: string,
  shares: readonly Share[],
  context: Readonly<Record<string, unknown>>,
): Measured {
  const values = shares.map(({ ms }) => ms)
  return figure(id, spread(values), {
    ...context,
    // A label is set on the clean signal: in noise its softest end is not there to be heard, and an
    // end that is told earlier than the label counts below zero.
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

/** The three parts of `id` as rows of their own; they have no gates. */
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

/** Count, median, 99th percentile and maximum. */
export function spread(values: readonly number[]): { n: number; p50: number; p99: number; max: number } {
  return {
    n: values.length,
    p50: rounded(percentile(values, 0.5)),
    p99: rounded(percentile(values, 0.99)),
    max: rounded(maximum(values)),
  }
}
