import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import { Scope } from '../../media/base/scope.js'
import type { Deps } from '../api/deps.js'
import { EventQueue } from '../api/event-queue.js'
import { eventStreamOperation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { openEnum } from '../base/schemas.js'
import type { Db } from '../db/database.js'

/** Interval (ms) at which the call is read. It may be carried by another process. */
const LOOK_MS = 1_000
/** Lines in one reading. */
const BATCH = 200

export const HandoffLine = z.object({
  role: openEnum('agent', 'caller', 'human_agent'),
  text: z.string(),
  startMs: z.int(),
})

/** Roles of the lines that the person of a transfer may read. */
export const SHOWN_ROLES = ['agent', 'caller', 'human_agent'] as const

export const watchHandoff = eventStreamOperation({
  id: 'watchHandoff',
  path: '/v1/handoff/:token/events',
  tag: 'Transfers',
  summary: 'Get what is said on a transferred call as events',
  description:
    'What is said on the call after `after` or `Last-Event-ID`, and the brief once it was spoken, until the call is over. The page of the same address uses it.',
  audience: 'address',
  address: 'handoff',
  params: z.object({ token: z.string().max(512) }),
  query: z.strictObject({
    after: z
      .string()
      .regex(/^\d{1,9}$/)
      .optional()
      .meta({ description: 'Position of the last line that is known.' }),
  }),
  events: { line: HandoffLine, brief: z.object({ brief: z.string() }) },
  fails: ['not_found'],
  run: async ({ query, lastEventId, actor, deps }) => {
    const attempt = await readAttempt(deps.db, actor.subject)
    if (attempt === null) return refuse('not_found', 'The transfer no longer exists.')
    const position = /^\d{1,9}$/.test(lastEventId ?? '') ? lastEventId : query.after
    return openHandoffEvents(deps, actor.subject, position === undefined ? -1 : Number(position))
  },
})

/** Follows the call of a transfer from a position on. */
function openHandoffEvents(
  { db, clock, log }: Pick<Deps, 'db' | 'clock' | 'log'>,
  transferId: string,
  after: number,
): EventQueue {
  const scope = new Scope()
  const queue = new EventQueue(() => void scope.close())
  let position = after
  let brief: string | null = null

  async function look(): Promise<void> {
    // Read before the lines: a call that is over then has no later ones.
    const attempt = await readAttempt(db, transferId)
    const lines = attempt === null ? [] : await readLines(db, attempt.callId, position)
    for (const { seq, role, text, startMs } of lines) {
      position = Number(seq)
      if (!(SHOWN_ROLES as readonly string[]).includes(role)) continue
      const id = String(position)
      queue.push(id, { event: 'line', data: { role, text, startMs: Math.round(startMs) }, id })
    }
    if (attempt?.brief && attempt.brief !== brief) {
      brief = attempt.brief
      queue.push('brief', { event: 'brief', data: { brief } })
    }
    if (lines.length === BATCH) await look()
    else if (attempt === null || attempt.endedAt !== null) queue.end('over')
  }

  function again(): void {
    look()
      .catch((error: unknown) => log.warn({ transferId, error: errorText(error) }, 'handoff.look_failed'))
      .finally(() => {
        if (!scope.closed) scope.after(clock, LOOK_MS, again)
      })
  }

  again()
  return queue
}

async function readAttempt(db: Db, id: string) {
  const row = await db
    .selectFrom('transferAttempts')
    .innerJoin('calls', 'calls.id', 'transferAttempts.callId')
    .select(['transferAttempts.callId', 'transferAttempts.brief', 'calls.endedAt'])
    .where('transferAttempts.id', '=', id)
    .executeTakeFirst()
  return row ?? null
}

function readLines(db: Db, callId: string, after: number) {
  return db
    .selectFrom('transcriptSegments')
    .select(['seq', 'role', 'text', 'startMs'])
    .where('callId', '=', callId)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(BATCH)
    .execute()
}
