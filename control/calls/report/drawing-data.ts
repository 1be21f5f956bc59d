import type { CallEvent } from '../../../signalling/call/call-events.js'
import type { Db } from '../../db/database.js'
import type { StoredRecording } from '../recording-file.js'
import type { CallDrawing } from './drawing.js'

/** A call to draw, without its waveform, and a file with its recording; null when there is none. */
export interface CallDrawingSource {
  readonly call: Omit<CallDrawing, 'peaks'>
  readonly recording: string | null
}

/**
 * Reads a call to draw. `fetch` returns a local file with a recording, or null when it was deleted. Returns null
 * when there is no such call.
 */
export async function readCallDrawing(
  db: Db,
  fetch: (recording: Pick<StoredRecording, 'name' | 'key'>) => Promise<string | null>,
  callId: string,
): Promise<CallDrawingSource | null> {
  const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
  if (call === undefined) return null
  const rows = await db
    .selectFrom('callEvents')
    .select(['callId', 'seq', 'type', 'at', 'body'])
    .where('callId', '=', callId)
    .orderBy('seq')
    .execute()
  const events = rows.map(
    ({ callId, seq, type, at, body }) => ({ callId, seq, type, at, ...JSON.parse(body) }) as CallEvent,
  )
  const recording = await db
    .selectFrom('recordings')
    .select(['key', 'durationMs'])
    .where('callId', '=', callId)
    .executeTakeFirst()
  const path = recording === undefined ? null : await fetch({ name: callId, key: recording.key })
  const there = path !== null
  const turns = turnsOf(events)
  const live = call.answeredAt === null || call.endedAt === null ? 0 : call.endedAt - call.answeredAt
  return {
    call: {
      title: `Call ${callId}`,
      facts: [
        `${call.direction}, ${call.environment}`,
        new Date(call.startedAt ?? call.createdAt).toISOString(),
        `${(Math.max(0, live) / 1000).toFixed(1)} s`,
        call.endedReason ?? call.status,
        ...(there ? [] : ['no recording']),
      ],
      durationMs: Math.max(
        there ? (recording?.durationMs ?? 0) : 0,
        live,
        ...turns.map(({ endMs }) => endMs),
      ),
      turns,
      replies: repliesOf(events),
      marks: marksOf(events),
    },
    recording: path,
  }
}

function turnsOf(events: readonly CallEvent[]): CallDrawing['turns'] {
  return events.flatMap((event) => {
    if (event.type !== 'turn') return []
    const { speaker, text, heardText, startMs, endMs, cutAtMs } = event.turn
    const heard = speaker === 'agent' ? heardText : text
    return heard === '' ? [] : [{ speaker, text: heard, startMs, endMs, cutAtMs: cutAtMs ?? null }]
  })
}

function repliesOf(events: readonly CallEvent[]): CallDrawing['replies'] {
  return events.flatMap((event) => {
    if (event.type !== 'trace' || event.trace.firstPacketMs === null) return []
    return [{ fromMs: event.trace.speechEndMs, toMs: event.trace.firstPacketMs }]
  })
}

function marksOf(events: readonly CallEvent[]): CallDrawing['marks'] {
  return events.flatMap((event): CallDrawing['marks'] => {
    switch (event.type) {
      case 'dtmf':
        return [{ kind: 'digit', atMs: event.atMs, text: event.digit }]
      case 'trouble':
        return [
          { kind: 'failure', atMs: event.atMs, text: `${event.part.replaceAll('_', ' ')}: ${event.code}` },
        ]
      case 'resumed':
        return [
          { kind: 'resumed', atMs: event.atMs, text: `continued after ${Math.round(event.pausedMs)} ms` },
        ]
      default:
        return []
    }
  })
}
