import { z } from 'zod'
import type { CallEvent } from '../../../signalling/call/call-events.js'
import { openEnum, Timestamp, timestamp } from '../../base/schemas.js'
import type { Db } from '../../db/database.js'
import type { CallRow } from '../../db/tables/calling.js'
import type { TransferAttemptRow } from '../../db/tables/transfers.js'

/** Events of a call that are read. A call of two hours has fewer. */
const MAX_EVENTS = 50_000
const TEXT_MAX = 500

const Ms = z.int().meta({ description: 'ms after `zeroAt`; negative before it.' })

export const Timeline = z.object({
  callId: z.string(),
  zeroAt: Timestamp.meta({
    description: 'Time 0: the answer, or the start of a call that was not answered.',
  }),
  durationMs: z.int(),
  waveform: z
    .object({
      pixelsPerSecond: z.number(),
      caller: z.array(z.int()).meta({ description: 'Highest level of each pixel, 0 to 128.' }),
      agent: z.array(z.int()),
    })
    .nullable()
    .meta({ description: 'Null without a recording.' }),
  turns: z.array(
    z.object({
      speaker: openEnum('caller', 'agent', 'human'),
      text: z.string(),
      startMs: Ms,
      endMs: Ms,
      interruptedAtMs: Ms.nullable().meta({ description: 'When the agent was stopped before its end.' }),
    }),
  ),
  replies: z
    .array(
      z.object({
        speechEndMs: Ms,
        firstPacketMs: Ms,
        latencyMs: z.int(),
        stages: z.object({
          vadStopMs: Ms.nullable(),
          sttFinalMs: Ms.nullable(),
          decidedMs: Ms,
          modelFirstTokenMs: Ms.nullable(),
          firstSentenceMs: Ms.nullable(),
          ttsFirstAudioMs: Ms.nullable(),
        }),
      }),
    )
    .meta({ description: 'From the end of the caller’s speech to the first packet of the reply.' }),
  marks: z.array(
    z.object({
      kind: openEnum(
        'key',
        'tool',
        'failure',
        'resumed',
        'answered_by',
        'note',
        'monitor',
        'agent_took_over',
      ),
      atMs: Ms,
      text: z.string(),
    }),
  ),
  legs: z.array(
    z.object({
      party: openEnum('caller', 'person'),
      label: z.string(),
      startMs: Ms,
      answeredMs: Ms.nullable(),
      endMs: Ms.nullable(),
    }),
  ),
  sip: z.array(
    z.object({
      atMs: Ms,
      party: openEnum('caller', 'person'),
      step: openEnum('invite', 'ringing', 'answered', 'hold', 'resume', 'ended'),
      status: z.int().nullable().meta({ description: 'SIP status, where it is known.' }),
    }),
  ),
})
export type TimelineView = z.input<typeof Timeline>
export type Course = Omit<TimelineView, 'waveform'>

/** Reads the course of a call from its events: all but its waveform. */
export async function readCourse(db: Db, call: CallRow): Promise<Course> {
  const rows = await db
    .selectFrom('callEvents')
    .select(['callId', 'seq', 'type', 'at', 'body'])
    .where('callId', '=', call.id)
    .orderBy('seq')
    .limit(MAX_EVENTS)
    .execute()
  const attempts = await db
    .selectFrom('transferAttempts')
    .selectAll()
    .where('organizationId', '=', call.organizationId)
    .where('callId', '=', call.id)
    .orderBy('attempt')
    .execute()
  const events = rows.map(
    ({ callId, seq, type, at, body }) => ({ callId, seq, type, at, ...JSON.parse(body) }) as CallEvent,
  )
  return courseOf(call, events, attempts)
}

/** Places what happened on one axis of time. */
export function courseOf(
  call: CallRow,
  events: readonly CallEvent[],
  attempts: readonly TransferAttemptRow[],
): Course {
  const zeroAt = call.answeredAt ?? call.startedAt ?? call.createdAt
  const since = (at: number): number => Math.round(at - zeroAt)
  const sinceOrNull = (at: number | null): number | null => (at === null ? null : since(at))
  const turns = turnsOf(events)
  return {
    callId: call.id,
    zeroAt: timestamp(zeroAt),
    durationMs: Math.max(
      0,
      call.answeredAt === null || call.endedAt === null ? 0 : since(call.endedAt),
      ...turns.map(({ endMs }) => endMs),
    ),
    turns,
    replies: repliesOf(events),
    marks: marksOf(events, since),
    legs: [
      {
        party: 'caller',
        label: call.direction === 'inbound' ? call.fromNumber : call.toNumber,
        startMs: since(call.startedAt ?? call.createdAt),
        answeredMs: sinceOrNull(call.answeredAt),
        endMs: sinceOrNull(call.endedAt),
      },
      ...attempts.map(({ label, requestedAt, answeredAt, endedAt }) => ({
        party: 'person',
        label,
        startMs: since(requestedAt),
        answeredMs: sinceOrNull(answeredAt),
        endMs: sinceOrNull(endedAt),
      })),
    ],
    sip: events.flatMap((event) => sipOf(event, since(timeOf(event)))),
  }
}

