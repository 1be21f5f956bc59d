import type { Db } from '../../db/database.js'
import type { CallDrawing } from './drawing.js'
import { type Course, readCourse } from './timeline.js'

const DRAWN: Readonly<Record<string, CallDrawing['marks'][number]['kind']>> = {
  key: 'digit',
  failure: 'failure',
  resumed: 'resumed',
}

/** Reads a call to draw, without its waveform. Returns null when there is no such call. */
export async function readCallDrawing(
  db: Db,
  callId: string,
  recording: { readonly durationMs: number } | null,
): Promise<Omit<CallDrawing, 'peaks'> | null> {
  const call = await db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst()
  if (call === undefined) return null
  const { turns, replies, marks, durationMs } = await readCourse(db, call)
  const live = call.answeredAt === null || call.endedAt === null ? 0 : call.endedAt - call.answeredAt
  return {
    title: `Call ${callId}`,
    facts: [
      `${call.direction}, ${call.environment}`,
      new Date(call.startedAt ?? call.createdAt).toISOString(),
      `${(Math.max(0, live) / 1000).toFixed(1)} s`,
      call.endedReason ?? call.status,
      ...(recording === null ? ['no recording'] : []),
    ],
    durationMs: Math.max(recording?.durationMs ?? 0, durationMs),
    turns: turns.map(({ interruptedAtMs, ...turn }) => ({
      ...turn,
      speaker: turn.speaker as CallDrawing['turns'][number]['speaker'],
      cutAtMs: interruptedAtMs,
    })),
    replies: replies.map(({ speechEndMs, firstPacketMs }) => ({ fromMs: speechEndMs, toMs: firstPacketMs })),
    marks: marks.flatMap(drawn),
  }
}

function drawn({ kind, atMs, text }: Course['marks'][number]): CallDrawing['marks'] {
  const as = DRAWN[kind]
  return as === undefined ? [] : [{ kind: as, atMs, text }]
}
