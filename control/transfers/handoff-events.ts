import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import { Scope } from '../../media/base/scope.js'
import { throttle } from '../access/throttle.js'
import type { Deps, HandoffFeed } from '../api/deps.js'
import { EventQueue } from '../api/event-queue.js'
import { eventStreamOperation } from '../api/operation.js'
import { refuse, tooEarly } from '../api/problem.js'
import { openEnum } from '../base/schemas.js'
import type { Db } from '../db/database.js'

/** Poll interval (ms). Another process may carry the call. */
const LOOK_MS = 1_000
/** Maximum number of lines in one poll. */
const BATCH = 200
/** Maximum number of streams of one transfer that are opened in a minute: 8 that reconnect every two seconds. */
const OPENED_PER_MINUTE = 240

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
    'What is said on the call after `after` or `Last-Event-ID`, and the brief once it was spoken, until the call is over. The page of the same address uses it. At most 8 streams of a transfer are open in one process.',
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
  fails: ['not_found', 'rate_limited'],
  run: async ({ query, lastEventId, actor, deps }) => {
    const tooMany = await throttle(deps, `watchHandoff ${actor.subject}`, OPENED_PER_MINUTE)
    if (tooMany !== null) return tooMany
    const attempt = await readAttempt(deps.db, actor.subject)
    if (attempt === null) return refuse('not_found', 'The transfer no longer exists.')
    const position = /^\d{1,9}$/.test(lastEventId ?? '') ? lastEventId : query.after
    return deps.handoffs.follow(actor.subject, position === undefined ? -1 : Number(position))
  },
})

/** Maximum number of open streams of one transfer: a person has a few tabs and telephones. */
const STREAMS = 8
const RETRY_AFTER_SECONDS = 10

/** A stream and the position of its last line. */
interface Follower {
  readonly queue: EventQueue
  after: number
  /** The brief that the stream has. Null before the first. */
  brief: string | null
}

/**
 * Opens the feed of this process for the pages of transfers. Reads a transfer once for all its streams, from the
 * position of the one that is furthest behind.
 */
export function openHandoffFeed({
  db,
  clock,
  log,
}: Pick<Deps, 'db' | 'clock' | 'log'>): HandoffFeed & { close(): Promise<void> } {
  const scope = new Scope()
  const followed = new Map<string, Set<Follower>>()

  async function look(transferId: string, followers: ReadonlySet<Follower>): Promise<void> {
    // Read before the lines: a call that is over then has no later ones.
    const attempt = await readAttempt(db, transferId)
    for (;;) {
      const present = [...followers]
      if (present.length === 0) return
      const from = Math.min(...present.map(({ after }) => after))
      const lines = attempt === null ? [] : await readLines(db, attempt.callId, from)
      for (const follower of present) send(follower, lines)
      if (lines.length === BATCH) continue
      for (const follower of present) {
        const { queue } = follower
        if (attempt?.brief && attempt.brief !== follower.brief) {
          follower.brief = attempt.brief
          queue.push('brief', { event: 'brief', data: { brief: attempt.brief } })
        }
        if (attempt === null || attempt.endedAt !== null) queue.end('over')
      }
      return
    }
  }

  function again(transferId: string, followers: ReadonlySet<Follower>): void {
    look(transferId, followers)
      .catch((error: unknown) => log.warn({ transferId, error: errorText(error) }, 'handoff.look_failed'))
      .finally(() => {
        if (scope.closed || followers.size === 0) return
        scope.after(clock, LOOK_MS, () => again(transferId, followers))
      })
  }

  return {
    follow(transferId, after) {
      const known = followed.get(transferId)
      if ((known?.size ?? 0) >= STREAMS) {
        return tooEarly(
          `At most ${STREAMS} streams of one transfer are open at the same time. Close one.`,
          RETRY_AFTER_SECONDS,
        )
      }
      const followers = known ?? new Set<Follower>()
      const follower: Follower = {
        ...{ after, brief: null },
        queue: new EventQueue(() => {
          followers.delete(follower)
          if (followers.size === 0) followed.delete(transferId)
        }),
      }
      followers.add(follower)
      if (known === undefined) {
        followed.set(transferId, followers)
        again(transferId, followers)
      }
      return follower.queue
    },
    close: () => scope.close(),
  }
}

function send(follower: Follower, lines: Awaited<ReturnType<typeof readLines>>): void {
  for (const { seq, role, text, startMs } of lines) {
    const position = Number(seq)
    if (position <= follower.after) continue
    follower.after = position
    if (!(SHOWN_ROLES as readonly string[]).includes(role)) continue
    const id = String(position)
    follower.queue.push(id, { event: 'line', data: { role, text, startMs: Math.round(startMs) }, id })
  }
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
