import { z } from 'zod'
import type { CallEvent } from '../../signalling/call/call-events.js'
import { openEnum } from '../base/schemas.js'
import type { TranscriptSegmentRow } from '../db/tables/calling.js'

const Words = z.array(z.object({ w: z.string(), s: z.int(), e: z.int() }))

const Segment = z.object({
  index: z.int(),
  role: openEnum('agent', 'caller', 'human_agent', 'tool', 'system'),
  text: z.string(),
  startMs: z.int(),
  endMs: z.int(),
  language: z.string().nullable(),
  interrupted: z.boolean(),
  words: Words.nullable(),
})

export const Transcript = z.object({
  callId: z.string(),
  languages: z.array(z.string()),
  segments: z.array(Segment),
})

const ROLES = { agent: 'agent', caller: 'caller', human: 'human_agent' } as const

/**
 * Returns the transcript segment of a call event, or null when the event has none. A segment of the agent
 * holds what was heard: a sentence that was cut before its first sound has no segment.
 */
export function segmentOf(event: CallEvent): TranscriptSegmentRow | null {
  const { callId, seq } = event
  const at = (role: string, text: string, atMs: number): TranscriptSegmentRow => ({
    callId,
    seq,
    role,
    text,
    startMs: wholeMs(atMs),
    endMs: wholeMs(atMs),
    language: null,
    interrupted: 0,
    words: null,
  })
  switch (event.type) {
    case 'turn': {
      const { turn } = event
      const text = turn.speaker === 'agent' ? turn.heardText : turn.text
      if (turn.speaker === 'agent' && text === '') return null
      const words = turn.words?.map((word) => ({
        w: word.text,
        s: Math.round(word.startMs),
        e: Math.round(word.endMs),
      }))
      return {
        ...at(ROLES[turn.speaker], text, turn.startMs),
        endMs: wholeMs(turn.endMs),
        language: turn.language,
        interrupted: turn.cutAtMs === undefined ? 0 : 1,
        words: words === undefined || !Words.safeParse(words).success ? null : JSON.stringify(words),
      }
    }
    case 'dtmf':
      return at('system', `The caller pressed ${event.digit}.`, event.atMs)
    case 'trouble': {
      const instead = event.instead === undefined ? '' : `; ${event.instead} took over`
      const text = `Trouble with ${event.part.replaceAll('_', ' ')} (${event.code})${instead}.`
      return at('system', text, event.atMs)
    }
    case 'note':
      return at('system', `Note for the agent: ${event.text}`, event.atMs)
    case 'tool':
      return at('tool', `${event.name}(${JSON.stringify(event.arguments)}) -> ${event.result}`, event.atMs)
    default:
      return null
  }
}

/** Builds a call's transcript from its segments in order of time. */
export function transcriptView(
  callId: string,
  rows: readonly TranscriptSegmentRow[],
): z.input<typeof Transcript> {
  const languages = new Set(rows.flatMap((row) => (row.language === null ? [] : [row.language])))
  return {
    callId,
    languages: [...languages],
    segments: rows.map((row, index) => ({
      index,
      role: row.role,
      text: row.text,
      startMs: wholeMs(row.startMs),
      endMs: wholeMs(row.endMs),
      language: row.language,
      interrupted: row.interrupted === 1,
      words: row.words === null ? null : timesOf(row.words),
    })),
  }
}

/**
 * Rounds a time for the transcript. STT vendors supply some of the times and may send any JSON number; an
 * invalid one must not make the whole transcript unreadable.
 */
function wholeMs(ms: number): number {
  const whole = Math.round(ms)
  return Number.isSafeInteger(whole) ? whole : 0
}

/**
 * Parses the stored words. Returns null when one of their times is invalid, which older releases may have
 * stored.
 */
function timesOf(text: string): z.infer<typeof Words> | null {
  return Words.safeParse(JSON.parse(text)).data ?? null
}