function turnsOf(events: readonly CallEvent[]): Course['turns'] {
  return events.flatMap((event) => {
    if (event.type !== 'turn') return []
    const { speaker, text, heardText, startMs, endMs, cutAtMs } = event.turn
    const heard = speaker === 'agent' ? heardText : text
    if (heard === '') return []
    const interruptedAtMs = msOf(cutAtMs ?? null)
    return [{ speaker, text: heard, startMs: wholeMs(startMs), endMs: wholeMs(endMs), interruptedAtMs }]
  })
}

function repliesOf(events: readonly CallEvent[]): Course['replies'] {
  return events.flatMap((event) => {
    if (event.type !== 'trace' || event.trace.firstPacketMs === null) return []
    const { trace } = event
    const [speechEndMs, firstPacketMs] = [wholeMs(trace.speechEndMs), wholeMs(event.trace.firstPacketMs)]
    const stages = {
      vadStopMs: msOf(trace.vadStopMs),
      sttFinalMs: msOf(trace.sttFinalMs),
      decidedMs: wholeMs(trace.decidedMs),
      modelFirstTokenMs: msOf(trace.modelFirstTokenMs),
      firstSentenceMs: msOf(trace.firstSentenceMs),
      ttsFirstAudioMs: msOf(trace.ttsFirstAudioMs),
    }
    return [{ speechEndMs, firstPacketMs, latencyMs: firstPacketMs - speechEndMs, stages }]
  })
}

function marksOf(events: readonly CallEvent[], since: (at: number) => number): Course['marks'] {
  const mark = (kind: string, atMs: number, text: string) => [
    { kind, atMs: wholeMs(atMs), text: text.slice(0, TEXT_MAX) },
  ]
  return events.flatMap((event) => {
    switch (event.type) {
      case 'dtmf':
        return mark('key', event.atMs, event.digit)
      case 'note':
        return mark('note', event.atMs, event.text)
      case 'tool':
        return mark('tool', event.atMs, `${event.name}: ${event.result}`)
      case 'trouble':
        return mark('failure', event.atMs, `${event.part.replaceAll('_', ' ')}: ${event.code}`)
      case 'resumed':
        return mark('resumed', event.atMs, `continued after ${Math.round(event.pausedMs)} ms`)
      case 'answered_by':
        return mark('answered_by', event.atMs, event.by)
      case 'monitored':
        return mark('monitor', since(event.at), `${event.mode} ${event.status}: ${event.by}`)
      case 'agent_took_over':
        return mark('agent_took_over', event.atMs, 'the agent took over from the bot')
      default:
        return []
    }
  })
}

const PERSON_STEPS: Readonly<Record<string, string>> = {
  accepted: 'invite',
  ringing: 'ringing',
  answered: 'answered',
  completed: 'ended',
  missed: 'ended',
  declined: 'ended',
  failed: 'ended',
  canceled: 'ended',
}

/** Returns the Unix time (ms) of an event. The leg of a caller who hung up ended before the call did. */
function timeOf(event: CallEvent): number {
  return event.type === 'ended' ? (event.callerLeftAt ?? event.at) : event.at
}

function sipOf(event: CallEvent, atMs: number): Course['sip'] {
  const step = (name: string, status: number | null = null, party = 'caller') => [
    { atMs, party, step: name, status },
  ]
  switch (event.type) {
    case 'dialing':
      return step('invite')
    case 'ringing':
      return step('ringing', event.sip)
    case 'answered':
      return step('answered', 200)
    case 'held':
      return step(event.on ? 'hold' : 'resume')
    case 'transfer': {
      const name = PERSON_STEPS[event.status]
      return name === undefined ? [] : step(name, null, 'person')
    }
    case 'ended':
      return step('ended', event.ending.sip ?? null)
    default:
      return []
  }
}

/** Vendors supply some of the times and may send any JSON number. */
function wholeMs(ms: number): number {
  const whole = Math.round(ms)
  return Number.isSafeInteger(whole) ? whole : 0
}

function msOf(ms: number | null): number | null {
  return ms === null ? null : wholeMs(ms)
}
